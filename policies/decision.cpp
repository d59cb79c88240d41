#include "policies/decision.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "policies/plan_fields.hpp"

namespace ukemi::policies {

namespace {

auto line_order(const FleetLine& line) {
    return std::tuple(index_of(line.zone), line.instance_type, line.market);
}

// `count` spread over the lines in proportion to what they have, by largest remainder; the first
// line takes all of it if the fleet is empty-handed. A negative count is put where the Controller
// will see it and refuse: spread, it would be rounded to zero.
void spread_count(std::vector<FleetLine>& fleet, std::int32_t count) {
    if (fleet.empty()) return;
    std::int64_t total = 0;
    for (const FleetLine& line : fleet) total += line.count;
    if (total == 0 || count < 0) {
        fleet.front().count = count;
        return;
    }
    std::vector<std::pair<std::int64_t, std::size_t>> remainders;
    std::int32_t given = 0;
    for (std::size_t index = 0; index < fleet.size(); ++index) {
        const std::int64_t share = std::int64_t{count} * fleet[index].count;
        fleet[index].count = static_cast<std::int32_t>(share / total);
        given += fleet[index].count;
        remainders.emplace_back(-(share % total), index);
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t index = 0; given < count; ++index, ++given) {
        ++fleet[remainders[index].second].count;
    }
}

template <class Count>
void set_counts(std::vector<FleetLine>& fleet, const std::vector<Count>& counts) {
    const FleetLine model = fleet.empty() ? FleetLine{} : fleet.front();
    fleet.clear();
    for (const Count& wanted : counts) {
        FleetLine& line = fleet.emplace_back(model);
        line.zone = wanted.zone;
        line.count = wanted.count;
        if constexpr (requires { wanted.market; }) line.market = wanted.market;
    }
    std::ranges::stable_sort(fleet, {}, line_order);
}

}  // namespace

Decision resized_to(std::int32_t size) {
    Decision decision;
    decision.count = size;
    decision.workers_max = size;
    return decision;
}

KnobSet knobs_turned(const Decision& decision) {
    KnobSet turned;
    for_each_line(decision_fields, [&](const auto& field) {
        if (decision.*field.decided) turned = turned | field.knobs;
    });
    return turned;
}

bool repeats_market(const Decision& decision, const Plan& plan) {
    if (!decision.market || knobs_turned(decision) != KnobSet{Knob::market}) return false;
    return std::ranges::all_of(
        plan.fleet, [&](const FleetLine& line) { return line.market == *decision.market; });
}

void apply_bids(const Decision& decision, Plan& plan) {
    if (!decision.bid && !decision.zone_bids) return;
    for (FleetLine& line : plan.fleet) {
        line.bid = decision.bid.value_or(line.bid);
        if (!decision.zone_bids) continue;
        const auto bid = std::ranges::find(*decision.zone_bids, line.zone, &ZoneBid::zone);
        if (bid != decision.zone_bids->end()) line.bid = bid->bid;
    }
}

void apply(const Decision& decision, Plan& plan) {
    if (decision.market_counts) set_counts(plan.fleet, *decision.market_counts);
    if (decision.zone_counts) set_counts(plan.fleet, *decision.zone_counts);
    if (decision.count) spread_count(plan.fleet, *decision.count);
    for (FleetLine& line : plan.fleet) {
        line.market = decision.market.value_or(line.market);
    }
    apply_bids(decision, plan);
    for_each_line(plan_fields, [&](const auto& field) {
        if (decision.*field.decided) plan.*field.planned = *(decision.*field.decided);
    });
}

}  // namespace ukemi::policies
