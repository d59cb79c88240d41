// time_queue.hpp — what is pending, in the order of time; what is pending can be cancelled.
//
// The order is total: by time, then rank (0 to 3), then the order in which items came. Nothing
// about it depends on addresses, hashing or the machine. A ticket cancels an item that has not been
// taken; a stale ticket is harmless. Memory is bounded by the most items that were ever pending at
// once, not by how many were taken.
//
// What a hold (take one, push one) goes through is inlined by force: left to itself, g++ calls it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/invariant.hpp"
#include "base/time_calendar.hpp"

namespace ukemi {

// Times are whole numbers from 0 on, of any unit. Item is a small value (a struct, or a
// std::variant of structs): it is copied, never destroyed.
template <class Item>
class TimeQueue {
    static_assert(std::is_trivially_copyable_v<Item> && std::is_copy_assignable_v<Item>);

public:
    using Time = std::int64_t;

    // Names one item for as long as the queue lives, also after clear().
    class Ticket {
    public:
        constexpr Ticket() = default;  // names nothing

    private:
        friend class TimeQueue;
        constexpr Ticket(std::uint64_t at, std::uint64_t key) : at_(at), key_(key) {}
        std::uint64_t at_ = 0;  // before any shift; modulo 2^64
        std::uint64_t key_ = 0;
    };

    struct Next {
        Time at;
        unsigned rank;
        const Item& item;
    };

    // Sequence numbers and items pending at once are counted in the bits of one word.
    static constexpr std::uint64_t items_max = (std::uint64_t{1} << 24) - 1;
    static constexpr std::uint64_t sequence_max = (std::uint64_t{1} << 38) - 1;

    bool empty() const { return live_count_ == 0; }
    std::size_t size() const { return live_count_; }
    bool is_full() const { return sequence_ == sequence_max || live_count_ == items_max; }
    std::uint64_t pushed_count() const { return sequence_; }
    Time now() const { return now_; }  // of the item last taken
    // Entries and memory in use now; cancelled items count until they are forgotten.
    std::size_t entry_count() const { return calendar_.size(); }
    std::size_t bytes_held() const {
        return calendar_.bytes_held() + records_.capacity() * sizeof(Record);
    }

    // Not before the item that was taken last.
    [[gnu::always_inline]] Ticket push(Time at, unsigned rank, const Item& item) {
        INVARIANT(at >= now_ && !is_full());
        const std::uint64_t slot = free_slot_;
        const std::uint64_t key =
            std::uint64_t{rank} << rank_shift | ++sequence_ << slot_bits | slot;
        if (slot == records_.size()) [[unlikely]] {
            records_.push_back(Record{key, item});
            free_slot_ = slot + 1;
        } else {
            free_slot_ = records_[slot].key;
            records_[slot] = Record{key, item};
        }
        ++live_count_;
        calendar_.insert({at, key}, now_);
        return Ticket(static_cast<std::uint64_t>(at) + shifted_, key);
    }

    bool is_pending(const Ticket& ticket) const {
        return ticket.key_ != 0 && slot_of(ticket.key_) < records_.size() && is_live(ticket.key_);
    }

    // False if the item was taken or cancelled before, or the ticket names nothing.
    bool cancel(const Ticket& ticket) {
        if (!is_pending(ticket)) return false;
        release(slot_of(ticket.key_));
        const auto at = static_cast<Time>(ticket.at_ - shifted_);
        // The dead stay in the calendar until their time comes or they outnumber the living.
        if (!calendar_.take_out({at, ticket.key_}) &&
            calendar_.size() > 2 * live_count_ + garbage_min) {
            sweep();
        }
        return true;
    }

    template <class Predicate>
    void cancel_if(Predicate is_unwanted) {
        for (std::uint64_t slot = 0; slot < records_.size(); ++slot) {
            const bool is_pending = records_[slot].key > slot_mask;
            if (is_pending && is_unwanted(std::as_const(records_[slot].item))) release(slot);
        }
        sweep();
    }

    // The soonest item is there until the next change. It brings the calendar in order, hence not
    // const. Not of an empty queue.
    [[gnu::always_inline]] Next next() {
        const CalendarEntry entry = front();
        return Next{entry.at, static_cast<unsigned>(entry.key >> rank_shift),
                    records_[slot_of(entry.key)].item};
    }

    // Takes the soonest item. Not of an empty queue.
    [[gnu::always_inline]] Item take() {
        const CalendarEntry entry = front();
        calendar_.drop_front();
        now_ = entry.at;
        const Item item = records_[slot_of(entry.key)].item;
        release(slot_of(entry.key));
        return item;
    }

    // All times become less by this much; none is before it.
    void shift(Time by) {
        sweep();
        std::vector<CalendarEntry> pending;
        pending.reserve(live_count_);
        for (; pending.size() < live_count_; calendar_.drop_front()) {
            pending.push_back(calendar_.front(
                false, [](std::uint64_t) { return true; }, [](std::uint64_t) {}));
            INVARIANT(pending.back().at >= by);
            pending.back().at -= by;
        }
        shifted_ += static_cast<std::uint64_t>(by);
        now_ = std::max<Time>(0, now_ - by);
        calendar_.clear();
        for (const CalendarEntry& entry : pending) calendar_.insert(entry, now_);
    }

    // Forgets everything and sets the clock back to zero; keeps the memory.
    void clear() {
        calendar_.clear();
        records_.clear();
        free_slot_ = 0;
        live_count_ = 0;
        now_ = 0;
    }

private:
    // A key is rank, sequence number and slot in one word. Sequence numbers start at 1 and are
    // never used twice, so the key of a free slot, which is just the number of the next free one,
    // equals no item's key.
    static constexpr unsigned slot_bits = 24;
    static constexpr unsigned rank_shift = 62;
    static constexpr std::uint64_t slot_mask = items_max;
    static constexpr std::size_t garbage_min = 256;

    struct Record {
        std::uint64_t key;
        Item item;
    };

    static std::uint64_t slot_of(std::uint64_t key) { return key & slot_mask; }
    bool is_live(std::uint64_t key) const { return records_[slot_of(key)].key == key; }

    void release(std::uint64_t slot) {
        records_[slot].key = free_slot_;
        free_slot_ = slot;
        --live_count_;
    }

    void sweep() {
        calendar_.remove_if([this](const CalendarEntry& e) { return !is_live(e.key); });
    }

    CalendarEntry front() {
        const auto is_known_live = [this](std::uint64_t key) { return is_live(key); };
        // Records lie in memory as they came, not as they are due.
        const auto prefetch = [this](std::uint64_t key) {
            __builtin_prefetch(&records_[slot_of(key)]);
        };
        return calendar_.front(calendar_.size() != live_count_, is_known_live, prefetch);
    }

    TimeCalendar calendar_;
    Time now_ = 0;
    std::uint64_t shifted_ = 0;
    std::uint64_t sequence_ = 0;
    std::uint64_t live_count_ = 0;
    std::uint64_t free_slot_ = 0;  // the number of records if none is free
    std::vector<Record> records_;
};

}  // namespace ukemi
