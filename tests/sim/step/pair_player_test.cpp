// pair_player_test.cpp — averaging with one other against closed forms.
#include "sim/step/pair_player.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/fabric.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

// A worker on each machine; each model crosses one connection, which is slower than the wire.
struct Paired {
    explicit Paired(std::uint32_t machines) : topology(sim::build_cluster("p3.2xlarge", machines)) {
        job.name = "pairs";
        job.workers = topology.workers();
        job.compute.assign(job.workers.size(), milliseconds(100));
        job.batch = 16;
        job.pair_model = bytes(100'000'000);
        job.asynchronous = true;
        job.launch = {sim::LaunchKind::in_order, {}};
        job.hosts.emplace();
        job.hosts->connection = 0.25e9;
        job.hosts->device = 10e9;
        job.hosts->round_trips = 0;
        job.steps = 6;
    }
    sim::JobSteps run(std::uint64_t seed = 1) const {
        return sim::run_steps(topology, std::span(&job, 1), {}, {seed, 1}).front();
    }

    sim::Topology topology;
    sim::StepJob job;
};

double step_s(const sim::StepRecord& step) { return to_seconds(step.end - step.begin); }

}  // namespace

TEST_CASE("pair averaging: goes on until all jobs are done where that is asked for", "[pairs]") {
    const Paired four(4);
    sim::StepJob fast = four.job;
    fast.workers = {four.job.workers[0], four.job.workers[1]};
    fast.compute.resize(2);
    sim::StepJob slow = four.job;
    slow.name = "slow";
    slow.workers = {four.job.workers[2], four.job.workers[3]};
    slow.compute.assign(2, milliseconds(4000));
    const std::vector<sim::StepJob> both = {fast, slow};
    sim::StepOptions options;
    CHECK(sim::run_steps(four.topology, both, {}, options)[0].steps.size() == 6);
    options.until_all_are_done = true;
    const auto sharing = sim::run_steps(four.topology, both, {}, options);
    CHECK(sharing[1].steps.size() == 6);
    CHECK(sharing[0].steps.size() > 6);
    const Instant end = sharing[1].steps.back().end;
    CHECK(sharing[0].steps.back().end <= end);
    CHECK(sharing[0].steps.back().end + seconds(2) > end);
}

TEST_CASE("pair averaging: what is slower, the other's model or computing, and one's own copy",
          "[pairs]") {
    Paired two(2);
    two.job.hosts->connection = 0.1e9;  // 1 s, and 10 ms onto the GPU; then 10 ms to the host
    CHECK(step_s(two.run().steps.back()) == Approx(1.02).epsilon(1e-3));
    two.job.hosts->connection = 1e9;  // 100 ms and 10 ms beside computing for 200 ms
    two.job.compute.assign(2, milliseconds(200));
    CHECK(step_s(two.run().steps.back()) == Approx(0.21).epsilon(1e-3));
    two.job.accumulation = 3;
    CHECK(step_s(two.run().steps.back()) == Approx(0.61).epsilon(1e-3));
    two.job.update.assign(2, milliseconds(50));  // once, before the copy
    CHECK(step_s(two.run().steps.back()) == Approx(0.66).epsilon(1e-3));
}

TEST_CASE("pair averaging: without a transport models are copied as fast as PCIe", "[pairs]") {
    Paired two(2);
    two.job.hosts.reset();
    two.job.compute.assign(2, milliseconds(1));
    sim::Routes routes(two.topology);
    const sim::DeviceId worker = two.job.workers[0];
    const double copy_s =
        0.1e9 / routes.bandwidth(worker, sim::socket_of(two.topology, routes, worker)).raw();
    const double wire_s = 0.1e9 / routes.bandwidth(worker, two.job.workers[1]).raw();
    CHECK(step_s(two.run().steps.back()) == Approx(wire_s + 2 * copy_s).epsilon(0.01));
}

TEST_CASE("pair averaging: nobody waits for a slow one", "[pairs]") {
    Paired four(4);
    four.job.compute[3] = seconds(5);
    const sim::JobSteps steps = four.run();
    // Three do all of it: an update each in 0.42 s, 24 of them.
    const double all_s = to_seconds(steps.steps.back().end.since_start());
    CHECK(all_s == Approx(24 * 0.42 / 3).epsilon(0.05));
    for (const sim::StepRecord& step : steps.steps) {
        const double parts = to_seconds(step.parts.compute + step.parts.exchange);
        CHECK(parts == Approx(step_s(step)).epsilon(1e-6));
    }
}

TEST_CASE("pair averaging: many who ask one share what its wire carries, and draws are the seed's",
          "[pairs]") {
    Paired eight(8);
    eight.job.hosts->connection = 1e12;
    const sim::JobSteps first = eight.run(1);
    const sim::JobSteps again = eight.run(1);
    const sim::JobSteps other = eight.run(2);
    CHECK(first.steps.back().end == again.steps.back().end);
    CHECK(first.steps.back().end != other.steps.back().end);
    // The wire alone: a model at least, were nobody asked by two.
    sim::Routes routes(eight.topology);
    const double wire = routes.bandwidth(eight.job.workers[0], eight.job.workers[1]).raw();
    CHECK(step_s(first.steps[2]) > 1e8 / wire);
}

}  // namespace ukemi
