// fleet.hpp — the instances of a run: asked for, held, announced to be lost, released, billed.
//
// Knows who holds what and what it costs; knows nothing of training. Instances are kept in the
// order of their ids, which is the order in which they were asked for. Members of the training
// group may only be released or lost after they left it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/rng.hpp"
#include "policies/observation.hpp"
#include "policies/plan.hpp"
#include "records/billing.hpp"
#include "records/ledger.hpp"
#include "sim/event.hpp"
#include "sim/market.hpp"

namespace ukemi {

struct Instance {
    InstanceId id{};
    ZoneId zone{};
    Market market = Market::spot;
    bool ready = false;              // held and paid for; else still being provisioned
    bool started = false;            // its worker can join a group
    bool member = false;             // trains, or is in a transition with the others
    bool has_state = false;          // holds the present model
    bool retiring = false;           // to be released once its replacement is there
    std::optional<Instant> lost_at;  // announced
    Instant opened;
    Charge meter_at_opening;
    Ledger::Lease lease = 0;
    RunQueue::Ticket due;  // its InstanceReady or InstanceLost
};

class Fleet {
public:
    struct Counts {  // of one zone
        std::int32_t spot_held = 0;
        std::int32_t on_demand_held = 0;
        std::int32_t spot_pending = 0;
        std::int32_t on_demand_pending = 0;
    };

    Fleet(const SpotMarket& market, BillingRule billing, Ledger& ledger, RunQueue& queue,
          std::uint64_t seed);

    std::span<Instance> instances() { return instances_; }
    std::span<const Instance> instances() const { return instances_; }
    Instance* find(InstanceId id);
    const Counts& counts(ZoneId zone) const { return counts_[index_of(zone)]; }
    std::int32_t spot_held() const { return spot_held_; }
    std::int32_t on_demand_held() const { return on_demand_held_; }
    std::int64_t launches() const { return launches_; }
    std::int64_t revocations() const { return revocations_; }
    std::int64_t revocation_events() const { return revocation_events_; }
    Duration spot_time(Instant now) const;  // for how long any spot was held
    Dollars metered(Instant now) const;     // cost so far, without rounding up

    // Asks for one instance; it is there at once if provisioning takes no time.
    void launch(ZoneId zone, Market market, Instant now);
    void became_ready(Instance& instance, Instant now);
    // It is given back, or it was announced and its time has come: gone, and billed, either way.
    // One that was announced counts as a revocation.
    void release(InstanceId id, Instant now);
    // Spot instances beyond the zone's capacity: those still pending are cancelled, others, drawn
    // at random, are announced as lost. Returns how many were announced.
    std::int32_t revoke_excess(ZoneId zone, Instant now);

private:
    void open(Instance& instance, Instant now);
    void close(Instance& instance, Instant now);
    void count(const Instance& instance, std::int32_t change, Instant now);
    void erase(InstanceId id);

    const SpotMarket* market_;
    BillingRule billing_;
    Ledger* ledger_;
    RunQueue* queue_;
    std::vector<RandomStream> victims_;  // a stream a zone
    std::vector<Instance> instances_;
    struct Meter {  // of one zone, since its counts last changed
        Charge spot_at_change;
        Instant changed_at;
    };
    Charge running_cost(ZoneId zone, Instant now) const;

    std::vector<Counts> counts_;
    std::vector<Meter> meters_;
    Charge metered_;  // each zone until its counts last changed
    std::int32_t spot_held_ = 0;
    std::int32_t on_demand_held_ = 0;
    std::int64_t launches_ = 0;
    std::int64_t revocations_ = 0;
    std::int64_t revocation_events_ = 0;
    Instant last_revocation_ = Instant::never();
    Duration spot_time_;
    Instant spot_since_;
    std::uint32_t next_id_ = 0;
};

}  // namespace ukemi
