// event_queue.hpp — the simulated clock, and everything that has yet to happen.
//
// The order of events is total: by instant, then phase, then the order in which they were
// scheduled. Nothing about it depends on addresses, hashing or the machine, so one scenario and
// one seed give one run. A ticket cancels an event that has not run; a stale ticket is harmless.
// A run that reaches a limit ends with RunLimitReached, which says which and where. Memory is
// bounded by the most events that were ever pending at once, not by how many were processed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/invariant.hpp"
#include "base/quantity.hpp"
#include "base/time_queue.hpp"

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

    using Ticket = typename TimeQueue<Event>::Ticket;

    struct Popped {
        Instant at;
        Phase phase;
        Event event;
    };

    EventQueue() { count_from_here(); }
    explicit EventQueue(Limits limits) : limits_(limits) { count_from_here(); }

    Instant now() const { return Instant::at(Duration::of(queue_.now())); }
    bool empty() const { return queue_.empty(); }
    std::size_t size() const { return queue_.size(); }
    std::uint64_t popped_count() const { return popped_count_; }
    // Entries and memory in use now; cancelled events count until they are forgotten.
    std::size_t entry_count() const { return queue_.entry_count(); }
    std::size_t bytes_held() const { return queue_.bytes_held(); }

    [[gnu::always_inline]] Ticket schedule(Instant at, Phase phase, const Event& event) {
        if (queue_.is_full()) [[unlikely]]
            out_of_numbers();
        return queue_.push(at.raw(), static_cast<unsigned>(phase), event);
    }

    // False if the event has run or was cancelled before, or the ticket names nothing.
    bool cancel(const Ticket& ticket) { return queue_.cancel(ticket); }

    // When the next event is due. It brings the calendar in order, hence not const.
    std::optional<Instant> next_at() {
        if (queue_.empty()) return std::nullopt;
        return Instant::at(Duration::of(queue_.next().at));
    }

    // Takes the next event and moves the clock to it. Throws RunLimitReached instead of taking one
    // event too many; the event then stays pending.
    [[gnu::always_inline]] std::optional<Popped> pop() {
        if (queue_.empty()) return std::nullopt;
        const auto next = queue_.next();
        if (next.at != queue_.now()) count_from_here();
        if (popped_count_ >= stop_count_) [[unlikely]]
            limit_reached(next);
        ++popped_count_;
        const Phase phase = static_cast<Phase>(next.rank);
        const Instant at = Instant::at(Duration::of(next.at));
        return Popped{at, phase, queue_.take()};
    }

    // Forgets everything and sets the clock back to zero; keeps the memory for another run.
    void clear() {
        queue_.clear();
        popped_count_ = 0;
        count_from_here();
    }

private:
    using Next = typename TimeQueue<Event>::Next;

    // The number of events at which the run must stop if they all share an instant.
    void count_from_here() {
        const std::uint64_t left = limits_.events_max - popped_count_;  // no pop goes beyond
        stop_count_ = popped_count_ + std::min(left, limits_.events_per_instant_max);
    }

    [[noreturn, gnu::cold]] void limit_reached(const Next& next) const {
        std::string kind = "an event";
        if constexpr (requires(const Event& e) { std::string_view(event_kind(e)); }) {
            kind = fmt::format("\"{}\"", std::string_view(event_kind(next.item)));
        }
        const bool whole_run = popped_count_ >= limits_.events_max;
        throw RunLimitReached(fmt::format(
            "run limit reached: {} of {} events {}, at {} s of simulated time, after {} events; "
            "next is {} in phase {}; if this is no endless loop, raise /limits/{} in the scenario",
            whole_run ? "events_max" : "events_per_instant_max",
            whole_run ? limits_.events_max : limits_.events_per_instant_max,
            whole_run ? "in the run" : "at one instant", to_seconds(Duration::of(next.at)),
            popped_count_, kind, phase_name(static_cast<Phase>(next.rank)),
            whole_run ? "events_max" : "events_per_instant_max"));
    }

    [[noreturn, gnu::cold]] void out_of_numbers() const {
        throw RunLimitReached(fmt::format(
            "run limit reached: {} events are pending and {} were scheduled, at {} s of simulated "
            "time; the engine holds at most {} and numbers at most {}",
            queue_.size(), queue_.pushed_count(), to_seconds(now().since_start()),
            TimeQueue<Event>::items_max, TimeQueue<Event>::sequence_max));
    }

    Limits limits_{};
    std::uint64_t popped_count_ = 0;
    std::uint64_t stop_count_ = 0;
    TimeQueue<Event> queue_;
};

}  // namespace ukemi::sim
