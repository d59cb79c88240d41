// flow_network.cpp — from tick to tick.
#include "sim/network/flow_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

LinkId FlowNetwork::add_link(const LinkRate& link) {
    const double bandwidth = link.bandwidth.raw();
    const std::string where = fmt::format("network: link {}", link_count());
    if (!(bandwidth > 0) || !std::isfinite(bandwidth)) {
        throw InputError(where, "",
                         fmt::format("expected a bandwidth above zero, found {} B/s", bandwidth));
    }
    if (link.latency < Duration{} || link.latency > hours(1)) {
        throw InputError(where, "", "expected a latency from 0 s to 1 h");
    }
    latencies_.push_back(link.latency);
    if (!keep_of_.empty()) keep_of_.push_back(nobody);
    return shares_.add_link(bandwidth);
}

RouteId FlowNetwork::add_route(std::span<const Hop> hops) {
    if (hops.empty()) throw InputError("network", "", "a route without links is no path");
    Duration latency;
    for (const Hop& hop : hops) {
        const std::uint32_t index = index_of_link(hop.link);
        if (index >= link_count()) {
            throw InputError("network", "",
                             fmt::format("there is no link {}; there are {}", index, link_count()));
        }
        if (std::ranges::count(hops, hop.link, &Hop::link) > 1) {
            throw InputError("network", "", fmt::format("a route crosses link {} twice", index));
        }
        latency += latencies_[index];
    }
    return add_route(hops, latency);
}

RouteId FlowNetwork::add_route(std::span<const LinkId> links) {
    std::vector<Hop> hops;
    for (const LinkId link : links) hops.push_back({link});
    return add_route(hops);
}

RouteId FlowNetwork::add_route(std::span<const Hop> hops, Duration latency) {
    INVARIANT(!hops.empty() && latency >= Duration{} && latency < hours(4));
    route_latency_.push_back(latency.raw() << tick_bits);
    streams_.emplace_back();
    return shares_.add_route(hops);
}

FlowNetwork::Tick FlowNetwork::tick_of(Instant at) const {
    const std::int64_t past = at.raw() - origin_.raw();
    constexpr std::int64_t most = (far_ticks << 1) >> tick_bits;
    return past > most ? no_tick - half_tick : past << tick_bits;
}

Instant FlowNetwork::instant_of(Tick tick) const {
    return origin_ + nanoseconds((tick + half_tick) >> tick_bits);
}

std::uint32_t FlowNetwork::new_slot(std::uint64_t tag) {
    if (free_slots_.empty()) {
        free_slots_.push_back(static_cast<std::uint32_t>(flows_.size()));
        flows_.emplace_back();
    }
    const std::uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    ++flow_count_;
    flows_[slot].tag = tag;
    return slot;
}

FlowNetwork::FlowId FlowNetwork::start(RouteId route, double bytes, std::uint64_t tag,
                                       const FlowOptions& options) {
    INVARIANT(bytes >= 0 && options.delay_s_per_byte >= 0 && options.cap >= 0);
    INVARIANT(static_cast<std::size_t>(route) < route_latency_.size());
    const std::uint32_t slot = new_slot(tag);
    Flow& flow = flows_[slot];
    flow.remaining = bytes;
    flow.pace = 0;
    flow.delay = options.delay_s_per_byte;
    flow.cap = options.cap;
    flow.since = now_;
    flow.route = route;
    flow.state = State::latent;
    flow.watched = options.watched;
    flow.far = false;
    if (kept_count_ > 0) {
        for (const Hop& hop : shares_.hops(route)) disturb(hop.link, tag);
    }
    const Tick latency = options.latency == route_latency
                             ? route_latency_[static_cast<std::size_t>(route)]
                             : options.latency;
    if (latency > 0) {
        due_.put(slot, now_ + latency);
    } else {
        begin_moving(slot);
    }
    return {slot, flows_[slot].number};
}

FlowNetwork::FlowId FlowNetwork::start_alarm(Tick after, std::uint64_t tag) {
    const std::uint32_t slot = new_slot(tag);
    flows_[slot].state = State::alarm;
    due_.put(slot, now_ + std::clamp<Tick>(after, 1, far_ticks));
    return {slot, flows_[slot].number};
}

void FlowNetwork::begin_moving(std::uint32_t slot) {
    Flow& flow = flows_[slot];
    flow.state = State::moving;
    flow.since = now_;
    const bool plain = flow.delay == 0 && flow.cap == FairShare::unlimited && !flow.watched;
    if (flow.remaining > 0 && flow.remaining < endless && plain) {
        join_stream(slot);
    } else if (flow.remaining > 0) {
        shares_.add(slot, flow.route);
        if (flow.cap < FairShare::unlimited) shares_.set_cap(slot, flow.cap);
    } else {
        due_.put(slot, now_);
    }
}

