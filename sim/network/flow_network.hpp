// flow_network.hpp — flows over shared links in time: latency, then max-min fair rates.
//
// A flow waits the sum of its links' latencies, then moves its bytes at its max-min fair rate
// (fair_share.hpp), and is finished when the last has moved. Time inside is counted in ticks of
// 2^-16 ns: flows that are started when another has finished start at its exact tick, and only
// what is asked or told in Instants is rounded, to the nearest nanosecond. (Rounding every flow
// would be off by up to 264 ns on the reference scenarios.)
//
// Its owner steps from tick to tick, takes what happened and starts what follows. Between
// two steps any number of flows may start and stop and links may change: they do so at the present
// tick, together. Equal inputs give equal ticks on every x86-64 machine.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/invariant.hpp"
#include "base/quantity.hpp"
#include "base/time_queue.hpp"
#include "sim/network/due_flows.hpp"
#include "sim/network/fair_share.hpp"
#include "sim/network/link.hpp"
#include "sim/network/plain_list.hpp"

namespace ukemi::sim {

// Is told, at the tick at which it happens, that flows move at another pace.
class PaceWatcher {
public:
    virtual ~PaceWatcher() = default;
    // The tags of watched flows with a new pace. May set caps and alarms; is asked again when these
    // have taken effect, with what changed then, or with nothing if it returns true.
    virtual bool paces_changed(std::span<const std::uint64_t> tags) = 0;
};

// Knows without flows what moves on links that it keeps for itself. Is told, before the rates of a
// tick are settled, that a flow was started across such a link, or that one has another bandwidth;
// it may then let links go and start flows, at that tick.
class LinkKeeper {
public:
    struct Disturbance {
        std::uint32_t keep = 0;
        bool shared = false;  // by a flow
    };
    virtual ~LinkKeeper() = default;
    virtual void disturbed(std::span<const Disturbance> all) = 0;
};

class FlowNetwork {
public:
    using Tick = std::int64_t;

    struct FlowId {
        std::uint32_t slot = 0;
        std::uint32_t number = 0;  // of the slot's use
    };
    enum class Kind : std::uint8_t { flow_finished, link_changed, woken };
    struct Happening {
        Kind kind{};
        std::uint64_t tag = 0;  // of the flow or the wake; the number of the link
    };
    // Bytes of a flow that goes on until it is cancelled: cross traffic that takes its fair share.
    static constexpr double endless = std::numeric_limits<double>::infinity();

    static constexpr int tick_bits = 16;
    // InputError for a bandwidth that is not above zero and finite, or a negative latency.
    LinkId add_link(const LinkRate& link);
    // Hops in the order in which they are crossed, and the latency of all links. InputError if
    // there are none ("no path"), or one of a link that does not exist or comes again.
    RouteId add_route(std::span<const Hop> hops);
    RouteId add_route(std::span<const LinkId> links);  // the whole of them
    // With a latency of its own, as coupled flows have.
    RouteId add_route(std::span<const Hop> hops, Duration latency);

    std::size_t link_count() const { return shares_.link_count(); }
    std::size_t flow_count() const { return flow_count_; }
    Duration latency(LinkId link) const { return latencies_.at(index_of_link(link)); }
    BytesPerSecond bandwidth(LinkId link) const {
        return BytesPerSecond::of(shares_.capacity(link));
    }
    // The last tick that was played, or where the last step() or advance_to() led, rounded.
    Instant now() const { return instant_of(now_); }
    // Ticks since a moment that may move when a step is made; differences within one are exact.
    Tick now_ticks() const { return now_; }
    // Ticks since the start, modulo 2^64.
    std::uint64_t clock() const { return static_cast<std::uint64_t>(now_) + shifted_; }
    static constexpr double ticks_per_second = 65536e9;
    static constexpr Tick ticks_of(Duration time) { return time.raw() << tick_bits; }

