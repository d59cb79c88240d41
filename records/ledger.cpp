#include "records/ledger.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace ukemi::records {

std::span<const std::string_view> cause_names() {
    static constexpr std::array<std::string_view, cause_count> names{
        "useful", "redone", "transition", "checkpoint", "idle", "wasted"};
    return names;
}

Duration CauseTotals::time_sum() const {
    Duration sum;
    for (const Duration each : time) sum += each;
    return sum;
}

Dollars CauseTotals::cost_sum() const {
    Dollars sum;
    for (const Dollars each : cost) sum += each;
    return sum;
}

std::array<Dollars, cause_count> split_bill(Dollars bill,
                                            const std::array<Duration, cause_count>& weights) {
    std::array<Dollars, cause_count> parts{};
    Int128 total = 0;
    for (const Duration weight : weights) total += weight.raw();
    if (total == 0) {
        parts.back() = bill;
        return parts;
    }
    std::array<std::pair<Int128, std::size_t>, cause_count> remainders;
    Dollars given;
    for (std::size_t index = 0; index < cause_count; ++index) {
        const Int128 share = static_cast<Int128>(bill.raw()) * weights[index].raw();
        parts[index] = nano_dollars(static_cast<std::int64_t>(share / total));
        remainders[index] = {-(share % total), index};
        given += parts[index];
    }
    std::sort(remainders.begin(), remainders.end());
    for (std::size_t next = 0; given < bill; ++next) {
        parts[remainders[next].second] += nano_dollars(1);
        given += nano_dollars(1);
    }
    INVARIANT(given == bill);
    return parts;
}

void Ledger::elapse(Instant until, Cause cause) {
    INVARIANT(until >= members_at_);
    members_[static_cast<std::size_t>(cause)] += until - members_at_;
    members_at_ = until;
}

Ledger::Lease Ledger::open(Instant now) {
    Lease lease = 0;
    if (free_.empty()) {
        lease = static_cast<Lease>(entries_.size());
        entries_.emplace_back();
    } else {
        lease = free_.back();
        free_.pop_back();
    }
    entries_[lease] = Entry{now, now, Cause::idle, {}, {}, false, false};
    ++open_count_;
    return lease;
}

void Ledger::settle(Entry& entry, Instant now) {
    INVARIANT(!entry.closed);
    if (!entry.member) {
        entry.spent[static_cast<std::size_t>(entry.alone)] += now - entry.alone_since;
        return;
    }
    INVARIANT(members_at_ == now);
    for (std::size_t index = 0; index < cause_count; ++index) {
        const Duration more = members_[index] - entry.members_at_join[index];
        entry.spent[index] += more;
        as_members_ += more;
    }
}

void Ledger::join(Lease lease, Instant now) {
    Entry& entry = entries_.at(lease);
    INVARIANT(!entry.member && members_at_ == now);
    settle(entry, now);
    entry.member = true;
    entry.members_at_join = members_;
}

void Ledger::leave(Lease lease, Instant now) {
    INVARIANT(members_at_ == now);
    leave_torn(lease, now);
}

void Ledger::leave_torn(Lease lease, Instant now) {
    Entry& entry = entries_.at(lease);
    INVARIANT(entry.member && members_at_ <= now);
    settle(entry, members_at_);
    const Duration torn = now - members_at_;
    entry.spent[static_cast<std::size_t>(Cause::wasted)] += torn;
    as_members_ += torn;
    entry.member = false;
    entry.alone_since = now;
    entry.alone = Cause::idle;
}

void Ledger::set_alone(Lease lease, Instant now, Cause cause) {
    Entry& entry = entries_.at(lease);
    INVARIANT(!entry.member);
    settle(entry, now);
    entry.alone_since = now;
    entry.alone = cause;
}

void Ledger::close(Lease lease, Instant now, Duration paid, Dollars bill) {
    Entry& entry = entries_.at(lease);
    settle(entry, now);
    std::int64_t sum = 0;
    if (__builtin_add_overflow(held_.raw(), paid.raw(), &sum) ||
        __builtin_add_overflow(billed_.raw(), bill.raw(), &sum)) {
        throw std::overflow_error(
            "the run is too large: more than 292 instance-years, or nine "
            "billion dollars, are paid for");
    }
    const Duration held = now - entry.opened;
    INVARIANT(paid >= held);
    Clock by_cause = entry.spent;
    by_cause[static_cast<std::size_t>(Cause::wasted)] += paid - held;
    Duration counted;
    for (const Duration time : by_cause) counted += time;
    INVARIANT(counted == paid);  // the second count
    const auto dollars_by_cause = split_bill(bill, by_cause);
    for (std::size_t index = 0; index < cause_count; ++index) {
        totals_.time[index] += by_cause[index];
        totals_.cost[index] += dollars_by_cause[index];
    }
    held_ += paid;
    billed_ += bill;
    INVARIANT(totals_.cost_sum() == billed_ && totals_.time_sum() == held_);
    entry.closed = true;
    free_.push_back(lease);
    --open_count_;
}

}  // namespace ukemi::records
