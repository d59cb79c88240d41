// Times, decimals and CSV rows: the exact values, and the complaints.
#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/text_scan.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/timestamp.hpp"

using ukemi::DecimalGrammar;
using ukemi::parse_decimal;
using ukemi::traces::CsvScanner;
using ukemi::traces::format_timestamp;
using ukemi::traces::parse_timestamp;

TEST_CASE("timestamps: known instants in every accepted spelling", "[timestamp]") {
    constexpr std::int64_t s = 1'000'000'000;
    // `date -u -d … +%s` gives the seconds.
    CHECK(parse_timestamp("1970-01-01T00:00:00Z") == 0);
    CHECK(parse_timestamp("2000-02-29T12:00:00") == 951'825'600 * s);
    CHECK(parse_timestamp("2022-11-28T22:23:37.000Z") == 1'669'674'217 * s);
    CHECK(parse_timestamp("2022-11-28 22:23:37.25") == 1'669'674'217 * s + s / 4);
    CHECK(parse_timestamp("2022-11-28T15:23:37-07:00") == 1'669'674'217 * s);
    CHECK(parse_timestamp("2022-11-29T00:23:37+0200") == 1'669'674'217 * s);
    CHECK(parse_timestamp("2022-11-29 00:23:37+02") == 1'669'674'217 * s);
    CHECK(parse_timestamp("2022-11-28 22:23:37 UTC") == 1'669'674'217 * s);
    CHECK(parse_timestamp("2022-11-28T22:23Z") == 1'669'674'180 * s);
    CHECK(parse_timestamp("2022-11-29 00:23+02:00") == 1'669'674'180 * s);
    for (const char* no_offset : {"+2", "+02:", "+02:0", "+", " GMT", "UTC+2"}) {
        CHECK_FALSE(parse_timestamp(std::string("2022-11-29T00:23:37") + no_offset));
    }
    CHECK(parse_timestamp("2100-03-01T00:00:00Z") == 4'107'542'400 * s);  // no leap year
    CHECK(format_timestamp(1'669'674'217 * s) == "2022-11-28T22:23:37Z");
    CHECK(format_timestamp(1'669'674'217 * s + s / 4) == "2022-11-28T22:23:37.25Z");
    CHECK(format_timestamp(951'825'600 * s) == "2000-02-29T12:00:00Z");
    CHECK(format_timestamp(-s) == "1969-12-31T23:59:59Z");
}

TEST_CASE("timestamps: what is none is nothing", "[timestamp]") {
    for (const std::string_view text : {"",
                                        "2022",
                                        "2022-11-28",
                                        "2022-13-01T00:00:00Z",
                                        "2023-02-29T00:00:00Z",
                                        "2100-02-29T00:00:00Z",
                                        "1900-01-01T00:00:00Z",
                                        "2200-01-01T00:00:00Z",
                                        "2022-11-28T24:00:00Z",
                                        "2022-11-28T22:60:00Z",
                                        "2022-11-28T22:23:60Z",
                                        "2022-11-28T22:23:",
                                        "2022-11-28T22:23.5",
                                        "2022-11-28T22",
                                        "2022-11-28T22:23:37.Z",
                                        "2022-11-28T22:23:37Zx",
                                        "2022-11-28T22:23:37+2",
                                        "2022-11-28T22:23:37+15:00",
                                        "2022-1-28T22:23:37Z",
                                        "2022/11/28 22:23:37",
                                        " 2022-11-28T22:23:37Z"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_timestamp(text).has_value());
    }
}

TEST_CASE("decimals: the relaxed grammar of CSV files", "[text_scan]") {
    const auto parse = [](std::string_view text) {
        return parse_decimal(text, 3, DecimalGrammar::relaxed);
    };
    CHECK(parse("+1.5") == 1500);
    CHECK(parse(".25") == 250);
    CHECK(parse("5.") == 5000);
    CHECK(parse("007") == 7000);
    CHECK(parse("1e-3") == 1);
    CHECK(parse("0.0004999") == 0);
    CHECK(parse("0.0005") == 1);
    CHECK(parse("-0.0005") == -1);
    CHECK(parse("9223372036854775.807") == 9'223'372'036'854'775'807);
    for (const std::string_view text : {"", ".", "-", "1e", "e5", "nan", "inf", "0x10", "1 ", " 1",
                                        "1,5", "9223372036854775.808"}) {
        CAPTURE(text);
        CHECK_FALSE(parse(text).has_value());
    }
}

TEST_CASE("csv scanner: lines may end in CRLF, and the last in nothing or a blank line",
          "[csv_scanner]") {
    for (const std::string_view text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4",
                                        "a,b\n1,2\n3,4\n\n", "a,b\r\n1,2\r\n3,4\r\n\r\n"}) {
        CAPTURE(text);
        CsvScanner csv(text, "f.csv");
        csv.expect_header("a,b");
        REQUIRE(csv.next_row(2));
        CHECK(csv.field(0) == "1");
        CHECK(csv.field(1) == "2");
        REQUIRE(csv.next_row(2));
        CHECK(csv.count(1) == 4);
        CHECK_FALSE(csv.next_row(2));
        CHECK(csv.rows() == 2);
    }
}

TEST_CASE("csv scanner: fields are exact quantities", "[csv_scanner]") {
    CsvScanner csv("1.28421e+06,0.918,2023-02-15 22:08:16,16.0\n", "f.csv");
    REQUIRE(csv.next_row(4));
    CHECK(csv.seconds(0) == ukemi::whole_seconds(1'284'210));
    CHECK(csv.price(1) == ukemi::Price::of(918'000'000));
    CHECK(csv.timestamp(2) == 1'676'498'896'000'000'000);  // date -u -d '2023-02-15 22:08:16' +%s
    CHECK(csv.count(3) == 16);
}

TEST_CASE("csv scanner: columns are found by name, and the rest is said", "[csv_scanner]") {
    CsvScanner csv("\r\n x;\"Price\" ;zone\r\n\r\n1;\"2;5\";a\r\n\r\n\r\n3; 4 ;\"\"\r\n\r\n",
                   "f.csv", ';');
    csv.read_header();
    CHECK(csv.column("price") == 1);
    CHECK(csv.column_if_present("ZONE") == 2);
    CHECK(csv.column_if_present("y") == CsvScanner::no_column);
    CHECK_THROWS_WITH(csv.column("y"), "f.csv:2:1: expected a column \"y\" in the header");
    REQUIRE(csv.next_row());
    CHECK(csv.field(1) == "2;5");
    REQUIRE(csv.next_row());
    CHECK(csv.count(1) == 4);
    CHECK(csv.field(2).empty());
    CHECK_FALSE(csv.next_row());
    ukemi::traces::ImportReport report;
    csv.add_to(report);
    CHECK(report.rows == 2);
    CHECK(report.notes == std::vector<std::string>{"columns not read: \"x\""});
    CHECK(report.repairs == std::vector<std::string>{"4 blank lines skipped"});  // not the last
}

TEST_CASE("csv scanner: a doubled quote is one, in a header, too", "[csv_scanner]") {
    CsvScanner csv("name,\"in \"\"s\"\"\"\n\"a \"\"b\"\", c\",2\n\"\"\"\"\"\",\"\"\n", "f.csv");
    csv.read_header();
    CHECK(csv.column("in \"s\"") == 1);
    REQUIRE(csv.next_row());
    const std::string_view first = csv.field(0);
    CHECK(csv.field(1) == "2");
    REQUIRE(csv.next_row());
    CHECK(first == "a \"b\", c");
    CHECK(csv.field(0) == "\"\"");
    CHECK(csv.field(1).empty());
    CHECK_FALSE(csv.next_row());
}

TEST_CASE("csv scanner: complaints name line and column", "[csv_scanner]") {
    const auto second_field = [](std::string_view text) {
        CsvScanner csv(text, "f.csv");
        csv.expect_header("a,b");
        while (csv.next_row(2)) csv.count(1);
    };
    CHECK_THROWS_WITH(second_field("a;b\n"),
                      "f.csv:1:1: expected the header \"a,b\", found \"a;b\"");
    CHECK_THROWS_WITH(second_field(""),
                      "f.csv:1:1: expected the header \"a,b\", found the end of the file");
    CHECK_THROWS_WITH(second_field("a,b\n1,2\n1\n"), "f.csv:3:1: expected 2 columns, found 1");
    CHECK_THROWS_WITH(second_field("a,b\n1,2,3\n"), "f.csv:2:1: expected 2 columns, found 3");
    CHECK_THROWS_WITH(second_field("a,b\n10,\"2\n"),
                      "f.csv:2:4: expected one closing quote, at the end of the field");
    CHECK_THROWS_WITH(second_field("a,b\n10,\"2\"3\"\n"),
                      "f.csv:2:4: expected one closing quote, at the end of the field");
    CHECK_THROWS_WITH(second_field("a,b\n10,\"2\"\"\n"),
                      "f.csv:2:4: expected one closing quote, at the end of the field");
    CHECK_THROWS_WITH(second_field("a,b\n10,\"2\"\"3\"\n"),
                      "f.csv:2:5: expected a whole number from 0 to 1000000, found \"2\"3\"");
    CHECK_THROWS_WITH(second_field("a,b\n1,\xFF\n"),
                      "f.csv:2:3: expected UTF-8, found another byte");
}
