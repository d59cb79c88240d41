// size_policy.hpp — what policies have in common that only look at how many workers there are.
#pragma once

#include "policies/policy.hpp"

namespace ukemi::policies {

// Asked for as many workers as the first Plan may have, and again whenever the group may be of
// another size; while nobody works nothing is wished.
class SizePolicy : public Policy {
public:
    HookSet hooks() const final { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) final {
        return view.plan.workers_max < 1 ? Decision{} : for_workers(view, view.plan.workers_max);
    }
    Decision on_event(EventKind, const PolicyView& view) final {
        return view.seen.workers < 1 ? Decision{} : for_workers(view, view.seen.workers);
    }

private:
    virtual Decision for_workers(const PolicyView& view, std::int32_t workers) const = 0;
};

}  // namespace ukemi::policies
