// throughput_resize_test.cpp — the published runs of the autoscaling engine of Or et al.
// (MLSys'20), in the simulated world.
//
// The sizes and times at which they were reached, and the completion times, are read off the
// authors' figures (andrewor14/tf-logs, branch autoscaling-6-17-auto-launch, vectors of
// output/*_num_workers.pdf). The throughput at a size is that of the static run of that size; a
// worker takes 36 s to start on CIFAR-10 while the others train, where four are started at a time;
// MPI_Comm_spawn takes 3 s for each (the engine's log), so that the eight of ImageNet take 48 s.
// Each change of the group stops it for 2.7 s. Machines that were taken out of the group stay;
// their workers are back after 5 s in all.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "sim/job/transition_systems.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

struct Change {
    double at_s = 0;
    std::int32_t workers = 0;
};

struct Published {
    double static_s = 0;
    double autoscaling_s = 0;
    double static_gpu_s = 0;
    double autoscaling_gpu_s = 0;
    std::vector<Change> changes;
};

struct Workload {
    std::int64_t samples = 0;
    std::int64_t local_batch = 0;   // of each worker, unless
    std::int64_t global_batch = 0;  // the batch is fixed
    double spawn_s = 0;
    std::string parameters;
    std::vector<Published> runs;  // from each size, ascending
};

const Workload cifar{
    200 * 50'000,
    256,
    1024,
    36,
    R"({"workers_max": 24})",
    {{1171.5, 1169.5, 4686, 4737, {{0, 4}, {43.4, 8}, {58.3, 4}}},
     {1216.2, 1141.2, 9729, 4763, {{0, 8}, {40.5, 12}, {45.1, 4}}},
     {1304.7,
      1291.4,
      15656,
      5656,
      {{0, 12}, {44.5, 16}, {49.3, 8}, {53.5, 4}, {58.6, 8}, {73.7, 4}}},
     {1302.8,
      1160.1,
      20844,
      5274,
      {{0, 16}, {37.3, 20}, {41.9, 12}, {46.3, 8}, {50.9, 4}, {55.4, 8}, {70.2, 4}}},
     {1410.1,
      1312.9,
      28202,
      6156,
      {{0, 20}, {40.0, 24}, {44.7, 16}, {49.3, 12}, {54.1, 8}, {58.1, 4}, {63.0, 8}, {78.4, 4}}},
     {1407.6,
      1182.9,
      33782,
      5021,
      {{0, 24}, {2.2, 20}, {7.0, 16}, {11.4, 12}, {16.4, 8}, {20.5, 4}, {25.6, 8}, {40.5, 4}}}}};

const Workload imagenet{
    5 * 1'281'167,
    128,
    0,
    36 + 4 * 3,
    R"({"workers_min": 32, "workers_max": 64, "spawn": 8, "consecutive_passes": 1})",
    {{4550, 2502, 145600, 160300, {{0, 32}, {124.5, 40}, {282.3, 48}, {439.9, 56}, {583.6, 64}}},
     {3638,
      2551,
      145500,
      159300,
      {{0, 40}, {74.9, 48}, {155.8, 56}, {236.7, 64}, {424.4, 56}, {453.9, 64}}},
     {3070, 2672, 147400, 169100, {{0, 48}, {77.9, 56}, {161.3, 64}}},
     {2742, 2411, 153500, 153700, {{0, 56}, {74.5, 64}}},
     {2357, 2421, 150900, 154700, {{0, 64}, {19.7, 56}, {46.9, 64}}}}};

sim::JobSpec job_of(const Workload& workload, std::size_t run) {
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = workload.samples;
    spec.plan.global_batch = workload.global_batch;
    spec.plan.batch_per_learner = workload.local_batch;
    spec.profile.throughput.clear();
    for (const Published& one : workload.runs) {
        const std::int32_t workers = one.changes.front().workers;
        const std::int64_t batch =
            workload.global_batch > 0 ? workload.global_batch : workload.local_batch * workers;
        const double step =
            one.static_s * static_cast<double>(batch) / static_cast<double>(workload.samples);
        spec.profile.throughput.push_back({workers, {1, seconds(step)}});
    }
    spec.profile.spawn = seconds(workload.spawn_s);
    spec.transition = sim::find_transition_system("or_et_al")->costs();
    spec.transition->overlapped_spawn = spec.profile.spawn;
    spec.plan.workers_max = workload.runs[run].changes.front().workers;
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::on_demand, spec.plan.workers_max, Price{}}};
    spec.instances_max = workload.runs.back().changes.front().workers;
    return spec;
}

// What a simulated run did; times count from the first step, as the published ones do.
struct Simulated {
    std::vector<Change> changes;
    double completion_s = 0;
    double gpu_s = 0;
    std::vector<std::int32_t> sizes() const {
        std::vector<std::int32_t> list;
        for (const Change& one : changes) list.push_back(one.workers);
        return list;
    }
};

