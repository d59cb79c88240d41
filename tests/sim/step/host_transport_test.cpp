// host_transport_test.cpp — rings through host memory, against sums by hand.
#include "sim/step/host_transport.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/fabric.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

constexpr Bytes size = mebibytes(64);

double ring_seconds(const sim::Topology& topology, const sim::HostTransport& hosts,
                    std::int64_t at_once = 1) {
    sim::ClusterNetwork network(topology);
    const auto workers = topology.workers();
    const std::int32_t each = sim::workers_per_machine(topology, workers);
    const sim::PlacedCollective placed(network, policies::Collective::ring, workers, each, "test",
                                       at_once, &hosts);
    for (std::int64_t i = 0; i < at_once; ++i) placed.start(network, size, Instant{});
    Instant last;
    while (const auto event = network.runs().run_until(Instant::never())) last = event->at;
    return to_seconds(last.since_start());
}

// Six rounds of four ranks.
double six_rounds(double rate, double latency_s) {
    return 6 * (static_cast<double>(size.raw()) / 4 / rate + latency_s);
}

}  // namespace

TEST_CASE("host transport: a connection and one thread's sum come one after the other", "[step]") {
    const sim::HostTransport hosts;
    CHECK(hosts.rate(false) == Approx(1 / (1 / 0.625e9 + 0.5 / 13.6e9)));
    CHECK(hosts.rate(true) == Approx(1 / (1 / 12e9 + 0.5 / 13.6e9)));
    CHECK(hosts.device_s_per_byte() == Approx(2 / 12e9));
    CHECK(hosts.buffer_s_per_byte() == Approx(2 / 12e9));
}

TEST_CASE("host transport: a ring over machines goes at the pace of a connection", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 4);
    const auto workers = topology.workers();
    sim::Routes routes(topology);
    const sim::DeviceId first = sim::socket_of(topology, routes, workers[0]);
    const sim::DeviceId second = sim::socket_of(topology, routes, workers[1]);
    CHECK(topology.device(first).kind == sim::DeviceKind::cpu);
    const double once = to_seconds(routes.latency(first, second));
    for (const std::int32_t trips : {0, 1, 5}) {
        CAPTURE(trips);
        sim::HostTransport hosts;
        hosts.round_trips = trips;
        const double expected = six_rounds(hosts.rate(false), (1 + 2 * trips) * once);
        CHECK(ring_seconds(topology, hosts) == Approx(expected).epsilon(1e-6));
    }
    // Two at once share the connections, whose rate is what limits them.
    sim::HostTransport hosts;
    hosts.round_trips = 0;
    CHECK(ring_seconds(topology, hosts, 2) ==
          Approx(2 * six_rounds(hosts.rate(false), 0)).epsilon(0.01));
    hosts.connection = 100e9;  // then the wire does
    CHECK(ring_seconds(topology, hosts) > six_rounds(1.25e9, once));
    CHECK(ring_seconds(topology, hosts) < 1.02 * six_rounds(1.25e9, once));
}

TEST_CASE("host transport: within a machine it goes from memory to memory", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC24", 1);
    sim::HostTransport hosts;
    hosts.memory = 2e9;
    CHECK(ring_seconds(topology, hosts) == Approx(six_rounds(hosts.rate(true), 0)).epsilon(0.001));
}

TEST_CASE("host transport: copies come before each message", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 2);
    const auto step = [&](double copies) {
        sim::StepJob job;
        job.name = "one";
        job.workers = topology.workers();
        job.compute.assign(2, milliseconds(10));
        job.buckets = {{"all", size}};
        job.per_host = 1;
        job.hosts = sim::HostTransport{};
        job.launch.copy_s_per_byte = copies;
        const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {});
        return to_seconds(result.front().steps.front().end - Instant{});
    };
    CHECK(step(1e-9) - step(0) == Approx(static_cast<double>(size.raw()) * 1e-9).epsilon(1e-6));
}

TEST_CASE("host transport: only several tensors in a message go through the buffer", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 2);
    const auto step = [&](std::int64_t tensors, sim::LaunchKind kind, double through_buffer) {
        sim::StepJob job;
        job.name = "one";
        job.workers = topology.workers();
        job.compute.assign(2, milliseconds(10));
        job.buckets = {{"first", size}, {"last", size}};
        for (sim::GradientBucket& bucket : job.buckets) bucket.tensors = tensors;
        job.per_host = 1;
        job.hosts = sim::HostTransport{};
        job.launch.kind = kind;
        job.launch.buffer_s_per_byte = through_buffer;
        const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {});
        return to_seconds(result.front().steps.front().end - Instant{});
    };
    const auto buffer_s = [&](std::int64_t tensors, sim::LaunchKind kind) {
        return step(tensors, kind, 1e-9) - step(tensors, kind, 0);
    };
    const double both_s = 2 * static_cast<double>(size.raw()) * 1e-9;
    CHECK(buffer_s(1, sim::LaunchKind::in_order) == 0);
    CHECK(buffer_s(1, sim::LaunchKind::by_name) == 0);
    CHECK(buffer_s(3, sim::LaunchKind::in_order) == Approx(both_s).epsilon(1e-6));
    CHECK(buffer_s(1, sim::LaunchKind::coordinated) == Approx(both_s).epsilon(1e-6));
}

}  // namespace ukemi
