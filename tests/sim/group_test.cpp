// group_test.cpp — the rules of a group, and who of a fleet has the model, by hand.
#include "sim/job/group.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/fleet_by_hand.hpp"

namespace ukemi {

TEST_CASE("group: what a job says of its group", "[group]") {
    sim::JobSpec job;
    job.workers_min = 3;
    const sim::GroupRules plain = sim::group_rules(job);
    CHECK(plain.workers_min == 3);
    CHECK(plain.saves_first == !job.profile.lossless);
    CHECK_FALSE((plain.falls_together || plain.whole_program));
    job.profile.lossless = false;
    CHECK(sim::group_rules(job).saves_first);
    job.profile.sharded = true;
    CHECK(sim::group_rules(job).falls_together);
    CHECK_FALSE(sim::group_rules(job).whole_program);
    job.profile.sharded = false;
    job.transition = sim::TransitionCosts{};
    job.transition->saves_first = false;
    CHECK(sim::group_rules(job).saves_first);  // only a whole program may go without
    job.transition->whole_program = true;
    const sim::GroupRules whole = sim::group_rules(job);
    CHECK((whole.falls_together && whole.whole_program));
    CHECK_FALSE(whole.saves_first);
}

TEST_CASE("group: one copy of a replicated model is enough, a sharded one needs all", "[group]") {
    sim::GroupRules sharded;
    sharded.falls_together = true;
    using Fleet = std::vector<sim::Instance>;
    const Fleet one_goes{announced(member(1), minutes(5)), member(2)};
    CHECK(sim::state_held(one_goes));
    CHECK(sim::state_lost_at(one_goes, {}) == Instant::never());
    CHECK(sim::state_lost_at(one_goes, sharded) == Instant::at(minutes(5)));
    const Fleet both_go{announced(member(1), minutes(5)), announced(member(2), minutes(3)),
                        newcomer(3)};
    CHECK(sim::state_lost_at(both_go, {}) == Instant::at(minutes(3)));
    const Fleet nobody{newcomer(3), announced(newcomer(4), minutes(1))};
    CHECK_FALSE(sim::state_held(nobody));
    CHECK(sim::state_lost_at(nobody, sharded) == Instant::never());
}

TEST_CASE("group: members keep their places, and somebody brings the model", "[group]") {
    const auto ids = [](std::vector<sim::Instance> fleet, std::int32_t most) {
        std::vector<std::uint32_t> all;
        for (const sim::Instance* one : sim::next_group(fleet, most)) {
            all.push_back(index_of(one->id));
        }
        return all;
    };
    using Ids = std::vector<std::uint32_t>;
    const std::vector<sim::Instance> fleet{newcomer(1), announced(member(2), minutes(1)), member(3),
                                           asked_for(4), newcomer(5)};
    CHECK(ids(fleet, 9) == Ids{1, 2, 3, 5});
    CHECK(ids(fleet, 3) == Ids{3, 2, 1});
    CHECK(ids(fleet, 1) == Ids{3});
    // Only one that is to be lost has the model: it comes along, in the last place.
    sim::Instance empty = member(3);
    empty.has_state = false;
    CHECK(ids({announced(member(2), minutes(1)), empty}, 1) == Ids{2});
    CHECK(ids({newcomer(1), newcomer(2)}, 1) == Ids{1});
    sim::Instance detached = newcomer(1);
    detached.detached = true;
    CHECK(ids({detached, newcomer(2)}, 2) == Ids{2});
}

TEST_CASE("group: those that kept their machines take the places that are free", "[group]") {
    std::vector<sim::Instance> fleet{newcomer(1), newcomer(2), member(3), asked_for(4)};
    CHECK(sim::next_to_reattach(fleet, 9).empty());
    fleet[0].detached = fleet[1].detached = true;
    CHECK(sim::next_to_reattach(fleet, 1).empty());
    REQUIRE(sim::next_to_reattach(fleet, 2).size() == 1);
    CHECK(sim::next_to_reattach(fleet, 2)[0] == &fleet[0]);
    CHECK(sim::next_to_reattach(fleet, 3).size() == 2);
}

TEST_CASE("group: it is unsettled while somebody waits to join or to leave", "[group]") {
    const auto unsettled = [](const sim::Instance& one) {
        return sim::unsettled(std::vector{member(9), one});
    };
    CHECK_FALSE(unsettled(member(1)));
    CHECK_FALSE(unsettled(asked_for(1)));
    CHECK(unsettled(newcomer(1)));
    CHECK(unsettled(retiring(member(1))));
}

TEST_CASE("group: what a boundary asks of it", "[group]") {
    using policies::JobPhase;
    using sim::GroupOrder;
    std::vector<sim::Instance> fleet{member(1), member(2)};
    sim::GroupRules rules;
    rules.workers_min = 2;
    sim::GroupNow state{JobPhase::running, false, true};
    const auto order = [&] {
        return sim::next_order(fleet, sim::next_group(fleet, 4), rules, state);
    };
    CHECK(order() == GroupOrder::none);
    SECTION("a Plan may start the same machines anew, and a group that waits forms again") {
        state.restart_due = true;
        CHECK(order() == GroupOrder::form);
        state = {JobPhase::waiting, false, true};
        CHECK(order() == GroupOrder::form);
    }
    SECTION("too few disband, and nobody is left alone") {
        fleet.pop_back();
        CHECK(order() == GroupOrder::disband);
        fleet[0].member = false;
        CHECK(order() == GroupOrder::none);
    }
    SECTION("a change waits for the one that is under way") {
        fleet.push_back(newcomer(3));
        CHECK(order() == GroupOrder::form);
        state.phase = JobPhase::transition;
        CHECK(order() == GroupOrder::none);
    }
    SECTION("a whole program saves before it, if there is anything to save") {
        fleet.push_back(newcomer(3));
        rules.whole_program = true;
        CHECK(order() == GroupOrder::save);
        state.unsaved = false;
        CHECK(order() == GroupOrder::form);
        state.unsaved = true;
        rules.saves_first = false;
        CHECK(order() == GroupOrder::form);
        rules.saves_first = true;
        state.phase = JobPhase::waiting;
        CHECK(order() == GroupOrder::form);
    }
}

}  // namespace ukemi