Simulated simulated(const Workload& workload, std::size_t run, const std::string& parameters) {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}}, hours(9)), price(1))});
    const sim::JobSpec spec = job_of(workload, run);
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.keep_timeline = true;
    world_setup.policies.push_back(policy("throughput_resize", parameters));
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    CHECK(result.refused == 0);
    Simulated did;
    std::optional<double> began;
    double last = 0;
    std::int32_t workers = 0;
    for (const records::TimelineRow& row : result.timeline) {
        const double now = to_seconds(row.at.since_start());
        if (row.phase == policies::JobPhase::running && !began) began = now;
        if (began) did.gpu_s += workers * (now - last);
        last = now;
        workers = row.workers;
        const bool known = !did.changes.empty() && did.changes.back().workers == row.workers;
        if (row.phase == policies::JobPhase::running && !known) {
            did.changes.push_back({now - began.value(), row.workers});
        }
    }
    did.completion_s = to_seconds(result.duration) - began.value_or(0);
    return did;
}

std::vector<std::int32_t> published_sizes(const Published& run) {
    std::vector<std::int32_t> list;
    for (const Change& one : run.changes) list.push_back(one.workers);
    return list;
}

}  // namespace

TEST_CASE("throughput_resize: CIFAR-10's published sizes, times and completion",
          "[throughput_resize][golden]") {
    double saved = 0;
    double published_saved = 0;
    double gpu_saved = 0;
    double published_gpu_saved = 0;
    double search = 0;
    double longest = 0;
    double share = 0;  // of the completion time
    double published_share = 0;
    for (std::size_t run = 0; run < cifar.runs.size(); ++run) {
        const Published& published = cifar.runs[run];
        const Simulated did = simulated(cifar, run, cifar.parameters);
        CAPTURE(run);
        REQUIRE(did.sizes() == published_sizes(published));
        for (std::size_t i = 0; i < did.changes.size(); ++i) {
            CHECK(did.changes[i].at_s == Approx(published.changes[i].at_s).margin(10));
        }
        CHECK(did.completion_s == Approx(published.autoscaling_s).epsilon(0.12));
        CHECK(did.gpu_s == Approx(published.autoscaling_gpu_s).epsilon(0.15));
        saved += 100 * (1 - did.completion_s / published.static_s) / 6;
        published_saved += 100 * (1 - published.autoscaling_s / published.static_s) / 6;
        gpu_saved += 100 * (1 - did.gpu_s / published.static_gpu_s) / 6;
        published_gpu_saved += 100 * (1 - published.autoscaling_gpu_s / published.static_gpu_s) / 6;
        search += did.changes.back().at_s / 6;
        longest = std::max(longest, did.changes.back().at_s);
        share += 100 * did.changes.back().at_s / did.completion_s / 6;
        published_share += 100 * published.changes.back().at_s / published.autoscaling_s / 6;
    }
    CHECK(saved == Approx(published_saved).margin(6));
    CHECK(gpu_saved == Approx(published_gpu_saved).margin(6));
    CHECK(search == Approx(61.0).margin(6));
    CHECK(longest == Approx(78.4).margin(6));
    CHECK(share == Approx(published_share).margin(1));
    CHECK(share < 6);  // as the talk says: less than 6 % of the time to convergence
}

TEST_CASE("throughput_resize: the two numbers of the abstract", "[throughput_resize][golden]") {
    // «A reduction in job completion time of up to 45 % and in GPU time of up to 85.1 %»: of
    // ImageNet from 32 workers, and of CIFAR-10 from 24, each against the static run.
    const Published& slow_start = imagenet.runs.front();
    const Published& large_start = cifar.runs.back();
    CHECK(1 - slow_start.autoscaling_s / slow_start.static_s == Approx(0.45).margin(0.0005));
    CHECK(1 - large_start.autoscaling_gpu_s / large_start.static_gpu_s ==
          Approx(0.851).margin(0.0005));
    const Simulated faster = simulated(imagenet, 0, imagenet.parameters);
    const Simulated cheaper = simulated(cifar, 5, cifar.parameters);
    CHECK(1 - faster.completion_s / slow_start.static_s == Approx(0.45).margin(0.02));
    CHECK(1 - cheaper.gpu_s / large_start.static_gpu_s == Approx(0.851).margin(0.005));
}

