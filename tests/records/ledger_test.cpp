// ledger_test.cpp — every held second has one cause, and every dollar goes with it.
#include "records/ledger.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::records;

namespace {

constexpr Instant at(std::int64_t s) { return Instant::at(whole_seconds(s)); }

std::array<Dollars, cause_count> split(std::int64_t bill, std::array<std::int64_t, 6> weights) {
    std::array<Duration, cause_count> times{};
    for (std::size_t i = 0; i < cause_count; ++i) times[i] = nanoseconds(weights[i]);
    return split_bill(nano_dollars(bill), times);
}

std::array<Dollars, cause_count> nano(std::array<std::int64_t, 6> amounts) {
    std::array<Dollars, cause_count> result{};
    for (std::size_t i = 0; i < cause_count; ++i) result[i] = nano_dollars(amounts[i]);
    return result;
}

}  // namespace

TEST_CASE("ledger: each cause of a member's time, by hand", "[ledger]") {
    // Opened at 10 s, joins at 15; transition to 25, 40 s useful, 5 s checkpoint, 20 s redone, a
    // torn second, released at 91 and paid until 100. A nano-dollar a second.
    Ledger ledger;
    const auto lease = ledger.open(at(10));
    ledger.elapse(at(15), Cause::idle);  // nobody is a member: nobody's time
    ledger.join(lease, at(15));
    ledger.elapse(at(25), Cause::transition);
    ledger.elapse(at(65), Cause::useful);
    ledger.elapse(at(70), Cause::checkpoint);
    ledger.elapse(at(90), Cause::redone);
    ledger.elapse(at(91), Cause::wasted);
    CHECK(ledger.held() == Duration{});  // only what is closed is counted
    ledger.close(lease, at(91), whole_seconds(90), nano_dollars(90));

    const CauseTotals& totals = ledger.totals();
    CHECK(totals.time_of(Cause::useful) == whole_seconds(40));
    CHECK(totals.time_of(Cause::redone) == whole_seconds(20));
    CHECK(totals.time_of(Cause::transition) == whole_seconds(10));
    CHECK(totals.time_of(Cause::checkpoint) == whole_seconds(5));
    CHECK(totals.time_of(Cause::idle) == whole_seconds(5));
    CHECK(totals.time_of(Cause::wasted) == whole_seconds(1 + 9));
    CHECK(totals.cost_of(Cause::useful) == nano_dollars(40));
    CHECK(totals.cost_of(Cause::wasted) == nano_dollars(10));
    CHECK(totals.time_sum() == whole_seconds(90));
    CHECK(totals.cost_sum() == nano_dollars(90));
    CHECK(ledger.held() == whole_seconds(90));
    CHECK(ledger.billed() == nano_dollars(90));
    CHECK(ledger.open_count() == 0);
}

TEST_CASE("ledger: a lease counts the group's time only while it is a member", "[ledger]") {
    Ledger ledger;
    const auto first = ledger.open(at(0));
    const auto second = ledger.open(at(0));
    ledger.join(first, at(0));
    ledger.elapse(at(10), Cause::useful);
    ledger.join(second, at(10));
    ledger.elapse(at(30), Cause::useful);
    ledger.leave(first, at(30));
    ledger.elapse(at(35), Cause::transition);
    ledger.join(first, at(35));
    ledger.elapse(at(50), Cause::redone);
    ledger.leave(second, at(50));

    // First: 30 useful, 5 idle, 15 redone. Free of charge, so no dollars anywhere.
    ledger.close(first, at(50), whole_seconds(50), Dollars{});
    CHECK(ledger.totals().time_of(Cause::useful) == whole_seconds(30));
    CHECK(ledger.totals().time_of(Cause::idle) == whole_seconds(5));
    CHECK(ledger.totals().time_of(Cause::redone) == whole_seconds(15));
    CHECK(ledger.totals().time_of(Cause::transition) == Duration{});
    CHECK(ledger.totals().cost_sum() == Dollars{});
    CHECK(ledger.open_count() == 1);

    // Second: 10 idle, 20 useful, 5 transition, 15 redone, 10 idle at the end.
    ledger.close(second, at(60), whole_seconds(60), Dollars{});
    CHECK(ledger.totals().time_of(Cause::useful) == whole_seconds(50));
    CHECK(ledger.totals().time_of(Cause::idle) == whole_seconds(25));
    CHECK(ledger.totals().time_of(Cause::redone) == whole_seconds(30));
    CHECK(ledger.totals().time_of(Cause::transition) == whole_seconds(5));
    CHECK(ledger.held() == whole_seconds(110));
}

TEST_CASE("ledger: who leaves in the middle of a step wastes its part of it", "[ledger]") {
    Ledger ledger;
    const auto first = ledger.open(at(0));
    const auto second = ledger.open(at(0));
    ledger.join(first, at(0));
    ledger.join(second, at(0));
    ledger.elapse(at(10), Cause::useful);
    ledger.leave_torn(first, at(14));
    ledger.close(first, at(15), whole_seconds(15), Dollars{});
    CHECK(ledger.totals().time_of(Cause::useful) == whole_seconds(10));
    CHECK(ledger.totals().time_of(Cause::wasted) == whole_seconds(4));
    CHECK(ledger.totals().time_of(Cause::idle) == whole_seconds(1));
    CHECK(ledger.as_members() == whole_seconds(14));
    ledger.elapse(at(20), Cause::useful);  // the other one goes on with it
    ledger.close(second, at(20), whole_seconds(20), Dollars{});
    CHECK(ledger.totals().time_of(Cause::useful) == whole_seconds(30));
}

