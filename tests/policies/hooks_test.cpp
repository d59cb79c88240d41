// hooks_test.cpp — a hook that a world never calls is refused, not forgotten.
#include <catch2/catch.hpp>

#include "policies/controller.hpp"

namespace ukemi {

namespace {

class AfterEachStep final : public policies::Policy {
public:
    std::string_view name() const override { return "after_each_step"; }
    policies::KnobSet knobs() const override { return {policies::Knob::batch}; }
    policies::HookSet hooks() const override { return {policies::Hook::after_step}; }
};

}  // namespace

TEST_CASE("policy conflict: a hook that the world never calls is refused by name", "[controller]") {
    std::vector<std::unique_ptr<policies::Policy>> policies;
    policies.push_back(std::make_unique<AfterEachStep>());
    policies::Capabilities can;
    can.world = "simulated market";
    can.knobs = {policies::Knob::batch};
    CHECK(policies::policy_conflict(policies, can).empty());
    can.hooks = {policies::Hook::before_train, policies::Hook::on_event};
    CHECK(policies::policy_conflict(policies, can) ==
          "policy \"after_each_step\" has the hook \"after_step\", which the simulated market "
          "never calls");
}

TEST_CASE("refusal: two lines for one zone, type and market are refused", "[controller]") {
    policies::Capabilities can;
    can.instances_max = 8;
    policies::Plan plan;
    plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 1, Price{}},
                  {ZoneId{0}, 0, policies::Market::spot, 2, Price{}}};
    CHECK(policies::refusal(can, plan) == "two lines for one market of zone 0");
    plan.fleet[1].market = policies::Market::on_demand;
    CHECK(policies::refusal(can, plan).empty());
}

}  // namespace ukemi