bool FlowNetwork::is_under_way(FlowId flow) const {
    return flow.slot < flows_.size() && flows_[flow.slot].number == flow.number &&
           flows_[flow.slot].state != State::free;
}

void FlowNetwork::cancel(FlowId flow) {
    if (!is_under_way(flow)) return;
    if (flows_[flow.slot].state == State::streaming) leave_stream(flow.slot);
    due_.erase(flow.slot);
    release(flow.slot);
}

void FlowNetwork::cancel_tagged(std::uint64_t first, std::uint64_t last) {
    for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
        const Flow& flow = flows_[slot];
        if (flow.state == State::free || flow.state == State::stream || flow.tag < first ||
            flow.tag > last)
            continue;
        cancel({slot, flow.number});
    }
}

// It is not in the queue any more.
void FlowNetwork::release(std::uint32_t slot) {
    Flow& flow = flows_[slot];
    if (flow.state == State::moving && shares_.contains(slot)) shares_.remove(slot);
    flow.state = State::free;
    ++flow.number;
    free_slots_.push_back(slot);
    --flow_count_;
}

void FlowNetwork::check_bandwidth(LinkId link, BytesPerSecond bandwidth) const {
    const std::uint32_t index = index_of_link(link);
    if (index >= link_count()) {
        throw InputError("network", "",
                         fmt::format("there is no link {}; there are {}", index, link_count()));
    }
    if (!(bandwidth.raw() >= 0) || !std::isfinite(bandwidth.raw())) {
        throw InputError(
            fmt::format("network: link {}", index), "",
            fmt::format("expected a bandwidth of zero or more, found {} B/s", bandwidth.raw()));
    }
}

void FlowNetwork::set_bandwidth(LinkId link, BytesPerSecond bandwidth) {
    check_bandwidth(link, bandwidth);
    shares_.set_capacity(link, bandwidth.raw());
    changed(link);
}

void FlowNetwork::plan_bandwidth(Instant at, LinkId link, BytesPerSecond bandwidth) {
    check_bandwidth(link, bandwidth);
    INVARIANT(at >= now());
    planned_.push(at.raw(), 0, {Kind::link_changed, index_of_link(link), bandwidth.raw()});
}

void FlowNetwork::plan_wake(Instant at, std::uint64_t tag) {
    INVARIANT(at >= now());
    planned_.push(at.raw(), 0, {Kind::woken, tag, 0});
}

void FlowNetwork::move_bytes(Flow& flow) const {
    const double seconds_past = static_cast<double>(now_ - flow.since) / ticks_per_second;
    flow.remaining = std::max(0.0, flow.remaining - flow.pace * seconds_past);
    flow.since = now_;
}

// Solves for the changes of the present tick and finds out when flows will finish.
void FlowNetwork::settle_rates() {
    while (!disturbances_.empty()) {
        const auto all = std::exchange(disturbances_, {});
        keeper_->disturbed(all);
    }
    bool again = false;
    // A watcher caps flows by the pace of others, one after the other along a ring. Each pass
    // reaches the next flow; more passes than this would go in circles.
    const std::size_t asked_max = 4 * flows_.size() + 256;
    for (std::size_t pass = 0; !shares_.settled() || again; ++pass) {
        take_rates();
        const bool asks = watcher_ != nullptr && (again || !repaced_.empty()) && pass < asked_max;
        again = asks && watcher_->paces_changed(repaced_);
    }
}

void FlowNetwork::take_rates() {
    repaced_.clear();
    for (const std::uint32_t slot : shares_.solve()) {
        Flow& flow = flows_[slot];
        const double rate = shares_.rate(slot);
        if (flow.state == State::stream) {
            move_stream(stream_of(flow));
            flow.pace = rate;
            schedule_stream(stream_of(flow));
            continue;
        }
        if (flow.pace > 0) move_bytes(flow);
        flow.since = now_;
        flow.pace = flow.delay > 0 ? rate / (1 + flow.delay * rate) : rate;
        if (flow.watched) repaced_.push_back(flow.tag);
        schedule(slot);
    }
    for (const RouteId route : other_members_) {
        schedule_stream(streams_[static_cast<std::size_t>(route)]);
    }
    other_members_.clear();
}

FlowNetwork::Tick FlowNetwork::latency_left(FlowId id) const {
    INVARIANT(is_under_way(id));
    return flows_[id.slot].state == State::latent ? due_.due_at(id.slot) - now_ : 0;
}

double FlowNetwork::bytes_left(FlowId id) {
    Flow& flow = flows_[id.slot];
    INVARIANT(is_under_way(id));
    if (flow.state == State::streaming) {
        Stream& stream = stream_of(flow);
        move_stream(stream);
        return std::max(0.0, flow.remaining - stream.moved);
    }
    move_bytes(flow);
    return flow.remaining;
}

