// csv_writer_test.cpp — what must be quoted is, and numbers read back equal.
#include "base/csv_writer.hpp"

#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/rng.hpp"

using namespace ukemi;

TEST_CASE("csv: fields are quoted only where they must be", "[csv]") {
    CHECK(csv_field("us-west-2a") == "us-west-2a");
    CHECK(csv_field("") == "");
    CHECK(csv_field(" a b ") == " a b ");
    CHECK(csv_field("a,b") == "\"a,b\"");
    CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
    CHECK(csv_field("\"") == "\"\"\"\"");
}

TEST_CASE("csv: text does nothing where a table is opened", "[csv]") {
    // A spreadsheet takes these for formulas.
    CHECK(csv_field("=1+1") == "'=1+1");
    CHECK(csv_field("@SUM(A1)") == "'@SUM(A1)");
    CHECK(csv_field("+a") == "'+a");
    CHECK(csv_field("-a,b") == "\"'-a,b\"");
    CHECK(csv_field("=") == "'=");
    CHECK(csv_field("a=1+1") == "a=1+1");
    CHECK(csv_field("'=1") == "'=1");
    // Numbers stay what they are, also where they come as text.
    CHECK(csv_field("-1.5e3") == "-1.5e3");
    CHECK(csv_field("-inf") == "-inf");
    CHECK(csv_field("-1.5 h") == "'-1.5 h");
    // A terminal obeys these, and a row is a line.
    CHECK(csv_field("two\nlines") == "two\\nlines");
    CHECK(csv_field("\t=1") == "\\t=1");
    CHECK(csv_field("\x1b[31m \xff") == "\\x1b[31m \\xff");
    CsvWriter csv({"=name", "value"});
    csv.add("=1").add(-1).end_row();
    csv.add("-").add(-0.5).end_row();
    CHECK(csv.text() == "'=name,value\n'=1,-1\n'-,-0.5\n");
}

TEST_CASE("csv: rows follow the header", "[csv]") {
    CsvWriter csv({"policy", "cost_usd", "steps"});
    csv.add("on_demand").add(4.59).add(std::int64_t{1'000}).end_row();
    csv.add("a, b").add(std::nan("")).add(7).end_row();  // NaN is "no value": an empty field
    CHECK(csv.text() == "policy,cost_usd,steps\non_demand,4.59,1000\n\"a, b\",,7\n");
}

TEST_CASE("csv: a lone empty field is not an empty line", "[csv]") {
    CsvWriter csv({"note"});
    csv.add("").end_row();
    csv.add(std::nan("")).end_row();
    CHECK(csv.text() == "note\n\"\"\n\"\"\n");
}

TEST_CASE("csv: every kind of integer is written as it is", "[csv]") {
    CsvWriter csv({"a", "b", "c", "d"});
    csv.add(std::size_t{3}).add(-2).add(INT64_MIN).add(std::uint8_t{65}).end_row();
    CHECK(csv.text() == "a,b,c,d\n3,-2,-9223372036854775808,65\n");
}

TEST_CASE("csv: doubles are short and read back equal", "[csv][property]") {
    const auto written = [](double value) {
        CsvWriter csv({"x"});
        csv.add(value).end_row();
        return csv.text().substr(2, csv.text().size() - 3);  // without "x\n" and the line end
    };
    CHECK(written(0.1) == "0.1");
    CHECK(written(3) == "3");
    CHECK(written(-0.0) == "-0");
    CHECK(written(std::numeric_limits<double>::infinity()) == "inf");

    RandomStream random(1, "csv");
    for (int i = 0; i < 2'000; ++i) {
        const double value = random.normal(0, 1) * std::ldexp(1.0, i % 600 - 300);
        const std::string text = written(value);
        double back = 0;
        std::from_chars(text.data(), text.data() + text.size(), back);
        CHECK(back == value);
        CHECK(text.size() <= 24);  // sign, 17 digits, point, e-308
    }
}
