// fluid_test.cpp — how far the fluid fidelity is from the exact one.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "sim/network/collective_runs.hpp"
#include "tests/support/reference_scenarios.hpp"
#include "tests/support/whole_hops.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

// The greatest relative difference of a job's end.
double difference(const ReferenceScenario& scenario, Fidelity fidelity = Fidelity::fluid) {
    const ReferenceResult exact = run_reference(scenario, false);
    const ReferenceResult fluid = run_reference(scenario, true, fidelity);
    CHECK(fluid.fault == "");
    REQUIRE(exact.job_ends.size() == fluid.job_ends.size());
    double most = 0;
    for (std::size_t job = 0; job < exact.job_ends.size(); ++job) {
        const double expected = to_seconds(exact.job_ends[job].since_start());
        REQUIRE(expected > 0);
        most =
            std::max(most, std::abs(to_seconds(fluid.job_ends[job].since_start()) / expected - 1));
    }
    return most;
}

bool changes_contention(std::string_view name) {
    return name.ends_with("-late") || name.ends_with("-degrade") || name.ends_with("-demo");
}

}  // namespace

TEST_CASE("fluid: within 0.1 % of exact while contention does not change", "[network][golden]") {
    for (const std::string_view name : reference_scenario_names()) {
        if (changes_contention(name) || name.ends_with("dbtree")) continue;
        for (const std::int32_t hosts : {8, 64, 256}) {
            CAPTURE(std::string(name), hosts);
            CHECK(difference(reference_scenario(name, hosts)) < 0.001);
            CHECK(difference(reference_scenario(name, hosts), Fidelity::coupled) < 0.001);
        }
    }
    CHECK(difference(reference_scenario("tree-ring-strided", 1024)) < 0.001);
    CHECK(difference(reference_scenario("star-hd", 1024)) < 0.001);
}

TEST_CASE("fluid: within 1 % of exact when contention changes in the middle", "[network][golden]") {
    for (const char* name : {"tree-2rings-late", "tree-ring-degrade"}) {
        for (const std::int32_t hosts : {8, 64, 256}) {
            CAPTURE(name, hosts);
            CHECK(difference(reference_scenario(name, hosts)) < 0.01);
            CHECK(difference(reference_scenario(name, hosts), Fidelity::coupled) < 0.01);
        }
    }
}

TEST_CASE("fluid: links that all change, again and again, leave it within 1 % of exact",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/fluid");
        const std::array names = {"star-ring", "tree-ring-strided", "dgx-ring",
                                  "tree-2rings-strided", "star-hd"};
        const auto which = static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(names.size()) - 1));
        CAPTURE(names[which]);
        ReferenceScenario scenario = reference_scenario(names[which], 64);
        const std::vector<LinkRate> links = scenario.topology.links();
        for (int change = 0; change < 20; ++change) {
            const Instant at = Instant::at(nanoseconds(random.integer(0, 40'000'000)));
            const double part = 0.2 + 0.8 * random.uniform();
            for (std::size_t link = 0; link < links.size(); ++link) {
                scenario.changes.push_back(
                    {at, static_cast<LinkId>(link),
                     BytesPerSecond::of(links[link].bandwidth.raw() * part)});
            }
        }
        CHECK(difference(scenario) < 0.01);
    }
}

namespace {

// Ten times in the run another link gets another bandwidth, `least` of its own or more.
ReferenceScenario moving_bottleneck(const char* name, std::uint64_t seed, std::int32_t hosts,
                                    double least) {
    RandomStream random(seed, "test/fluid/moving");
    ReferenceScenario scenario = reference_scenario(name, hosts);
    const std::vector<LinkRate> links = scenario.topology.links();
    for (int change = 0; change < 10; ++change) {
        const auto link = static_cast<std::size_t>(
            random.integer(0, static_cast<std::int64_t>(links.size()) - 1));
        const double part = least + (1 - least) * random.uniform();
        scenario.changes.push_back({Instant::at(nanoseconds(random.integer(0, 40'000'000))),
                                    static_cast<LinkId>(link),
                                    BytesPerSecond::of(links[link].bandwidth.raw() * part)});
    }
    return scenario;
}

}  // namespace

