// event_queue.hpp — the simulated clock, and everything that has yet to happen.
//
// The order of events is total: by instant, then phase, then the order in which they were
// scheduled. Nothing about it depends on addresses, hashing or the machine, so one scenario and
// one seed give one run. A ticket cancels an event that has not run; a stale ticket is harmless.
// A run that reaches a limit ends with RunLimitReached, which says which and where. Memory is
// bounded by the most events that were ever pending at once, not by how many were processed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/invariant.hpp"
#include "base/quantity.hpp"
#include "sim/engine/event_calendar.hpp"

namespace ukemi::sim {

// What goes first when several events share an instant, and why.
enum class Phase : std::uint8_t {
    environment,  // the world moves: arrivals, failures, prices
    completion,   // work that was due at this instant is done
    decision,     // a policy sees both of the above, settled
    measurement,  // metrics see what the policy left behind
};

constexpr std::string_view phase_name(Phase phase) {
    constexpr std::string_view names[] = {"environment", "completion", "decision", "measurement"};
    return names[static_cast<std::size_t>(phase)];
}

// A run went further than its limits allow: usually a loop that never advances the clock, or one
// that never ends. The message says which limit, where the run was, and what raises the limit.
class RunLimitReached : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Event is a small value (a struct, or a std::variant of structs): it is copied, never destroyed.
// If event_kind(event) is found by argument-dependent lookup and gives text, messages use it.
template <class Event>
class EventQueue {
    static_assert(std::is_trivially_copyable_v<Event> && std::is_copy_assignable_v<Event>);

public:
    struct Limits {
        std::uint64_t events_max = 1'000'000'000;        // over a whole run
        std::uint64_t events_per_instant_max = 100'000;  // a loop that never advances the clock
    };

    // Names one scheduled event for as long as the queue lives, also after clear().
    class Ticket {
    public:
        constexpr Ticket() = default;  // names nothing

    private:
        friend class EventQueue;
        constexpr explicit Ticket(std::uint64_t key) : key_(key) {}
        std::uint64_t key_ = 0;
    };

    struct Popped {
        Instant at;
        Phase phase;
        Event event;
    };

    EventQueue() = default;
    explicit EventQueue(Limits limits) : limits_(limits) {}

    Instant now() const { return now_; }
    bool empty() const { return live_count_ == 0; }
    std::size_t size() const { return live_count_; }
    std::uint64_t popped_count() const { return popped_count_; }
    // Entries and memory in use now; cancelled events count until they are forgotten.
    std::size_t entry_count() const { return calendar_.size(); }
    std::size_t bytes_held() const {
        return calendar_.bytes_held() + records_.capacity() * sizeof(Record);
    }

    Ticket schedule(Instant at, Phase phase, const Event& event) {
        INVARIANT(at >= now_);
        if (scheduled_count_ == sequence_max || live_count_ == slots_max) out_of_numbers();
        const std::uint64_t slot = free_slot_ == no_slot ? records_.size() : free_slot_;
        const std::uint64_t key = static_cast<std::uint64_t>(phase) << phase_shift |
                                  ++scheduled_count_ << slot_bits | slot;
        if (free_slot_ == no_slot) {
            records_.push_back(Record{key, event});
        } else {
            free_slot_ = records_[slot].key;
            records_[slot] = Record{key, event};
            __builtin_prefetch(records_.data() + free_slot_);
        }
        ++live_count_;
        calendar_.insert({at.raw(), key}, now_.raw());
        return Ticket{key};
    }

    // False if the event has run or was cancelled before, or the ticket names nothing.
    bool cancel(const Ticket& ticket) {
        const bool is_known = ticket.key_ != 0 && (ticket.key_ & slot_mask) < records_.size();
        if (!is_known || !is_live(ticket.key_)) return false;
        release(ticket.key_ & slot_mask);
        // The entry stays in the calendar until its time comes or the dead outnumber the living.
        if (calendar_.size() > 2 * live_count_ + garbage_min) {
            calendar_.remove_if([this](const CalendarEntry& e) { return !is_live(e.key); });
        }
        return true;
    }

    // When the next event is due. It brings the calendar in order, hence not const.
    std::optional<Instant> next_at() {
        const CalendarEntry* const entry = front();
        if (entry == nullptr) return std::nullopt;
        return Instant::at(Duration::of(entry->at));
    }

