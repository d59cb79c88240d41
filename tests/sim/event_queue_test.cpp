// event_queue_test.cpp — the order of events, tickets, limits, and bounds on memory.
//
// The property tests compare the queue with a std::map, operation by operation, over schedules
// that are made to hurt a queue that guesses at the distribution of times.
#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

using namespace ukemi;
using namespace ukemi::sim;

namespace {

struct TestStepFinished {
    std::uint32_t worker = 0;
};
struct TestPriceChanged {
    std::int64_t nano_dollars = 0;
};
using TestEvent = std::variant<TestStepFinished, TestPriceChanged>;

std::string_view event_kind(const TestStepFinished&) { return "step_finished"; }

struct Numbered {
    std::uint64_t number = 0;
};
using NumberedQueue = EventQueue<Numbered>;

Instant at(std::int64_t nanoseconds_since_start) {
    return Instant::at(nanoseconds(nanoseconds_since_start));
}

template <class AnyQueue>
std::string limit_message(AnyQueue& queue) {
    try {
        while (queue.pop()) {
        }
    } catch (const RunLimitReached& reached) {
        return reached.what();
    }
    return "no limit was reached";
}

// ---- the reference -----------------------------------------------------------------------------

class Source {  // explicit integer arithmetic on a portable engine: the same everywhere
public:
    explicit Source(std::uint64_t seed) : engine_(seed) {}
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(bound));
    }

private:
    std::mt19937_64 engine_;
};

constexpr std::int64_t never = Instant::never().raw();

// How long after now an event is due. `step` counts the events scheduled so far.
using Delay = std::int64_t (*)(Source&, std::int64_t step, std::int64_t now);
struct Distribution {
    const char* name;
    Delay delay;
};
const Distribution distributions[] = {
    {"one instant", [](Source&, std::int64_t, std::int64_t) -> std::int64_t { return 0; }},
    {"an instant now and then",
     [](Source& source, std::int64_t, std::int64_t now) {
         return 1'000'000 - now % 1'000'000 - (source.below(50) == 0 ? 1 : 0);
     }},
    {"1 ns apart", [](Source& source, std::int64_t, std::int64_t) { return source.below(4); }},
    {"uniform", [](Source& source, std::int64_t, std::int64_t) { return source.below(1'000'000); }},
    {"exponential gaps",
     [](Source& source, std::int64_t, std::int64_t) {
         return (std::int64_t{1} << source.below(40)) + source.below(3);
     }},
    {"every scale up to never",
     [](Source& source, std::int64_t, std::int64_t now) {
         const std::int64_t delay = std::int64_t{1} << source.below(63);
         return source.below(16) == 0 ? never - now : std::min(delay, never - now);
     }},
    {"bimodal",
     [](Source& source, std::int64_t, std::int64_t) {
         return source.below(10) == 0 ? 1'000'000'000 + source.below(1'000) : source.below(1'000);
     }},
    {"ascending", [](Source&, std::int64_t step,
                     std::int64_t now) { return std::max<std::int64_t>(0, 7 * step - now); }},
    {"descending", [](Source&, std::int64_t step, std::int64_t) { return 10'000 - step % 10'000; }},
    {"a far crowd, then near ones",
     [](Source& source, std::int64_t step, std::int64_t now) {
         return step / 500 % 2 == 0 ? (now | 0xFFFFFFF) + 100 - now + source.below(200)
                                    : source.below(3'000);
     }},
};

// Drives a queue and a map with the same operations and compares every answer.
class Comparison {
public:
    Comparison(std::uint64_t seed, Delay delay) : source_(seed), delay_(delay) {}

    void run(int operations) {
        for (int operation = 0; operation < operations; ++operation) {
            if (operation % 1'000 == 0) {  // grow, hold or shrink for a while
                schedules_ = 1 + source_.below(8);
                cancels_ = source_.below(3);
                looks_ = source_.below(3);
            }
            const std::int64_t choice = source_.below(schedules_ + cancels_ + looks_ + 4);
            if (choice < schedules_) {
                schedule();
            } else if (choice < schedules_ + cancels_) {
                cancel();
            } else if (choice < schedules_ + cancels_ + looks_) {
                look();
            } else {
                pop();
            }
        }
        while (!pending_.empty()) pop();
        pop();  // from an empty queue
    }

private:
    using Key = std::tuple<std::int64_t, Phase, std::uint64_t>;

    void schedule() {
        const std::int64_t now = queue_.now().raw();
        const std::int64_t due =
            now + delay_(source_, static_cast<std::int64_t>(keys_.size()), now);
        const auto phase = static_cast<Phase>(source_.below(4));
        const std::uint64_t number = keys_.size();
        tickets_.push_back(queue_.schedule(at(due), phase, Numbered{number}));
        keys_.emplace_back(due, phase, number);
        pending_.emplace(keys_.back(), number);
    }
    void cancel() {  // mostly a recent one; often one that is gone
        if (keys_.empty()) return;
        const auto count = static_cast<std::int64_t>(keys_.size());
        const std::int64_t back =
            source_.below(source_.below(4) == 0 ? count : std::min<std::int64_t>(count, 64));
        const auto chosen = static_cast<std::size_t>(count - 1 - back);
        const bool was_pending = pending_.erase(keys_[chosen]) == 1;
        if (queue_.cancel(tickets_[chosen]) != was_pending) FAIL("cancel: wrong answer");
    }
    void look() {
        const auto due = queue_.next_at();
        if (due.has_value() == pending_.empty()) FAIL("next_at: wrong answer");
        if (due && due->raw() != std::get<0>(pending_.begin()->first)) FAIL("next_at: wrong time");
    }
    void pop() {
        const auto popped = queue_.pop();
        if (popped.has_value() == pending_.empty()) FAIL("pop: wrong answer");
        if (popped) {
            const auto& [due, phase, number] = pending_.begin()->first;
            if (popped->at.raw() != due || popped->phase != phase ||
                popped->event.number != number) {
                FAIL("pop: event " << popped->event.number << " at " << popped->at.raw()
                                   << " instead of event " << number << " at " << due);
            }
            if (queue_.now() != popped->at) FAIL("pop: the clock is elsewhere");
            pending_.erase(pending_.begin());
        }
        if (queue_.size() != pending_.size()) FAIL("size: wrong answer");
        if (queue_.entry_count() > 2 * queue_.size() + 256) FAIL("too many cancelled events kept");
    }

    Source source_;
    Delay delay_;
    NumberedQueue queue_{
        {.events_max = ~std::uint64_t{0}, .events_per_instant_max = ~std::uint64_t{0}}};
    std::map<Key, std::uint64_t> pending_;
    std::vector<Key> keys_;
    std::vector<NumberedQueue::Ticket> tickets_;
    std::int64_t schedules_ = 1, cancels_ = 0, looks_ = 0;
};

}  // namespace

