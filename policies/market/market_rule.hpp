// market_rule.hpp — what the policies have in common that choose between spot, on-demand and none.
//
// They turn one knob and look at everything: one function of the view, asked before training and
// on every event.
#pragma once

#include "policies/policy.hpp"

namespace ukemi::policies {

class MarketRule : public Policy {
public:
    KnobSet knobs() const final { return {Knob::market}; }
    HookSet hooks() const final { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) final { return choose(view); }
    Decision on_event(EventKind, const PolicyView& view) final { return choose(view); }

protected:
    virtual Decision choose(const PolicyView& view) = 0;

    static Decision buy(Market market, std::string_view reason) {
        Decision decision;
        decision.market = market;
        decision.reason = reason;
        return decision;
    }
    static bool all_done(const PolicyView& view) {
        return view.seen.samples_done >= view.seen.samples_total;
    }
};

}  // namespace ukemi::policies
