// pools.hpp — what policies that choose among zones have in common: prices, room, cost of a move.
//
// A zone is one pool of capacity: a place, and an instance type in it where there are several. Its
// price is that of the market that is bought; until a market is chosen it is that of spot. Costs
// are doubles made of + − × ÷ alone, so they are equal on every machine; ties fall to the zone that
// is named first, in order of cost, spot price and number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

// A zone that shows no on-demand price has the job's (Observation::on_demand_price).
Price pool_price(const ZoneView& zone, Market market, const Observation& seen);

// The zones, the cheapest per unit of work (price / speed) first.
void sort_by_cost(std::vector<ZoneView>& zones, Market market, const Observation& seen);

// How many of `wanted` machines it carries now: on-demand is not limited by spot capacity.
std::int32_t pool_room(const ZoneView& zone, Market market, std::int32_t wanted);

std::int32_t planned_in(const Plan& plan, ZoneId zone, Market market);
bool already_planned(const Plan& plan, std::span<const ZoneCount> counts);
// As many machines as these zones carry, `most` at most: what is planned in that market stays where
// there is room for it, the rest goes where a unit of work is cheapest. What lacks of `least` is
// asked for there, to be filled when capacity comes. By zone, without those that get none; there
// is at least one.
std::vector<ZoneCount> filled_zones(const Plan& plan, Market market, std::int32_t least,
                                    std::int32_t most, std::vector<ZoneView> zones,
                                    const Observation& seen);
// As many machines as are wanted are planned, and there is room for them where they are.
bool is_placed(const Plan& plan, std::int32_t wanted, const Observation& seen);
// The zone of the plan's largest line, the first among equals; zone 0 for an empty fleet.
ZoneId main_zone(const Plan& plan);

// What a stay in one pool is to be judged by.
struct StayTerms {
    Market market = Market::spot;
    std::int32_t machines = 1;
    Duration work;     // of the job's profile speed, to be done there
    Duration restart;  // from asking for machines until the first useful step
};

// The parameters of policies that move for a cheaper stay: `holding_time` (4 h; 1 s to 365 d) is
// how much work it is judged by, `least_saving` (0.05) the share of its cost that a move must save.
struct StayRule {
    Duration holding_time;
    double least_saving = 0;
};
StayRule read_stay_rule(ConfigReader& parameters);

// USD for the stay: machines × price × (work / speed, and if none of ours is there yet restart and
// move_time) + move_cost. The machines of before may be paid during a restart; it is counted at the
// new pool's price for both reasons together, which is too much where provisioning is free.
double stay_cost_usd(const ZoneView& zone, const StayTerms& terms, const Observation& seen);

// The pool with the cheapest stay among those that carry `least` machines; null if none does. The
// pool `present` goes before all others unless the cheapest saves more than the share
// `least_saving` of its cost.
const ZoneView* cheapest_stay(std::span<const ZoneView> zones, const StayTerms& terms,
                              const Observation& seen, std::int32_t least, ZoneId present,
                              double least_saving);

}  // namespace ukemi::policies
