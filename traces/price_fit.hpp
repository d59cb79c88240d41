// price_fit.hpp — the part of market_fit that sets the price walk.
#pragma once

#include <span>

#include "traces/market_fit.hpp"

namespace ukemi::traces {

// Zero prices and a note where no series has any.
void fit_prices(std::span<const TraceSeries> series, double usd_on_demand, MarketFit& fit);

}  // namespace ukemi::traces
