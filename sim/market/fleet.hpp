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
#include "records/ledger.hpp"
#include "sim/engine/event.hpp"
#include "sim/market/market.hpp"

namespace ukemi::sim {

struct Instance {
    InstanceId id{};
    ZoneId zone{};
    policies::Market market = policies::Market::spot;
    bool ready = false;              // held and paid for; else still being provisioned
    bool started = false;            // its worker can join a group
    bool member = false;             // trains, or is in a transition with the others
    bool has_state = false;          // holds the present model
    bool saving = false;             // the model, of a group that is no more
    bool detached = false;           // was in the group and holds its machine, but not its place
    bool retiring = false;           // to be released once its replacement is there
    bool unannounced = false;        // its loss comes without a notice: nobody knows of it yet
    bool told = false;               // its loss is a provider's word and no record
    std::optional<Instant> lost_at;  // decided
    std::int32_t speed_per_mille = 1000;  // of what the market promises
    Price bid;
    std::optional<std::uint32_t> machine;  // of a recorded group
    Instant opened;
    Instant spawning_since;  // while it is not started
    Charge meter_at_opening;
    std::optional<PriceCursor> price_at_opening;  // where a bill needs the prices since then
    records::Ledger::Lease lease = 0;
    RunQueue::Ticket due;  // its InstanceReady, LaunchFailed, LifetimeOver or InstanceLost

    bool announced() const { return lost_at && !unannounced; }
};

// Who is asked for machines where no record says what is to be had.
class Provider {
public:
    virtual ~Provider() = default;
    // InstanceReady or LaunchFailed follows, unless it is given back before.
    virtual void ask(const Instance& wanted, Instant now) = 0;
    virtual void give_back(InstanceId instance, Instant now) = 0;  // or it is taken
};

class Fleet {
public:
    struct Counts {  // of one zone
        std::int32_t spot_held = 0;
        std::int32_t on_demand_held = 0;
        std::int32_t spot_pending = 0;
        std::int32_t on_demand_pending = 0;
    };

    // Without a provider the market gives what it has. All outlive it.
    Fleet(const SpotMarket& market, records::Ledger& ledger, RunQueue& queue, std::uint64_t seed,
          Provider* provider = nullptr);

    std::span<Instance> instances() { return instances_; }
    std::span<const Instance> instances() const { return instances_; }
    Instance* find(InstanceId id);
    const Counts& counts(ZoneId zone) const { return counts_[ukemi::index_of(zone)]; }
    std::int32_t spot_held() const { return spot_held_; }
    std::int32_t on_demand_held() const { return on_demand_held_; }
    std::int64_t launches() const { return launches_; }
    std::int64_t launch_failures() const { return launch_failures_; }
    std::int64_t revocations() const { return revocations_; }
    std::int64_t revocation_events() const { return revocation_events_; }
    Duration spot_time(Instant now) const;  // for how long any spot was held
    Dollars metered(Instant now) const;     // cost so far, without rounding up
    struct Bill {
        Duration held;
        Dollars cost;
    };
    Bill bill_of(const Instance& instance, Instant now) const;  // if it were given back now
    const records::MarketTotals& spot_billed() const { return spot_billed_; }
    const records::MarketTotals& on_demand_billed() const { return on_demand_billed_; }

    // How many more spot instances the zone would give now for that bid (zero: the on-demand
    // price).
    std::int32_t spot_room(ZoneId zone, Price bid, Instant now) const;
    // On-demand is always sold, but where the places of both markets have been told.
    std::int32_t on_demand_room(ZoneId zone) const;
    // What a policy may count on: what the zone carries, or only what is there already while the
    // provider refuses more or asks for more than this bid. A loss that comes without a notice is
    // not shown before it is there.
    std::int32_t visible_capacity(ZoneId zone, Price bid, Instant now) const;
    // The bid, or for none the default one.
    Price most_paid(ZoneId zone, Price bid) const {
        return bid > Price{} ? bid : market_->on_demand_price(zone);
    }
    // When the zone gives spot instances again, if something other than capacity and price is in
    // the way now; a moment in the past if not.
    Instant spot_refused_until(ZoneId zone) const { return refused_until_[ukemi::index_of(zone)]; }
    // Asks for one instance; it is there at once if provisioning takes no time.
    void launch(ZoneId zone, policies::Market market, Price bid, Instant now);
    void became_ready(Instance& instance, Instant now);
    void launch_failed(InstanceId id, Instant now);
    // Its age has come: announces its loss. False if nobody learns of it.
    bool lifetime_over(Instance& instance);
    // A provider says when it takes this one. False if that was known, or it was not there yet:
    // then it will not come.
    bool loss_told(InstanceId id, Instant lost_at, Instant now);
    // It is given back, or it was announced and its time has come: gone, and billed, either way.
    // One that was announced counts as a revocation, unless the run is over before its time comes.
    void release(InstanceId id, Instant now, bool run_is_over = false);
    // Spot instances beyond the zone's capacity: those still pending are cancelled, others, drawn
    // at random, are announced as lost. Returns how many were announced.
    std::int32_t revoke_excess(ZoneId zone, Instant now);
    // The same where machines are recorded: those whose loss is announced by now.
    std::int32_t take_machines(ZoneId zone, Instant now);
    Instant machines_taken_at(ZoneId zone) const;  // when that is to be called; perhaps never()
    void let_machines_come(Instant now);           // recorded ones; call it before spot_room
    // Those whose bid the price has risen above.
    std::int32_t revoke_outbid(ZoneId zone, Instant now);

private:
    void open(Instance& instance, Instant now);
    void close(Instance& instance, Instant now);
    void take(Instance& instance, Instant lost_at);
    bool notice_arrives(ZoneId zone);
    bool is_recorded(ZoneId zone) const;
    std::int32_t told_room(ZoneId zone) const;
    void count(const Instance& instance, std::int32_t change, Instant now);
    void erase(InstanceId id);
    std::int32_t speed_of(const Instance& instance);

    const SpotMarket* market_;
    records::Ledger* ledger_;
    RunQueue* queue_;
    Provider* provider_;
    std::vector<RandomStream> victims_;   // a stream a zone
    std::vector<RandomStream> notices_;   // a stream a zone
    std::vector<RandomStream> failures_;  // a stream a zone
    std::vector<RandomStream> speeds_;    // a stream a zone
    std::vector<GroupCursor> recorded_;   // by zone
    std::vector<Instant> refused_until_;  // by zone: no spot launches before
    std::vector<Instance> instances_;
    struct Meter {  // of one zone, since its counts last changed
        Charge spot_at_change;
        Instant changed_at;
    };
    Charge running_cost(ZoneId zone, Instant now) const;

    std::vector<Counts> counts_;
    std::vector<Meter> meters_;
    Charge metered_;                     // each zone until its counts last changed
    records::MarketTotals spot_billed_;  // of what was closed
    records::MarketTotals on_demand_billed_;
    std::int32_t spot_held_ = 0;
    std::int32_t on_demand_held_ = 0;
    std::int64_t launches_ = 0;
    std::int64_t launch_failures_ = 0;
    std::int64_t revocations_ = 0;
    std::int64_t revocation_events_ = 0;
    Instant last_revocation_ = Instant::never();
    Duration spot_time_;
    Instant spot_since_;
    std::uint32_t next_id_ = 0;
};

}  // namespace ukemi::sim
