#include "sim/market/market.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

TEST_CASE("market: a fall is announced `notice` before, a rise is not", "[market]") {
    // 4 until 60 min, 1 until 90 min, then 3.
    const auto recorded =
        capacity({{minutes(0), 4}, {minutes(60), 1}, {minutes(90), 3}}, minutes(120));
    const auto seen = sim::announced(recorded, minutes(2), sim::AfterLastRow::hold);
    const auto expected =
        capacity({{minutes(0), 4}, {minutes(58), 1}, {minutes(90), 3}}, minutes(120));
    CHECK(seen == expected);
    CHECK(sim::announced(recorded, Duration{}, sim::AfterLastRow::hold) == recorded);
}

TEST_CASE("market: a dip shorter than the notice is seen as one longer dip", "[market]") {
    // Down from 60 to 61 min: announced at 58, over at 61.
    const auto recorded =
        capacity({{minutes(0), 2}, {minutes(60), 0}, {minutes(61), 2}}, minutes(120));
    const auto expected =
        capacity({{minutes(0), 2}, {minutes(58), 0}, {minutes(61), 2}}, minutes(120));
    CHECK(sim::announced(recorded, minutes(2), sim::AfterLastRow::hold) == expected);
}

TEST_CASE("market: a fall inside the first notice period is there from the start", "[market]") {
    const auto recorded = capacity({{minutes(0), 2}, {minutes(1), 0}}, minutes(10));
    const auto seen = sim::announced(recorded, minutes(2), sim::AfterLastRow::hold);
    CHECK(seen == capacity({{minutes(0), 0}}, minutes(10)));
}

TEST_CASE("market: the end of a series and its repetition are announced too", "[market]") {
    const auto recorded = capacity({{minutes(0), 1}, {minutes(10), 3}}, minutes(60));
    // `end`: nothing after 60 min, so the last 2 min are announced. `repeat`: back to 1 there.
    CHECK(sim::announced(recorded, minutes(2), sim::AfterLastRow::end) ==
          capacity({{minutes(0), 1}, {minutes(10), 3}, {minutes(58), 0}}, minutes(60)));
    CHECK(sim::announced(recorded, minutes(2), sim::AfterLastRow::repeat) ==
          capacity({{minutes(0), 1}, {minutes(10), 3}, {minutes(58), 1}}, minutes(60)));
}

TEST_CASE("market: a series that holds goes on as its last row has it", "[market]") {
    // The last row stands at the very end of the series: what holds from then on is that row.
    const auto rises = capacity({{minutes(0), 4}, {minutes(60), 0}, {minutes(120), 4}}, hours(2));
    CHECK(sim::announced(rises, minutes(2), sim::AfterLastRow::hold) ==
          capacity({{minutes(0), 4}, {minutes(58), 0}, {minutes(120), 4}}, hours(2)));
    const auto falls = capacity({{minutes(0), 4}, {minutes(120), 1}}, hours(2));
    CHECK(sim::announced(falls, minutes(2), sim::AfterLastRow::hold) ==
          capacity({{minutes(0), 4}, {minutes(118), 1}}, hours(2)));
    // Where the series ends or repeats, that row holds for no time.
    CHECK(sim::announced(rises, minutes(2), sim::AfterLastRow::end) ==
          capacity({{minutes(0), 4}, {minutes(58), 0}}, hours(2)));
    CHECK(sim::announced(rises, minutes(2), sim::AfterLastRow::repeat) ==
          capacity({{minutes(0), 4}, {minutes(58), 0}}, hours(2)));
}

TEST_CASE("market: what holds after the last row is the scenario's to say", "[market]") {
    const auto series = capacity({{minutes(0), 1}, {minutes(10), 3}}, minutes(60));
    SECTION("end: nothing") {
        sim::CapacityCursor cursor(series, sim::AfterLastRow::end, true);
        cursor.advance();
        CHECK(cursor.value() == 3);
        CHECK(cursor.next_at() == at(minutes(60)));
        cursor.advance();
        CHECK(cursor.value() == 0);
        CHECK(cursor.next_at() == Instant::never());
    }
    SECTION("hold: the last value") {
        sim::CapacityCursor cursor(series, sim::AfterLastRow::hold, true);
        cursor.advance();
        CHECK(cursor.value() == 3);
        CHECK(cursor.next_at() == Instant::never());
    }
    SECTION("repeat: from the first row") {
        sim::CapacityCursor cursor(series, sim::AfterLastRow::repeat, true);
        cursor.advance();
        cursor.advance();
        CHECK(cursor.value() == 1);
        CHECK(cursor.next_at() == at(minutes(70)));
        cursor.advance();
        CHECK(cursor.value() == 3);
        CHECK(cursor.next_at() == at(minutes(120)));
    }
    SECTION("repeat of one value never changes, also where the series has no length") {
        const auto constant = capacity({{minutes(0), 2}}, Duration{});
        sim::CapacityCursor cursor(constant, sim::AfterLastRow::repeat, true);
        CHECK(cursor.value() == 2);
        CHECK(cursor.next_at() == Instant::never());
    }
}

TEST_CASE("market: the spot meter adds price times time across price changes", "[market]") {
    traces::PriceSeries prices{
        {{Instant{}, dollars_per_hour(1.0)}, {at(hours(1)), dollars_per_hour(3.0)}}, at(hours(2))};
    const sim::MarketData data = market({zone("a", capacity({{minutes(0), 1}}, hours(2)), prices)});
    sim::SpotMarket spot(data);
    spot.advance_price(ZoneId{0}, at(hours(1)));
    // 1 h at 1 USD + 0.5 h at 3 USD.
    CHECK(spot.spot_meter(ZoneId{0}, at(minutes(90))).rounded() == dollars(2.5));
}

TEST_CASE("market: the oracle adds up the time when enough can be held over all zones",
          "[market]") {
    const sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 1}, {minutes(30), 0}}, hours(1)), price(1)),
                zone("b", capacity({{minutes(0), 0}, {minutes(20), 2}}, hours(1)), price(1))});
    const sim::MarketOracle oracle(data);
    // Sum: 1 until 20 min, 3 until 30 min, 2 after.
    CHECK(oracle.spot_time(Instant{}, at(hours(1)), 1) == minutes(60));
    CHECK(oracle.spot_time(Instant{}, at(hours(1)), 2) == minutes(40));
    CHECK(oracle.spot_time(Instant{}, at(hours(1)), 3) == minutes(10));
    CHECK(oracle.spot_time(at(minutes(25)), at(minutes(40)), 2) == minutes(15));
    CHECK(oracle.spot_time(Instant{}, at(hours(1)), 4) == Duration{});
}

}  // namespace ukemi