TEST_CASE("fluid: a bottleneck that moves leaves a ring within 1 % of exact",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        for (const char* name : {"star-ring", "tree-ring", "tree-ring-strided", "dgx-ring"}) {
            CAPTURE(name);
            CHECK(difference(moving_bottleneck(name, seed, 64, 0.2)) < 0.01);
        }
    }
    CHECK(difference(moving_bottleneck("tree-ring", 1, 256, 0.2)) < 0.01);
}

// Which ring runs ahead when decides who gets what they share, and a flow does not know that an
// edge behind a slow one sends in bursts. In 40 seeds (10 for 256 hosts) the mean difference was at
// most 1.9, 0.9 and 0.7 %, the greatest 11.5, 9.6 and 2.5 %.
TEST_CASE(
    "fluid: two rings and a bottleneck that moves stay within 12 % of exact, and nearer the "
    "more they are",
    "[network][property]") {
    const auto [hosts, mean, most] = GENERATE(table<std::int32_t, double, double>(
        {{8, 0.025, 0.12}, {64, 0.02, 0.1}, {256, 0.01, 0.03}}));
    for (const char* name : {"tree-2rings", "tree-2rings-samehosts"}) {
        double sum = 0;
        const std::uint64_t seeds = hosts == 8 ? 40 : hosts == 64 ? 10 : 4;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
            CAPTURE(name, hosts, seed);
            const double off = difference(moving_bottleneck(name, seed, hosts, 0.2));
            CHECK(off < most);
            sum += off;
        }
        CHECK(sum / static_cast<double>(seeds) < mean);
    }
}

// Edges that are coupled do not run ahead of a slow one.
TEST_CASE("fluid: coupled rings are slower than exact when the bottleneck moves, never faster",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        const ReferenceScenario scenario = moving_bottleneck("star-ring", seed, 64, 0.2);
        const double exact = to_seconds(run_reference(scenario, false).job_ends[0].since_start());
        const double coupled =
            to_seconds(run_reference(scenario, false, Fidelity::coupled).job_ends[0].since_start());
        CHECK(coupled > exact * 0.999);
        CHECK(coupled < exact * 2);
    }
}

TEST_CASE("fluid: a ring with one slow edge runs ahead of it at the cost of others", "[network]") {
    for (const std::int32_t hosts : {8, 64, 256}) {
        CAPTURE(hosts);
        ReferenceScenario scenario = reference_scenario("star-ring", 1024);
        const ReferenceJob first = reference_scenario("star-ring", hosts).jobs[0];
        ReferenceJob second = first;
        for (std::int32_t& host : second.host_of_rank) host += hosts / 2;
        scenario.jobs = {first};
        scenario.changes = {{Instant(), LinkId{0}, BytesPerSecond::of(12.5e9 / 4)}};
        CHECK(difference(scenario) < 0.001);
        CHECK(difference(scenario, Fidelity::coupled) < 0.001);
        scenario.jobs.push_back(second);
        // Where in its round the first ring is when the second ends may be half a round of 14.
        CHECK(difference(scenario) < (hosts == 8 ? 0.5 / 14 : 0.005));
        CHECK(difference(scenario, Fidelity::coupled) > 0.1);  // what the coupled flow cannot know
    }
}

TEST_CASE("fluid: the phases of a collective are those of its schedule", "[network][property]") {
    for (const Collective algorithm :
         {Collective::ring, Collective::halving_doubling, Collective::hierarchical}) {
        for (std::int32_t ranks = 1; ranks <= 24; ++ranks) {
            for (const std::int32_t per_host : {1, 2, 3, 8}) {
                if (!schedule_refusal(algorithm, ranks, per_host).empty()) continue;
                const PhasedCollective direct = phased_all_reduce(algorithm, ranks, per_host);
                const PhasedCollective folded =
                    phases_of(all_reduce_schedule(algorithm, ranks, per_host));
                CAPTURE(direct.name, ranks, per_host);
                CHECK(direct.name == folded.name);
                REQUIRE(direct.phases.size() == folded.phases.size());
                for (std::size_t i = 0; i < direct.phases.size(); ++i) {
                    const CollectivePhase& a = direct.phases[i];
                    const CollectivePhase& b = folded.phases[i];
                    CHECK(a.rounds == b.rounds);
                    CHECK(a.share == Approx(b.share));
                    REQUIRE(a.edges.size() == b.edges.size());
                    for (std::size_t e = 0; e < a.edges.size(); ++e) {
                        CHECK(a.edges[e].from == b.edges[e].from);
                        CHECK(a.edges[e].to == b.edges[e].to);
                    }
                }
            }
        }
    }
}

