// unit_text_test.cpp — durations and prices as text: exact, or refused.
#include "base/unit_text.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <regex>
#include <string>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "base/unit_pattern.hpp"

using namespace ukemi;

namespace {

std::string complaint(const std::string& text, bool price) {
    try {
        return price ? "accepted " + format_price(parse_price(text, "--bid"))
                     : "accepted " + format_duration(parse_duration(text, "--notice"));
    } catch (const InputError& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("durations: are read exactly", "[unit_text]") {
    struct Case {
        std::string text;
        std::int64_t nanoseconds;
    };
    const Case sample = GENERATE(values<Case>({
        {"90 s", 90'000'000'000},
        {"90s", 90'000'000'000},
        {"0 s", 0},
        {"0.1 h", 360'000'000'000},  // as a double, 0.1 h is 360.00000000000002 s
        {"1.1 s", 1'100'000'000},
        {"0.3 ms", 300'000},
        {"25 us", 25'000},
        {"7 ns", 7},
        {"1.000 ns", 1},
        {"007 min", 420'000'000'000},
        {"0.000000001 s", 1},
        {"0.0000000000003125 d", 27},  // 2^-16 d has 27 · 5^11 ns: sixteen places may be needed
        {"2.5 d", 216'000'000'000'000},
        {"48 hours", 172'800'000'000'000},
        {"48h", 172'800'000'000'000},
        {"20min", 1'200'000'000'000},
        {"1 hour", 3'600'000'000'000},
        {"90 sec", 90'000'000'000},
        {"320 milliseconds", 320'000'000},
        {"2 days", 172'800'000'000'000},
        {"9223372036854775807 ns", INT64_MAX},
        {"9223372036.854775807 s", INT64_MAX},
    }));
    CAPTURE(sample.text);
    CHECK(parse_duration(sample.text, "--notice") == nanoseconds(sample.nanoseconds));
}

TEST_CASE("durations: everything else is refused", "[unit_text]") {
    const std::string form =
        "--notice: expected a duration such as \"15 min\" (ns, us, ms, s, min, h, d), found ";
    for (const std::string text :
         {"",      "90",    "s",      " 90 s", "90 s ",  "90  s",   "-90 s",
          "+90 s", "1e3 s", "0x10 s", ".5 s",  "5. s",   "1.2.3 s", "1,5 s",
          "inf s", "nan s", "90 S",   "90 m",  "90 s s", "90\ts"}) {
        CAPTURE(text);
        const std::string shown = text == "90\ts" ? "90\\ts" : text;
        CHECK(complaint(text, false) == form + '"' + shown + '"');
    }
    const std::string fine = "--notice: expected a duration in whole nanoseconds, found ";
    CHECK(complaint("0.1 ns", false) == fine + "\"0.1 ns\"");
    CHECK(complaint("0.33333333333333 h", false) == fine + "\"0.33333333333333 h\"");
    CHECK(complaint("0.00000000000000001 d", false) == fine + "\"0.00000000000000001 d\"");
    const std::string large = "--notice: expected a duration of at most 292 years, found ";
    CHECK(complaint("9223372036854775808 ns", false) == large + "\"9223372036854775808 ns\"");
    CHECK(complaint("9223372036.854775808 s", false) == large + "\"9223372036.854775808 s\"");
    CHECK(complaint(std::string(50, '9') + " d", false) ==
          large + '"' + std::string(50, '9') + " d\"");
}

TEST_CASE("durations: are written in the shortest exact form", "[unit_text]") {
    CHECK(format_duration(Duration{}) == "0 s");
    CHECK(format_duration(whole_seconds(90)) == "90 s");
    CHECK(format_duration(whole_seconds(120)) == "2 min");  // as short as "120 s": the larger unit
    CHECK(format_duration(hours(1)) == "1 h");
    CHECK(format_duration(hours(72)) == "3 d");
    CHECK(format_duration(hours(36)) == "36 h");
    CHECK(format_duration(milliseconds(250)) == "250 ms");  // as short as "0.25 s": no point
    CHECK(format_duration(milliseconds(1'500)) == "1.5 s");
    CHECK(format_duration(nanoseconds(1)) == "1 ns");
    CHECK(format_duration(nanoseconds(1'000'000'001)) == "1000000001 ns");  // no point, again
    CHECK(format_duration(whole_seconds(-90)) == "-90 s");
    CHECK(format_duration(nanoseconds(INT64_MIN)) == "-9223372036854775808 ns");
}

TEST_CASE("prices: are read and written exactly", "[unit_text]") {
    CHECK(parse_price("3.06 USD/h", "--bid") == Price::of(3'060'000'000));
    CHECK(parse_price("0.9731USD/h", "--bid") == Price::of(973'100'000));
    CHECK(parse_price("0 USD/h", "--bid") == Price{});
    CHECK(parse_price("$0.90/h", "--bid") == Price::of(900'000'000));
    CHECK(parse_price("$3/hour", "--bid") == dollars_per_hour(3));
    CHECK(parse_price("0.9 USD/hour", "--bid") == Price::of(900'000'000));
    CHECK(parse_price("0.000000001 USD/h", "--bid") == Price::of(1));
    CHECK(format_price(Price::of(3'060'000'000)) == "3.06 USD/h");
    CHECK(format_price(Price::of(1)) == "0.000000001 USD/h");
    CHECK(format_dollars(Dollars::of(20'000'000'000)) == "20.00");
    CHECK(format_dollars(Dollars::of(-500'000)) == "-0.0005");
    CHECK(format_price(dollars_per_hour(3)) == "3 USD/h");
    CHECK(format_price(Price{}) == "0 USD/h");
    CHECK(format_price(Price::of(-5)) == "-0.000000005 USD/h");
}

TEST_CASE("prices: everything else is refused", "[unit_text]") {
    for (const std::string text : {"3.06", "3.06 USD", "3.06 $/h", "-1 USD/h", "1e1 USD/h", "USD/h",
                                   "$3 USD/h", "$3", "$3 /h", "$ 3/h", "$/h"}) {
        CHECK(complaint(text, true) ==
              "--bid: expected a price such as \"3.06 USD/h\", found \"" + text + '"');
    }
    CHECK(complaint("0.0000000001 USD/h", true) ==
          "--bid: expected a price in whole billionths of a dollar per hour, found "
          "\"0.0000000001 USD/h\"");
    CHECK(complaint("10000000000 USD/h", true) ==
          "--bid: expected a price of at most 9 billion USD/h, found \"10000000000 USD/h\"");
}

TEST_CASE("sizes and rates of links: are read under the names that people use", "[unit_text]") {
    CHECK(parse_bytes("20 GB", "x") == bytes(20'000'000'000));
    CHECK(parse_bytes("512kB", "x") == bytes(512'000));
    CHECK(parse_bytes("16 bytes", "x") == bytes(16));
    CHECK(parse_bandwidth("10 Gbps", "x").raw() == parse_bandwidth("10 Gbit/s", "x").raw());
    CHECK(parse_bandwidth("8 KB/s", "x").raw() == 8'000);
    CHECK(parse_egress_price("$0.02/GB", "x").raw() == 20'000'000);
}

TEST_CASE("quantities as text: the pattern fits what the parser reads, and nothing else",
          "[unit_text]") {
    const auto fits = [](const std::string& pattern, const std::string& text) {
        return std::regex_search(text, std::regex(pattern, std::regex::ECMAScript));
    };
    for (const std::string text : {"90 s", "0.1 h", "48 hours", "20min", "7 ns"}) {
        CAPTURE(text);
        CHECK(fits(duration_pattern(), text));
    }
    for (const std::string text : {"90", "s", "-90 s", "90  s", "90 S", "90 s s", ".5 s", "$3/h"}) {
        CAPTURE(text);
        CHECK_FALSE(fits(duration_pattern(), text));
    }
    CHECK(fits(price_pattern(), "3.06 USD/h"));
    CHECK(fits(price_pattern(), "$0.90/h"));
    CHECK_FALSE(fits(price_pattern(), "$0.90 USD/h"));
    CHECK_FALSE(fits(price_pattern(), "3.06 EUR/h"));
    CHECK(fits(egress_price_pattern(), "0.02 USD/GB"));
    CHECK(fits(bytes_pattern(), "1 MiB"));
    CHECK_FALSE(fits(bytes_pattern(), "20 gigs"));
    CHECK(fits(bandwidth_pattern(), "10 Gbit/s"));
}

TEST_CASE("quantities as text: what is written reads back equal", "[unit_text][property]") {
    RandomStream random(1, "unit_text");
    for (std::size_t i = 0; i < 2'000; ++i) {
        // Sizes of every order, some of them round.
        const std::int64_t unit =
            std::array<std::int64_t, 4>{1, 1'000'000, 60'000'000'000, 3'600'000'000'000}[i % 4];
        const std::int64_t raw =
            random.integer(0, (INT64_MAX / unit) >> random.integer(0, 40)) * unit;
        CAPTURE(raw);
        const std::string duration = format_duration(nanoseconds(raw));
        CHECK(parse_duration(duration, "--notice") == nanoseconds(raw));
        CHECK(parse_price(format_price(Price::of(raw)), "--bid") == Price::of(raw));
    }
}
