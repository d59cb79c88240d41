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

}  // namespace ukemi
