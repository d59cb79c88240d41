// decision.hpp — what a policy wants changed: the knobs it turns, and when to ask it again.
//
// All or nothing: the Controller applies every set field or none of them. A field that repeats
// what the Plan already says changes nothing, so a policy may state its wish each time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

struct ZoneCount {
    ZoneId zone{};
    std::int32_t count = 0;
    friend bool operator==(const ZoneCount&, const ZoneCount&) = default;
};

struct MarketCount {
    ZoneId zone{};
    Market market = Market::spot;
    std::int32_t count = 0;
    friend bool operator==(const MarketCount&, const MarketCount&) = default;
};

struct ZoneBid {
    ZoneId zone{};
    Price bid;
    friend bool operator==(const ZoneBid&, const ZoneBid&) = default;
};

struct Decision {
    // What to buy. `market_counts` and `zone_counts` make the list anew and keep the rest of its
    // first line.
    std::optional<std::vector<MarketCount>> market_counts;
    std::optional<std::vector<ZoneCount>> zone_counts;
    std::optional<Market> market;       // of every line
    std::optional<std::int32_t> count;  // of the whole fleet, spread in the old proportions
    std::optional<Price> bid;           // of every line
    std::optional<std::vector<ZoneBid>> zone_bids;  // of the lines in these zones; goes before bid

    // How to train.
    std::optional<std::int32_t> workers_max;
    std::optional<std::int32_t> learners_per_gpu;
    std::optional<std::int64_t> batch_per_learner;
    std::optional<std::int64_t> global_batch;  // 0: it follows the workers again
    std::optional<std::int32_t> accumulation;
    std::optional<double> learning_rate;
    std::optional<Synchronisation> synchronisation;
    std::optional<Collective> collective;
    std::optional<Codec> codec;
    std::optional<double> codec_level;
    std::optional<Layout> layout;
    std::optional<Duration> checkpoint_interval;  // never_checkpoint: none
    std::optional<bool> checkpoint_on_notice;
    std::optional<std::vector<InstanceId>> replaced;  // takes the place of the Plan's list
    std::optional<std::vector<std::int32_t>> tree;    // of hosts; empty: none any more

    // Not knobs.
    std::optional<Duration> ask_again_in;  // besides the usual triggers; at least 1 ns
    std::string_view reason;               // a few words of static text, for decisions.jsonl

    friend bool operator==(const Decision&, const Decision&) = default;
};

// KungFu's resize(n): the whole fleet and the group that trains become `size` machines. Turns count
// and workers.
Decision resized_to(std::int32_t size);

KnobSet knobs_turned(const Decision& decision);

// True if the decision asks for nothing but markets, and every line has them already: the common
// case of a policy that states its wish at each question, told without copying a Plan.
bool repeats_market(const Decision& decision, const Plan& plan);

// The Plan with the decision's fields put in. The version is left alone.
void apply(const Decision& decision, Plan& plan);

// The bids alone. Merging decisions, once more at the end: another one may have added zones.
void apply_bids(const Decision& decision, Plan& plan);

}  // namespace ukemi::policies
