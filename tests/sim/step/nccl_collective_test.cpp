// nccl_collective_test.cpp — NCCL's times on an idle network to the nanosecond, and what others on
// its links make of them.
#include "sim/step/nccl_collective.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "sim/cluster/fabric.hpp"
#include "sim/cluster/smi_topology.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/placed_collective.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

double taken_s(sim::ClusterNetwork& network, const sim::PlacedCollective& placed, Bytes size) {
    placed.start(network, size, Instant{});
    return to_seconds(network.runs().run_until(Instant::never())->at.since_start());
}

Duration alone(const std::string& machine, std::uint32_t count, Bytes size) {
    const sim::Topology topology = sim::build_cluster(machine, count);
    sim::ClusterNetwork network(topology);
    const auto workers = topology.workers();
    const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, workers, "test");
    placed.start(network, size, Instant{});
    return network.runs().run_until(Instant::never())->at.since_start();
}

double priced(const std::string& machine, std::uint32_t count, Bytes size) {
    const sim::Topology topology = sim::build_cluster(machine, count);
    const auto workers = topology.workers();
    sim::Routes routes(topology);
    const sim::NcclPlace place = sim::nccl_place(topology, routes, workers, "test");
    return sim::nccl_seconds(place, sim::nccl_choice(place, size), size);
}

// When the last piece is there, of a ring whose ranks send on what has arrived: latencies alone.
double round_us(sim::Routes& routes, std::span<const sim::DeviceId> workers, std::size_t rounds) {
    std::vector<double> there_us(workers.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<double> next_us(workers.size());
        for (std::size_t i = 0; i < workers.size(); ++i) {
            const std::size_t to = (i + 1) % workers.size();
            next_us[to] = there_us[i] + to_seconds(routes.latency(workers[i], workers[to])) * 1e6;
        }
        there_us = next_us;
    }
    return std::ranges::max(there_us);
}

}  // namespace

