// exact_rings_test.cpp — rings without flows, or with them, against every transfer of a schedule.
#include "sim/network/exact_rings.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <numeric>

#include "base/rng.hpp"
#include "sim/network/collective_runs.hpp"
#include "tests/support/whole_hops.hpp"

using namespace ukemi;
using namespace ukemi::sim;

namespace {

constexpr double host_rate = 12.5e9;

struct Change {
    Instant at;
    LinkId link{};
    BytesPerSecond bandwidth;
};

// One or several rings over the same hosts.
struct RingJob {
    std::vector<std::vector<std::int32_t>> orders;  // hosts
    Bytes bytes;
    Instant at;
};

// Hosts in leaves under one switch: link 2i leads out of host i, 2i + 1 into it; then those of
// leaves.
struct LeafWorld {
    std::int32_t hosts = 4;
    std::int32_t per_leaf = 4;
    LinkRate host{BytesPerSecond::of(host_rate), nanoseconds(1000)};
    LinkRate leaf{BytesPerSecond::of(host_rate), nanoseconds(1000)};
    std::vector<RingJob> jobs;
    std::vector<Change> changes;

    std::size_t link_count() const {
        return static_cast<std::size_t>(2 * (hosts + (hosts + per_leaf - 1) / per_leaf));
    }
    std::vector<LinkId> route(std::int32_t from, std::int32_t to) const {
        const std::int32_t up = from / per_leaf;
        const std::int32_t down = to / per_leaf;
        std::vector<LinkId> links{LinkId(2 * from)};
        if (up != down) {
            links.push_back(LinkId(2 * (hosts + up)));
            links.push_back(LinkId(2 * (hosts + down) + 1));
        }
        links.push_back(LinkId(2 * to + 1));
        return links;
    }
};

// As transfers: ring r has chunks r n to (r + 1) n - 1 and channel r.
kernels::Schedule schedule_of(const RingJob& job) {
    const auto ranks = static_cast<std::int32_t>(job.orders.front().size());
    const auto rings = static_cast<std::int32_t>(job.orders.size());
    kernels::Schedule schedule{"rings", ranks, ranks * rings, {}};
    const std::vector<std::int32_t>& first = job.orders.front();
    for (std::int32_t step = 0; step < 2 * (ranks - 1); ++step) {
        for (std::int32_t ring = 0; ring < rings; ++ring) {
            const std::vector<std::int32_t>& order = job.orders[static_cast<std::size_t>(ring)];
            const auto rank_at = [&](std::int32_t place) {
                const std::int32_t host = order[static_cast<std::size_t>(place % ranks)];
                return static_cast<std::int32_t>(std::ranges::find(first, host) - first.begin());
            };
            for (std::int32_t place = 0; place < ranks; ++place) {
                const std::int32_t chunk = ring * ranks + (place - step + 2 * ranks) % ranks;
                schedule.transfers.push_back(
                    {rank_at(place), rank_at(place + 1), chunk, 1, step,
                     step < ranks - 1 ? kernels::TransferKind::reduce : kernels::TransferKind::copy,
                     static_cast<std::uint8_t>(ring)});
            }
        }
    }
    return schedule;
}

PhasedCollective phases_of_rings(const RingJob& job) {
    const std::vector<std::int32_t>& first = job.orders.front();
    const std::size_t ranks = first.size();
    CollectivePhase phase{{},
                          2 * static_cast<std::int64_t>(ranks - 1),
                          1.0 / static_cast<double>(ranks * job.orders.size())};
    for (const std::vector<std::int32_t>& order : job.orders) {
        const std::size_t begin = phase.edges.size();
        for (std::size_t place = 0; place < ranks; ++place) {
            const auto rank_at = [&](std::size_t at) {
                return static_cast<std::int32_t>(std::ranges::find(first, order[at % ranks]) -
                                                 first.begin());
            };
            phase.edges.push_back({rank_at(place), rank_at(place + 1)});
            phase.before.push_back(static_cast<std::uint32_t>(begin + (place + ranks - 1) % ranks));
        }
    }
    return {"rings", static_cast<std::int32_t>(ranks), {phase}};
}

struct Played {
    std::vector<Instant> ends;
    std::vector<bool> exact;
    std::uint64_t flows = 0;
};

enum class Way : std::uint8_t { transfers, rings, rings_if_alone };

Played play(const LeafWorld& world, Way way, std::int32_t window = 0) {
    FlowNetwork network;
    CollectiveRuns runs(network);
    for (std::size_t link = 0; link < world.link_count(); ++link) {
        network.add_link(link < static_cast<std::size_t>(2 * world.hosts) ? world.host
                                                                          : world.leaf);
    }
    for (const Change& change : world.changes) {
        network.plan_bandwidth(change.at, change.link, change.bandwidth);
    }
    for (const RingJob& job : world.jobs) {
        std::vector<LinkId> links;
        const Router router = [&](std::int32_t from, std::int32_t to) {
            links = world.route(job.orders[0][static_cast<std::size_t>(from)],
                                job.orders[0][static_cast<std::size_t>(to)]);
            return whole_hops(links);
        };
        if (way == Way::transfers) {
            const auto graph = std::make_shared<const TransferGraph>(
                schedule_of(job), TransferGraph::Order::data, window);
            const auto routes =
                std::make_shared<const std::vector<RouteId>>(runs.routes_of(*graph, router));
            runs.start(graph, routes, job.bytes, job.at);
        } else {
            runs.start(runs.plan_of(phases_of_rings(job), router), job.bytes, job.at,
                       way == Way::rings ? RingPlay::exact : RingPlay::exact_if_alone, window);
        }
    }
    Played played{std::vector<Instant>(world.jobs.size()), std::vector<bool>(world.jobs.size()), 0};
    for (;;) {
        const auto event = runs.run_until(network.next_at());
        REQUIRE(network.fault() == "");
        if (!event && network.next_at() == Instant::never()) break;
        if (!event || event->kind != NetworkEvent::Kind::run_finished) continue;
        played.ends[event->number] = event->at;
        played.exact[event->number] = event->exact;
    }
    played.flows = runs.flow_count();
    return played;
}

Bytes cut_evenly(RandomStream& random, std::size_t parts) {
    return bytes(static_cast<std::int64_t>(parts) * random.integer(1, 300'000));
}

LeafWorld random_world(RandomStream& random, std::int64_t rings_max) {
    LeafWorld world;
    world.hosts = static_cast<std::int32_t>(random.integer(3, 20));
    world.per_leaf = static_cast<std::int32_t>(random.integer(2, 8));
    world.host.latency = nanoseconds(random.integer(0, 3) * 700);
    world.leaf.latency = nanoseconds(random.integer(0, 1) * 900);
    world.leaf.bandwidth =
        BytesPerSecond::of(host_rate * static_cast<double>(random.integer(1, 8)) / 2);
    for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
        RingJob job;
        std::vector<std::int32_t> hosts(static_cast<std::size_t>(world.hosts));
        std::iota(hosts.begin(), hosts.end(), 0);
        const auto shuffle = [&] {
            for (std::size_t k = hosts.size(); k > 1; --k) {
                std::swap(hosts[k - 1], hosts[static_cast<std::size_t>(
                                            random.integer(0, static_cast<std::int64_t>(k) - 1))]);
            }
        };
        if (random.chance(0.5)) shuffle();
        hosts.resize(static_cast<std::size_t>(random.integer(2, world.hosts)));
        for (std::int64_t rings = random.integer(1, rings_max); rings > 0; --rings) {
            job.orders.push_back(hosts);
            if (random.chance(0.7)) shuffle();
        }
        job.bytes = cut_evenly(random, hosts.size() * job.orders.size());
        if (random.chance(0.5)) job.at = Instant::at(nanoseconds(random.integer(0, 300'000)));
        world.jobs.push_back(job);
    }
    const auto links = static_cast<std::int64_t>(world.link_count());
    for (std::int64_t i = random.chance(0.5) ? random.integer(1, 12) : 0; i > 0; --i) {
        const auto link = static_cast<LinkId>(random.integer(0, links - 1));
        const auto at_ns = random.integer(0, 2'000'000);
        const double part = random.chance(0.1) ? 0 : 0.1 + 0.9 * random.uniform();
        world.changes.push_back(
            {Instant::at(nanoseconds(at_ns)), link, BytesPerSecond::of(host_rate * part)});
        if (part > 0) continue;  // down, but not for ever
        world.changes.push_back({Instant::at(nanoseconds(at_ns + random.integer(0, 900'000))), link,
                                 BytesPerSecond::of(host_rate / 2)});
    }
    return world;
}

void expect_equal(const Played& a, const Played& b) {
    for (std::size_t job = 0; job < a.ends.size(); ++job) {
        CAPTURE(job, a.ends[job].raw(), b.ends[job].raw());
        CHECK(std::abs(a.ends[job].raw() - b.ends[job].raw()) <= 2);
        CHECK(b.exact[job]);
    }
}

LeafWorld star(std::int32_t hosts) {
    LeafWorld world;
    world.hosts = world.per_leaf = hosts;
    std::vector<std::int32_t> all(static_cast<std::size_t>(hosts));
    std::iota(all.begin(), all.end(), 0);
    world.jobs = {{{all}, bytes(std::int64_t{hosts} * 100'000), {}}};
    return world;
}

}  // namespace

TEST_CASE("exact rings: equal to every transfer in random worlds", "[network][property]") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/exact_rings");
        const LeafWorld world = random_world(random, 1);
        expect_equal(play(world, Way::transfers), play(world, Way::rings));
    }
}

TEST_CASE("exact rings: several over the same hosts are equal to every transfer",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/exact_rings/several");
        const LeafWorld world = random_world(random, 4);
        expect_equal(play(world, Way::transfers), play(world, Way::rings));
    }
}

TEST_CASE("exact rings: a window holds a sender back as it does in a schedule",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        RandomStream random(seed, "test/exact_rings/window");
        const LeafWorld world = random_world(random, 1);
        for (const std::int32_t window : {1, 2, 5}) {
            CAPTURE(seed, window);
            expect_equal(play(world, Way::transfers, window), play(world, Way::rings, window));
        }
    }
}

TEST_CASE("exact rings: alone they take no flow, whatever links do", "[network]") {
    LeafWorld world = star(64);
    const Duration alone = play(world, Way::rings).ends[0].since_start();
    CHECK(alone == 126 * (nanoseconds(2'000) + nanoseconds(8'000)));
    CHECK(play(world, Way::rings).flows == 0);
    // Link 6 at half its rate from a round's middle on: 8 us more a round, but for the first four
    // and a half.
    world.changes = {
        {Instant::at(nanoseconds(46'000)), LinkId{6}, BytesPerSecond::of(host_rate / 2)}};
    const Played slowed = play(world, Way::rings);
    CHECK(slowed.flows == 0);
    CHECK(slowed.ends[0].since_start() == alone + nanoseconds(4'000) + 121 * nanoseconds(8'000));
    expect_equal(play(world, Way::transfers), slowed);
    CHECK(play(world, Way::rings_if_alone).exact[0]);
}

TEST_CASE("exact rings: what crosses their links makes flows of them", "[network]") {
    LeafWorld world = star(16);
    world.jobs.push_back({{{3, 9, 5}}, bytes(300'000), Instant::at(nanoseconds(77'777))});
    const Played rings = play(world, Way::rings);
    CHECK(rings.flows > 0);
    expect_equal(play(world, Way::transfers), rings);
    const Played fluid = play(world, Way::rings_if_alone);
    CHECK_FALSE(fluid.exact[0]);
    CHECK_FALSE(fluid.exact[1]);
}

TEST_CASE("exact rings: one that is called off leaves its links to others", "[network]") {
    FlowNetwork network;
    CollectiveRuns runs(network);
    const LeafWorld world = star(4);
    for (std::size_t link = 0; link < world.link_count(); ++link) network.add_link(world.host);
    std::vector<LinkId> links;
    const Router router = [&](std::int32_t from, std::int32_t to) {
        links = world.route(from, to);
        return whole_hops(links);
    };
    const auto plan = runs.plan_of(phases_of_rings(world.jobs[0]), router);
    const RunId first = runs.start(plan, bytes(400'000), {}, RingPlay::exact);
    CHECK_FALSE(runs.run_until(Instant::at(nanoseconds(15'000))).has_value());
    runs.cancel(first);
    runs.start(plan, bytes(400'000), Instant::at(nanoseconds(20'000)), RingPlay::exact);
    const auto end = runs.run_until(Instant::never());
    REQUIRE(end.has_value());
    CHECK(end->at == Instant::at(nanoseconds(20'000 + 6 * 10'000)));
    CHECK(runs.flow_count() == 0);
    CHECK_FALSE(runs.run_until(Instant::never()).has_value());
}

TEST_CASE("exact rings: nothing to send is over at once", "[network]") {
    LeafWorld world = star(4);
    world.jobs[0].bytes = {};
    world.jobs[0].at = Instant::at(nanoseconds(5));
    CHECK(play(world, Way::rings).ends[0] == Instant::at(nanoseconds(5)));
}