    // Takes the next event and moves the clock to it. Throws RunLimitReached instead of taking one
    // event too many; the event then stays pending.
    std::optional<Popped> pop() {
        const CalendarEntry* const entry = front();
        if (entry == nullptr) return std::nullopt;
        const Instant at = Instant::at(Duration::of(entry->at));
        const std::uint64_t key = entry->key;
        const std::uint64_t instant_count = at == now_ ? instant_count_ + 1 : 1;
        if (instant_count > limits_.events_per_instant_max || popped_count_ >= limits_.events_max) {
            limit_reached(at, key);
        }
        calendar_.drop_front();
        // Records lie in memory as they were scheduled, not as they are due: ask for one that will
        // be due soon. Eight ahead beat four, and beat asking for a whole refill (measured).
        __builtin_prefetch(records_.data() + (calendar_.upcoming(8).key & slot_mask));
        INVARIANT(at >= now_);
        now_ = at;
        instant_count_ = instant_count;
        ++popped_count_;
        const Popped popped{at, phase_of(key), records_[key & slot_mask].event};
        release(key & slot_mask);
        return popped;
    }

    // Forgets everything and sets the clock back to zero; keeps the memory for another run.
    void clear() {
        calendar_.clear();
        records_.clear();
        free_slot_ = no_slot;
        live_count_ = 0;
        now_ = Instant{};
        popped_count_ = 0;
        instant_count_ = 0;
    }

private:
    // A key is phase, sequence number and slot in one word: two bits, 38 bits (2.7e11 events) and
    // 24 bits (16.7 million pending). Sequence numbers start at 1 and are never used twice, so the
    // key of a free slot, which is just the number of the next free one, equals no event's key.
    static constexpr unsigned slot_bits = 24;
    static constexpr unsigned phase_shift = 62;
    static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;
    static constexpr std::uint64_t no_slot = slot_mask;
    static constexpr std::uint64_t slots_max = slot_mask;
    static constexpr std::uint64_t sequence_max =
        (std::uint64_t{1} << (phase_shift - slot_bits)) - 1;
    static constexpr std::size_t garbage_min = 256;

    struct Record {
        std::uint64_t key;
        Event event;
    };

    static Phase phase_of(std::uint64_t key) { return static_cast<Phase>(key >> phase_shift); }

    bool is_live(std::uint64_t key) const { return records_[key & slot_mask].key == key; }

    void release(std::uint64_t slot) {
        records_[slot].key = free_slot_;
        free_slot_ = slot;
        --live_count_;
    }

    const CalendarEntry* front() {
        while (const CalendarEntry* const entry = calendar_.front()) {
            if (is_live(entry->key)) return entry;
            calendar_.drop_front();
        }
        return nullptr;
    }

    [[noreturn, gnu::cold]] void limit_reached(Instant at, std::uint64_t key) const {
        std::string kind = "an event";
        if constexpr (requires(const Event& e) { std::string_view(event_kind(e)); }) {
            kind = fmt::format("\"{}\"",
                               std::string_view(event_kind(records_[key & slot_mask].event)));
        }
        const bool whole_run = popped_count_ >= limits_.events_max;
        throw RunLimitReached(fmt::format(
            "run limit reached: {} of {} events {}, at {} s of simulated time, after {} events; "
            "next is "
            "{} in phase {}; if this is no endless loop, raise /limits/{} in the scenario",
            whole_run ? "events_max" : "events_per_instant_max",
            whole_run ? limits_.events_max : limits_.events_per_instant_max,
            whole_run ? "in the run" : "at one instant", to_seconds(at.since_start()),
            popped_count_, kind, phase_name(phase_of(key)),
            whole_run ? "events_max" : "events_per_instant_max"));
    }

    [[noreturn, gnu::cold]] void out_of_numbers() const {
        throw RunLimitReached(fmt::format(
            "run limit reached: {} events are pending and {} were scheduled, at {} s of simulated "
            "time; the engine holds at most {} and numbers at most {}",
            live_count_, scheduled_count_, to_seconds(now_.since_start()), slots_max,
            sequence_max));
    }

    Limits limits_{};
    Instant now_;
    std::uint64_t scheduled_count_ = 0;
    std::uint64_t popped_count_ = 0;
    std::uint64_t instant_count_ = 0;
    std::uint64_t live_count_ = 0;
    std::uint64_t free_slot_ = no_slot;
    std::vector<Record> records_;
    EventCalendar calendar_;
};

}  // namespace ukemi::sim