TEST_CASE("event queue: any schedule pops in the order of a std::map", "[event_queue][property]") {
    for (const Distribution& distribution : distributions) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            CAPTURE(distribution.name, seed);
            Comparison comparison(seed, distribution.delay);
            comparison.run(150'000);
            SUCCEED();
        }
    }
}

TEST_CASE("event queue: instant, then phase, then scheduling order decide", "[event_queue]") {
    NumberedQueue queue;
    queue.schedule(at(20), Phase::environment, {0});
    queue.schedule(at(10), Phase::measurement, {1});
    queue.schedule(at(10), Phase::decision, {2});
    queue.schedule(at(10), Phase::completion, {3});
    queue.schedule(at(10), Phase::environment, {4});
    queue.schedule(at(10), Phase::completion, {5});
    REQUIRE(queue.size() == 6);
    REQUIRE(queue.next_at() == at(10));
    REQUIRE(queue.now() == at(0));  // looking does not move the clock
    // At 10 ns: environment 4; completions 3 and 5 in the order they came; decision; measurement.
    std::vector<std::uint64_t> order;
    while (const auto popped = queue.pop()) order.push_back(popped->event.number);
    REQUIRE(order == std::vector<std::uint64_t>{4, 3, 5, 2, 1, 0});
    REQUIRE(queue.now() == at(20));
    REQUIRE(queue.popped_count() == 6);
    REQUIRE(queue.empty());
    REQUIRE_FALSE(queue.next_at().has_value());
}

TEST_CASE("event queue: what is scheduled now runs now, in its phase", "[event_queue]") {
    NumberedQueue queue;
    queue.schedule(at(5), Phase::completion, {0});
    queue.schedule(at(5), Phase::measurement, {1});
    queue.schedule(at(6), Phase::environment, {2});
    REQUIRE(queue.pop()->event.number == 0);
    queue.schedule(queue.now(), Phase::decision, {3});     // before the measurement
    queue.schedule(queue.now(), Phase::environment, {4});  // late, yet an environment event
    queue.schedule(queue.now(), Phase::measurement, {5});  // after the measurement of before
    std::vector<std::uint64_t> order;
    while (const auto popped = queue.pop()) order.push_back(popped->event.number);
    REQUIRE(order == std::vector<std::uint64_t>{4, 3, 1, 5, 2});
}

