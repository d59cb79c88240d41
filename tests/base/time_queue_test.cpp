// time_queue_test.cpp — a queue of times beside a plain sorted model, operation by operation.
//
// tests/sim/event_queue_test.cpp does the same to the queue of events, over other schedules.
#include "base/time_queue.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "base/rng.hpp"

using namespace ukemi;

namespace {

using Flows = TimeQueue<std::uint32_t>;
using Time = Flows::Time;

constexpr Time end_of_time = std::numeric_limits<Time>::max();

// Every operation, in proportions that change every few hundred, on the queue and on a std::set.
class Beside {
public:
    Beside(std::uint64_t seed, Time span) : random_(seed, "test/time_queue"), span_(span) {}

    void run(int steps) {
        for (int step = 0; step < steps; ++step) {
            if (step % 300 == 0) pushes_ = static_cast<double>(random_.integer(1, 9)) / 10;
            if (random_.chance(pushes_)) {
                push();
            } else {
                take();
            }
            if (random_.chance(0.3)) cancel();
            if (random_.chance(0.2)) look();
            if (random_.chance(0.002)) cancel_some();
            if (random_.chance(0.002)) shift();
            if (random_.chance(0.0005)) clear();
            REQUIRE(queue_.size() == model_.size());
            REQUIRE(queue_.entry_count() <= 2 * queue_.size() + 256);
        }
        while (!model_.empty()) take();
        REQUIRE(queue_.empty());
    }

private:
    using Place = std::tuple<Time, unsigned, std::uint32_t>;

    void push() {
        // Many at one time; now and then one as far away as can be.
        const Time most = std::min(span_, end_of_time - now_);
        const Time far = random_.chance(0.02) ? end_of_time : now_ + random_.integer(0, most);
        const Time at = random_.chance(0.3) ? now_ + std::min<Time>(most, 64) : far;
        const auto rank = static_cast<unsigned>(random_.integer(0, 3));
        const auto number = static_cast<std::uint32_t>(tickets_.size());
        tickets_.push_back(queue_.push(at, rank, number));
        places_.emplace_back(at, rank, number);
        model_.insert(places_.back());
    }
    void look() {
        if (model_.empty()) return;
        const auto next = queue_.next();
        REQUIRE(Place(next.at, next.rank, next.item) == *model_.begin());
    }
    void take() {
        if (model_.empty()) return;
        look();
        now_ = std::get<Time>(*model_.begin());
        REQUIRE(queue_.take() == std::get<2>(*model_.begin()));
        REQUIRE(queue_.now() == now_);
        model_.erase(model_.begin());
    }
    void cancel() {  // one of the last hundred, or one of all; it may be gone
        if (tickets_.empty()) return;
        const auto count = static_cast<std::int64_t>(tickets_.size());
        const std::int64_t back =
            random_.integer(1, random_.chance(0.5) ? std::min<std::int64_t>(count, 100) : count);
        const auto chosen = static_cast<std::size_t>(count - back);
        const bool was_pending = model_.erase(places_[chosen]) == 1;
        REQUIRE(queue_.is_pending(tickets_[chosen]) == was_pending);
        REQUIRE(queue_.cancel(tickets_[chosen]) == was_pending);
        REQUIRE_FALSE(queue_.is_pending(tickets_[chosen]));
    }
    void cancel_some() {
        const auto is_unwanted = [](std::uint32_t number) { return number % 4 == 0; };
        queue_.cancel_if(is_unwanted);
        std::erase_if(model_, [&](const Place& place) { return is_unwanted(std::get<2>(place)); });
    }
    void shift() {  // by what has passed: tickets stay good, what was taken stays taken
        const Time by = now_;
        queue_.shift(by);
        now_ = 0;
        REQUIRE(queue_.now() == 0);
        model_.clear();
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (!queue_.is_pending(tickets_[i])) continue;
            std::get<Time>(places_[i]) -= by;
            model_.insert(places_[i]);
        }
    }
    void clear() {
        queue_.clear();
        model_.clear();
        now_ = 0;
        for (const Flows::Ticket& ticket : tickets_) REQUIRE_FALSE(queue_.is_pending(ticket));
    }

    RandomStream random_;
    Time span_;
    Time now_ = 0;
    double pushes_ = 0;
    Flows queue_;
    std::set<Place> model_;
    std::vector<Flows::Ticket> tickets_;
    std::vector<Place> places_;
};

}  // namespace

TEST_CASE("time queue: any mixture of operations does what a sorted set does",
          "[time_queue][property]") {
    for (const Time span : {Time{0}, Time{5}, Time{1'000}, Time{100'000'000}, end_of_time}) {
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            CAPTURE(span, seed);
            Beside(seed, span).run(10'000);
        }
    }
}

TEST_CASE("time queue: those of one time come by rank, then in their order", "[time_queue]") {
    Flows due;
    due.push(100, 1, 5);
    const Flows::Ticket cancelled = due.push(100, 1, 3);
    due.push(100, 1, 9);
    due.push(100, 0, 2);
    due.push(50, 3, 1);
    CHECK(due.cancel(cancelled));
    CHECK_FALSE(due.is_pending(cancelled));
    CHECK(due.next().at == 50);
    for (const std::uint32_t expected : {1U, 2U, 5U, 9U}) CHECK(due.take() == expected);
    CHECK(due.empty());
}

TEST_CASE("time queue: a shift keeps order and tickets", "[time_queue]") {
    Flows due;
    std::vector<Flows::Ticket> tickets;
    for (std::uint32_t i = 0; i < 1'000; ++i) {
        tickets.push_back(due.push(5'000 + i * 7 % 1'000, i % 4, i));
    }
    Flows unshifted = due;
    CHECK(due.cancel(tickets[3]));
    due.shift(5'000);
    CHECK(due.cancel(tickets[4]));
    CHECK(unshifted.cancel(tickets[3]));
    CHECK(unshifted.cancel(tickets[4]));
    REQUIRE(due.size() == 998);
    for (std::size_t i = 0; i < 998; ++i) {
        REQUIRE(due.next().at == unshifted.next().at - 5'000);
        REQUIRE(due.take() == unshifted.take());
    }
}