void FlowNetwork::set_pace_cap(FlowId id, double pace) {
    INVARIANT(is_under_way(id));
    if (flows_[id.slot].state == State::streaming) go_without_stream(id.slot);
    INVARIANT(shares_.contains(id.slot) && pace >= 0);
    const double slower = 1 - flows_[id.slot].delay * pace;  // not above 0: no share is enough
    shares_.set_cap(id.slot, slower > 0 ? pace / slower : FairShare::unlimited);
}

void FlowNetwork::schedule(std::uint32_t slot) {
    Flow& flow = flows_[slot];
    flow.far = false;
    if (flow.pace <= 0 || flow.remaining == endless) return due_.erase(slot);
    const double ticks = flow.remaining / flow.pace * ticks_per_second;
    flow.far = ticks > static_cast<double>(far_ticks);
    due_.put(slot, now_ + (flow.far ? far_ticks : static_cast<Tick>(ticks + 0.5)));
}

FlowNetwork::Tick FlowNetwork::due_tick() {
    if (!due_.empty() && due_.next() == now_) return now_;  // more of the present tick
    settle_rates();
    return due_.empty() ? no_tick : due_.next();
}

Instant FlowNetwork::planned_at() {
    if (planned_.empty()) return Instant::never();
    return Instant::at(nanoseconds(planned_.next().at));
}

Instant FlowNetwork::next_at() {
    const Tick due = due_tick();
    return due == no_tick ? planned_at() : std::min(planned_at(), instant_of(due));
}

bool FlowNetwork::step(Instant limit) {
    happenings_.clear();
    if (now_ > far_ticks) rebase();
    const Tick due = due_tick();
    const bool plans = !planned_.empty() && planned_at() <= limit;
    if (plans && tick_of(planned_at()) <= due) {
        play_planned();
        return true;
    }
    if (due == no_tick || due >= tick_of(limit) + half_tick) {
        if (limit < Instant::never()) move_to(limit);
        return false;
    }
    play_due(due);
    return true;
}

// All of one instant, so that links which change together are looked at once.
void FlowNetwork::play_planned() {
    const Instant at = planned_at();
    move_to(at);
    while (planned_at() == at) {
        const Planned planned = planned_.take();
        if (planned.kind == Kind::link_changed) {
            shares_.set_capacity(static_cast<LinkId>(planned.tag), planned.bandwidth);
            changed(static_cast<LinkId>(planned.tag));
        }
        happenings_.push({planned.kind, planned.tag});
    }
}

void FlowNetwork::play_due(Tick at) {
    now_ = at;
    while (!due_.empty() && due_.next() == at) {
        for (const std::uint32_t slot : due_.take()) {
            Flow& flow = flows_[slot];
            if (flow.state == State::latent) {
                begin_moving(slot);
            } else if (flow.state == State::alarm) {
                happenings_.push({Kind::woken, flow.tag});
                release(slot);
            } else if (flow.state == State::stream) {
                end_first(stream_of(flow));
            } else if (flow.far) {
                move_bytes(flow);
                schedule(slot);
            } else {
                happenings_.push({Kind::flow_finished, flow.tag});
                release(slot);
            }
        }
    }
}

// Nothing is due before.
void FlowNetwork::move_to(Instant at) {
    const Tick tick = tick_of(at);
    if (tick <= far_ticks << 1) {
        now_ = std::max(now_, tick);
        return;
    }
    settle_rates();
    INVARIANT(due_.empty());  // all that there are stand still or have no end
    due_.shift(now_);
    shifted_ += static_cast<std::uint64_t>(now_);  // and more: nobody counts over such a time
    origin_ = at;
    now_ = 0;
    for (Flow& flow : flows_) flow.since = 0;
}

// Ticks are counted from a later moment.
void FlowNetwork::rebase() {
    const Tick by = now_ >> tick_bits << tick_bits;
    origin_ = origin_ + nanoseconds(by >> tick_bits);
    now_ -= by;
    shifted_ += static_cast<std::uint64_t>(by);
    due_.shift(by);
    // Who stands still so long, or is no more, moves nothing, whatever the time.
    const Tick least = std::numeric_limits<Tick>::min() + by;
    for (Flow& flow : flows_) flow.since = std::max(flow.since, least) - by;
}

double FlowNetwork::rate(FlowId flow) {
    settle_rates();
    if (!is_under_way(flow)) return 0;
    const Flow& one = flows_[flow.slot];
    const std::uint32_t slot = one.state == State::streaming ? stream_of(one).slot : flow.slot;
    return shares_.contains(slot) ? shares_.rate(slot) : 0;
}

std::string FlowNetwork::fault() {
    settle_rates();
    return shares_.fault();
}

}  // namespace ukemi::sim
