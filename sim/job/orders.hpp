// orders.hpp — from the Plan and the fleet to orders: what is asked for, and what is given back.
//
// Functions of values; the World carries the orders out. A fleet is its instances in the order in
// which they were asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policies/plan.hpp"
#include "sim/job/group.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi::sim {

// What is to be launched now: lines of the Plan with the count that lacks, perhaps zero, one for
// each zone and market. `room` says for each line of the Plan how many more instances its zone
// gives (for its bid). Who retires, is announced to be lost or is to be replaced does not count as
// there. A job that cannot grow and shrink wants all its instances or none (a gang): fewer than
// `workers_min` would only be paid for, so nothing is launched then.
std::vector<policies::FleetLine> requests(const policies::Plan& plan,
                                          std::span<const Instance> fleet,
                                          std::span<const std::int32_t> room,
                                          std::int32_t workers_min);

// Sets `retiring` of every instance, and nothing else. Where the Plan wants fewer than there are,
// members of the group stay first, then those that are there, then the oldest request; what the
// Plan wants replaced has a place only while nobody else is there for it. Who is announced to be
// lost stays until then where its kind is wanted, and takes no place.
void mark_surplus(const policies::Plan& plan, std::span<Instance> fleet);

// What becomes of those that retire. They train until enough of their replacements are there, and
// their model is saved first if it is unsaved and nobody who stays has it.
struct Swap {
    std::vector<InstanceId> leaving;
    bool save_first = false;  // nobody leaves before that; what leaves is asked again after it
    bool group_ends = false;  // before they leave: members are among them
    bool model_ends = false;  // a part of it leaves with them: who stays has none either
};
Swap swap_of(const policies::Plan& plan, std::span<const Instance> fleet, const GroupRules& rules,
             bool unsaved);

// What a line of the Plan in this zone bids, or would bid: as the last one there did (zero: there
// was none), else as the first line does. Zero is the provider's default.
Price standing_bid(const policies::Plan& plan, ZoneId zone, Price last_there);

}  // namespace ukemi::sim
