// host_transport_test.cpp — rings through host memory, against sums by hand.
#include "sim/step/host_transport.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "base/rng.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/step/perfetto_trace.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"
#include "sim/step/variable_update.hpp"

namespace ukemi {
namespace {

constexpr Bytes size = mebibytes(64);

double ring_seconds(const sim::Topology& topology, const sim::HostTransport& hosts,
                    std::int64_t at_once = 1,
                    policies::Collective algorithm = policies::Collective::ring) {
    sim::ClusterNetwork network(topology);
    const auto workers = topology.workers();
    const std::int32_t each = sim::workers_per_machine(topology, workers);
    const sim::PlacedCollective placed(network, algorithm, workers, each, "test", at_once, &hosts);
    for (std::int64_t i = 0; i < at_once; ++i) placed.start(network, size, Instant{});
    Instant last;
    while (const auto event = network.runs().run_until(Instant::never())) last = event->at;
    return to_seconds(last.since_start());
}

// So many rings one after the other, each from when the one before is over.
double mean_ring_seconds(const sim::Topology& topology, const sim::HostTransport& hosts,
                         std::uint64_t seed, int times = 400) {
    sim::ClusterNetwork network(topology);
    network.seed_draws(seed);
    const auto workers = topology.workers();
    const std::int32_t each = sim::workers_per_machine(topology, workers);
    const sim::PlacedCollective placed(network, policies::Collective::ring, workers, each, "test",
                                       1, &hosts);
    Instant last;
    for (int i = 0; i < times; ++i) {
        placed.start(network, size, last);
        while (const auto event = network.runs().run_until(Instant::never())) last = event->at;
    }
    return to_seconds(last.since_start()) / times;
}

// Rounds of a ring in which every transfer takes an exponential time of mean 1: the mean of the
// last one's end.
double ring_of_chances(std::size_t ranks, std::int64_t rounds) {
    RandomStream chances(11, "chances");
    constexpr int times = 20'000;
    double sum = 0;
    for (int i = 0; i < times; ++i) {
        std::vector<double> over(ranks);  // of what rank r sends
        for (std::int64_t round = 0; round < rounds; ++round) {
            const std::vector<double> before = over;
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const double received = before[(rank + ranks - 1) % ranks];
                over[rank] = std::max(before[rank], received) + chances.exponential(1);
            }
        }
        sum += *std::ranges::max_element(over);
    }
    return sum / times;
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

// Sixteen ranks of a machine; adding is all that takes time.
TEST_CASE("host transport: one thread of a rank adds up what all its connections bring", "[step]") {
    const sim::Topology topology = sim::build_cluster("dgx2", 1);
    sim::HostTransport hosts;
    hosts.sum = 1e8;
    hosts.memory = 1e12;
    const double whole_s = static_cast<double>(size.raw()) / hosts.sum;
    const auto takes = [&](policies::Collective algorithm) {
        return ring_seconds(topology, hosts, 1, algorithm) / whole_s;
    };
    CHECK(takes(policies::Collective::star) == Approx(15).epsilon(0.01));
    CHECK(takes(policies::Collective::binary_tree_star) == Approx(15).epsilon(0.01));
    CHECK(takes(policies::Collective::ring) == Approx(15.0 / 16).epsilon(0.01));
    CHECK(takes(policies::Collective::clique) == Approx(15.0 / 16).epsilon(0.01));
    CHECK(takes(policies::Collective::halving_doubling) == Approx(15.0 / 16).epsilon(0.01));
    CHECK(takes(policies::Collective::multi_binary_tree_star) >= 0.999 * 15.0 / 16);
    // Four levels, two children each, one after the other.
    CHECK(takes(policies::Collective::binary_tree) >= 2 * 3);
    // Two at once take twice as long.
    CHECK(ring_seconds(topology, hosts, 2, policies::Collective::star) / whole_s ==
          Approx(30).epsilon(0.01));
}

// Two machines of four ranks and a server on a third; adding is all that takes time.
TEST_CASE("host transport: one thread adds up what a machine hands in for its servers", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC24", 3);
    sim::StepJob job;
    job.name = "served";
    for (const sim::DeviceId worker : topology.workers()) {
        if (static_cast<std::uint32_t>(topology.device(worker).machine) < 2) {
            job.workers.push_back(worker);
        }
    }
    job.servers = {
        topology.devices_of(sim::DeviceKind::cpu, static_cast<sim::MachineId>(2)).front()};
    job.compute.assign(job.workers.size(), milliseconds(10));
    job.buckets = {{"all", size}};
    sim::place_on_servers(job.buckets, 1);
    job.hosts = sim::HostTransport{};
    job.hosts->sum = 1e7;
    job.hosts->memory = 1e12;
    job.hosts->connection = 1e12;
    const auto sums = [&](bool by_machine) {
        job.sums_by_machine = by_machine;
        const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {});
        return to_seconds(result.front().steps.front().end - Instant{}) * job.hosts->sum /
               static_cast<double>(size.raw());
    };
    CHECK(sums(true) == Approx(3 + 1).epsilon(0.05));  // three of a machine; there and back
    CHECK(sums(false) == Approx(1).epsilon(0.05));     // a thread of the server for each
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

// Ten messages in the air at once, whose copies are all that takes time.
TEST_CASE("host transport: copies of messages in the air at once take turns", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 2);
    const auto copies_s = [&](sim::LaunchKind kind, bool served) {
        sim::StepJob job;
        job.name = "ten";
        job.workers = topology.workers();
        job.compute.assign(2, milliseconds(10));
        job.buckets.assign(10, {"part", mebibytes(1)});
        if (served) {
            job.workers.pop_back();
            job.compute.pop_back();
            const auto last = static_cast<sim::MachineId>(1);
            job.servers = {topology.devices_of(sim::DeviceKind::cpu, last).front()};
            job.asynchronous = true;
            sim::place_on_servers(job.buckets, 1);
        }
        job.per_host = 1;
        job.hosts = sim::HostTransport{};
        job.hosts->connection = job.hosts->sum = 1e12;
        job.hosts->device = 1e6;
        job.launch.kind = kind;
        job.launch.copy_s_per_byte = job.hosts->device_s_per_byte();
        const auto result = sim::run_steps(topology, std::span(&job, 1), {}, {});
        return to_seconds(result.front().steps.front().end - Instant{});
    };
    const double once_s = static_cast<double>(mebibytes(1).raw()) / 1e6;  // one way
    CHECK(copies_s(sim::LaunchKind::in_order, false) == Approx(20 * once_s).epsilon(0.01));
    // On the way back each is copied while the next one is on its way there.
    CHECK(copies_s(sim::LaunchKind::by_name, false) == Approx(11 * once_s).epsilon(0.01));
    // Fetched whole, then handed in part by part.
    CHECK(copies_s(sim::LaunchKind::by_name, true) == Approx(20 * once_s).epsilon(0.01));
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

TEST_CASE("host transport: jitter adds up along steps that wait for each other", "[step]") {
    const Duration jitter = milliseconds(2);
    for (const std::int32_t machines : {2, 8}) {
        CAPTURE(machines);
        const sim::Topology topology = sim::build_cluster("NC6", machines);
        sim::HostTransport hosts;
        const double without = ring_seconds(topology, hosts);
        CHECK(mean_ring_seconds(topology, hosts, 1) == Approx(without).epsilon(1e-9));
        hosts.jitter = jitter;
        const double later = mean_ring_seconds(topology, hosts, 1) - without;
        const double chances =
            ring_of_chances(static_cast<std::size_t>(machines), 2 * (machines - 1));
        CHECK(later == Approx(to_seconds(jitter) * chances).epsilon(0.03));
        // Two ranks: the later of two, twice.
        if (machines == 2) CHECK(chances == Approx(2 * 1.5).epsilon(0.02));
        // Far more than the mean of as many steps.
        if (machines == 8) CHECK(later > 1.5 * 14 * to_seconds(jitter));
        CHECK(mean_ring_seconds(topology, hosts, 1, 5) == mean_ring_seconds(topology, hosts, 1, 5));
        CHECK(mean_ring_seconds(topology, hosts, 1, 5) != mean_ring_seconds(topology, hosts, 2, 5));
    }
    // Within a machine nothing is late.
    const sim::Topology one = sim::build_cluster("NC24", 1);
    sim::HostTransport hosts;
    const double without = ring_seconds(one, hosts);
    hosts.jitter = jitter;
    CHECK(ring_seconds(one, hosts) == Approx(without).epsilon(1e-9));
}

TEST_CASE("host transport: a trace has the cables that connections cross", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 2);
    sim::StepJob job;
    job.name = "traced";
    job.workers = topology.workers();
    job.compute.assign(job.workers.size(), milliseconds(1));
    job.buckets = {{"all", size, 1.0}};
    job.per_host = 1;
    job.hosts = sim::HostTransport{};
    const auto results = sim::run_steps(topology, std::span(&job, 1), {}, {0, 1});
    CHECK(results.front().links.size() > 2);
    const std::string text = sim::perfetto_trace(topology, std::span(&job, 1), results);
    CHECK_THAT(text, Catch::Contains("\"1 collective\""));
}

TEST_CASE("host transport: jitter is of transfers that are played one by one", "[step]") {
    const sim::Topology topology = sim::build_cluster("NC6", 4);
    const auto workers = topology.workers();
    sim::HostTransport hosts;
    hosts.jitter = milliseconds(1);
    sim::ClusterNetwork network(topology);
    CHECK_THROWS_WITH(sim::PlacedCollective(network, policies::Collective::double_binary_tree,
                                            workers, 1, "job", 1, &hosts),
                      Catch::Contains("\"jitter\" is not for double_binary_tree"));
}

}  // namespace ukemi
