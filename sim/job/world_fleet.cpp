// world_fleet.cpp — from the Plan's fleet to the instances held, and from those to the group that
// trains.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "sim/job/world.hpp"

namespace ukemi::sim {

Dollars World::in_all(Dollars a, Dollars b) {
    std::int64_t sum = 0;
    if (!__builtin_add_overflow(a.raw(), b.raw(), &sum)) return Dollars::of(sum);
    throw std::overflow_error("the run is too large: more than nine billion dollars are paid for");
}

// How many instances the Plan wants of each zone and market, in one table: fleets are counted
// often.
std::size_t World::place_of(ZoneId zone, policies::Market bought) const {
    return std::size_t{ukemi::index_of(zone)} * 3 + static_cast<std::size_t>(bought);
}

// What a line of the Plan in this zone bids, or would bid: as the last one there did, else as the
// first line does.
Price World::bid_in(ZoneId zone) const {
    const policies::Plan& plan = controller_.plan();
    const auto line = std::ranges::find(plan.fleet, zone, &policies::FleetLine::zone);
    Price bid = last_bids_[ukemi::index_of(zone)];
    if (line != plan.fleet.end()) {
        bid = line->bid;
    } else if (bid == Price{} && !plan.fleet.empty()) {
        bid = plan.fleet.front().bid;
    }
    return fleet_.most_paid(zone, bid);
}

// What a policy may count on: what the zone carries, or only what is there already while the
// provider refuses more or asks for more than is bid. A loss that comes without a notice is not
// shown before it is there.
std::int32_t World::visible_capacity(ZoneId zone) const {
    const MarketRules& rules = market_.data().rules;
    std::int32_t capacity = market_.spot_capacity(zone);
    const bool refused = queue_.now() < fleet_.spot_refused_until(zone);
    if (!refused && !rules.bidding && rules.notice_arrives >= 1) return capacity;
    std::int32_t staying = 0;
    for (const Instance& one : fleet_.instances()) {
        if (one.zone != zone || one.market != policies::Market::spot || one.announced()) continue;
        ++staying;
        if (one.unannounced) ++capacity;
    }
    const bool outbid = rules.bidding && market_.spot_price(zone) > bid_in(zone);
    return refused || outbid ? std::min(capacity, staying) : capacity;
}

std::vector<std::int32_t>& World::wanted_by_place() {
    wanted_.assign(market_.zone_count() * 3, 0);
    for (const policies::FleetLine& line : controller_.plan().fleet) {
        if (line.market != policies::Market::none)
            wanted_[place_of(line.zone, line.market)] += line.count;
    }
    return wanted_;
}

// A job that cannot grow and shrink wants all its instances or none (a gang): a part of it would
// only be paid for.
void World::acquire() {
    const Instant now = queue_.now();
    std::vector<std::int32_t>& missing = wanted_by_place();
    std::int64_t will_be = 0;
    for (const Instance& one : fleet_.instances()) {
        if (one.retiring || one.announced() || to_be_replaced(one)) continue;
        --missing[place_of(one.zone, one.market)];
        ++will_be;
    }
    for (const policies::FleetLine& line : controller_.plan().fleet) {
        if (line.market == policies::Market::none) continue;
        std::int32_t& more = missing[place_of(line.zone, line.market)];
        if (line.market == policies::Market::spot) {
            more = std::min(more, fleet_.spot_room(line.zone, line.bid, now));
        }
        more = std::max(more, 0);
        will_be += more;
    }
    if (will_be < job_.workers_min) return;
    for (const policies::FleetLine& line : controller_.plan().fleet) {
        if (line.market == policies::Market::none) continue;
        std::int32_t& more = missing[place_of(line.zone, line.market)];
        for (; more > 0; --more) {
            check_launches();
            fleet_.launch(line.zone, line.market, line.bid, now);
            Instance& newest = fleet_.instances().back();
            if (newest.ready) start_worker(newest);  // provisioning takes no time
        }
    }
}

void World::check_launches() const {
    if (fleet_.launches() < job_.launches_max) return;
    throw RunLimitReached(fmt::format(
        "run limit reached: launches_max of {} machines were asked for, at {} s of simulated time; "
        "if the policies do not give back and ask again without end, raise /limits/launches_max in "
        "the scenario",
        job_.launches_max, to_seconds(queue_.now().since_start())));
}

void World::mark_surplus() {
    std::vector<std::int32_t>& wanted = wanted_by_place();
    // Who is announced to be lost stays until then where its kind is wanted, and takes no place.
    for (Instance& one : fleet_.instances()) {
        one.retiring = !one.announced() || wanted[place_of(one.zone, one.market)] <= 0;
    }
    // Members first, then those that are there, then the oldest request; what is to be replaced has
    // a place only while nobody else is there for it.
    for (const int round : {0, 1, 2, 3}) {
        for (Instance& one : fleet_.instances()) {
            const int rank = to_be_replaced(one) ? 3 : one.member ? 0 : one.ready ? 1 : 2;
            std::int32_t& left = wanted[place_of(one.zone, one.market)];
            if (rank != round || left <= 0 || one.announced()) continue;
            one.retiring = false;
            --left;
        }
    }
}

bool World::state_held() const {
    return std::ranges::any_of(fleet_.instances(), &Instance::has_state);
}

// When the model will be lost for good by what is announced; never() if it will survive. One copy
// of a replicated model is enough; of a sharded one every part is needed.
Instant World::state_lost_at() const {
    Instant first = Instant::never();
    for (const Instance& one : fleet_.instances()) {
        if (!one.has_state) continue;
        if (one.announced()) {
            first = std::min(first, *one.lost_at);
        } else if (!falls_together()) {
            return Instant::never();
        }
    }
    return first;
}

// (Re)starts the segment of a group that trains, with a last save if its model is doomed.
void World::resume_running() {
    const Instant now = queue_.now();
    trainer_->begin_running(now);
    save_before_loss();
}

void World::save_before_loss() {
    if (!controller_.plan().checkpoint_on_notice) return;
    const Instant lost_at = state_lost_at();
    if (lost_at < Instant::never()) trainer_->save_before(lost_at, queue_.now());
}

bool World::to_be_replaced(const Instance& instance) const {
    return std::ranges::binary_search(controller_.plan().replaced, instance.id);
}

void World::swap_fleets() {
    const Instant now = queue_.now();
    if (!controller_.plan().replaced.empty()) mark_surplus();
    std::int32_t staying = 0;
    bool retiring = false;
    std::int32_t coming = 0;
    bool heir = false;           // somebody who stays has the model
    bool holder_leaves = false;  // and so a part of a sharded one
    for (const Instance& one : fleet_.instances()) {
        if (one.retiring) {
            retiring = true;
            holder_leaves = holder_leaves || one.has_state;
        } else if (!one.started) {
            ++coming;
        } else {
            ++staying;
            heir = heir || one.has_state;
        }
    }
    if (!retiring) return;
    const bool nothing_wanted =
        policies::fleet_count(controller_.plan()) == 0 ||
        policies::fleet_market(controller_.plan()) == policies::Market::none;
    const bool replaced = nothing_wanted || (staying >= job_.workers_min && coming == 0);
    if (falls_together() && holder_leaves) heir = false;
    const bool saves = saves_first() && !heir && state_held() && unsaved();
    std::vector<InstanceId> leaving;
    for (const Instance& one : fleet_.instances()) {
        if (one.retiring && (!one.ready || replaced)) leaving.push_back(one.id);
    }
    if (replaced && saves && trainer_->phase() != policies::JobPhase::finished) {
        if (trainer_->phase() == policies::JobPhase::checkpointing) {
            return;  // the one in progress will do
        }
        if (trainer_->phase() == policies::JobPhase::transition) trainer_->stop(now);
        begin_drain();
        return;
    }
    if (leaving.empty()) return;
    const bool members_leave = std::ranges::any_of(
        fleet_.instances(), [&](const Instance& one) { return one.retiring && one.member; });
    if (members_leave && replaced) disband();
    for (const InstanceId id : leaving) release(id, false);
    if (!falls_together() || !holder_leaves || !replaced) return;
    for (Instance& one : fleet_.instances()) one.has_state = false;  // a part of it is gone
}

bool World::fleet_unsettled() const {
    return std::ranges::any_of(fleet_.instances(), [](const Instance& one) {
        return one.retiring || (one.started && !one.member);
    });
}

void World::release_all() {
    while (!fleet_.instances().empty()) {
        release(fleet_.instances().back().id, false);
    }
}

void World::await_zone(ZoneId zone, Instant refused_before) {
    const Instant at = fleet_.spot_refused_until(zone);
    if (at > std::max(queue_.now(), refused_before) && !ended_) {
        queue_.schedule(at, Phase::environment, ZoneGivesAgain{zone});
    }
}

void World::model_stays_where_it_is() {
    for (const Instance& one : fleet_.instances()) {
        if (!one.has_state) continue;
        model_at_ = one.zone;
        return;
    }
}

// From the cheapest of the places that have the model, or had it last.
Move World::move_to(ZoneId zone) const {
    const MarketData& market = market_.data();
    if (market.transfer.rows.empty()) return {};
    std::optional<Move> best;
    const auto consider = [&](ZoneId from) {
        const Move move = move_between(market, from, zone);
        const bool better =
            !best || std::tie(move.cost, move.time) < std::tie(best->cost, best->time);
        if (better) best = move;
    };
    for (const Instance& one : fleet_.instances()) {
        if (one.has_state) consider(one.zone);
    }
    if (!best && model_at_ && trainer_->samples_safe() > 0) consider(*model_at_);
    return best.value_or(Move{});
}

// The model goes to each region of the group once; all at the same time.
Move World::move_of(std::span<Instance* const> group) const {
    Move sum;
    if (market_.data().transfer.rows.empty()) return sum;
    std::vector<ZoneId> reached;
    for (const Instance* one : group) {
        const bool there = std::ranges::any_of(reached, [&](ZoneId zone) {
            return move_between(market_.data(), zone, one->zone) == Move{};
        });
        if (there) continue;
        reached.push_back(one->zone);
        const Move move = move_to(one->zone);
        sum.cost += move.cost;
        sum.time = std::max(sum.time, move.time);
    }
    return sum;
}

}  // namespace ukemi::sim
