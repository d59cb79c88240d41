// checkpoint_interval.hpp — how often to save: the classical intervals.
#pragma once

#include "base/quantity.hpp"

namespace ukemi::policies {

// Young (CACM 1974): τ = √(2δM), for a checkpoint that costs δ and a mean time between failures M.
Duration young_interval(Duration checkpoint, Duration mean_time_between_failures);

// Daly (FGCS 2006, eq. 37): τ = √(2δM)·[1 + ⅓√(δ/2M) + (1/9)(δ/2M)] − δ if δ < 2M, else M.
Duration daly_interval(Duration checkpoint, Duration mean_time_between_failures);

// What a policy asks for by such a rule: never more than once a second, which is also the interval
// where a checkpoint costs nothing: both rules go to none.
using IntervalRule = Duration (*)(Duration checkpoint, Duration mean_time_between_failures);
Duration saving_interval(IntervalRule rule, Duration checkpoint,
                         Duration mean_time_between_failures);

}  // namespace ukemi::policies
