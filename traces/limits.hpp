// limits.hpp — what no trace may exceed, so that a wrong file is an error and not a full memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/quantity.hpp"

namespace ukemi::traces {

inline constexpr std::int64_t trace_rows_max = 20'000'000;
inline constexpr std::int32_t trace_instances_max = 1'000'000;
inline constexpr Duration trace_length_max = days(100 * 366);  // a third of what a Duration holds
inline constexpr Duration trace_gap_max = days(366);
inline constexpr Price trace_price_max = Price::of(1'000'000'000'000'000);  // a million USD/h

inline constexpr std::string_view expected_instances = "a whole number from 0 to 1000000";
inline constexpr std::string_view expected_price = "a price in USD per hour from 0 to 1000000";
inline constexpr std::string_view expected_currency = "the currency USD (ask for prices in it)";
inline constexpr std::string_view expected_gap =
    "a sampling interval in seconds, above 0 and at most 366 days";

}  // namespace ukemi::traces
