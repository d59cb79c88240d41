// use_plan_text.hpp — any text at all as a Plan for workers: read, judged and written again.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken.
#pragma once

#include <string_view>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "kernels/training_rules.hpp"
#include "policies/controller.hpp"
#include "runtime/plan_text.hpp"

namespace ukemi::runtime {

// False if it was refused.
inline bool use_plan_text(std::string_view text) {
    policies::Plan plan;
    try {
        plan = plan_from_text(text);
    } catch (const InputError&) {  // the only way to refuse
        return false;
    }
    const std::string written = plan_text(plan);
    const policies::Plan again = plan_from_text(written);
    INVARIANT(plan_text(again) == written);  // a rate that is no number is not equal to itself
    INVARIANT(plan_digest(again) == plan_digest(plan));
    // A worker counts samples only under Plans that neither refuses.
    const bool sound = policies::refusal(policies::Capabilities{}, plan).empty();
    if (sound && kernels::training_refusal(plan, 4).empty())
        INVARIANT(policies::samples_per_step(plan, 4) > 0);
    return true;
}

}  // namespace ukemi::runtime