TEST_CASE("ledger: what is paid for a lease that was never held is wasted", "[ledger]") {
    Ledger ledger;
    const auto lease = ledger.open(at(5));
    ledger.close(lease, at(5), whole_seconds(60), nano_dollars(7));
    CHECK(ledger.totals().time_of(Cause::wasted) == whole_seconds(60));
    CHECK(ledger.totals().cost_of(Cause::wasted) == nano_dollars(7));
}

TEST_CASE("ledger: a closed entry is used again, and begins anew", "[ledger]") {
    Ledger ledger;
    const auto first = ledger.open(at(0));
    ledger.join(first, at(0));
    ledger.elapse(at(10), Cause::useful);
    ledger.close(first, at(10), whole_seconds(10), nano_dollars(10));
    const auto second = ledger.open(at(20));
    CHECK(second == first);
    ledger.close(second, at(25), whole_seconds(5), nano_dollars(5));
    CHECK(ledger.totals().time_of(Cause::useful) == whole_seconds(10));
    CHECK(ledger.totals().time_of(Cause::idle) == whole_seconds(5));
    CHECK(ledger.open(at(30)) == first);
    CHECK(ledger.open(at(30)) != first);
    CHECK(ledger.open_count() == 2);
}

TEST_CASE("split bill: by largest remainder, ties to the first", "[ledger]") {
    CHECK(split(12, {1, 2, 3, 0, 0, 0}) == nano({2, 4, 6, 0, 0, 0}));
    // 10 · (1, 2, 4)/7 = 1.43, 2.86, 5.71: the two left go to .86 and .71.
    CHECK(split(10, {1, 2, 4, 0, 0, 0}) == nano({1, 3, 6, 0, 0, 0}));
    CHECK(split(2, {0, 5, 5, 5, 0, 0}) == nano({0, 1, 1, 0, 0, 0}));
    CHECK(split(5, {0, 0, 0, 0, 0, 0}) == nano({0, 0, 0, 0, 0, 5}));  // nothing to go by: wasted
    CHECK(split(0, {1, 1, 1, 1, 1, 1}) == nano({0, 0, 0, 0, 0, 0}));
    // Products beyond 64 bits: a billion dollars over a century.
    const std::int64_t century = days(36'500).raw() / 2;
    CHECK(split(1'000'000'000'000'000'000, {century, 0, century, 0, 0, 0}) ==
          nano({500'000'000'000'000'000, 0, 500'000'000'000'000'000, 0, 0, 0}));
}

TEST_CASE("split bill: parts add up, each within a nano-dollar of its share",
          "[ledger][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 201U));
    CAPTURE(seed);
    RandomStream random(seed, "test/split");
    std::array<Duration, cause_count> weights{};
    double total = 0;
    for (Duration& weight : weights) {
        if (random.chance(0.3)) continue;
        weight = nanoseconds(random.integer(0, hours(1).raw()));
        total += static_cast<double>(weight.raw());
    }
    const Dollars bill = nano_dollars(random.integer(0, 1'000'000));
    const auto parts = split_bill(bill, weights);
    Dollars sum;
    for (std::size_t i = 0; i < cause_count; ++i) {
        sum += parts[i];
        CHECK(parts[i] >= Dollars{});
        if (total == 0) continue;
        const double share =
            static_cast<double>(bill.raw()) * (static_cast<double>(weights[i].raw()) / total);
        CHECK(std::abs(static_cast<double>(parts[i].raw()) - share) < 1 + 1e-6);
    }
    CHECK(sum == bill);
}

TEST_CASE("ledger: time and dollars are conserved whatever happens", "[ledger][property]") {
    const std::uint64_t seed = GENERATE(range(1U, 51U));
    CAPTURE(seed);
    RandomStream random(seed, "test/ledger");
    struct Open {
        Ledger::Lease lease;
        Instant since;
        bool member = false;
    };
    Ledger ledger;
    std::vector<Open> open;
    Instant now;
    Duration held;
    Dollars billed;
    const auto close = [&](std::size_t index) {
        const Duration paid = now - open[index].since + whole_seconds(random.integer(0, 100));
        const Dollars bill = nano_dollars(random.integer(0, 1'000'000'000));
        ledger.close(open[index].lease, now, paid, bill);
        held += paid;
        billed += bill;
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    };
    for (int event = 0; event < 200; ++event) {
        now = now + nanoseconds(random.integer(0, 5'000'000'000));
        ledger.elapse(now, static_cast<Cause>(random.integer(0, 5)));
        if (open.empty() || random.chance(0.3)) {
            open.push_back({ledger.open(now), now});
            continue;
        }
        const auto index = static_cast<std::size_t>(random.integer(0, std::ssize(open) - 1));
        if (random.chance(0.4)) {
            close(index);
        } else if (open[index].member) {
            ledger.leave(open[index].lease, now);
            open[index].member = false;
        } else {
            ledger.join(open[index].lease, now);
            open[index].member = true;
        }
    }
    while (!open.empty()) close(0);
    CHECK(ledger.open_count() == 0);
    CHECK(ledger.held() == held);
    CHECK(ledger.billed() == billed);
    CHECK(ledger.totals().time_sum() == held);
    CHECK(ledger.totals().cost_sum() == billed);
}