TEST_CASE("fluid: exact and fluid collectives share links", "[network]") {
    const ReferenceScenario scenario = reference_scenario("tree-2rings-strided", 8);
    const ReferenceResult exact = run_reference(scenario, false);
    FlowNetwork network;
    CollectiveRuns runs(network);
    for (const LinkRate& link : scenario.topology.links()) network.add_link(link);
    for (std::size_t job = 0; job < 2; ++job) {
        const ReferenceJob& what = scenario.jobs[job];
        std::vector<LinkId> links;
        const Router router = [&](std::int32_t from, std::int32_t to) {
            links = scenario.topology.route(what.host_of_rank[static_cast<std::size_t>(from)],
                                            what.host_of_rank[static_cast<std::size_t>(to)]);
            return whole_hops(links);
        };
        if (job == 0) {
            runs.start(runs.plan_of(phases_of(what.schedule), router), what.bytes, what.start);
            continue;
        }
        const auto graph = std::make_shared<const TransferGraph>(what.schedule);
        runs.start(graph,
                   std::make_shared<const std::vector<RouteId>>(runs.routes_of(*graph, router)),
                   what.bytes, what.start);
    }
    for (int job = 0; job < 2; ++job) {
        const auto event = runs.run_until(Instant::never());
        REQUIRE(event.has_value());
        CHECK(to_seconds(event->at.since_start()) ==
              Approx(to_seconds(exact.job_ends[0].since_start())).epsilon(0.001));
    }
}

TEST_CASE("fluid: what does not move in step is refused", "[network]") {
    CHECK_THROWS_WITH(
        phased_all_reduce(Collective::double_binary_tree, 8),
        "network: double_binary_tree is a pipeline: its ranks do not move in step, as "
        "the fluid fidelity supposes");
    CHECK_THROWS_WITH(phased_all_reduce(Collective::hierarchical, 9, 2),
                      "network: the collective \"hierarchical\" needs full hosts: 9 ranks, 2 on "
                      "each");
    constexpr auto copy = TransferKind::copy;
    CHECK_THROWS_WITH(
        phases_of({"odd", 3, 2, {{0, 1, 0, 1, 0, copy}, {1, 2, 0, 2, 0, copy}}}),
        "network: odd does not move in step: in step 0 some send 1 chunks and some 2");
    FlowNetwork network;
    CollectiveRuns runs(network);
    const PhasedCollective ring = phased_all_reduce(Collective::ring, 3);
    const Router nowhere = [](std::int32_t, std::int32_t) { return std::span<const Hop>(); };
    CHECK_THROWS_WITH(runs.plan_of(ring, nowhere),
                      "network: there is no path from rank 0 to rank 1");
}

TEST_CASE("fluid: a hundred thousand ranks in one ring take the closed form", "[network]") {
    constexpr std::int32_t ranks = 100'000;
    FlowNetwork network;
    CollectiveRuns runs(network);
    for (std::int32_t i = 0; i < 2 * ranks; ++i) {
        network.add_link({BytesPerSecond::of(1e9), nanoseconds(1000)});
    }
    std::array<LinkId, 2> links{};
    const Router router = [&](std::int32_t from, std::int32_t to) {
        links = {static_cast<LinkId>(2 * from), static_cast<LinkId>(2 * to + 1)};
        return whole_hops(links);
    };
    const auto plan = runs.plan_of(phased_all_reduce(Collective::ring, ranks), router);
    runs.start(plan, Bytes::of(100'000'000), {});
    const auto event = runs.run_until(Instant::never());
    REQUIRE(event.has_value());
    // 2(n−1) rounds of 1000 B at 1 B/ns and 2 µs.
    CHECK(std::abs(event->at.raw() - 2LL * (ranks - 1) * 3000) <= 10);
}
