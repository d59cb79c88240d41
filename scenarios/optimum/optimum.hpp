// optimum.hpp — what a job would have cost somebody who knew the market beforehand.
//
// Of all the ways to hold machines on a market so that a job is done by its deadline (without one:
// before its run gives up), the cost of the cheapest, by the rules by which a World charges and
// stops them: provisioning, the worker's start, restart and restore after every stay, saving before
// its end, losses at the recorded falls of capacity, moves between regions. No policy can pay less
// and be in time.
//
// It is exact, if a schedule is found that costs it, for a job of which all of this is true:
// - it is on one machine, and its work is given as time (a step is a microsecond at most), waits
//   for no communication and has no interference; policies are asked at any moment, at no tick;
// - both markets bill by steps of a second at most, with a minimum of a minute at most, by the
//   price of the moment; no part of a bill is free because an instance was taken;
// - there are no bids, no age limit, no blockout of a zone after a loss and no failed launches,
//   and all machines are as fast as their zone says;
// - provisioning takes no longer than a start of the job and a save together.
// Anywhere else it is a lower bound and called one, because something is granted: to a gang of
// several, that one machine that stays keeps the state, that spot and on-demand may be mixed and
// zones changed at no cost; to an elastic fleet, also that it changes size at no cost once it
// trains; to a machine that comes late, that it was asked for in time; everywhere, that bills are
// not rounded up, that a step may be ended anywhere, that each launch comes to something, at once
// after a loss too, and that machines that are not alike are as fast as the fastest.
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
