// fluid_rings.cpp — who may run ahead of whom.
#include "sim/network/fluid_rings.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

constexpr double same_pace_within = 1e-9;
bool faster(double a, double b) { return a > b * (1 + same_pace_within); }

std::uint64_t ring_tag(std::uint32_t run, std::uint32_t edge) {
    return std::uint64_t{run} << 32 | edge;
}

}  // namespace

void FluidRings::start(std::uint32_t run, const PlacedRing& ring, double round_bytes,
                       std::int64_t rounds, std::span<const double> rounds_sent) {
    INVARIANT(round_bytes > 0 && !phases_.contains(run));
    Phase& phase = phases_[run];
    phase.round_bytes = round_bytes;
    phase.running = ring.edges.size();
    for (std::uint32_t i = 0; i < ring.edges.size(); ++i) {
        const double left =
            static_cast<double>(rounds) - (i < rounds_sent.size() ? rounds_sent[i] : 0);
        const double latency_s =
            static_cast<double>(ring.edges[i].latency) / FlowNetwork::ticks_per_second;
        FlowNetwork::FlowOptions options;
        options.delay_s_per_byte = latency_s / round_bytes;
        options.watched = true;
        const FlowNetwork::FlowId flow =
            network_.start(ring.routes[i], round_bytes * left, ring_tag(run, i), options);
        phase.edges.push_back({flow, {}, ring.edges[i].before, ring.edges[i].after});
    }
}

bool FluidRings::flow_finished(std::uint32_t run, std::uint32_t index) {
    Phase& phase = phases_.at(run);
    Edge& edge = phase.edges[index];
    cancel_alarm(edge);
    if (--phase.running == 0) {
        phases_.erase(run);
        return true;
    }
    if (edge.after != no_edge && runs(phase.edges[edge.after])) {
        cancel_alarm(phase.edges[edge.after]);
        let_go(phase.edges[edge.after]);
    }
    return false;
}

void FluidRings::alarm(std::uint32_t run, std::uint32_t index) {
    const auto found = phases_.find(run);
    if (found == phases_.end()) return;  // its last edges were done at the same tick
    std::vector<Edge>& edges = found->second.edges;
    // Or called off at the same tick, perhaps with its whole phase.
    if (index >= edges.size() || !edges[index].alarmed) return;
    edges[index].alarmed = false;
    review(run, found->second, index);
}

void FluidRings::let_go(Edge& edge) {
    if (!edge.locked) return;
    edge.locked = false;
    network_.set_pace_cap(edge.flow, FairShare::unlimited);
}

void FluidRings::cancel_alarm(Edge& edge) {
    if (edge.alarmed) network_.cancel(edge.alarm);
    edge.alarmed = false;
}

// The edge moves at the pace of the one before; whether it can is seen after the next solve.
void FluidRings::follow(std::uint32_t run, Phase& phase, std::uint32_t index) {
    Edge& edge = phase.edges[index];
    const double pace = network_.pace(phase.edges[edge.before].flow);
    if (edge.locked && edge.cap == pace) return;
    edge.locked = true;
    edge.cap = pace;
    network_.set_pace_cap(edge.flow, pace);
    to_review_.push_back(ring_tag(run, index));
}

// An edge, or the one before it, has a new pace.
void FluidRings::review(std::uint32_t run, Phase& phase, std::uint32_t index) {
    Edge& edge = phase.edges[index];
    if (!runs(edge) || edge.before == no_edge) return;
    const Edge& before = phase.edges[edge.before];
    if (!runs(before)) return;
    const double pace = network_.pace(edge.flow);
    const double leading = network_.pace(before.flow);
    if (edge.locked) {
        const bool slower = faster(edge.cap, leading);
        if (!slower && edge.cap != leading) return follow(run, phase, index);
        // It falls behind; or it may run further ahead of a slower one: how fast is it alone?
        if (slower || faster(leading, pace)) let_go(edge);
        if (slower) to_review_.push_back(ring_tag(run, index));
        return;
    }
    cancel_alarm(edge);
    if (!faster(pace, leading)) return;
    const double ahead = network_.bytes_left(before.flow) - network_.bytes_left(edge.flow);
    // 1 − s/2 (1/f + 1/g), f alone the pace of the one before and g its own.
    const double slower = before.locked && before.alone > leading ? leading / before.alone : 1;
    const double lead = 1 - (slower + leading / pace) / 2;
    const double left = phase.round_bytes * lead - ahead;
    if (left <= std::max(1.0, 1e-6 * phase.round_bytes)) {
        edge.alone = pace;
        return follow(run, phase, index);
    }
    const double ticks = left / (pace - leading) * FlowNetwork::ticks_per_second;
    edge.alarm = network_.start_alarm(
        ticks < 1e18 ? static_cast<FlowNetwork::Tick>(ticks + 0.5) : FlowNetwork::Tick{1} << 60,
        ring_tag(run, index) | alarm_bit);
    edge.alarmed = true;
}

// Each time that it is asked a change of pace reaches the next edge, and a few laps settle it.
// Where rings share links it can go round for ever, as each is let go when the other makes room.
bool FluidRings::goes_in_circles() {
    constexpr std::size_t asked_often = 64;
    constexpr std::size_t laps_max = 4;
    if (asked_at_ != network_.now_ticks()) asked_ = 0;
    asked_at_ = network_.now_ticks();
    if (++asked_ <= asked_often) return false;
    std::size_t longest = 0;
    for (const auto& [run, phase] : phases_) longest = std::max(longest, phase.edges.size());
    return asked_ > asked_often + laps_max * longest;
}

bool FluidRings::paces_changed(std::span<const std::uint64_t> tags) {
    if (goes_in_circles()) {
        to_review_.clear();
        return false;
    }
    reviewed_.assign(tags.begin(), tags.end());
    reviewed_.insert(reviewed_.end(), to_review_.begin(), to_review_.end());
    to_review_.clear();
    for (const std::uint64_t tag : reviewed_) {
        const auto run = static_cast<std::uint32_t>(tag >> 32);
        const auto index = static_cast<std::uint32_t>(tag);
        const auto found = phases_.find(run);
        if (found == phases_.end()) continue;
        review(run, found->second, index);
        const std::uint32_t after = found->second.edges[index].after;
        if (after != no_edge) review(run, found->second, after);
    }
    return !to_review_.empty();
}

}  // namespace ukemi::sim
