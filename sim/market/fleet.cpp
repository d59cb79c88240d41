#include "sim/market/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/market/lease_bill.hpp"

namespace ukemi::sim {

Fleet::Fleet(const SpotMarket& market, records::Ledger& ledger, RunQueue& queue, std::uint64_t seed,
             Provider* provider)
    : market_(&market),
      ledger_(&ledger),
      queue_(&queue),
      provider_(provider),
      refused_until_(market.zone_count()),
      counts_(market.zone_count()),
      meters_(market.zone_count()) {
    for (const ZoneData& zone : market.data().zones) {
        victims_.emplace_back(seed, fmt::format("market/{}/victims", zone.name));
        notices_.emplace_back(seed, fmt::format("market/{}/notices", zone.name));
        speeds_.emplace_back(seed, fmt::format("market/{}/speeds", zone.name));
        failures_.emplace_back(seed, fmt::format("market/{}/launches", zone.name));
        recorded_.emplace_back(zone.machines);
    }
}

Instance* Fleet::find(InstanceId id) {
    const auto found = std::ranges::lower_bound(instances_, id, {}, &Instance::id);
    return found != instances_.end() && found->id == id ? &*found : nullptr;
}

Duration Fleet::spot_time(Instant now) const {
    return spot_held_ > 0 ? spot_time_ + (now - spot_since_) : spot_time_;
}

Charge Fleet::running_cost(ZoneId zone, Instant now) const {
    const Counts& held = counts_[ukemi::index_of(zone)];
    const Meter& meter = meters_[ukemi::index_of(zone)];
    Charge cost;
    if (held.spot_held > 0) {
        Charge spot = market_->spot_meter(zone, now);
        spot.subtract(meter.spot_at_change);
        cost.add(spot.times(held.spot_held));
    }
    if (held.on_demand_held > 0) {
        Charge on_demand;
        on_demand.add(market_->on_demand_price(zone), now - meter.changed_at);
        cost.add(on_demand.times(held.on_demand_held));
    }
    return cost;
}

Dollars Fleet::metered(Instant now) const {
    Charge sum = metered_;
    for (std::uint32_t zone = 0; zone < counts_.size(); ++zone) {
        sum.add(running_cost(ZoneId{zone}, now));
    }
    return sum.rounded();
}

// Every change of what is held or pending goes through here.
void Fleet::count(const Instance& instance, std::int32_t change, Instant now) {
    Counts& zone = counts_[ukemi::index_of(instance.zone)];
    const bool spot = instance.market == policies::Market::spot;
    if (!instance.ready) {
        (spot ? zone.spot_pending : zone.on_demand_pending) += change;
        return;
    }
    Meter& meter = meters_[ukemi::index_of(instance.zone)];
    metered_.add(running_cost(instance.zone, now));
    meter = {market_->spot_meter(instance.zone, now), now};
    if (!spot) {
        zone.on_demand_held += change;
        on_demand_held_ += change;
        return;
    }
    zone.spot_held += change;
    if (spot_held_ == 0) spot_since_ = now;
    spot_held_ += change;
    if (spot_held_ == 0) spot_time_ += now - spot_since_;
}

std::int32_t Fleet::spot_room(ZoneId zone, Price bid, Instant now) const {
    if (now < refused_until_[ukemi::index_of(zone)]) return 0;
    if (market_->data().rules.bidding) {
        if (market_->spot_price(zone) > most_paid(zone, bid)) return 0;
        if (market_->price_changes_at(zone) <= now) return 0;  // asked again when it has
    }
    if (market_->is_told(zone)) return told_room(zone);
    const Counts& held = counts(zone);
    const std::int32_t room = market_->spot_capacity(zone) - held.spot_held - held.spot_pending;
    if (!is_recorded(zone)) return room;
    const auto free = recorded_[ukemi::index_of(zone)].free_count();
    return std::min(room, static_cast<std::int32_t>(free));
}

std::int32_t Fleet::on_demand_room(ZoneId zone) const {
    return market_->is_told(zone) ? told_room(zone) : std::numeric_limits<std::int32_t>::max();
}

// Those that are announced to go have lost their places already.
std::int32_t Fleet::told_room(ZoneId zone) const {
    const auto takes_place = [&](const Instance& one) {
        return one.zone == zone && !one.announced();
    };
    const auto taken = std::ranges::count_if(instances_, takes_place);
    return std::max(market_->spot_capacity(zone) - static_cast<std::int32_t>(taken), 0);
}

bool Fleet::is_recorded(ZoneId zone) const {
    return !market_->data().zones[ukemi::index_of(zone)].machines.empty();
}

void Fleet::let_machines_come(Instant now) {
    for (GroupCursor& zone : recorded_) zone.advance(now);
}

Instant Fleet::machines_taken_at(ZoneId zone) const {
    return recorded_[ukemi::index_of(zone)].next_loss_announced(market_->data().notice);
}

std::int32_t Fleet::take_machines(ZoneId zone, Instant now) {
    GroupCursor& recorded = recorded_[ukemi::index_of(zone)];
    std::int32_t announced_count = 0;
    while (machines_taken_at(zone) <= now) {
        const std::uint32_t machine = recorded.lose_next();
        const auto found = std::ranges::find_if(instances_, [&](const Instance& one) {
            return one.zone == zone && one.machine == machine;
        });
        if (found == instances_.end() || found->lost_at) continue;
        if (!found->ready) {
            release(found->id, now);
            continue;
        }
        take(*found, recorded.lost_at(machine));
        announced_count += found->unannounced ? 0 : 1;
    }
    return announced_count;
}

std::int32_t Fleet::visible_capacity(ZoneId zone, Price bid, Instant now) const {
    const MarketRules& rules = market_->data().rules;
    std::int32_t capacity = market_->spot_capacity(zone);
    const bool refused = now < spot_refused_until(zone);
    if (!refused && !rules.bidding && rules.notice_arrives >= 1) return capacity;
    std::int32_t staying = 0;
    for (const Instance& one : instances_) {
        if (one.zone != zone || one.market != policies::Market::spot || one.announced()) continue;
        ++staying;
        if (one.unannounced) ++capacity;
    }
    const bool outbid = rules.bidding && market_->spot_price(zone) > most_paid(zone, bid);
    return refused || outbid ? std::min(capacity, staying) : capacity;
}

std::int32_t Fleet::speed_of(const Instance& instance) {
    const MarketRules& rules = market_->data().rules;
    if (ukemi::index_of(instance.id) < rules.machine_speeds.size()) {
        return rules.machine_speeds[ukemi::index_of(instance.id)];
    }
    const bool slow =
        rules.slow_share > 0 && speeds_[ukemi::index_of(instance.zone)].chance(rules.slow_share);
    return slow ? rules.slow_speed : 1000;
}

void Fleet::launch(ZoneId zone, policies::Market market, Price bid, Instant now) {
    INVARIANT(market != policies::Market::none);
    Instance instance;
    instance.id = InstanceId{next_id_++};
    instance.zone = zone;
    instance.market = market;
    instance.bid = bid;
    instance.speed_per_mille = speed_of(instance);
    if (market == policies::Market::spot && is_recorded(zone)) {
        instance.machine = recorded_[ukemi::index_of(zone)].take_free();
    }
    ++launches_;
    if (provider_ != nullptr) {
        count(instance, +1, now);
        instances_.push_back(instance);
        provider_->ask(instance, now);
        return;
    }
    const MarketRules& rules = market_->data().rules;
    const Duration provisioning = market_->data().provisioning;
    const bool fails = market == policies::Market::spot && rules.launch_failure > 0 &&
                       failures_[ukemi::index_of(zone)].chance(rules.launch_failure);
    if (fails) {
        instance.due =
            queue_->schedule(now + provisioning, Phase::completion, LaunchFailed{instance.id});
        count(instance, +1, now);
    } else if (provisioning > Duration{}) {
        instance.due =
            queue_->schedule(now + provisioning, Phase::completion, InstanceReady{instance.id});
        count(instance, +1, now);
    } else {
        open(instance, now);
    }
    instances_.push_back(instance);
}

void Fleet::open(Instance& instance, Instant now) {
    instance.ready = true;
    instance.opened = now;
    instance.meter_at_opening = market_->spot_meter(instance.zone, now);
    instance.lease = ledger_->open(now);
    count(instance, +1, now);
    if (instance.market != policies::Market::spot) return;
    const MarketRules& rules = market_->data().rules;
    if (needs_price_history(rules.spot_billing, rules.bidding)) {
        instance.price_at_opening = market_->price_cursor(instance.zone);
    }
    if (rules.lifetime_max <= Duration{}) return;
    const Duration until_notice = rules.lifetime_max - market_->data().notice;
    instance.due = queue_->schedule(now + std::max(until_notice, Duration{}), Phase::environment,
                                    LifetimeOver{instance.id});
}

void Fleet::launch_failed(InstanceId id, Instant now) {
    const Instance* instance = find(id);
    INVARIANT(instance != nullptr && !instance->ready);
    ++launch_failures_;
    Instant& refused = refused_until_[ukemi::index_of(instance->zone)];
    refused = std::max(refused, now + market_->data().rules.launch_retry);
    count(*instance, -1, now);
    erase(id);
}

void Fleet::became_ready(Instance& instance, Instant now) {
    INVARIANT(!instance.ready);
    count(instance, -1, now);
    open(instance, now);
}

Fleet::Bill Fleet::bill_of(const Instance& instance, Instant now) const {
    const Duration held = now - instance.opened;
    const bool spot = instance.market == policies::Market::spot;
    const bool taken = instance.lost_at && *instance.lost_at <= now;
    const MarketRules& rules = market_->data().rules;
    const records::BillingRule& rule = spot ? rules.spot_billing : rules.on_demand_billing;
    const Duration paid = records::paid_time(rule, held, taken);
    Charge charge;
    if (!spot) {
        charge.add(market_->on_demand_price(instance.zone), paid);
    } else if (instance.price_at_opening) {
        const std::optional<Price> most =
            rules.bidding ? std::optional(most_paid(instance.zone, instance.bid)) : std::nullopt;
        charge =
            charge_of_lease(rule, *instance.price_at_opening, instance.opened, held, paid, most);
    } else if (paid >= held) {
        charge = market_->spot_meter(instance.zone, now);
        charge.subtract(instance.meter_at_opening);
        // What is paid after release costs what it costs now.
        charge.add(market_->spot_price(instance.zone), paid - held);
    } else {
        INVARIANT(paid == Duration{});  // anything between needs the prices of its whole time
    }
    // What was free was held all the same: its causes keep their time and share what was charged.
    return {std::max(paid, held), charge.rounded()};
}

void Fleet::close(Instance& instance, Instant now) {
    INVARIANT(!instance.member);
    const Bill bill = bill_of(instance, now);
    ledger_->close(instance.lease, now, bill.held, bill.cost);
    const bool spot = instance.market == policies::Market::spot;
    (spot ? spot_billed_ : on_demand_billed_).add(bill.held, bill.cost);
    count(instance, -1, now);
}

void Fleet::erase(InstanceId id) {
    const auto found = std::ranges::lower_bound(instances_, id, {}, &Instance::id);
    INVARIANT(found != instances_.end() && found->id == id);
    if (found->machine) recorded_[ukemi::index_of(found->zone)].give_back(*found->machine);
    instances_.erase(found);
}

void Fleet::release(InstanceId id, Instant now, bool run_is_over) {
    Instance* instance = find(id);
    INVARIANT(instance != nullptr);
    queue_->cancel(instance->due);
    if (provider_ != nullptr) provider_->give_back(id, now);
    // Given back because of the announcement: taken all the same. A job that is over would have
    // given it back in any case.
    const bool makes_way = instance->announced() && !run_is_over;
    if (makes_way || (instance->lost_at && *instance->lost_at <= now)) {
        ++revocations_;
        if (last_revocation_ != now) ++revocation_events_;
        last_revocation_ = now;
        Instant& refused = refused_until_[ukemi::index_of(instance->zone)];
        refused = std::max(refused, now + market_->data().rules.blockout);
    }
    if (instance->ready) {
        close(*instance, now);
    } else {
        count(*instance, -1, now);
    }
    erase(id);
}

std::int32_t Fleet::revoke_excess(ZoneId zone, Instant now) {
    if (is_recorded(zone) || market_->is_told(zone)) return 0;  // who goes is told, too
    const std::int32_t capacity = market_->spot_capacity(zone);
    if (counts(zone).spot_held + counts(zone).spot_pending <= capacity) return 0;
    std::vector<InstanceId> pending;
    std::vector<InstanceId> held;
    for (const Instance& instance : instances_) {
        if (instance.zone != zone || instance.market != policies::Market::spot || instance.lost_at)
            continue;
        (instance.ready ? held : pending).push_back(instance.id);
    }
    auto excess = static_cast<std::int32_t>(held.size() + pending.size()) - capacity;
    for (; excess > 0 && !pending.empty(); --excess) {  // the youngest request goes first
        release(pending.back(), now);
        pending.pop_back();
    }
    std::int32_t announced_count = 0;
    for (; excess > 0; --excess, ++announced_count) {
        RandomStream& draw = victims_[ukemi::index_of(zone)];
        const auto last = static_cast<std::int64_t>(held.size()) - 1;
        const auto chosen = held.begin() + draw.integer(0, last);
        Instance& victim = *find(*chosen);
        take(victim, now + market_->data().notice);
        if (victim.unannounced) --announced_count;
        held.erase(chosen);
    }
    return announced_count;
}

bool Fleet::notice_arrives(ZoneId zone) {
    const double share = market_->data().rules.notice_arrives;
    return share >= 1 || notices_[ukemi::index_of(zone)].chance(share);
}

void Fleet::take(Instance& instance, Instant lost_at) {
    INVARIANT(instance.ready && !instance.lost_at);
    queue_->cancel(instance.due);
    instance.lost_at = lost_at;
    instance.unannounced = !notice_arrives(instance.zone);
    instance.due = queue_->schedule(lost_at, Phase::environment, InstanceLost{instance.id});
}

bool Fleet::loss_told(InstanceId id, Instant lost_at, Instant now) {
    Instance* const instance = find(id);
    if (instance == nullptr || instance->announced()) return false;
    if (!instance->ready) {
        release(id, now);
        return false;
    }
    queue_->cancel(instance->due);
    instance->lost_at = std::max(lost_at, now);
    instance->told = true;
    instance->unannounced = false;
    instance->due = queue_->schedule(*instance->lost_at, Phase::environment, InstanceLost{id});
    return true;
}

bool Fleet::lifetime_over(Instance& instance) {
    take(instance, instance.opened + market_->data().rules.lifetime_max);
    return !instance.unannounced;
}

std::int32_t Fleet::revoke_outbid(ZoneId zone, Instant now) {
    if (!market_->data().rules.bidding || counts(zone).spot_held + counts(zone).spot_pending == 0) {
        return 0;
    }
    const Price price = market_->spot_price(zone);
    std::vector<InstanceId> cancelled;
    std::int32_t announced_count = 0;
    for (Instance& instance : instances_) {
        if (instance.zone != zone || instance.market != policies::Market::spot || instance.lost_at)
            continue;
        if (most_paid(zone, instance.bid) >= price) continue;
        if (!instance.ready) {
            cancelled.push_back(instance.id);
            continue;
        }
        take(instance, now + market_->data().notice);
        announced_count += instance.unannounced ? 0 : 1;
    }
    for (const InstanceId id : cancelled) release(id, now);
    return announced_count;
}

}  // namespace ukemi::sim
