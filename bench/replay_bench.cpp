// replay_bench.cpp — whole replays against the clock: a published simulator's job, and scale.
//
// 1. Can't Be Late, generation 1: 1000 traces × greedy on one core, from files to results. The
//    authors' simulator took 7.1 s for it (Python 3.11, two cores of this kind of machine, best of
//    three runs; recorded, not run here). Its traces are used where they are found, the shipped
//    generator's otherwise.
// 2. Scale: 90 days, 64 instances, 10 zones, 20 policy lists, reading nothing.
// 3. An epoch of 68,507 steps on 64 machines (scenarios/size/megatron_epoch.json) in a generated
// market
//    that takes some away, by each of its policy lists: reading nothing.
// 4. The optimum of a job of 60 h on markets of 10 days.
//
// Prints medians over repetitions of processor time and of wall time, their spread, and the
// largest resident set. Nothing is asserted: these machines are shared.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/statistics.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "sim/job/world.hpp"
#include "traces/generator.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

struct Times {
    std::vector<double> wall_s;
    std::vector<double> processor_s;
};

Times repeat(int repetitions, const std::function<void()>& work) {
    Times times;
    work();  // once unmeasured: files and code come into the caches
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        const auto wall = std::chrono::steady_clock::now();
        const std::clock_t processor = std::clock();
        work();
        times.processor_s.push_back(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
        times.wall_s.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count());
    }
    std::ranges::sort(times.wall_s);
    std::ranges::sort(times.processor_s);
    return times;
}

std::string shown(const std::vector<double>& sorted) {
    return fmt::format("{:.4f} s ({:.4f} to {:.4f})", median(sorted), sorted.front(),
                       sorted.back());
}

long resident_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

// 1000 generated traces as files of the form that the authors' simulator reads: 1200 ticks of
// 600 s, a one where there is no spot.
std::vector<fs::path> write_traces(const fs::path& folder) {
    const auto& all = traces::all_market_parameters();
    const auto parameters = std::ranges::find(all, "v100-1-good", &traces::MarketParameters::name);
    std::vector<fs::path> files;
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const auto made = traces::generate_market(*parameters, seed, 1, hours(200));
        const traces::AvailabilitySeries& series = *made[0].availability;
        std::string text = R"({"metadata": {"gap_seconds": 600}, "data": [)";
        std::size_t step = 0;
        for (std::int64_t tick = 0; tick < 1200; ++tick) {
            const Instant now = Instant{} + tick * minutes(10);
            while (step + 1 < series.steps.size() && series.steps[step + 1].at <= now) ++step;
            text += tick == 0 ? "" : ", ";
            text += series.steps[step].value > 0 ? '0' : '1';
        }
        files.push_back(folder / fmt::format("{}.json", seed));
        std::ofstream(files.back()) << text << "]}\n";
    }
    return files;
}

void bench_peer_job(const fs::path& scenarios) {
    const fs::path folder = fs::temp_directory_path() / fmt::format("ukemi-bench-{}", getpid());
    fs::create_directories(folder);
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenarios / "market/cant_be_late_gen1.json");
    scenarios::ExperimentSetup setup;
    setup.traces = write_traces(folder);
    setup.seeds = {1};
    setup.threads = 1;
    for (const std::string policy : {"greedy", "time_sliced"}) {
        setup.policies = scenarios::parse_policies(policy, scenario, "bench");
        std::int64_t ticks = 0;
        const Times times = repeat(9, [&] {
            ticks = 0;
            for (const scenarios::FinishedRun& run : scenarios::run_experiment(scenario, setup)) {
                ticks += run.result.ticks;
            }
        });
        const double peer_s = policy == "greedy" ? 7.1 : 11.3;
        const double median_s = median(times.processor_s);
        fmt::print(
            "1000 traces x {:<12} one core, files included: processor {}, wall {}\n"
            "    {} ticks, {:.0f} ns a tick; the authors' simulator, recorded: {} s, "
            "{:.0f} times as long\n",
            policy, shown(times.processor_s), shown(times.wall_s), ticks,
            1e9 * median_s / static_cast<double>(ticks), peer_s, peer_s / median_s);
    }
    fs::remove_all(folder);
}

