// situation.hpp — a job as a policy sees it, made by hand: no world, no clock, no market.
//
// Its work is a fluid: a sample is a nanosecond of training on one machine, so that samples are
// written as times. The default is the one of «Can't Be Late»: C(0) = 48 h of work, R(0) = 52 h to
// the deadline and a changeover of d = 0.1 h; nothing is held and no spot is to be had.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "policies/job_profile.hpp"
#include "policies/registry.hpp"
#include "tests/support/profile_predictor.hpp"

namespace ukemi {

inline std::unique_ptr<policies::Policy> policy_named(std::string_view name,
                                                      std::string_view parameters = "{}") {
    const policies::PolicyEntry* entry = policies::find_policy(name);
    INVARIANT(entry != nullptr);
    ConfigReader reader = ConfigReader::from_text(parameters, "test.json");
    return policies::make_policy(*entry, reader);
}

struct Situation {
    policies::JobProfile profile;
    policies::Plan plan;
    policies::Observation seen;
    const policies::Oracle* oracle = nullptr;
    RandomStream random{1, "policy/test"};

    Situation() {
        profile.throughput.push_back({1, {1, nanoseconds(1)}});
        profile.restart = minutes(6);
        plan.fleet.push_back({ZoneId{0}, 0, policies::Market::spot, 1, {}});
        seen.samples_total = hours(48).raw();
        seen.deadline = Instant::at(hours(52));
        seen.zones.push_back({ZoneId{0}, 0, Price::of(1'000'000'000), 0, 0, 0});
    }

    // The clock shows `now`, and this much work is done and safe.
    Situation& at(Duration now, Duration done = {}) {
        seen.now = Instant::at(now);
        seen.samples_done = done.raw();
        seen.samples_safe = done.raw();
        return *this;
    }
    Situation& spot(std::int32_t capacity) {
        seen.spot_capacity = capacity;
        seen.zones.front().spot_capacity = capacity;
        return *this;
    }
    Situation& hold(policies::Market market) {
        seen.spot_held = market == policies::Market::spot ? seen.workers_min : 0;
        seen.on_demand_held = market == policies::Market::on_demand ? seen.workers_min : 0;
        seen.workers = market == policies::Market::none ? 0 : plan.workers_max;
        return *this;
    }
    // Still starting on what it holds.
    Situation& starting() {
        seen.transition_remaining = minutes(1);
        seen.workers = 0;
        return *this;
    }

    policies::Decision ask(policies::Policy& policy,
                           policies::EventKind kind = policies::EventKind::clock) {
        const auto predictor = test::make_profile_predictor(profile);
        return policy.on_event(kind, {seen, plan, *predictor, oracle, random});
    }
    policies::Decision ask_before_train(policies::Policy& policy) {
        const auto predictor = test::make_profile_predictor(profile);
        return policy.before_train({seen, plan, *predictor, oracle, random});
    }
    // What an on_event question about the market is answered.
    policies::Market market(policies::Policy& policy) {
        const policies::Decision decision = ask(policy);
        INVARIANT(decision.market.has_value());
        return *decision.market;
    }
};

}  // namespace ukemi

namespace Catch {

template <>
struct StringMaker<ukemi::policies::Market> {
    static std::string convert(ukemi::policies::Market market) {
        return std::string(ukemi::policies::name_of(market));
    }
};
template <>
struct StringMaker<ukemi::Duration> {
    static std::string convert(ukemi::Duration d) { return std::to_string(d.raw()) + " ns"; }
};

}  // namespace Catch
