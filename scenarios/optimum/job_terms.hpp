// job_terms.hpp — what of a job and a market bounds what the job can cost.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/job_profile.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/market/market.hpp"

namespace ukemi::scenarios {

// What changes of the group take, in nanoseconds.
struct Changes {
    std::int64_t start = 0;    // nobody holds the state
    std::int64_t survive = 0;  // somebody does
    std::int64_t restore = 0;  // beside a start, once something was saved
    std::int64_t save = 0;
    std::int64_t spawn = 0;
};
// The least, over the sizes that a group may have.
Changes changes_of(const sim::JobSpec& job);

std::int32_t most_machines(const sim::JobSpec& job);  // that a Plan may ask for

// Steps as fast as any Plan can have them; without what they wait for. Empty where how much work
// there is depends on what policies turn.
std::optional<policies::JobProfile> fastest_profile(const sim::JobSpec& job);

// Of what the market promises, per mille; and of the job's profile.
std::int32_t fastest_machine(const sim::MarketRules& rules);
std::int32_t fastest_zone(const sim::MarketData& market);

}  // namespace ukemi::scenarios
