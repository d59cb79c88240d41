#include "policies/decision.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ukemi {

namespace {

auto line_order(const FleetLine& line) {
    return std::tuple(index_of(line.zone), line.instance_type, line.market);
}

// `count` spread over the lines in proportion to what they have, by largest remainder; the first
// line takes all of it if the fleet is empty-handed. A negative count is put where the Controller
// will see it and refuse: spread, it would be rounded to zero.
void spread_count(std::vector<FleetLine>& fleet, std::int32_t count) {
    if (fleet.empty()) return;
    std::int64_t total = 0;
    for (const FleetLine& line : fleet) total += line.count;
    if (total == 0 || count < 0) {
        fleet.front().count = count;
        return;
    }
    std::vector<std::pair<std::int64_t, std::size_t>> remainders;
    std::int32_t given = 0;
    for (std::size_t index = 0; index < fleet.size(); ++index) {
        const std::int64_t share = std::int64_t{count} * fleet[index].count;
        fleet[index].count = static_cast<std::int32_t>(share / total);
        given += fleet[index].count;
        remainders.emplace_back(-(share % total), index);
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t index = 0; given < count; ++index, ++given) {
        ++fleet[remainders[index].second].count;
    }
}

void set_zone_counts(std::vector<FleetLine>& fleet, const std::vector<ZoneCount>& counts) {
    const FleetLine model = fleet.empty() ? FleetLine{} : fleet.front();
    fleet.clear();
    for (const ZoneCount& wanted : counts) {
        FleetLine line = model;
        line.zone = wanted.zone;
        line.count = wanted.count;
        fleet.push_back(line);
    }
}

}  // namespace

Decision resized_to(std::int32_t size) {
    Decision decision;
    decision.count = size;
    decision.workers_max = size;
    return decision;
}

KnobSet knobs_turned(const Decision& decision) {
    KnobSet turned;
    if (decision.fleet) {
        turned =
            turned | KnobSet{Knob::zone, Knob::instance_type, Knob::market, Knob::count, Knob::bid};
    }
    if (decision.zone_counts) turned = turned | KnobSet{Knob::zone, Knob::count};
    if (decision.market) turned = turned | KnobSet{Knob::market};
    if (decision.count) turned = turned | KnobSet{Knob::count};
    if (decision.bid || decision.zone_bids) turned = turned | KnobSet{Knob::bid};
    if (decision.workers_max) turned = turned | KnobSet{Knob::workers};
    if (decision.learners_per_gpu) turned = turned | KnobSet{Knob::learners_per_gpu};
    if (decision.batch_per_learner || decision.global_batch) turned = turned | KnobSet{Knob::batch};
    if (decision.accumulation) turned = turned | KnobSet{Knob::accumulation};
    if (decision.learning_rate) turned = turned | KnobSet{Knob::learning_rate};
    if (decision.synchronisation) turned = turned | KnobSet{Knob::synchronisation};
    if (decision.collective) turned = turned | KnobSet{Knob::collective};
    if (decision.codec || decision.codec_level) turned = turned | KnobSet{Knob::codec};
    if (decision.layout) turned = turned | KnobSet{Knob::layout};
    if (decision.checkpoint_interval) turned = turned | KnobSet{Knob::checkpoint_interval};
    if (decision.checkpoint_on_notice) turned = turned | KnobSet{Knob::checkpoint_on_notice};
    if (decision.replaced) turned = turned | KnobSet{Knob::machines};
    return turned;
}

bool repeats_market(const Decision& decision, const Plan& plan) {
    if (!decision.market || knobs_turned(decision) != KnobSet{Knob::market}) return false;
    return std::ranges::all_of(
        plan.fleet, [&](const FleetLine& line) { return line.market == *decision.market; });
}

void apply_bids(const Decision& decision, Plan& plan) {
    if (!decision.bid && !decision.zone_bids) return;
    for (FleetLine& line : plan.fleet) {
        line.bid = decision.bid.value_or(line.bid);
        if (!decision.zone_bids) continue;
        const auto bid = std::ranges::find(*decision.zone_bids, line.zone, &ZoneBid::zone);
        if (bid != decision.zone_bids->end()) line.bid = bid->bid;
    }
}

void apply(const Decision& decision, Plan& plan) {
    if (decision.fleet) plan.fleet = *decision.fleet;
    if (decision.zone_counts) set_zone_counts(plan.fleet, *decision.zone_counts);
    if (decision.count) spread_count(plan.fleet, *decision.count);
    for (FleetLine& line : plan.fleet) {
        line.market = decision.market.value_or(line.market);
    }
    apply_bids(decision, plan);
    if (decision.fleet || decision.zone_counts) {
        std::ranges::stable_sort(plan.fleet, {}, line_order);
    }
    plan.workers_max = decision.workers_max.value_or(plan.workers_max);
    plan.learners_per_gpu = decision.learners_per_gpu.value_or(plan.learners_per_gpu);
    plan.batch_per_learner = decision.batch_per_learner.value_or(plan.batch_per_learner);
    plan.global_batch = decision.global_batch.value_or(plan.global_batch);
    plan.accumulation = decision.accumulation.value_or(plan.accumulation);
    plan.learning_rate = decision.learning_rate.value_or(plan.learning_rate);
    plan.synchronisation = decision.synchronisation.value_or(plan.synchronisation);
    plan.collective = decision.collective.value_or(plan.collective);
    plan.codec = decision.codec.value_or(plan.codec);
    plan.codec_level = decision.codec_level.value_or(plan.codec_level);
    plan.layout = decision.layout.value_or(plan.layout);
    plan.checkpoint_interval = decision.checkpoint_interval.value_or(plan.checkpoint_interval);
    plan.checkpoint_on_notice = decision.checkpoint_on_notice.value_or(plan.checkpoint_on_notice);
    if (decision.replaced) plan.replaced = *decision.replaced;
}

}  // namespace ukemi
