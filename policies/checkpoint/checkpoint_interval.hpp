// checkpoint_interval.hpp — how often to save: the classical intervals, and the cost they minimise.
#pragma once

#include "base/quantity.hpp"

namespace ukemi::policies {

// Young (CACM 1974): τ = √(2δM), for a checkpoint that costs δ and a mean time between failures M.
Duration young_interval(Duration checkpoint, Duration mean_time_between_failures);

// Daly (FGCS 2006, eq. 37): τ = √(2δM)·[1 + ⅓√(δ/2M) + (1/9)(δ/2M)] − δ if δ < 2M, else M.
Duration daly_interval(Duration checkpoint, Duration mean_time_between_failures);

// Expected run time per useful second when failures are exponential and a restart costs R:
// M·e^{R/M}·(e^{(τ+δ)/M} − 1)/τ (Daly 2006, eq. 20). Both rules above approximate its minimum.
double expected_slowdown(Duration interval, Duration checkpoint, Duration restart,
                         Duration mean_time_between_failures);

}  // namespace ukemi::policies
