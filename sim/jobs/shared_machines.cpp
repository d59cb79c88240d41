// shared_machines.cpp — walks the markets of a cluster's groups, and adds up bills.
#include "sim/jobs/shared_machines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ukemi::sim {

namespace {

GroupMarket market_of(const SharedCluster& cluster, std::size_t group) {
    return cluster.markets.empty() ? GroupMarket{} : cluster.markets[group];
}

}  // namespace

SharedMachines::SharedMachines(const SharedCluster& cluster) {
    std::int32_t first = 0;
    for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
        const MachineGroup& group = cluster.groups[i];
        const GroupMarket market = market_of(cluster, i);
        Group& one = groups_.emplace_back(
            Group{first, group.machines, market.notice, std::nullopt, PriceMeter(market), Instant{},
                  RandomStream(cluster.seed, fmt::format("cluster/{}/victims", i))});
        first += group.machines;
        one.price_changes = one.price.next_change(Instant{});
        machines_.resize(static_cast<std::size_t>(first), {State::there, i});
        if (!market.launchable) continue;
        // The series is the cluster's, which outlives this.
        one.carried.emplace(*cluster.markets[i].launchable, market.after_last_row, true);
        const std::int32_t there = std::min(one.carried->value(), group.machines);
        for (std::int32_t machine = one.first + there; machine < first; ++machine) {
            machines_[static_cast<std::size_t>(machine)].state = State::gone;
        }
    }
}

Instant SharedMachines::next_change() const {
    Instant next = Instant::never();
    for (const Group& group : groups_) {
        if (group.carried) next = std::min(next, group.carried->next_at());
        next = std::min(next, group.price_changes);
    }
    for (const Machine& machine : machines_) next = std::min(next, machine.lost_at);
    return next;
}

SharedMachines::Changes SharedMachines::take(Instant now) {
    Changes changes;
    lose_due(now, changes);
    for (Group& group : groups_) {
        while (group.carried && group.carried->next_at() <= now) {
            group.carried->advance();
            match(group, now, changes);
        }
        if (group.price_changes > now) continue;
        group.price_changes = group.price.next_change(now);
        changes.prices = true;
    }
    lose_due(now, changes);  // without a notice
    return changes;
}

std::vector<schedulers::MachinesNow> SharedMachines::states(Instant now) const {
    std::vector<schedulers::MachinesNow> states;
    for (const Group& group : groups_) {
        states.push_back({count_there(group), group.price.at(now), group.carried.has_value()});
    }
    return states;
}

std::int32_t SharedMachines::count_there(const Group& group) const {
    std::int32_t count = 0;
    for (std::int32_t i = 0; i < group.machines; ++i) count += stays(group.first + i) ? 1 : 0;
    return count;
}

void SharedMachines::announce(const Group& group, std::int32_t machine, Instant now,
                              Changes& changes) {
    Machine& one = machines_[static_cast<std::size_t>(machine)];
    one.state = State::announced;
    one.lost_at = now + group.notice;
    changes.announced.push_back(machine);
}

void SharedMachines::match(Group& group, Instant now, Changes& changes) {
    std::int32_t there = count_there(group);
    const std::int32_t wanted = std::min(group.carried->value(), group.machines);
    for (; there > wanted; --there) {
        std::int64_t victim = group.victims.integer(0, there - 1);
        std::int32_t machine = group.first;
        while (!stays(machine) || victim-- > 0) ++machine;
        announce(group, machine, now, changes);
    }
    for (std::int32_t i = 0; i < group.machines && there < wanted; ++i) {
        Machine& one = machines_[static_cast<std::size_t>(group.first + i)];
        if (one.state != State::gone) continue;
        one.state = State::there;
        changes.come.push_back(group.first + i);
        ++there;
    }
}

void SharedMachines::lose_due(Instant now, Changes& changes) {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
        Machine& one = machines_[i];
        if (one.lost_at > now) continue;
        one.state = State::gone;
        one.lost_at = Instant::never();
        ++losses_;
        changes.lost.push_back(static_cast<std::int32_t>(i));
    }
}

MachineBills::MachineBills(const SharedCluster& cluster, std::size_t jobs) {
    for (std::size_t i = 0; i < cluster.groups.size(); ++i) {
        const MachineGroup& group = cluster.groups[i];
        const GroupMarket market = market_of(cluster, i);
        meters_.emplace_back(market);
        gpus_of_.push_back(group.gpus_per_machine);
        in_use_only_.push_back(market.paid_in_use);
        costs_something_ = costs_something_ || !market.price.steps.empty();
        leases_.resize(leases_.size() + static_cast<std::size_t>(group.machines),
                       Lease{false, i, {}, {}});
    }
    expect_jobs(jobs);
}

void MachineBills::open(std::int32_t machine, Instant now) {
    Lease& lease = leases_[static_cast<std::size_t>(machine)];
    INVARIANT(!lease.is_open);
    lease.is_open = true;
    lease.opened = now;
}

void MachineBills::use(std::size_t job, const GpusOnMachine& gpus, Instant begin, Instant end) {
    Lease& lease = leases_[static_cast<std::size_t>(gpus.machine)];
    INVARIANT(lease.is_open && begin >= lease.opened);
    Charge charge = meters_[lease.group].until(end);
    charge.subtract(meters_[lease.group].until(begin));
    lease.uses[job].add(charge.times(gpus.gpus));
}

Dollars MachineBills::cost_of(const GpusOnMachine& gpus, Instant begin, Instant end) const {
    const std::size_t group = leases_[static_cast<std::size_t>(gpus.machine)].group;
    Charge charge = meters_[group].until(end);
    charge.subtract(meters_[group].until(begin));
    const std::int64_t of_machines = charge.times(gpus.gpus).rounded().raw();
    return nano_dollars((of_machines + gpus_of_[group] - 1) / gpus_of_[group]);
}

Dollars MachineBills::cost_an_hour(const GpusOnMachine& gpus, Instant at) const {
    const std::size_t group = leases_[static_cast<std::size_t>(gpus.machine)].group;
    const std::int64_t of_machines = meters_[group].at(at).raw() * gpus.gpus;
    return nano_dollars((of_machines + gpus_of_[group] - 1) / gpus_of_[group]);
}

void MachineBills::close(std::int32_t machine, Instant now) {
    Lease& lease = leases_[static_cast<std::size_t>(machine)];
    INVARIANT(lease.is_open);
    lease.is_open = false;
    Charge charge = meters_[lease.group].until(now);
    charge.subtract(meters_[lease.group].until(lease.opened));
    const Dollars bill = charge.rounded();
    const std::int64_t gpus = gpus_of_[lease.group];
    Charge used;
    Dollars shared;
    for (const auto& [job, part] : lease.uses) {
        used.add(part);
        // To the nearest, and at most the bill: of what is rounded twice the last may be above it.
        const Dollars so_far =
            std::min(bill, nano_dollars((used.rounded().raw() + gpus / 2) / gpus));
        by_job_[job] += so_far - shared;
        shared = so_far;
    }
    lease.uses.clear();
    fleet_ += bill;
    unused_ += bill - shared;
    machine_time_ += now - lease.opened;
}

}  // namespace ukemi::sim