    struct FlowOptions {
        // At a fair share of x the flow is as slow as one that pauses this long with every byte:
        // its pace is 1/(1/x + delay).
        double delay_s_per_byte = 0;
        bool watched = false;
        double cap =
            FairShare::unlimited;      // it takes no greater share: cross traffic of its own rate
        Tick latency = route_latency;  // before it moves; else that of its route
    };
    static constexpr Tick route_latency = -1;
    // At the present tick. Bytes ≥ 0, `endless` included.
    FlowId start(RouteId route, double bytes, std::uint64_t tag, const FlowOptions& options);
    FlowId start(RouteId route, double bytes, std::uint64_t tag) {
        return start(route, bytes, tag, FlowOptions());
    }
    // Tells of the tag when so many ticks have passed; cancelled like a flow.
    FlowId start_alarm(Tick after, std::uint64_t tag);
    // One at most; nullptr to end it.
    void watch(PaceWatcher* watcher) {
        INVARIANT(watcher_ == nullptr || watcher == nullptr);
        watcher_ = watcher;
    }
    // False from the tick on at which it finished, even before its happening was taken.
    bool is_under_way(FlowId flow) const;
    // Of a moving flow: the pace that was last settled, and the bytes that it has yet to move.
    double pace(FlowId flow) const;
    double bytes_left(FlowId flow);
    // Until it moves.
    Tick latency_left(FlowId flow) const;
    // The flow takes no more than what gives it this pace.
    void set_pace_cap(FlowId flow, double pace);
    void cancel(FlowId flow);                                     // nothing if it has finished
    void cancel_tagged(std::uint64_t first, std::uint64_t last);  // both included

    // One at most; nullptr to end it.
    void set_keeper(LinkKeeper* keeper) {
        INVARIANT(keeper_ == nullptr || keeper == nullptr);
        keeper_ = keeper;
    }
    // No flow crosses these links or waits its latency to do so, and nobody keeps them.
    bool are_quiet(std::span<const LinkId> links);
    // They must be quiet; `keep` is what the keeper is told. Flows with keep in the upper half of
    // their tag are its own, and nothing to be told.
    void keep_links(std::span<const LinkId> links, std::uint32_t keep);
    void let_go(std::span<const LinkId> links);
    std::span<const Hop> hops(RouteId route) const { return shares_.hops(route); }
    Tick latency_of(RouteId route) const { return route_latency_[static_cast<std::size_t>(route)]; }
    Duration latency(RouteId route) const { return nanoseconds(latency_of(route) >> tick_bits); }
    // How often a link has got another bandwidth.
    std::uint64_t bandwidth_changes() const { return bandwidth_changes_; }
    struct FlowNow {
        std::uint64_t tag = 0;
        Tick latency_left = 0;
        double bytes_left = 0;
    };
    std::vector<FlowNow> flows_now();  // that wait their latency or move

    // Zero: the link is down and its flows stand still. InputError if negative or not finite.
    void set_bandwidth(LinkId link, BytesPerSecond bandwidth);
    // At a later instant, before what is due then; InputError as above.
    void plan_bandwidth(Instant at, LinkId link, BytesPerSecond bandwidth);
    void plan_wake(Instant at, std::uint64_t tag);

    // When something will happen next; never if nothing will (all flows stand still, or none is).
    Instant next_at();
    // Plays the next tick if its rounded instant is not after `limit`, else moves the present to
    // `limit` (unless that is never) and is false. What happened is in happenings() until the next
    // call; what follows from it is started at the same tick.
    bool step(Instant limit);
    std::span<const Happening> happenings() const {
        return {happenings_.begin(), happenings_.size()};
    }

