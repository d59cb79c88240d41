// world_fleet.cpp — from the Plan's fleet to the instances held, and from those to the group that
// trains.
#include <algorithm>
#include <tuple>

#include "sim/world.hpp"

namespace ukemi {

// How many instances the Plan wants of each zone and market, in one table: fleets are counted
// often.
std::size_t World::place_of(ZoneId zone, Market bought) const {
    return std::size_t{index_of(zone)} * 3 + static_cast<std::size_t>(bought);
}

std::vector<std::int32_t>& World::wanted_by_place() {
    wanted_.assign(market_.zone_count() * 3, 0);
    for (const FleetLine& line : controller_.plan().fleet) {
        if (line.market != Market::none) wanted_[place_of(line.zone, line.market)] += line.count;
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
        if (one.retiring || one.lost_at) continue;
        --missing[place_of(one.zone, one.market)];
        ++will_be;
    }
    for (const FleetLine& line : controller_.plan().fleet) {
        if (line.market == Market::none) continue;
        std::int32_t& more = missing[place_of(line.zone, line.market)];
        if (line.market == Market::spot) {
            const Fleet::Counts& counts = fleet_.counts(line.zone);
            more = std::min(
                more, market_.spot_capacity(line.zone) - counts.spot_held - counts.spot_pending);
        }
        more = std::max(more, 0);
        will_be += more;
    }
    if (will_be < job_.workers_min) return;
    for (const FleetLine& line : controller_.plan().fleet) {
        if (line.market == Market::none) continue;
        std::int32_t& more = missing[place_of(line.zone, line.market)];
        for (; more > 0; --more) fleet_.launch(line.zone, line.market, now);
    }
}

void World::mark_surplus() {
    std::vector<std::int32_t>& wanted = wanted_by_place();
    for (Instance& one : fleet_.instances()) one.retiring = true;
    // Members first, then those that are there, then the oldest request.
    for (const int round : {0, 1, 2}) {
        for (Instance& one : fleet_.instances()) {
            const int rank = one.member ? 0 : one.ready ? 1 : 2;
            std::int32_t& left = wanted[place_of(one.zone, one.market)];
            if (rank != round || left <= 0) continue;
            one.retiring = false;
            --left;
        }
    }
}

bool World::state_held() const {
    return std::ranges::any_of(fleet_.instances(), &Instance::has_state);
}

bool World::all_members_announced() const {
    return std::ranges::all_of(fleet_.instances(), [](const Instance& one) {
        return !one.has_state || one.lost_at.has_value();
    });
}

void World::swap_fleets() {
    const Instant now = queue_.now();
    std::int32_t staying = 0;
    bool retiring = false;
    bool heir = false;  // somebody who stays has the model
    for (const Instance& one : fleet_.instances()) {
        if (one.retiring) {
            retiring = true;
        } else if (one.ready) {
            ++staying;
            heir = heir || one.has_state;
        }
    }
    if (!retiring) return;
    const bool nothing_wanted =
        fleet_count(controller_.plan()) == 0 || fleet_market(controller_.plan()) == Market::none;
    const bool replaced = staying >= job_.workers_min || nothing_wanted;
    const bool saves = !job_.profile.lossless && !heir && state_held() && training_.unsaved();
    std::vector<InstanceId> leaving;
    for (const Instance& one : fleet_.instances()) {
        if (one.retiring && (!one.ready || replaced)) leaving.push_back(one.id);
    }
    if (replaced && saves && training_.phase() != JobPhase::finished) {
        if (training_.phase() == JobPhase::checkpointing) {
            draining_ = true;  // the one in progress will do
            return;
        }
        if (training_.phase() == JobPhase::transition) training_.stop(now);
        draining_ = true;
        training_.begin_checkpoint(now);
        return;
    }
    if (leaving.empty()) return;
    const bool members_leave = std::ranges::any_of(
        fleet_.instances(), [&](const Instance& one) { return one.retiring && one.member; });
    if (members_leave && replaced) disband();
    for (const InstanceId id : leaving) fleet_.release(id, now);
}

bool World::fleet_unsettled() const {
    return std::ranges::any_of(fleet_.instances(), [](const Instance& one) {
        return one.retiring || (one.ready && !one.member);
    });
}

void World::disband() {
    const Instant now = queue_.now();
    if (training_.phase() != JobPhase::finished) training_.stop(now);
    for (Instance& one : fleet_.instances()) {
        if (one.member) ledger_.leave(one.lease, now);
        one.member = false;
    }
}

void World::release_all() {
    while (!fleet_.instances().empty()) {
        fleet_.release(fleet_.instances().back().id, queue_.now());
    }
}

void World::schedule_boundary() {
    queue_.cancel(boundary_due_);
    boundary_due_ =
        queue_.schedule(training_.next_step_boundary(queue_.now()), Phase::completion, PlanDue{});
}

// The group that could train now: those that are there, members first, those without a notice
// before those with one. Called at step boundaries only. A group that is already right is left
// alone; one that is starting or saving first finishes that.
void World::reconcile() {
    const Instant now = queue_.now();
    const JobPhase phase = training_.phase();
    if (ended_ || phase == JobPhase::finished || phase == JobPhase::checkpointing) return;
    training_.report(now);
    if (controller_.finished()) {  // the last step ended at this very moment
        finish_work();
        return;
    }
    std::vector<Instance*> group;
    std::size_t members = 0;
    for (Instance& one : fleet_.instances()) {
        if (one.ready) group.push_back(&one);
        if (one.member) ++members;
    }
    const auto most = static_cast<std::size_t>(controller_.plan().workers_max);
    if (group.size() > most) {
        std::ranges::sort(group, {}, [](const Instance* one) {
            return std::tuple(!one->member, one->lost_at.has_value(), index_of(one->id));
        });
        group.resize(most);
    }
    const bool enough = group.size() >= static_cast<std::size_t>(job_.workers_min);
    const bool unchanged = group.size() == members && std::ranges::all_of(group, &Instance::member);
    if (!enough) {
        if (members > 0) disband();
        return;
    }
    if (unchanged && phase != JobPhase::waiting) return;
    if (phase == JobPhase::transition) return;
    const bool survivors = state_held();
    disband();
    for (Instance* one : group) {
        ledger_.join(one->lease, now);
        one->member = true;
    }
    Duration time = survivors ? job_.profile.resize : job_.profile.restart;
    if (!survivors && training_.samples_safe() > 0 && !job_.profile.lossless) {
        time += job_.profile.restore;
    }
    training_.begin_transition(static_cast<std::int32_t>(group.size()), time, now);
}

}  // namespace ukemi
