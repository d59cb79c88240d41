// hidden_exchange_test.cpp — exchanges that pass while the host still launches.
#include <catch2/catch.hpp>

#include "sim/cluster/fabric.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

namespace {

// 5 ms, an all-reduce, 5 ms; the host needs 5 ms for the first and `launch_ms` for the second.
sim::StepParts parts_of_launching(double launch_ms, std::int64_t bytes) {
    const sim::Topology topology = sim::build_cluster("p3.16xlarge", 1);
    sim::StepJob job;
    job.name = "job";
    const std::vector<sim::DeviceId> all = topology.workers();
    job.workers.assign(all.begin(), all.begin() + 2);
    job.launch.overhead = {};
    job.steps = 2;
    job.compute.assign(2, milliseconds(10));
    sim::LayoutWork work;
    work.degrees.tensor = 2;
    sim::ModelBlock first;
    first.share = first.launch_share = 0.5;
    first.exchange = sim::ExchangeKind::tensor_all_reduce;
    first.bytes = Bytes::of(bytes);
    sim::ModelBlock second;
    second.share = 0.5;
    second.launch_share = launch_ms / 10;
    work.stages.assign(1, {{first}, {second}, {}, {}});
    job.layout = work;
    return sim::run_steps(topology, std::span(&job, 1), {}, {1, 0}).front().steps.back().parts;
}

}  // namespace

TEST_CASE("layout: an exchange counts as far as launching does not hide it", "[layout]") {
    for (const std::int64_t bytes : {10'000'000, 20'000'000}) {
        const sim::StepParts plain = parts_of_launching(0, bytes);
        CHECK(plain.compute == milliseconds(10));
        REQUIRE(plain.exchange > Duration{});
        const double exchange_ms = static_cast<double>(plain.exchange.raw()) / 1e6;
        const sim::StepParts half = parts_of_launching(5 + exchange_ms / 2, bytes);
        CHECK(half.total() == plain.total());
        CHECK(std::abs(2 * half.exchange.raw() - plain.exchange.raw()) <= 2);
        const sim::StepParts hidden = parts_of_launching(15, bytes);
        CHECK(hidden.exchange == Duration{});
        CHECK(hidden.compute == milliseconds(20));
    }
}

}  // namespace ukemi
