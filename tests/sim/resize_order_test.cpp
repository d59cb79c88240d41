// resize_order_test.cpp — who leaves a group that shrinks, and where those stand who join it.
//
// KungFu's rule (srcs/go/plan/cluster.go; RUNTIME §1.5): a group that shrinks loses the tail of its
// ordered list, and the first is never removed. Here newcomers rank behind those that have the
// model, so that the first keeps it, too; in which zone machines are added is spread_zones' to say.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"
#include "tests/sim/telling_trainer.hpp"

namespace ukemi {

namespace {

using Ranks = std::vector<std::uint32_t>;

struct Groups {
    std::vector<Ranks> ranks;  // the ids of the members of each group that forms, by rank
    Duration redone;
};

Groups groups_of(std::string_view schedule, std::vector<InstanceId> failing = {}) {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 9}}, hours(99)), price(1))});
    sim::JobSpec spec = job(hours(1), 1, 4);
    spec.samples_total = 60;
    spec.profile.throughput = {{1, {1, whole_seconds(10)}}};
    spec.profile.lossless = false;
    spec.instances_max = 6;
    spec.transition = sim::TransitionCosts{};
    for (std::size_t change = 0; change < sim::group_change_count; ++change) {
        spec.transition->changes[change].warm_up = {{1, marked_warm_up(whole_seconds(1), change)}};
    }
    std::vector<Moment> moments;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.capabilities = sim::simulated_capabilities(data, spec);
    world_setup.make_trainer = [&](policies::Controller& controller, records::Ledger& ledger,
                                   sim::RunQueue& queue) {
        for (const InstanceId id : failing) {
            queue.schedule(at(whole_seconds(15)), sim::Phase::environment, sim::WorkerFailed{id});
        }
        return std::make_unique<TellingTrainer>(
            std::make_unique<sim::Training>(spec, controller, ledger, queue, 1), moments);
    };
    world_setup.policies.push_back(
        policy("scheduled_resize", fmt::format(R"({{"schedule": "{}"}})", schedule)));
    sim::World world(std::move(world_setup));
    const records::RunResult result = world.run();
    CHECK(result.finished);
    Groups groups;
    groups.redone = result.causes.time_of(records::Cause::redone);
    for (const Moment& one : moments) {
        Ranks& ranks = groups.ranks.emplace_back();
        for (const InstanceId id : one.who) ranks.push_back(index_of(id));
    }
    return groups;
}

}  // namespace

TEST_CASE("resize order: the tail leaves, and newcomers rank behind those that have the model",
          "[resize]") {
    CHECK(groups_of("4:10,2:10,5:10").ranks ==
          std::vector<Ranks>{{0, 1, 2, 3}, {0, 1}, {0, 1, 4, 5, 6}});
    CHECK(groups_of("1:5,2:5,3:5").ranks == std::vector<Ranks>{{0}, {0, 1}, {0, 1, 2}});
}

TEST_CASE("resize order: with nobody left who has the model, the work begins anew", "[resize]") {
    // KungFu logs that state will be lost, and goes on; here the work is redone.
    const Groups groups = groups_of("2:100", {InstanceId{0}, InstanceId{1}});
    CHECK(groups.ranks == std::vector<Ranks>{{0, 1}, {2, 3}});
    CHECK(groups.redone > Duration{});
    CHECK(groups_of("2:100").redone == Duration{});
}

}  // namespace ukemi