constexpr std::string_view scale_scenario = R"({
  "name": "scale", "seed": 1,
  "job": {"work": "100000 h", "throughput": {"1": 1.0, "64": 52.0}, "deadline": "2160 h",
          "restart": "4 min", "resize": "60 s", "checkpoint": {"cost": "30 s", "restore": "60 s"},
          "give_up_after": "2160 h"},
  "cluster": {"count_min": 8, "count_max": 64},
  "market": {"generate": {"market": "v100-16-burst", "zones": 10, "length": "90 d"},
             "on_demand_price": "3.06 USD/h", "notice": "120 s", "provisioning": "90 s"},
  "oracle": "future_availability",
  "replay": ["spot_only+follow_capacity+daly"]
})";

void bench_scale() {
    const scenarios::Scenario scenario = scenarios::scenario_from_text(scale_scenario, "scale");
    std::string lists;
    for (const std::string market :
         {"on_demand", "spot_only", "greedy", "uniform_progress", "time_sliced"}) {
        for (const std::string rest : {"follow_capacity", "follow_capacity+periodic",
                                       "follow_capacity+young", "follow_capacity+daly+on_notice"}) {
            lists += (lists.empty() ? "" : ",") + market + "+" + rest;
        }
    }
    const auto policies = scenarios::parse_policies(lists, scenario, "bench");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    std::int64_t events = 0;
    const Times times = repeat(5, [&] {
        events = 0;
        for (const scenarios::PolicyList& list : policies) {
            events += scenarios::run_one(scenario, market, list, 1).result.events;
        }
    });
    const double median_s = median(times.processor_s);
    fmt::print(
        "90 days, 64 instances, 10 zones, {} policy lists, one core: processor {}, wall {}\n"
        "    {} events, {:.0f} ns each with the questions they raise; largest resident set "
        "{} MiB\n",
        policies.size(), shown(times.processor_s), shown(times.wall_s), events,
        1e9 * median_s / static_cast<double>(events), resident_mib());
}

void bench_epoch(const fs::path& scenarios) {
    const std::vector<ConfigOverride> overrides{
        {"/market/generate", R"({"market": "p3-64-group", "length": "9 d"})"}};
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenarios / "size/megatron_epoch.json", overrides);
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1);
    for (const scenarios::PolicyList& list : scenario.policies) {
        records::RunResult result;
        const Times times =
            repeat(9, [&] { result = scenarios::run_one(scenario, market, list, 1).result; });
        fmt::print("an epoch, {}: processor {}, wall {}\n    {} steps, {} losses, {} events\n",
                   list.label(), shown(times.processor_s), shown(times.wall_s),
                   result.steps.value_or(0), result.revocations, result.events);
    }
}

// What the work would have cost at least: 60 h on one machine within 10 days of a scarce market,
// and the demo's gang of eight.
void bench_optimum(const fs::path& scenarios) {
    for (const char* name : {"market/late_and_scarce.json", "market/demo.json"}) {
        const bool gang = std::string_view(name).find("demo") != std::string_view::npos;
        std::vector<ConfigOverride> overrides{{"/market/generate/length", "\"10 d\""}};
        if (!gang) {
            overrides.push_back({"/job/work", "\"60 h\""});
            overrides.push_back({"/job/deadline", "\"240 h\""});
        }
        const scenarios::Scenario scenario = scenarios::read_scenario(scenarios / name, overrides);
        double longest_s = 0;
        std::size_t exact = 0;
        constexpr std::uint64_t markets = 100;
        for (std::uint64_t seed = 1; seed <= markets; ++seed) {
            const scenarios::NamedMarket market = scenarios::make_market(scenario, seed);
            const sim::JobSpec job = scenarios::job_on(scenario, market.data);
            scenarios::Optimum optimum;
            const Times times =
                repeat(1, [&] { optimum = scenarios::optimum_of(market.data, job); });
            longest_s = std::max(longest_s, times.processor_s.front());
            exact += optimum.kind == scenarios::OptimumKind::exact;
        }
        fmt::print("optimum, {}: {} markets of 10 d, {} exact, longest {:.4f} s\n", name, markets,
                   exact, longest_s);
    }
}

}  // namespace

}  // namespace ukemi

// bench_replay [peer|scale|epoch|optimum]: one of the four, or all.
int main(int argc, char** argv) {
    const std::string_view only = argc > 1 ? argv[1] : "";
    const auto scenarios = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios";
    if (only.empty() || only == "peer") ukemi::bench_peer_job(scenarios);
    if (only.empty() || only == "scale") ukemi::bench_scale();
    if (only.empty() || only == "epoch") ukemi::bench_epoch(scenarios);
    if (only.empty() || only == "optimum") ukemi::bench_optimum(scenarios);
    return 0;
}
