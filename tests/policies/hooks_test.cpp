// hooks_test.cpp — a hook that a world never calls is refused, not forgotten.
#include <catch2/catch.hpp>

#include "policies/controller.hpp"

namespace ukemi {

namespace {

class AfterEachStep final : public Policy {
public:
    std::string_view name() const override { return "after_each_step"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override { return {Hook::after_step}; }
};

}  // namespace

TEST_CASE("policy conflict: a hook that the world never calls is refused by name", "[controller]") {
    std::vector<std::unique_ptr<Policy>> policies;
    policies.push_back(std::make_unique<AfterEachStep>());
    Capabilities can;
    can.world = "simulated market";
    can.knobs = {Knob::batch};
    CHECK(policy_conflict(policies, can).empty());
    can.hooks = {Hook::before_train, Hook::on_event};
    CHECK(policy_conflict(policies, can) ==
          "policy \"after_each_step\" has the hook \"after_step\", which the simulated market "
          "never calls");
}

TEST_CASE("refusal: two lines for one zone, type and market are refused", "[controller]") {
    Capabilities can;
    can.instances_max = 8;
    Plan plan;
    plan.fleet = {{ZoneId{0}, 0, Market::spot, 1, Price{}},
                  {ZoneId{0}, 0, Market::spot, 2, Price{}}};
    CHECK(refusal(can, plan) == "two lines for one market of zone 0");
    plan.fleet[1].market = Market::on_demand;
    CHECK(refusal(can, plan).empty());
}

}  // namespace ukemi