TEST_CASE("event queue: a crowd at one instant keeps the order of phases", "[event_queue]") {
    // 20,000 workers finish at once; each completion asks for a decision now, each decision for a
    // measurement now: 20,000 of each, never a phase before the one in front is exhausted.
    constexpr std::uint64_t workers = 20'000;
    NumberedQueue queue;
    for (std::uint64_t worker = 0; worker < workers; ++worker) {
        queue.schedule(at(1'000), Phase::completion, {worker});
    }
    std::uint64_t popped_count = 0;
    bool in_order = true;
    while (const auto popped = queue.pop()) {
        const auto expected = static_cast<Phase>(1 + popped_count / workers);
        in_order =
            in_order && popped->phase == expected && popped->event.number == popped_count % workers;
        if (popped->phase != Phase::measurement) {
            const auto next = static_cast<Phase>(static_cast<int>(popped->phase) + 1);
            queue.schedule(queue.now(), next, popped->event);
        }
        ++popped_count;
    }
    REQUIRE(in_order);
    REQUIRE(popped_count == 3 * workers);
    REQUIRE(queue.now() == at(1'000));
}

TEST_CASE("event queue: a look at the next event does not stop earlier ones", "[event_queue]") {
    // The far crowd is brought to the front by the look; what comes then goes before it.
    NumberedQueue queue;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        queue.schedule(at(1'000'000 + static_cast<std::int64_t>(i)), Phase::completion, {i});
    }
    REQUIRE(queue.next_at() == at(1'000'000));
    std::int64_t least = 500;
    for (std::int64_t i = 0; i < 500; ++i) {
        const std::int64_t due = 500 - i * 7 % 500;  // 500, 493, … 3, 496, …: each of 1 … 500 once
        least = std::min(least, due);
        queue.schedule(at(due), Phase::completion, {static_cast<std::uint64_t>(5'000 + due)});
        if (queue.next_at() != at(least)) FAIL("the look misses event " << least);
    }
    for (std::uint64_t i = 1; i <= 500; ++i) REQUIRE(queue.pop()->event.number == 5'000 + i);
    for (std::uint64_t i = 0; i < 1'000; ++i) REQUIRE(queue.pop()->event.number == i);
    REQUIRE(queue.empty());
}

TEST_CASE("event queue: never comes last, and comes", "[event_queue]") {
    NumberedQueue queue;
    for (std::uint64_t i = 0; i < 100; ++i) queue.schedule(Instant::never(), Phase::decision, {i});
    queue.schedule(at(1), Phase::decision, {1'000});
    REQUIRE(queue.pop()->event.number == 1'000);
    for (std::uint64_t i = 0; i < 100; ++i) REQUIRE(queue.pop()->event.number == i);
    REQUIRE(queue.now() == Instant::never());
    queue.schedule(Instant::never(), Phase::decision, {7});
    REQUIRE(queue.pop()->event.number == 7);
}

TEST_CASE("event queue: a stale ticket is harmless", "[event_queue]") {
    NumberedQueue queue;
    REQUIRE_FALSE(queue.cancel(NumberedQueue::Ticket{}));  // names nothing, also in an empty queue
    const NumberedQueue::Ticket ran = queue.schedule(at(1), Phase::decision, {1});
    REQUIRE_FALSE(queue.cancel(NumberedQueue::Ticket{}));
    REQUIRE(queue.pop()->event.number == 1);
    REQUIRE_FALSE(queue.cancel(ran));
    const NumberedQueue::Ticket cancelled =
        queue.schedule(at(1), Phase::decision, {2});  // same time, slot
    REQUIRE_FALSE(queue.cancel(ran));
    REQUIRE(queue.size() == 1);
    REQUIRE(queue.cancel(cancelled));
    REQUIRE_FALSE(queue.cancel(cancelled));
    REQUIRE(queue.empty());
    REQUIRE_FALSE(queue.next_at().has_value());
    REQUIRE_FALSE(queue.pop().has_value());
    REQUIRE(queue.now() == at(1));  // a cancelled event does not move the clock
    queue.schedule(at(2), Phase::decision, {3});
    queue.clear();
    queue.schedule(at(1), Phase::decision, {4});
    REQUIRE_FALSE(queue.cancel(ran));
    REQUIRE_FALSE(queue.cancel(cancelled));
    REQUIRE(queue.size() == 1);
}

TEST_CASE("event queue: clear() forgets events, clock, counts and tickets", "[event_queue]") {
    NumberedQueue queue;
    std::vector<NumberedQueue::Ticket> tickets;
    for (int run = 0; run < 3; ++run) {
        for (std::int64_t i = 0; i < 1'000; ++i) {
            tickets.push_back(queue.schedule(at(i * 1'000'003 % 77'777), Phase::decision, {0}));
        }
        for (int i = 0; i < 500; ++i) queue.pop();
        REQUIRE(queue.popped_count() == 500);
        const std::size_t bytes = queue.bytes_held();
        queue.clear();
        REQUIRE(queue.bytes_held() == bytes);  // the memory is kept for the next run
        REQUIRE(queue.now() == at(0));
        REQUIRE(queue.empty());
        REQUIRE(queue.entry_count() == 0);
        REQUIRE(queue.popped_count() == 0);
        REQUIRE_FALSE(queue.pop().has_value());
        for (const auto& ticket : tickets) {
            if (queue.cancel(ticket)) FAIL("a ticket outlived clear()");
        }
    }
}

TEST_CASE("event queue: memory follows what is pending, not what was", "[event_queue]") {
    NumberedQueue queue;
    Source source(5);
    const auto hold = [&](int times) {
        for (int i = 0; i < times; ++i) {
            const auto popped = queue.pop();
            queue.schedule(popped->at + nanoseconds(source.below(1'000'000)), Phase::completion,
                           {});
            const auto deadline = queue.schedule(
                popped->at + nanoseconds(source.below(1'000'000'000)), Phase::decision, {});
            queue.cancel(deadline);
        }
    };
    for (int i = 0; i < 2'000; ++i) {
        queue.schedule(at(source.below(1'000'000)), Phase::completion, {});
    }
    hold(200'000);
    const std::size_t bytes = queue.bytes_held();
    hold(2'000'000);
    // Ten times the events; storage grows by doubling, and one doubling may still be due.
    CAPTURE(bytes, queue.bytes_held());
    REQUIRE(queue.bytes_held() <= 2 * bytes);
    REQUIRE(queue.size() == 2'000);
    REQUIRE(queue.entry_count() <= 2 * 2'000 + 256);
}

TEST_CASE("event queue: a run that never ends is stopped by name", "[event_queue]") {
    EventQueue<TestEvent> queue({.events_max = 3, .events_per_instant_max = 100});
    for (std::int64_t i = 1; i <= 4; ++i) {
        queue.schedule(Instant::at(i * milliseconds(500)), Phase::completion, TestStepFinished{});
    }
    REQUIRE(limit_message(queue) ==
            "run limit reached: events_max of 3 events in the run, at 2 s of simulated time, after "
            "3 events; next is an event in phase completion; if this is no endless loop, raise "
            "/limits/events_max in the scenario");
    REQUIRE(queue.size() == 1);  // the event that was one too many is still there
    REQUIRE(queue.now() == Instant::at(milliseconds(1'500)));
    REQUIRE(queue.popped_count() == 3);
}

TEST_CASE("event queue: a loop that never advances the clock is stopped by name", "[event_queue]") {
    EventQueue<TestStepFinished> queue({.events_max = 1'000, .events_per_instant_max = 10});
    queue.schedule(at(250), Phase::completion, {});
    queue.schedule(at(500), Phase::completion, {});
    std::string message;
    try {
        while (queue.pop()) {  // nine at 250 ns are allowed, then one at 500 ns starts the loop
            if (queue.now() == at(250) && queue.popped_count() == 10) continue;
            queue.schedule(queue.now(), Phase::decision, {});
        }
    } catch (const RunLimitReached& reached) {
        message = reached.what();
    }
    // Ten events at each instant are allowed; the eleventh at 500 ns is refused: after 20 events.
    REQUIRE(
        message ==
        "run limit reached: events_per_instant_max of 10 events at one instant, at 5e-07 s of "
        "simulated time, after 20 events; next is \"step_finished\" in phase decision; if this is "
        "no endless loop, raise /limits/events_per_instant_max in the scenario");
}
