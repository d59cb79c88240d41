// network_faults_test.cpp — workers on hosts whose network is slow, late and lossy, and whose
// clocks are wrong.
#include <catch2/catch.hpp>

#include "tests/cli/switched_rig.hpp"

namespace ukemi {

using namespace std::chrono_literals;

TEST_CASE(
    "networked hosts: over ways that are late, narrow and lossy eight workers learn bit for bit "
    "what they do at home",
    "[cli][live]") {
    SwitchedRig rig(4, 10 * 64, 8, 8);
    if (is_skipped(rig)) return;
    rig.hosts.set_ways({.delay = 2ms, .bytes_per_second = 5'000'000, .lost = 0.005});
    const auto run = rig.train_on("1:2,2:2,3:2,4:2", "away");
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK(rig.hosts.delivered(1, 2) > 0);
    const bool same = rig.weights("away") == rig.weights_at_home();
    CHECK(same);
    CHECK(rig.hosts.nobody_is_left());
}

TEST_CASE("networked hosts: clocks that are wrong by a day either way change nothing",
          "[cli][live]") {
    SwitchedRig rig(2, 20 * 32, 4, 4);
    if (is_skipped(rig)) return;
    const auto run = rig.train_by_agents("away");
    const auto slow = rig.agent(1, -86'400);
    const auto fast = rig.agent(2, 86'400);
    const Ran away = run->wait();
    INFO(away.err);
    REQUIRE(away.code == 0);
    CHECK(slow->wait().code == 0);
    CHECK(fast->wait().code == 0);
    const bool same = rig.weights("away") == rig.weights_at_home();
    CHECK(same);
}

}  // namespace ukemi
