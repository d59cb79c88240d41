// quantity_test.cpp — what compiles, how real numbers become exact ones, and money by hand.
#include "base/quantity.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "base/ids.hpp"

using namespace ukemi;

namespace {

template <class A, class B>
concept addable = requires(A a, B b) { a + b; };
template <class A, class B>
concept subtractable = requires(A a, B b) { a - b; };
template <class A, class B>
concept comparable = requires(A a, B b) { a < b; };
template <class A, class B>
concept multipliable = requires(A a, B b) { a* b; };

static_assert(addable<Instant, Duration>);
static_assert(addable<Duration, Duration>);
static_assert(!addable<Instant, Instant>);
static_assert(!addable<Bytes, Duration>);
static_assert(!addable<Dollars, Price>);
static_assert(!addable<Dollars, double>);
static_assert(!addable<Duration, std::int64_t>);
static_assert(subtractable<Instant, Instant>);
static_assert(!subtractable<Duration, Instant>);
static_assert(!comparable<Instant, Duration>);
static_assert(!comparable<Dollars, Price>);
static_assert(!comparable<ZoneId, InstanceId>);
static_assert(multipliable<std::int64_t, Duration>);
static_assert(!multipliable<Duration, Duration>);

static_assert(hours(1) == minutes(60));
static_assert(days(2) == hours(48));
static_assert(milliseconds(1'500) == nanoseconds(1'500'000'000));
static_assert(Instant::at(hours(2)) - Instant::at(minutes(30)) == minutes(90));
static_assert(Instant{} < Instant::never());

}  // namespace

TEST_CASE("quantity: a model's number is rounded to the nearest", "[quantity]") {
    CHECK(seconds(1.5) == milliseconds(1'500));
    CHECK(seconds(0.1) == milliseconds(100));  // 0.1 is no double; the nanosecond is nearest
    CHECK(seconds(-0.0000000015) == nanoseconds(-2));  // −1.5 ns: halves away from zero
    CHECK(dollars(4.59) == nano_dollars(4'590'000'000));
    CHECK(round_up(2.0000001) == 3);
    CHECK(to_seconds(milliseconds(250)) == 0.25);
    CHECK(to_hours(minutes(90)) == 1.5);
    CHECK(minutes(3) / minutes(2) == 1.5);
}

TEST_CASE("quantity: no transfer is free", "[quantity]") {
    CHECK(bytes(0) / gigabits_per_second(800) == Duration{});
    CHECK(bytes(1) / gigabits_per_second(800) == nanoseconds(1));  // 0.01 ns
    // 2^20 B over 10^9 B/s.
    CHECK(mebibytes(1) / gigabits_per_second(8) == nanoseconds(1'048'576));
}

TEST_CASE("quantity: durations are rounded up and down to a step", "[quantity]") {
    struct Case {
        int value, step, up, down;
    };
    const Case c = GENERATE(values<Case>({
        {61, 60, 120, 60},
        {60, 60, 60, 60},
        {1, 60, 60, 0},
        {0, 60, 0, 0},
        {-1, 60, 0, -60},
        {-60, 60, -60, -60},
        {-61, 60, -60, -120},
        {61, 0, 61, 61},  // no step: as it is
    }));
    CAPTURE(c.value, c.step);
    CHECK(round_up_to(whole_seconds(c.value), whole_seconds(c.step)) == whole_seconds(c.up));
    CHECK(round_down_to(whole_seconds(c.value), whole_seconds(c.step)) == whole_seconds(c.down));
}

TEST_CASE("charge: price times time is exact until it is rounded once", "[quantity]") {
    const auto bill = [](Price price, Duration held) {
        Charge charge;
        charge.add(price, held);
        return charge.rounded();
    };
    SECTION("by hand") {
        // 0.9731 · 600 / 3600 = 0.162183333…
        CHECK(bill(dollars_per_hour(0.9731), whole_seconds(600)) == nano_dollars(162'183'333));
        CHECK(bill(dollars_per_hour(3.06), minutes(90)) == dollars(4.59));
        CHECK(bill(dollars_per_hour(3.06), Duration{}) == Dollars{});
    }
    SECTION("a half goes away from zero") {
        // 1 nano-dollar an hour for half an hour is half a nano-dollar; a third less is not.
        CHECK(bill(Price::of(1), minutes(30)) == nano_dollars(1));
        CHECK(bill(Price::of(1), minutes(30) - nanoseconds(1)) == nano_dollars(0));
        CHECK(bill(Price::of(-1), minutes(30)) == nano_dollars(-1));
        CHECK(bill(Price::of(-1), minutes(30) - nanoseconds(1)) == nano_dollars(0));
    }
    SECTION("pieces cost what the whole costs") {
        // Rounded each by itself, 3600 seconds at 1 nano-dollar an hour would cost nothing.
        Charge pieces;
        for (int i = 0; i < 3'600; ++i) {
            Charge piece;
            piece.add(Price::of(1), whole_seconds(1));
            pieces.add(piece);
        }
        CHECK(pieces.rounded() == nano_dollars(1));
        Charge whole;
        whole.add(Price::of(1), hours(1));
        CHECK(pieces == whole);
    }
    SECTION("32 GPUs at 98 USD/h for a century stay exact") {
        Charge century;
        for (int gpu = 0; gpu < 32; ++gpu) century.add(dollars_per_hour(98.32), days(36'525));
        // 98.32 · 24 · 36,525 · 32 = 2,757,993,984 (below the 9.2 billion that Dollars hold)
        CHECK(century.rounded() == 2'757'993'984 * dollars(1));
    }
}