TEST_CASE("nccl collective: on an idle network it takes what NCCL would", "[nccl_collective]") {
    for (const char* machine : {"dgx1_v100", "dgx_a100", "dgx_h100", "polaris", "g4dn.xlarge"}) {
        for (const std::uint32_t count : {1U, 2U, 4U}) {
            if (std::string(machine) == "g4dn.xlarge" && count == 1) continue;
            for (const Bytes size : {bytes(4), bytes(100'000), mebibytes(25), mebibytes(4096)}) {
                CAPTURE(machine, count, size.raw());
                const double off =
                    to_seconds(alone(machine, count, size)) - priced(machine, count, size);
                CHECK(std::abs(off) < 3e-9);
            }
        }
    }
}

TEST_CASE("nccl collective: zones are as far as the longest way of a piece", "[nccl_collective]") {
    struct Taken {
        double round_us;
        double two_rounds_us;
        sim::NcclPlace place;
        sim::NcclChoice choice;
        double seconds;
    };
    const Bytes size = mebibytes(4);
    constexpr sim::NcclChoice ring{sim::NcclAlgorithm::ring, sim::NcclProtocol::simple};
    const auto taken = [&](std::uint32_t machines, std::size_t per_machine, Duration latency) {
        sim::ClusterSpec spec;
        spec.zones = {{"dgx_a100", machines / 2, {}}, {"dgx_a100", machines - machines / 2, {}}};
        spec.zone_latency = latency;
        const sim::Topology topology = sim::build_cluster(spec);
        std::vector<sim::DeviceId> workers;
        for (std::size_t i = 0; i < topology.workers().size(); ++i) {
            if (i % 8 < per_machine) workers.push_back(topology.workers()[i]);
        }
        sim::Routes routes(topology);
        const sim::NcclPlace place = sim::nccl_place(topology, routes, workers, "test");
        return Taken{round_us(routes, workers, workers.size() - 1),
                     round_us(routes, workers, 2 * (workers.size() - 1)), place,
                     sim::nccl_choice(place, size), sim::nccl_seconds(place, ring, size)};
    };
    for (const std::uint32_t machines : {2U, 3U, 8U}) {
        for (const std::size_t per_machine : {1U, 2U, 8U}) {
            CAPTURE(machines, per_machine);
            const Taken near = taken(machines, per_machine, milliseconds(1));
            const Taken far = taken(machines, per_machine, milliseconds(101));
            const sim::NcclDistance& distance = far.place.distance;
            CHECK(distance.round_us - near.place.distance.round_us ==
                  Approx(far.round_us - near.round_us));
            CHECK(distance.two_rounds_us - near.place.distance.two_rounds_us ==
                  Approx(far.two_rounds_us - near.two_rounds_us));
            CHECK((far.seconds - near.seconds) * 1e6 ==
                  Approx(far.two_rounds_us - near.two_rounds_us));
            CHECK(far.choice == near.choice);  // NCCL does not know how far it is
            CHECK(far.place.hop_us == near.place.hop_us);
        }
    }
    // Of eight machines in two zones 1 sums in 2, 2 in 4, and 4, which is in the other zone, in 0.
    CHECK(taken(8, 8, milliseconds(101)).place.distance.tree_us -
              taken(8, 8, milliseconds(1)).place.distance.tree_us ==
          Approx(2 * 100'000));
}

TEST_CASE("nccl collective: half of a buffer goes by a second tree, in which other machines sum",
          "[nccl_collective]") {
    const auto tree_us = [](std::uint32_t first, std::uint32_t second) {
        sim::ClusterSpec spec;
        spec.zones = {{"dgx_h100", first, {}}, {"dgx_h100", second, {}}};
        spec.zone_latency = milliseconds(20);
        const sim::Topology topology = sim::build_cluster(spec);
        sim::Routes routes(topology);
        return sim::nccl_place(topology, routes, topology.workers(), "test").distance.tree_us;
    };
    // Even numbers of machines have the tree and its mirror: the order of zones does not matter.
    CHECK(tree_us(3, 5) == Approx(tree_us(5, 3)));
    CHECK(tree_us(2, 6) == Approx(tree_us(6, 2)));
    // Of 3 and 5, machine 3 of the first tree sums in 2, that in 4, and that in 0.
    CHECK(tree_us(3, 5) > 59'000);
    CHECK(tree_us(1, 2) > 39'000);  // in one of the trees 1 sums in 2, and that in 0
}

TEST_CASE("nccl collective: NICs are those next to the GPUs, of whichever machine",
          "[nccl_collective]") {
    const auto between = [](sim::FabricKind kind, std::vector<std::size_t> ranks) {
        sim::FabricSpec fabric;
        fabric.kind = kind;
        if (kind == sim::FabricKind::leaf_spine) {  // one NIC's rate up from each machine
            fabric.machines_per_leaf = 1;
            fabric.oversubscription = 4;
        }
        const sim::Topology topology = sim::build_cluster("hgx_a100_8", 2, fabric);  // 4 NICs
        std::vector<sim::DeviceId> workers;
        for (const std::size_t rank : ranks) workers.push_back(topology.workers()[rank]);
        sim::Routes routes(topology);
        return sim::nccl_place(topology, routes, workers, "test").between.raw() / 25e9;
    };
    for (const auto kind : {sim::FabricKind::single_switch, sim::FabricKind::rails}) {
        // GPUs 1 and 2 have two NICs, 0 and 1 have one.
        CHECK(between(kind, {1, 2, 8, 9}) == Approx(1));
        CHECK(between(kind, {0, 1, 9, 10}) == Approx(1));
        CHECK(between(kind, {1, 2, 9, 10}) == Approx(2));
        CHECK(between(kind, {4, 5, 6, 7, 8, 9, 10, 11}) == Approx(2));
    }
    // Three NICs here and one there: one ring leaves, and has the way up to itself.
    CHECK(between(sim::FabricKind::leaf_spine, {3, 4, 5, 6, 7, 8, 9}) == Approx(1));
}

TEST_CASE("nccl collective: keys and values leave a machine by one NIC a ring",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_h100", 2);
    const auto workers = topology.workers();
    sim::StepJob job;
    job.nccl = true;
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective ring =
        sim::placed_exchange(network, sim::ExchangeKind::context_ring, job, workers);
    CHECK(taken_s(network, ring, mebibytes(64)) ==
          Approx(15 * 67108864 / (0.96 * 50e9)).epsilon(0.01));
}

TEST_CASE("nccl collective: of many ranks alone it takes what it takes on links",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 513);  // 4104 GPUs
    sim::StepJob job;
    job.name = "many";
    job.nccl = true;
    job.workers = topology.workers();
    job.compute.assign(job.workers.size(), milliseconds(10));
    job.buckets = {{"first", mebibytes(1), 0.5}, {"second", mebibytes(64), 1}};
    job.steps = 2;
    // Who wants details wants links, too.
    const auto steps = [&](std::int64_t detailed) {
        return sim::run_steps(topology, std::span(&job, 1), {}, {1, detailed}).front();
    };
    const sim::JobSteps alone = steps(0);
    const sim::JobSteps linked = steps(2);
    CHECK(alone.links.empty());
    CHECK_FALSE(linked.links.empty());
    CHECK(alone.collective == "nccl");
    CHECK(sim::fidelity_of(alone) == "nccl");
    CHECK(alone.nccl == linked.nccl);
    for (std::size_t i = 0; i < 2; ++i) {
        const Duration one = alone.steps[i].end - alone.steps[i].begin;
        const Duration other = linked.steps[i].end - linked.steps[i].begin;
        CHECK(std::abs((one - other).raw()) <= 4);
    }
    // A place that was looked for before counts for the same workers only.
    sim::Routes routes(topology);
    sim::NcclPlace slow = sim::nccl_place(topology, routes, job.workers, "test");
    slow.between = BytesPerSecond::of(1e9);
    job.nccl_place = std::make_shared<const sim::NcclRanks>(sim::NcclRanks{job.workers, slow});
    CHECK(steps(0).steps[0].parts.sending > 2 * alone.steps[0].parts.sending);
    job.nccl_place = std::make_shared<const sim::NcclRanks>(
        sim::NcclRanks{{job.workers.begin(), job.workers.end() - 1}, slow});
    CHECK(steps(0).steps[0].parts.sending == alone.steps[0].parts.sending);
}

// While they start, nothing is on the links.
// What does not fill the links alone has room beside another.
TEST_CASE("nccl collective: two on links that one fills move bytes twice as long",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 2);
    const auto workers = topology.workers();
    sim::Routes routes(topology);
    const sim::NcclPlace place = sim::nccl_place(topology, routes, workers, "test");
    for (const Bytes size : {bytes(4), bytes(100'000), mebibytes(25), mebibytes(1024)}) {
        CAPTURE(size.raw());
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, workers,
                                           "test");
        placed.start(network, size, Instant{});
        placed.start(network, size, Instant{});
        network.runs().run_until(Instant::never());
        const auto last = network.runs().run_until(Instant::never());
        REQUIRE(last);
        const sim::NcclChoice choice = sim::nccl_choice(place, size);
        const double start_s = sim::nccl_start_seconds(place, choice, size);
        const double moving_s = sim::nccl_seconds(place, choice, size) - start_s;
        const double end_s = to_seconds(last->at.since_start());
        CHECK(end_s > (start_s + moving_s) * (1 - 1e-4));
        CHECK(end_s < (start_s + 2 * moving_s) * (1 + 1e-4));
        // All but a few hundredths, which a ring whose NVLinks are hardly faster than its NICs
        // lacks.
        const bool fills = choice.protocol == sim::NcclProtocol::simple;
        if (fills) CHECK(end_s == Approx(start_s + 2 * moving_s).epsilon(0.03));
    }
}

TEST_CASE("nccl collective: beside other flows each ring has the share of one",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("p3.16xlarge", 2);  // one NIC a machine
    const auto workers = topology.workers();
    const auto alone_and_beside = [&](int others) {
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, workers,
                                           "test");
        for (const auto& [from, to] : {std::pair{0U, 8U}, std::pair{8U, 0U}}) {
            const auto links = network.routes().route(workers[from], workers[to]);
            const sim::RouteId route = network.flows().add_route(links);
            for (int i = 0; i < others; ++i) {
                network.flows().start(route, sim::FlowNetwork::endless, 1ULL << 62);
            }
        }
        return taken_s(network, placed, mebibytes(1024));
    };
    const double alone_s = alone_and_beside(0);
    // A ring fills 1/0.7 of what it moves, of TCP of a cloud.
    for (const int others : {1, 20}) {
        CHECK(alone_and_beside(others) / alone_s == Approx(1 + 0.7 * others).epsilon(0.01));
    }
}

TEST_CASE("nccl collective: a slower link matters only where it holds NCCL up",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_h100", 2);  // NVSwitches hold it up
    const auto workers = topology.workers();
    const auto with_share_s = [&](double share) {
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, workers,
                                           "test");
        for (const sim::LinkId id : placed.links()) {
            const sim::Link& link = topology.link(id);
            if (link.kind != sim::LinkKind::network) continue;
            network.flows().set_bandwidth(id, BytesPerSecond::of(share * link.bandwidth.raw()));
        }
        return taken_s(network, placed, mebibytes(1024));
    };
    const double alone_s = with_share_s(1);
    CHECK(with_share_s(0.8) == Approx(alone_s).epsilon(1e-6));
    CHECK(with_share_s(0.1) > 5 * alone_s);
    // And there as much as a link that never was faster, though trees do not fill it.
    sim::ClusterSpec spec;
    spec.zones = {{"dgx_h100", 2, {}}};
    spec.zones.front().links = sim::NicLinks{{}, BytesPerSecond::of(5e9), {}};
    const sim::Topology slow = sim::build_cluster(spec);
    sim::ClusterNetwork network(slow);
    const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, slow.workers(),
                                       "test");
    CHECK(taken_s(network, placed, mebibytes(1024)) == Approx(with_share_s(0.1)).epsilon(0.01));
}

TEST_CASE("nccl collective: without NVLink, too, a slower link costs what it costs NCCL",
          "[nccl_collective]") {
    // Eight T4, each on its own; P100 two of which share a switch; two beside one of which are both
    // NICs.
    sim::ClusterSpec spec;
    spec.zones = {{"g4dn.metal", 2, {}}};
    const auto form = GENERATE(0, 1, 2);
    if (form > 0) {
        std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\n";
        text += "GPU0\tX\tPIX\tPHB\tPHB\tPHB\nGPU1\tPIX\tX\tPHB\tPHB\tPHB\n";
        text += "GPU2\tPHB\tPHB\tX\tPIX\tPHB\nGPU3\tPHB\tPHB\tPIX\tX\tPHB\n";
        text += "NIC0\tPHB\tPHB\tPHB\tPHB\tX\n";
        if (form == 2) {
            text = "\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\tX\tSYS\tNODE\tNODE\n";
            text += "GPU1\tSYS\tX\tSYS\tSYS\nNIC0\tNODE\tSYS\tX\tPIX\n";
            text += "NIC1\tNODE\tSYS\tPIX\tX\n";
        }
        sim::ZoneSpec& zone = spec.zones.front();
        zone.machine = "topo.txt";
        zone.inside = std::make_shared<const sim::Topology>(
            sim::parse_smi_topology(text, "topo.txt", {&sim::gpu_named("p100_pcie", "")}));
        zone.links = sim::NicLinks{{}, BytesPerSecond::of(12.5e9), {}};
    }
    sim::Topology topology = sim::build_cluster(spec);
    const auto taken = [](const sim::Topology& on, double share) {
        sim::ClusterNetwork network(on);
        for (std::size_t i = 0; i < on.links().size(); ++i) {
            const auto id = static_cast<sim::LinkId>(i);
            if (on.link(id).kind != sim::LinkKind::network) continue;
            const double rate = share * on.link(id).bandwidth.raw();
            network.flows().set_bandwidth(id, BytesPerSecond::of(rate));
        }
        const sim::PlacedCollective placed(network, sim::NcclCollective::all_reduce, on.workers(),
                                           "test");
        return taken_s(network, placed, mebibytes(1024));
    };
    const double event_s = taken(topology, 0.25);
    sim::Routes routes(topology);
    const double reached =
        sim::nccl_place(topology, routes, topology.workers(), "test").between_share;
    CHECK(event_s > 1.9 * taken(topology, 1));
    topology.derate(sim::LinkKind::network, 0.25 * reached);
    CHECK(event_s == Approx(taken(topology, 1)).epsilon(0.01));
}

TEST_CASE("nccl collective: from a GPU of the other socket it is no faster than the sockets",
          "[nccl_collective]") {
    sim::Topology topology = sim::build_cluster("p3dn.24xlarge", 2);  // one NIC, beside one socket
    topology.derate(sim::LinkKind::socket, 0.05);
    topology.derate(sim::LinkKind::network, 1);
    const auto workers = topology.workers();
    double socket_rate = 0;
    const auto taken = [&](std::span<const std::size_t> gpus) {
        sim::ClusterNetwork network(topology);
        for (const std::size_t gpu : gpus) {
            const std::vector<sim::DeviceId> pair{workers[gpu], workers[gpu + 8]};
            const sim::NcclRun run(network, sim::NcclCollective::all_reduce, pair, "test");
            for (const sim::LinkId id : run.links()) {
                const sim::Link& link = topology.link(id);
                if (link.kind == sim::LinkKind::socket) socket_rate = link.bandwidth.raw();
            }
            run.start(network, Bytes::of(400'000'000), Instant{});
        }
        Instant last;
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            last = network.runs().run_until(Instant::never())->at;
        }
        return to_seconds(last.since_start());
    };
    // Two ranks: each sends what it has once.
    std::vector<double> alone;
    for (std::size_t gpu = 0; gpu < 8; ++gpu) alone.push_back(taken(std::vector{gpu}));
    const auto far = static_cast<std::size_t>(std::ranges::max_element(alone) - alone.begin());
    REQUIRE(socket_rate > 0);
    CHECK(*std::ranges::min_element(alone) == Approx(400e6 / 12.5e9).epsilon(0.07));  // the NIC
    CHECK(alone[far] == Approx(400e6 / socket_rate).epsilon(0.01));
    std::vector<std::size_t> all(8);
    std::iota(all.begin(), all.end(), std::size_t{0});
    CHECK(taken(all) == Approx(4 * 400e6 / socket_rate).epsilon(0.01));
}

TEST_CASE("nccl collective: groups side by side share the NICs next to their GPUs",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("hgx_a100_8", 2);  // two GPUs a NIC
    const auto workers = topology.workers();
    const auto together_s = [&](std::size_t groups, std::size_t played) {
        sim::ClusterNetwork network(topology);
        for (std::size_t first = 0; first < played; ++first) {
            std::vector<sim::DeviceId> group;
            for (std::size_t i = first; i < workers.size(); i += groups) {
                group.push_back(workers[i]);
            }
            const sim::NcclRun run(network, sim::NcclCollective::all_reduce, group, "test");
            run.start(network, mebibytes(1024), Instant{});
        }
        Instant last;
        for (std::size_t i = 0; i < played; ++i) {
            last = network.runs().run_until(Instant::never())->at;
        }
        return to_seconds(last.since_start());
    };
    for (const std::size_t groups : {2U, 4U}) {
        CAPTURE(groups);
        const double all_s = together_s(groups, groups);
        const double nics_s = static_cast<double>(groups) * (1 << 30) / (4 * 25e9 * 0.96);
        CHECK(all_s > nics_s);
        CHECK(all_s < 2.1 * nics_s);  // 2 (n - 1)/n
        CHECK(together_s(groups, 1) < 1.1 * all_s / 2);
    }
}

TEST_CASE("nccl collective: messages fill links when they carry what NCCL reaches there",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("p4d.24xlarge", 2);  // EFA reaches 0.84
    const auto workers = topology.workers();
    const std::vector<sim::DeviceId> ends = {workers[0], workers[8]};
    const auto sent_s = [&](sim::SentBy sent_by) {
        sim::ClusterNetwork network(topology);
        const sim::PlacedCollective message(network, {"message", 2, {{{{0, 1}}}}}, ends, sent_by);
        return taken_s(network, message, mebibytes(1024));
    };
    CHECK(sent_s(sim::SentBy::nccl) / sent_s(sim::SentBy::anyone) ==
          Approx(1 / 0.84).epsilon(0.002));
}

TEST_CASE("nccl collective: all-to-alls take what recorded ones did", "[nccl_collective]") {
    // H100 with a NIC of 400 Gbit/s each (github xxrjun/nccl-tests-cluster, example-cluster01, out
    // of place). Nothing is fitted to them. NCCL's channels take messages of 0.4 MB in turn, which
    // these do not: below a megabyte a message they are up to a third too fast.
    struct Recorded {
        std::uint32_t machines;
        std::size_t per_machine;
        double megabytes;  // a rank's buffer
        double us;
        double off;  // at most
    };
    const Recorded recorded[] = {
        {1, 4, 33.554432, 109.9, 0.18},   {1, 4, 2147.483648, 4592, 0.06},
        {1, 8, 33.554432, 125, 0.18},     {1, 8, 2147.483648, 5484, 0.08},
        {10, 1, 33.5544, 792.6, 0.18},    {10, 1, 2147.48352, 43176.9, 0.07},
        {10, 2, 268.4352, 5485.9, 0.08},  {10, 2, 2147.48352, 42962, 0.07},
        {10, 4, 268.4352, 5622, 0.12},    {10, 4, 2147.48352, 42158, 0.06},
        {10, 8, 33.55392, 970.3, 0.35},   {10, 8, 268.4352, 5334.9, 0.06},
        {10, 8, 2147.48288, 42267, 0.05},
    };
    sim::StepJob job;
    job.nccl = true;
    for (const auto wiring : {sim::FabricKind::single_switch, sim::FabricKind::rails}) {
        for (const Recorded& one : recorded) {
            sim::FabricSpec fabric;
            fabric.kind = wiring;
            const sim::Topology topology = sim::build_cluster("dgx_h100", one.machines, fabric);
            std::vector<sim::DeviceId> workers;
            for (std::uint32_t m = 0; m < one.machines; ++m) {
                const auto gpus = topology.devices_of(sim::DeviceKind::gpu, sim::MachineId{m});
                workers.insert(workers.end(), gpus.begin(),
                               gpus.begin() + static_cast<std::ptrdiff_t>(one.per_machine));
            }
            sim::ClusterNetwork network(topology);
            const sim::PlacedCollective placed =
                sim::placed_exchange(network, sim::ExchangeKind::all_to_all, job, workers);
            const double us =
                taken_s(network, placed, Bytes::of(round_nearest(one.megabytes * 1e6))) * 1e6;
            CAPTURE(one.machines, one.per_machine, one.megabytes, us, one.us);
            CHECK(std::abs(us / one.us - 1) < one.off);
        }
    }
}

TEST_CASE("nccl collective: rings leave by as many NICs as they are, on unequal machines, too",
          "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 2);
    const auto all = topology.workers();
    for (const std::size_t count : {16U, 15U, 12U, 9U}) {
        CAPTURE(count);
        sim::ClusterNetwork network(topology);
        const sim::NcclRun run(network, sim::NcclCollective::all_reduce,
                               std::span(all).first(count), "test");
        for (const std::uint32_t machine : {0U, 1U}) {
            std::int32_t leaves = 0;
            for (const sim::LinkId id : run.links()) {
                const sim::Link& link = topology.link(id);
                const sim::Device& from = topology.device(link.from);
                leaves +=
                    link.kind == sim::LinkKind::network && from.machine == sim::MachineId{machine}
                        ? 1
                        : 0;
            }
            CHECK(leaves == run.place().channels);
        }
    }
}

TEST_CASE("nccl collective: gathers count the parts of all ranks", "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_a100", 1);
    sim::ClusterNetwork network(topology);
    const auto workers = topology.workers();
    const sim::NcclRun gather(network, sim::NcclCollective::all_gather, workers, "test");
    gather.start(network, mebibytes(16), Instant{});
    const auto end = network.runs().run_until(Instant::never());
    const Bytes whole = mebibytes(128);
    const auto choice = sim::nccl_choice(gather.place(), whole, sim::NcclCollective::all_gather);
    CHECK(
        to_seconds(end->at.since_start()) ==
        Approx(sim::nccl_seconds(gather.place(), choice, whole, sim::NcclCollective::all_gather)));
}

TEST_CASE("nccl collective: it says what is picked for which messages", "[nccl_collective]") {
    const sim::Topology topology = sim::build_cluster("dgx_h100", 1);
    sim::ClusterNetwork network(topology);
    const auto workers = topology.workers();
    const sim::NcclRun run(network, sim::NcclCollective::all_reduce, workers, "test");
    const std::vector<sim::GradientBucket> buckets = {
        {"a", bytes(1000)}, {"b", mebibytes(25)}, {"c", mebibytes(20)}};
    CHECK(sim::words_of(run.place(), sim::NcclCollective::all_reduce, buckets) ==
          "NVLS/Simple for 2 messages up to 26.2 MB, ring/LL for 1 message up to 0.001 MB");
    const std::vector<sim::GradientBucket> parts = {{"a", bytes(1000)}, {"b", bytes(1000)}};
    CHECK(sim::words_of(run.place(), sim::NcclCollective::all_gather, parts) ==
          "ring/LL for 2 messages up to 0.001 MB");
}

}  // namespace ukemi
