// zone_watch.hpp — what the market does to a run, event after event: capacity and prices change,
// machines are announced to be lost, zones refuse and give again. It moves the market on, has the
// fleet find out who goes, and schedules what is to come; what that means for a job, its World
// says.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/policy.hpp"
#include "sim/engine/event.hpp"
#include "sim/market/fleet.hpp"
#include "sim/market/market.hpp"

namespace ukemi::sim {

struct ZoneNews {
    std::int32_t announced = 0;  // machines whose loss became known
    bool told = false;           // by a provider: known whatever the market's rules are
    bool gives = false;          // machines may be had that could not be had before
    bool regroups = false;       // the group may be another at its next boundary
    policies::EventKind kind = policies::EventKind::none;  // as policies are told
};

class ZoneWatch {
public:
    // All outlive it.
    ZoneWatch(SpotMarket& market, Fleet& fleet, RunQueue& queue)
        : market_(&market), fleet_(&fleet), queue_(&queue) {}

    void begin();  // once: schedules what is to come of every zone
    // A machine was refused or lost, and its zone may refuse for longer than until then: it is
    // looked at again when it no longer does.
    void await(ZoneId zone, Instant refused_before);

    std::optional<ZoneNews> see(const CapacityChanged& event);
    std::optional<ZoneNews> see(const PriceChanged& event);
    std::optional<ZoneNews> see(const MachinesTaken& event);
    std::optional<ZoneNews> see(const LifetimeOver& event);
    std::optional<ZoneNews> see(const LaunchFailed& event);
    std::optional<ZoneNews> see(const CapacityTold& event);
    std::optional<ZoneNews> see(const PriceTold& event);
    std::optional<ZoneNews> see(const LossTold& event);
    std::optional<ZoneNews> see(const ZoneGivesAgain& event);  // none: it refuses for longer

private:
    void await_capacity(ZoneId zone);
    void await_price(ZoneId zone);
    void await_recorded_losses(ZoneId zone);

    SpotMarket* market_;
    Fleet* fleet_;
    RunQueue* queue_;
};

}  // namespace ukemi::sim
