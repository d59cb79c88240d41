#include "sim/market/zone_watch.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {

void ZoneWatch::begin() {
    for (std::uint32_t number = 0; number < market_->zone_count(); ++number) {
        const ZoneId zone{number};
        await_capacity(zone);
        await_price(zone);
        await_recorded_losses(zone);
    }
}

void ZoneWatch::await_capacity(ZoneId zone) {
    const Instant next = market_->capacity_changes_at(zone);
    if (next < Instant::never()) {
        queue_->schedule(next, Phase::environment, CapacityChanged{zone});
    }
}

void ZoneWatch::await_price(ZoneId zone) {
    const Instant next = market_->price_changes_at(zone);
    if (next < Instant::never()) queue_->schedule(next, Phase::environment, PriceChanged{zone});
}

void ZoneWatch::await_recorded_losses(ZoneId zone) {
    const Instant next = fleet_->machines_taken_at(zone);
    if (next < Instant::never()) queue_->schedule(next, Phase::environment, MachinesTaken{zone});
}

void ZoneWatch::await(ZoneId zone, Instant refused_before) {
    const Instant at = fleet_->spot_refused_until(zone);
    if (at > std::max(queue_->now(), refused_before)) {
        queue_->schedule(at, Phase::environment, ZoneGivesAgain{zone});
    }
}

std::optional<ZoneNews> ZoneWatch::see(const CapacityChanged& event) {
    market_->advance_capacity(event.zone);
    await_capacity(event.zone);
    const std::int32_t announced = fleet_->revoke_excess(event.zone, queue_->now());
    return ZoneNews{announced, false, true, true, policies::EventKind::capacity_changed};
}

std::optional<ZoneNews> ZoneWatch::see(const PriceChanged& event) {
    market_->advance_price(event.zone, queue_->now());
    await_price(event.zone);
    ZoneNews news{.kind = policies::EventKind::price_changed};
    if (market_->data().rules.bidding) {
        news.announced = fleet_->revoke_outbid(event.zone, queue_->now());
        news.gives = news.regroups = true;  // it may have fallen below what we bid
    }
    return news;
}

std::optional<ZoneNews> ZoneWatch::see(const MachinesTaken& event) {
    const std::int32_t announced = fleet_->take_machines(event.zone, queue_->now());
    await_recorded_losses(event.zone);
    return ZoneNews{announced, false, true, true, policies::EventKind::capacity_changed};
}

std::optional<ZoneNews> ZoneWatch::see(const LifetimeOver& event) {
    Instance* instance = fleet_->find(event.instance);
    INVARIANT(instance != nullptr);
    return ZoneNews{.announced = fleet_->lifetime_over(*instance) ? 1 : 0, .regroups = true};
}

std::optional<ZoneNews> ZoneWatch::see(const LaunchFailed& event) {
    const Instance* const instance = fleet_->find(event.instance);
    if (instance == nullptr) return {};  // given back meanwhile, before a provider had answered
    const ZoneId zone = instance->zone;
    const Instant refused_before = fleet_->spot_refused_until(zone);
    fleet_->launch_failed(event.instance, queue_->now());
    await(zone, refused_before);
    return ZoneNews{.kind = policies::EventKind::capacity_changed};
}

std::optional<ZoneNews> ZoneWatch::see(const CapacityTold& event) {
    market_->tell_capacity(event.zone, event.capacity);
    return ZoneNews{.gives = true, .regroups = true, .kind = policies::EventKind::capacity_changed};
}

std::optional<ZoneNews> ZoneWatch::see(const PriceTold& event) {
    market_->tell_price(event.zone, event.price, queue_->now());
    return ZoneNews{.kind = policies::EventKind::price_changed};
}

std::optional<ZoneNews> ZoneWatch::see(const LossTold& event) {
    if (!fleet_->loss_told(event.instance, event.lost_at, queue_->now())) return {};
    return ZoneNews{.announced = 1, .told = true, .regroups = true};
}

std::optional<ZoneNews> ZoneWatch::see(const ZoneGivesAgain& event) {
    if (queue_->now() < fleet_->spot_refused_until(event.zone)) return {};  // another one follows
    return ZoneNews{0, false, true, true, policies::EventKind::capacity_changed};
}

}  // namespace ukemi::sim