    // Its fair share at present, bytes a second; zero while it waits its latency or stands still.
    double rate(FlowId flow);
    // What breaks the max-min conditions, or empty; see FairShare::fault.
    std::string fault();
    std::uint64_t visit_count() const { return shares_.visit_count(); }

private:
    enum class State : std::uint8_t { free, latent, moving, alarm, streaming, stream };
    struct Flow {
        double remaining = 0;
        double pace = 0;  // bytes a second, since the tick `since`
        double delay = 0;
        double cap = FairShare::unlimited;
        Tick since = 0;
        std::uint64_t tag = 0;
        RouteId route{};
        std::uint32_t number = 0;
        State state = State::free;
        bool watched = false;
        bool far = false;  // its finish lies beyond what ticks can count; it is looked at before
    };
    // Flows of one route that take all they can get have one rate. They move as a stream, which
    // counts for so many in the solver and is due when the first of them is: one that comes or goes
    // costs the same however many there are.
    struct Stream {
        struct Member {
            double end = 0;  // of the bytes that any member moves since the stream began
            std::uint64_t number = 0;
            std::uint32_t slot = 0;
        };
        PlainList<Member> members;  // a heap, the first to end on top
        double moved = 0;
        std::uint32_t slot = 0xffffffff;  // of its entry among the flows, once it has one
    };
    struct Planned {
        Kind kind{};
        std::uint64_t tag = 0;
        double bandwidth = 0;
    };

    static constexpr Tick half_tick = Tick{1} << (tick_bits - 1);
    static constexpr Tick far_ticks = Tick{1} << 60;  // 4.9 hours
    static constexpr Tick no_tick = std::numeric_limits<Tick>::max();

    Tick tick_of(Instant at) const;
    Instant instant_of(Tick tick) const;
    Tick due_tick();
    Instant planned_at();  // the next; never if nothing is planned
    std::uint32_t new_slot(std::uint64_t tag);
    void settle_rates();
    void take_rates();
    void schedule(std::uint32_t slot);
    void move_bytes(Flow& flow) const;
    void play_planned();
    void play_due(Tick at);
    void begin_moving(std::uint32_t slot);
    Stream& stream_of(const Flow& flow) { return streams_[static_cast<std::size_t>(flow.route)]; }
    void open_stream(Stream& stream, RouteId route);
    void join_stream(std::uint32_t slot);
    void leave_stream(std::uint32_t slot);
    void go_without_stream(std::uint32_t slot);
    void end_first(Stream& stream);
    void stream_changed(Stream& stream);
    void move_stream(Stream& stream);
    void schedule_stream(Stream& stream);
    Tick ticks_until_first(const Stream& stream) const;
    void disturb(LinkId link, std::uint64_t tag);
    void changed(LinkId link);
    void release(std::uint32_t slot);
    void move_to(Instant at);
    void rebase();
    void check_bandwidth(LinkId link, BytesPerSecond bandwidth) const;

    FairShare shares_;
    DueFlows due_;
    std::vector<Duration> latencies_;  // of links
    std::vector<Tick> route_latency_;  // in ticks
    std::vector<Flow> flows_;
    std::vector<Stream> streams_;         // by route
    std::vector<RouteId> other_members_;  // streams that may have another first
    std::uint64_t member_count_ = 0;      // that ever joined one
    std::vector<std::uint32_t> free_slots_;
    std::size_t flow_count_ = 0;
    Instant origin_;  // tick 0
    Tick now_ = 0;
    TimeQueue<Planned> planned_;  // by instant
    PlainList<Happening> happenings_;
    PaceWatcher* watcher_ = nullptr;
    std::vector<std::uint64_t> repaced_;  // tags of watched flows
    std::uint64_t shifted_ = 0;           // ticks before tick 0, modulo 2^64
    LinkKeeper* keeper_ = nullptr;
    static constexpr std::uint32_t nobody = 0xffffffff;
    std::vector<std::uint32_t> keep_of_;  // by link; empty as long as none was ever kept
    std::size_t kept_count_ = 0;          // links
    std::uint64_t bandwidth_changes_ = 0;
    std::vector<LinkKeeper::Disturbance> disturbances_;
    std::vector<bool> asked_about_;  // by link; all false between two questions
};

}  // namespace ukemi::sim
