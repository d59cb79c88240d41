// optimum.hpp — what a job would have cost somebody who knew the market beforehand.
//
// Of all the ways to hold machines on a market so that a job is done by its deadline (without one:
// before its run gives up), the cost of the cheapest, by the rules by which a World charges and
// stops them: provisioning, the worker's start, restart and restore after every stay, saving before
// its end, losses at the recorded falls of capacity, moves between regions. No policy can pay less
// and be in time.
//
// It is exact for a job on one machine whose work is given as time, under the rules of today (no
// bids, no free first hour, no age limit, no clock). Anywhere else it is a lower bound and called
// one, because something is granted: to a gang of several, that one machine that stays keeps the
// state, that spot and on-demand may be mixed and zones changed at no cost; to an elastic fleet,
// also that it changes size at no cost once it trains; everywhere, that bills are not rounded up
// and that a step may be ended anywhere.
#pragma once

#include <string_view>

#include "base/quantity.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/market/market.hpp"

namespace ukemi::scenarios {

enum class OptimumKind : std::uint8_t {
    exact,       // some schedule costs this, to a micro-dollar
    bound,       // no schedule costs less
    impossible,  // nothing is in time, not even on demand from the first moment on
    unknown,     // how much work there is depends on what policies turn
};
std::string_view name_of(OptimumKind kind);

struct Optimum {
    OptimumKind kind = OptimumKind::unknown;
    Dollars cost;  // if exact or bound
    bool known() const { return kind == OptimumKind::exact || kind == OptimumKind::bound; }
};

// The market must be prepared; the job is job_on(…) of it.
Optimum optimum_of(const sim::MarketData& market, const sim::JobSpec& job);

}  // namespace ukemi::scenarios
