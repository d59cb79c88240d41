#include "sim/fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ukemi {

Fleet::Fleet(const SpotMarket& market, BillingRule billing, Ledger& ledger, RunQueue& queue,
             std::uint64_t seed)
    : market_(&market),
      billing_(billing),
      ledger_(&ledger),
      queue_(&queue),
      counts_(market.zone_count()),
      meters_(market.zone_count()) {
    for (const ZoneData& zone : market.data().zones) {
        victims_.emplace_back(seed, fmt::format("market/{}/victims", zone.name));
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
    const Counts& held = counts_[index_of(zone)];
    const Meter& meter = meters_[index_of(zone)];
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
    Counts& zone = counts_[index_of(instance.zone)];
    const bool spot = instance.market == Market::spot;
    if (!instance.ready) {
        (spot ? zone.spot_pending : zone.on_demand_pending) += change;
        return;
    }
    Meter& meter = meters_[index_of(instance.zone)];
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

void Fleet::launch(ZoneId zone, Market market, Instant now) {
    INVARIANT(market != Market::none);
    Instance instance;
    instance.id = InstanceId{next_id_++};
    instance.zone = zone;
    instance.market = market;
    ++launches_;
    const Duration provisioning = market_->data().provisioning;
    if (provisioning > Duration{}) {
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
}

void Fleet::became_ready(Instance& instance, Instant now) {
    INVARIANT(!instance.ready);
    count(instance, -1, now);
    open(instance, now);
}

void Fleet::close(Instance& instance, Instant now) {
    INVARIANT(!instance.member);
    const Duration held = now - instance.opened;
    const Duration paid = paid_time(billing_, held);
    const bool spot = instance.market == Market::spot;
    Charge charge;
    if (spot) {
        charge = market_->spot_meter(instance.zone, now);
        charge.subtract(instance.meter_at_opening);
    }
    // What is paid after release costs what it costs now.
    charge.add(spot ? market_->spot_price(instance.zone) : market_->on_demand_price(instance.zone),
               spot ? paid - held : paid);
    ledger_->close(instance.lease, now, paid, charge.rounded());
    count(instance, -1, now);
}

void Fleet::erase(InstanceId id) {
    const auto found = std::ranges::lower_bound(instances_, id, {}, &Instance::id);
    INVARIANT(found != instances_.end() && found->id == id);
    instances_.erase(found);
}

void Fleet::release(InstanceId id, Instant now) {
    Instance* instance = find(id);
    INVARIANT(instance != nullptr);
    queue_->cancel(instance->due);
    if (instance->lost_at) {  // given back after the announcement: taken all the same
        ++revocations_;
        if (last_revocation_ != now) ++revocation_events_;
        last_revocation_ = now;
    }
    if (instance->ready) {
        close(*instance, now);
    } else {
        count(*instance, -1, now);
    }
    erase(id);
}

std::int32_t Fleet::revoke_excess(ZoneId zone, Instant now) {
    const std::int32_t capacity = market_->spot_capacity(zone);
    if (counts(zone).spot_held + counts(zone).spot_pending <= capacity) return 0;
    std::vector<InstanceId> pending;
    std::vector<InstanceId> held;
    for (const Instance& instance : instances_) {
        if (instance.zone != zone || instance.market != Market::spot || instance.lost_at) continue;
        (instance.ready ? held : pending).push_back(instance.id);
    }
    auto excess = static_cast<std::int32_t>(held.size() + pending.size()) - capacity;
    for (; excess > 0 && !pending.empty(); --excess) {  // the youngest request goes first
        release(pending.back(), now);
        pending.pop_back();
    }
    std::int32_t announced_count = 0;
    for (; excess > 0; --excess, ++announced_count) {
        RandomStream& draw = victims_[index_of(zone)];
        const auto last = static_cast<std::int64_t>(held.size()) - 1;
        const auto chosen = held.begin() + draw.integer(0, last);
        Instance& victim = *find(*chosen);
        victim.lost_at = now + market_->data().notice;
        victim.due = queue_->schedule(*victim.lost_at, Phase::environment, InstanceLost{victim.id});
        held.erase(chosen);
    }
    return announced_count;
}

}  // namespace ukemi
