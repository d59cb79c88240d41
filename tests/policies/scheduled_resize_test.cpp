// scheduled_resize_test.cpp — KungFu's "size:steps" lists.
#include "tests/policies/scripted_policy.hpp"
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("scheduled_resize: each size holds for its steps, the last until the end",
          "[scheduled_resize]") {
    ScriptedController driven;
    driven.setup.policies.push_back(
        policy_named("scheduled_resize",
                     GENERATE(R"({"schedule": "2:3,4:2,1:1"})", R"({"schedule": "2:3/4:2/1:1"})")));
    driven.setup.plan.fleet.resize(1);
    Controller& controller = driven.controller();
    std::vector<std::int32_t> sizes;
    auto plan = controller.propose({Hook::before_train, EventKind::none}, driven.seen);
    REQUIRE(plan);
    controller.committed(plan->version);
    while (controller.steps_done() < 9) {
        while (const auto hook = controller.next_hook()) {
            plan = controller.propose(*hook, driven.seen);
            if (plan) controller.committed(plan->version);
        }
        sizes.push_back(controller.plan().workers_max);
        CHECK(fleet_count(controller.plan()) == sizes.back());
        controller.steps_finished(1, sizes.back());
    }
    CHECK(sizes == std::vector<std::int32_t>{2, 2, 2, 4, 4, 1, 1, 1, 1});
    CHECK(controller.refused_count() == 0);
}

TEST_CASE("scheduled_resize: refuses what is no schedule", "[scheduled_resize]") {
    for (const std::string_view bad : {"1", "1:", ":1", "0:5", "1:0", "-1:5", "1:5,", "1:5;2:5",
                                       "1:5,,2:5", "1:5/", "99999999999:1"}) {
        CAPTURE(bad);
        CHECK_THROWS_WITH(
            policy_named("scheduled_resize", R"({"schedule": ")" + std::string(bad) + "\"}"),
            "test.json: at /schedule: expected sizes and steps as in \"1:100,2:200\"");
    }
    Situation job;
    CHECK(job.ask_before_train(*policy_named("scheduled_resize")) == Decision{});
}
