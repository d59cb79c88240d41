// market.hpp — what the provider has to give at each moment, and what it charges.
//
// MarketData is read once and shared by all runs; SpotMarket is one run's place in it. A recorded
// capacity is the number of spot instances of ours that a zone carries; when it falls, the excess
// is lost at that very moment, announced `notice` before. So a policy sees, and a launch can have,
// the smallest capacity from now until now + notice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "policies/predictor.hpp"
#include "sim/market/market_rules.hpp"
#include "sim/market/recorded_group.hpp"
#include "sim/market/transfer.hpp"
#include "traces/series.hpp"

namespace ukemi::sim {

// What holds after a series' last row. `end`: no spot any more, prices stay; on-demand is always
// sold. `repeat`: from the first row again. `hold`: as in the last row.
enum class AfterLastRow : std::uint8_t { end, repeat, hold };

// What one place sells: an availability zone, or one instance type in it where there are several.
struct ZoneData {
    std::string name;
    std::string region;                     // within one, a model moves freely; empty: a zone apart
    std::int32_t speed_per_mille = 1000;    // of a worker there, relative to the job's profile
    traces::AvailabilitySeries capacity;    // as recorded
    traces::AvailabilitySeries launchable;  // announced(capacity, …): see prepare()
    traces::PriceSeries spot_price;
    Price on_demand_price;
    RecordedGroup machines;       // whose losses are as recorded; empty: those lost are drawn
    bool one_is_undated = false;  // of capacity and prices: nobody knows whether they fit
};

struct MarketData {
    std::vector<ZoneData> zones;
    AfterLastRow after_last_row = AfterLastRow::end;
    Duration notice;        // between the announcement of a loss and the loss
    Duration provisioning;  // from asking for an instance to having it
    MarketRules rules;
    TransferRules transfer;
};

// Of the zones with these numbers.
Move move_between(const MarketData& data, ZoneId from, ZoneId to);

// The series that launches and policies see: at t, the least capacity in [t, t + notice].
traces::AvailabilitySeries announced(const traces::AvailabilitySeries& capacity, Duration notice,
                                     AfterLastRow after_last_row);

// Fills in what follows from the recorded series: every zone's `launchable`.
void prepare(MarketData& data);

// Whether a spot instance may be lost at a moment that is no multiple of the tick. Without a clock
// (zero) none is. Losses by age and recorded machines count as such wherever they fall.
bool loses_between_ticks(const MarketData& data, Duration tick);

// Walks one series through time, beyond its end by the rule.
template <class Value>
class SeriesCursor {
public:
    SeriesCursor(const traces::Series<Value>& series, AfterLastRow after, bool ends_at_nothing)
        : series_(&series),
          after_(after),
          ends_at_nothing_(ends_at_nothing),
          // A last row that holds for no time is no part of what repeats.
          count_(series.steps.size() - (after == AfterLastRow::repeat && series.steps.size() > 1 &&
                                        series.steps.back().at == series.end)) {
        INVARIANT(!series.steps.empty() && series.steps.front().at == Instant{});
        find_next();
    }

    Value value() const { return over_ ? Value{} : series_->steps[index_].value; }
    Instant next_at() const { return next_at_; }  // never() if the value stays for good
    void advance() {
        INVARIANT(next_at_ < Instant::never());
        if (index_ + 1 < count_) {
            ++index_;
        } else if (after_ == AfterLastRow::repeat) {
            index_ = 0;
            begin_ = begin_ + series_->end.since_start();
        } else {
            over_ = true;
        }
        find_next();
    }

private:
    void find_next() {
        next_at_ = Instant::never();
        if (over_) return;
        if (index_ + 1 < count_) {
            next_at_ = begin_ + series_->steps[index_ + 1].at.since_start();
        } else if (after_ == AfterLastRow::repeat) {
            const bool changes = count_ > 1 && series_->end > Instant{};
            if (changes) next_at_ = begin_ + series_->end.since_start();
        } else if (after_ == AfterLastRow::end && ends_at_nothing_ && value() != Value{}) {
            next_at_ = begin_ + series_->end.since_start();
        }
    }

    const traces::Series<Value>* series_;
    AfterLastRow after_;
    bool ends_at_nothing_;
    std::size_t count_;  // of the steps that count
    std::size_t index_ = 0;
    Instant begin_;  // of the present repetition
    Instant next_at_;
    bool over_ = false;
};

using CapacityCursor = SeriesCursor<std::int32_t>;
using PriceCursor = SeriesCursor<Price>;

class SpotMarket {
public:
    explicit SpotMarket(const MarketData& data);  // which outlives it

    std::size_t zone_count() const { return zones_.size(); }
    const MarketData& data() const { return *data_; }
    std::int32_t spot_capacity(ZoneId zone) const {
        return at(zone).told.value_or(at(zone).capacity.value());
    }
    // From now on the zone has so many places for machines of either market, whatever the record
    // says.
    void tell_capacity(ZoneId zone, std::int32_t capacity) { at(zone).told = capacity; }
    void tell_price(ZoneId zone, Price price, Instant now);  // the same for what it charges
    bool is_told(ZoneId zone) const { return at(zone).told.has_value(); }
    Price spot_price(ZoneId zone) const {
        return at(zone).told_price.value_or(at(zone).price.value());
    }
    const PriceCursor& price_cursor(ZoneId zone) const { return at(zone).price; }
    Price on_demand_price(ZoneId zone) const {
        return data_->zones[ukemi::index_of(zone)].on_demand_price;
    }
    Instant capacity_changes_at(ZoneId zone) const { return at(zone).capacity.next_at(); }
    Instant price_changes_at(ZoneId zone) const { return at(zone).price.next_at(); }
    void advance_capacity(ZoneId zone) { at(zone).capacity.advance(); }
    void advance_price(ZoneId zone, Instant now);  // by the record

    // The price of one spot instance held from the start of the run until now: differences of it
    // are the cost of a lease, however often the price changed.
    Charge spot_meter(ZoneId zone, Instant now) const;

private:
    struct Zone {
        CapacityCursor capacity;
        std::optional<std::int32_t> told;  // in place of it
        PriceCursor price;
        std::optional<Price> told_price;  // in place of it
        Charge metered;                   // until `metered_to`
        Instant metered_to;
    };
    void meter(ZoneId zone, Instant now);
    const Zone& at(ZoneId zone) const { return zones_[ukemi::index_of(zone)]; }
    Zone& at(ZoneId zone) { return zones_[ukemi::index_of(zone)]; }

    const MarketData* data_;
    std::vector<Zone> zones_;
};

// Knows the future of the market: for policies that a scenario allows to cheat.
class MarketOracle final : public policies::Oracle {
public:
    explicit MarketOracle(const MarketData& data) : data_(&data) {}
    Duration spot_time(Instant from, Instant to, std::int32_t count) const override;

private:
    const MarketData* data_;
};

}  // namespace ukemi::sim