TEST_CASE("throughput_resize: ImageNet's published sizes and completion",
          "[throughput_resize][golden]") {
    double saved = 0;
    double published_saved = 0;
    double search = 0;
    double longest = 0;
    double largest_share = 0;  // of 90 epochs at the run's pace, of which these are five
    for (std::size_t run = 0; run < imagenet.runs.size(); ++run) {
        const Published& published = imagenet.runs[run];
        const Simulated did = simulated(imagenet, run, imagenet.parameters);
        CAPTURE(run, did.completion_s);
        if (run != 1) {
            CHECK(did.sizes() == published_sizes(published));
        } else {  // the published run dips once, from noise in its throughput
            CHECK(did.sizes() == std::vector<std::int32_t>{40, 48, 56, 64});
        }
        CHECK(did.completion_s == Approx(published.autoscaling_s).epsilon(0.12));
        if (run >= 2)
            CHECK(did.changes.back().at_s == Approx(published.changes.back().at_s).margin(40));
        saved += 100 * (1 - did.completion_s / published.static_s) / 5;
        published_saved += 100 * (1 - published.autoscaling_s / published.static_s) / 5;
        search += did.changes.back().at_s / 5;
        longest = std::max(longest, did.changes.back().at_s);
        const double share = did.changes.back().at_s / (did.completion_s * 90 / 5);
        largest_share = std::max(largest_share, share);
    }
    CHECK(saved == Approx(published_saved).margin(6));
    CHECK(largest_share < 0.02);  // as the talk says: less than 2 % of the time to convergence
    // The published searches end after 264 s on average and 583.6 s at most (from 32 workers, where
    // each change took 124 to 158 s). This model's are shorter, and no time to start a worker could
    // make them alike: the same changes, 40 → 48 → 56 → 64, took 158, 158 and 144 s in that run and
    // 75, 81 and 81 s in the one from 40, and 80 to 84 s here. The run from 40 dips once more, from
    // noise, at 424 s. The others' searches are within 17 s of the published ones.
    CHECK(search == Approx(177.9).margin(1));
    CHECK(longest == Approx(327.1).margin(1));
}

namespace {

// Minutes to completion with linear utility, 180 min wide, on the CPU cluster of the authors'
// straggler runs (its throughput curve; a batch of 1024, a worker takes 30 s to start). The work is
// not published; it is chosen so that the largest group takes the published 50 min.
double minutes_with(double dollars, std::string_view worker_price) {
    sim::JobSpec spec = job(hours(1));
    spec.samples_total = 8'500'000;
    spec.plan.global_batch = 1024;
    spec.profile.throughput.clear();
    constexpr std::pair<std::int32_t, double> curve[] = {{4, 396},   {8, 735},   {16, 1371},
                                                         {32, 2432}, {40, 2886}, {50, 3246}};
    for (const auto& [workers, rate] : curve) {
        spec.profile.throughput.push_back({workers, {1, seconds(1024 / rate)}});
    }
    spec.profile.spawn = whole_seconds(30);
    spec.profile.resize = seconds(2.7);
    spec.plan.workers_max = 4;
    spec.instances_max = 48;
    spec.plan.fleet = {{ZoneId{0}, 0, policies::Market::on_demand, 4, Price{}}};
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 0}}, hours(9)), price(1))});
    const std::string parameters = R"({"condition": "utility", "worker_price": ")" +
                                   std::string(worker_price) +
                                   R"(", "utility_points": [{"until": "180 min", "dollars": )" +
                                   fmt::format("{}", dollars) + "}]}";
    const records::RunResult result = run(data, spec, {{"throughput_resize", parameters}});
    CHECK(result.finished);
    return to_seconds(result.duration) / 60;
}

}  // namespace

TEST_CASE("throughput_resize: utility against cost, in the published order",
          "[throughput_resize][golden]") {
    // Published, for prices of 0.01, 0.1, 1 and 10 dollars: 51, 54, 75 and 127 min for a utility of
    // 10 dollars; 50, 50, 53 and 75 for 100; always 50 for 10 000.
    constexpr std::string_view prices[] = {"0.01 USD/h", "0.1 USD/h", "1 USD/h", "10 USD/h"};
    std::vector<double> before;
    for (const double dollars : {10.0, 100.0, 10'000.0}) {
        std::vector<double> found;
        for (const std::string_view one : prices) found.push_back(minutes_with(dollars, one));
        CAPTURE(dollars, found);
        fmt::print("utility of {:5} USD, at 0.01, 0.1, 1 and 10 USD/h: {:.0f} min\n", dollars,
                   fmt::join(found, ", "));
        CHECK(std::ranges::is_sorted(found));
        CHECK(found.front() == Approx(50).margin(2));
        if (dollars == 10) {  // the dearer, the longer
            CHECK(std::ranges::adjacent_find(found, std::greater_equal{}) == found.end());
        }
        if (dollars == 10'000) CHECK(found.back() == found.front());
        for (std::size_t i = 0; i < before.size(); ++i) CHECK(found[i] <= before[i]);
        if (!before.empty() && dollars == 100) {  // what counts is the ratio
            CHECK(found[3] == Approx(before[2]).epsilon(0.01));
            CHECK(found[2] == Approx(before[1]).epsilon(0.01));
        }
        before = found;
    }
}

TEST_CASE("throughput_resize: with three passes asked for, ImageNet's large starts go down first",
          "[throughput_resize]") {
    const std::string released = R"({"workers_min": 32, "workers_max": 64, "spawn": 8})";
    for (std::size_t run = 2; run < 5; ++run) {
        const Simulated did = simulated(imagenet, run, released);
        CHECK(did.sizes() != published_sizes(imagenet.runs[run]));
        CHECK(std::ranges::min(did.sizes()) == 40);  // from where three steps in a row pass
        CHECK(did.sizes().back() == 64);
    }
}

}  // namespace ukemi
