// ledger.hpp — where the held instance-seconds of a run went, and the dollars with them.
//
// Every second that is paid for is exactly one of six causes. It is counted twice by different
// code: once per lease, from the moment it opened to the moment it is paid until, and once by
// cause, from what the group it belonged to was doing. `close` compares the two for every lease.
// A lease belongs to the group that trains (its members) or waits by itself (idle). The members'
// clock runs on with `elapse`, so membership costs nothing while it does not change; it may lag
// behind the run inside a step, whose cause is not known before it ends, and must have caught up
// when a member joins, leaves or closes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::records {

enum class Cause : std::uint8_t {
    useful,      // work that counts in the end
    redone,      // computing again what a loss threw away; the first computation stays useful
    transition,  // spawn, rendezvous, state transfer, warm-up
    checkpoint,  // saving while training stands still, also before a change or after a loss
    idle,        // held, nothing to do
    wasted,      // a torn step; paid after release
};
inline constexpr std::size_t cause_count = 6;
std::span<const std::string_view> cause_names();

struct CauseTotals {
    std::array<Duration, cause_count> time{};
    std::array<Dollars, cause_count> cost{};

    Duration time_of(Cause cause) const { return time[static_cast<std::size_t>(cause)]; }
    Dollars cost_of(Cause cause) const { return cost[static_cast<std::size_t>(cause)]; }
    Duration time_sum() const;
    Dollars cost_sum() const;
    friend bool operator==(const CauseTotals&, const CauseTotals&) = default;
};

// What was held of one market, spot or on demand, and paid for it.
struct MarketTotals {
    Duration held;
    Dollars cost;

    void add(Duration held_more, Dollars cost_more) {
        held += held_more;
        cost += cost_more;
    }
};

// `bill` in parts proportional to `weights` by largest remainder (ties: the first): the parts add
// up to the bill exactly. With no weight at all everything goes to the last part.
std::array<Dollars, cause_count> split_bill(Dollars bill,
                                            const std::array<Duration, cause_count>& weights);

class Ledger {
public:
    using Lease = std::uint32_t;

    const CauseTotals& totals() const { return totals_; }  // of closed leases
    Duration held() const { return held_; }                // of closed leases, counted by lease
    Dollars billed() const { return billed_; }
    Duration as_members() const { return as_members_; }  // until each last left or closed
    std::uint32_t open_count() const { return open_count_; }
    std::size_t bytes_held() const {
        return entries_.capacity() * sizeof(Entry) + free_.capacity() * sizeof(Lease);
    }

    Instant members_at() const { return members_at_; }  // until when their time is counted
    // The members spent the time since the last call, until `until`, on `cause`.
    void elapse(Instant until, Cause cause);

    Lease open(Instant now);                                // idle
    void set_alone(Lease lease, Instant now, Cause cause);  // what it does while no member
    void join(Lease lease, Instant now);                    // becomes a member
    void leave(Lease lease, Instant now);                   // idle again
    // It leaves while the others go on with the step in progress, whose time is wasted for it.
    void leave_torn(Lease lease, Instant now);
    // Released now, paid for `paid` in all; what was paid after release is wasted.
    void close(Lease lease, Instant now, Duration paid, Dollars bill);

private:
    using Clock = std::array<Duration, cause_count>;
    struct Entry {
        Instant opened;
        Instant alone_since;  // while it is not a member
        Cause alone = Cause::idle;
        Clock members_at_join{};  // while it is one
        Clock spent{};            // before that
        bool member = false;
        bool closed = false;
    };
    void settle(Entry& entry, Instant now);

    Instant members_at_;
    Clock members_{};
    std::vector<Entry> entries_;
    std::vector<Lease> free_;  // closed entries, used again: memory follows the open leases
    CauseTotals totals_;
    Duration held_;
    Duration as_members_;
    Dollars billed_;
    std::uint32_t open_count_ = 0;
};

}  // namespace ukemi::records
