// flow_streams.cpp — flows of one route that move together, in FlowNetwork.
#include <algorithm>
#include <tuple>

#include "sim/network/flow_network.hpp"

namespace ukemi::sim {
namespace {

constexpr auto ends_later = [](const auto& a, const auto& b) {
    return std::tie(a.end, a.number) > std::tie(b.end, b.number);
};

}  // namespace

void FlowNetwork::open_stream(Stream& stream, RouteId route) {
    stream.slot = new_slot(0);
    --flow_count_;
    Flow entry;
    entry.number = flows_[stream.slot].number;
    entry.route = route;
    entry.state = State::stream;
    flows_[stream.slot] = entry;
}

// The flow's remaining bytes become those of the stream when it will have ended.
void FlowNetwork::join_stream(std::uint32_t slot) {
    Stream& stream = stream_of(flows_[slot]);
    if (stream.slot == nobody) open_stream(stream, flows_[slot].route);
    Flow& flow = flows_[slot];
    flow.state = State::streaming;
    if (stream.members.empty()) {  // as most are
        Flow& entry = flows_[stream.slot];
        entry.pace = 0;
        entry.since = now_;
        stream.moved = 0;
        stream.members.push({flow.remaining, ++member_count_, slot});
        shares_.add(stream.slot, flow.route);
        return;
    }
    move_stream(stream);
    flow.remaining += stream.moved;
    stream.members.push({flow.remaining, ++member_count_, slot});
    std::ranges::push_heap(stream.members, ends_later);
    stream_changed(stream);
}

void FlowNetwork::leave_stream(std::uint32_t slot) {
    Stream& stream = stream_of(flows_[slot]);
    move_stream(stream);
    const auto left = std::ranges::remove(stream.members, slot, &Stream::Member::slot);
    stream.members.shrink_to(stream.members.size() - left.size());
    std::ranges::make_heap(stream.members, ends_later);
    stream_changed(stream);
}

double FlowNetwork::pace(FlowId id) const {
    const Flow& flow = flows_[id.slot];
    if (flow.state != State::streaming) return flow.pace;
    return flows_[streams_[static_cast<std::size_t>(flow.route)].slot].pace;
}

// It will want less than the others.
void FlowNetwork::go_without_stream(std::uint32_t slot) {
    leave_stream(slot);
    Flow& flow = flows_[slot];
    const Stream& stream = stream_of(flow);
    flow.remaining = std::max(0.0, flow.remaining - stream.moved);
    flow.pace = flows_[stream.slot].pace;
    flow.since = now_;
    flow.state = State::moving;
    shares_.add(slot, flow.route);
}

// It is due now, and so may be others.
void FlowNetwork::end_first(Stream& stream) {
    Flow& entry = flows_[stream.slot];
    move_stream(stream);
    if (entry.far) return schedule_stream(stream);
    do {
        if (stream.members.size() > 1) std::ranges::pop_heap(stream.members, ends_later);
        const std::uint32_t slot = stream.members.back().slot;
        stream.members.pop();
        happenings_.push({Kind::flow_finished, flows_[slot].tag});
        release(slot);
    } while (!stream.members.empty() && ticks_until_first(stream) == 0);
    stream_changed(stream);
}

// Others are in it than before.
void FlowNetwork::stream_changed(Stream& stream) {
    const RouteId route = flows_[stream.slot].route;
    if (stream.members.empty()) {
        due_.erase(stream.slot);
        shares_.remove(stream.slot);
        return;
    }
    shares_.set_strands(stream.slot, static_cast<std::uint32_t>(stream.members.size()));
    other_members_.push_back(route);
}

void FlowNetwork::move_stream(Stream& stream) {
    Flow& entry = flows_[stream.slot];
    if (entry.since == now_) return;
    const double seconds_past = static_cast<double>(now_ - entry.since) / ticks_per_second;
    stream.moved += entry.pace * seconds_past;
    entry.since = now_;
}

// Of a stream that was moved to the present: when the first of it ends.
FlowNetwork::Tick FlowNetwork::ticks_until_first(const Stream& stream) const {
    const double left = std::max(0.0, stream.members[0].end - stream.moved);
    const double ticks = left / flows_[stream.slot].pace * ticks_per_second;
    return ticks > static_cast<double>(far_ticks) ? no_tick : static_cast<Tick>(ticks + 0.5);
}

void FlowNetwork::schedule_stream(Stream& stream) {
    Flow& entry = flows_[stream.slot];
    if (stream.members.empty() || entry.pace <= 0) return due_.erase(stream.slot);
    move_stream(stream);
    const Tick ticks = ticks_until_first(stream);
    entry.far = ticks > far_ticks;
    due_.put(stream.slot, now_ + (entry.far ? far_ticks : ticks));
}

}  // namespace ukemi::sim
