// plan_table.hpp — the parts of Plans and Decisions by name, for policies/plan_fields.hpp, which
// has the fields of both.
#pragma once

#include <tuple>

#include "policies/plan_fields.hpp"
#include "records/json_record.hpp"

namespace ukemi::records {

template <>
inline constexpr std::tuple json_table<policies::FleetLine>{
    always("zone", &policies::FleetLine::zone),
    always("instance_type", &policies::FleetLine::instance_type),
    always("market", &policies::FleetLine::market),
    always("count", &policies::FleetLine::count),
    always("bid_nano_usd_per_hour", &policies::FleetLine::bid),
};
static_assert(line_count(json_table<policies::FleetLine>) == member_count<policies::FleetLine>());

template <>
inline constexpr std::tuple json_table<policies::Layout>{
    always("data", &policies::Layout::data),
    always("pipeline", &policies::Layout::pipeline),
    always("tensor", &policies::Layout::tensor),
};
static_assert(line_count(json_table<policies::Layout>) == member_count<policies::Layout>());

template <>
inline constexpr std::tuple json_table<policies::ZoneCount>{
    always("zone", &policies::ZoneCount::zone),
    always("count", &policies::ZoneCount::count),
};

template <>
inline constexpr std::tuple json_table<policies::MarketCount>{
    always("zone", &policies::MarketCount::zone),
    always("market", &policies::MarketCount::market),
    always("count", &policies::MarketCount::count),
};

template <>
inline constexpr std::tuple json_table<policies::ZoneBid>{
    always("zone", &policies::ZoneBid::zone),
    always("bid_nano_usd_per_hour", &policies::ZoneBid::bid),
};

}  // namespace ukemi::records
