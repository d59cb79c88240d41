// orders.cpp — what a Plan wants of each zone and market, held against what is there.
#include "sim/job/orders.hpp"

#include <algorithm>

namespace ukemi::sim {

namespace {

using policies::FleetLine;
using policies::Market;
using policies::Plan;

FleetLine* line_for(std::vector<FleetLine>& lines, ZoneId zone, Market market) {
    const auto line = std::ranges::find_if(
        lines, [&](const FleetLine& one) { return one.zone == zone && one.market == market; });
    return line == lines.end() ? nullptr : &*line;
}

// A policy that turns the market of all lines may leave two of one zone and market.
std::vector<FleetLine> wanted_lines(const Plan& plan) {
    std::vector<FleetLine> wanted;
    wanted.reserve(plan.fleet.size());
    for (const FleetLine& line : plan.fleet) {
        if (line.market == Market::none) continue;
        if (FleetLine* same = line_for(wanted, line.zone, line.market)) {
            same->count += line.count;
        } else {
            wanted.push_back(line);
        }
    }
    return wanted;
}

bool to_be_replaced(const Plan& plan, const Instance& instance) {
    return std::ranges::binary_search(plan.replaced, instance.id);
}

}  // namespace

std::vector<FleetLine> requests(const Plan& plan, std::span<const Instance> fleet,
                                std::span<const std::int32_t> room, std::int32_t workers_min) {
    INVARIANT(room.size() == plan.fleet.size());
    std::vector<FleetLine> missing = wanted_lines(plan);
    std::int64_t will_be = 0;
    for (const Instance& one : fleet) {
        if (one.retiring || one.announced() || to_be_replaced(plan, one)) continue;
        if (FleetLine* line = line_for(missing, one.zone, one.market)) --line->count;
        ++will_be;
    }
    for (std::size_t number = 0; number < room.size(); ++number) {
        const Market market = plan.fleet[number].market;
        if (market == Market::none) continue;
        FleetLine* line = line_for(missing, plan.fleet[number].zone, market);
        line->count = std::min(line->count, room[number]);
    }
    for (FleetLine& line : missing) {
        line.count = std::max(line.count, 0);
        will_be += line.count;
    }
    if (will_be < workers_min) missing.clear();
    return missing;
}

void mark_surplus(const Plan& plan, std::span<Instance> fleet) {
    std::vector<FleetLine> wanted = wanted_lines(plan);
    for (Instance& one : fleet) {
        const FleetLine* line = line_for(wanted, one.zone, one.market);
        one.retiring = !one.announced() || line == nullptr || line->count <= 0;
    }
    for (const int round : {0, 1, 2, 3}) {
        for (Instance& one : fleet) {
            const int rank = to_be_replaced(plan, one) ? 3 : one.member ? 0 : one.ready ? 1 : 2;
            if (rank != round || one.announced()) continue;
            FleetLine* line = line_for(wanted, one.zone, one.market);
            if (line == nullptr || line->count <= 0) continue;
            one.retiring = false;
            --line->count;
        }
    }
}

Swap swap_of(const Plan& plan, std::span<const Instance> fleet, const GroupRules& rules,
             bool unsaved) {
    Swap swap;
    std::int32_t staying = 0;
    std::int32_t coming = 0;
    bool heir = false;           // somebody who stays has the model
    bool holder_leaves = false;  // and so a part of a sharded one
    bool member_leaves = false;
    for (const Instance& one : fleet) {
        if (one.retiring) {
            holder_leaves = holder_leaves || one.has_state;
            member_leaves = member_leaves || one.member;
        } else if (!one.started) {
            ++coming;
        } else {
            ++staying;
            heir = heir || one.has_state;
        }
    }
    const bool nothing_wanted =
        policies::fleet_count(plan) == 0 || policies::fleet_market(plan) == Market::none;
    const bool replaced = nothing_wanted || (staying >= rules.workers_min && coming == 0);
    for (const Instance& one : fleet) {
        if (one.retiring && (!one.ready || replaced)) swap.leaving.push_back(one.id);
    }
    if (!replaced || swap.leaving.empty()) return swap;
    swap.model_ends = rules.falls_together && holder_leaves;
    if (swap.model_ends) heir = false;
    swap.save_first = rules.saves_first && unsaved && !heir && state_held(fleet);
    swap.group_ends = member_leaves;
    return swap;
}

Price standing_bid(const Plan& plan, ZoneId zone, Price last_there) {
    const auto line = std::ranges::find(plan.fleet, zone, &FleetLine::zone);
    if (line != plan.fleet.end()) return line->bid;
    const bool never_bid = last_there == Price{} && !plan.fleet.empty();
    return never_bid ? plan.fleet.front().bid : last_there;
}

}  // namespace ukemi::sim
