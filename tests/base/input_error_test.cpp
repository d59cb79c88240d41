// input_error_test.cpp — complaints are one line, name the place, and guess what was meant.
#include "base/input_error.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "base/plain_text.hpp"

using namespace ukemi;

TEST_CASE("input error: the place comes first", "[input_error]") {
    CHECK(std::string(InputError("s.json", "/job/seed", "is odd").what()) ==
          "s.json: at /job/seed: is odd");
    CHECK(std::string(InputError("s.json", "", "is empty").what()) == "s.json: is empty");
    CHECK(std::string(InputError("t.csv", 3, 14, "no number").what()) == "t.csv:3:14: no number");
}

TEST_CASE("input error: stays on one line whatever the input held", "[input_error]") {
    CHECK(std::string(InputError("a\nb", "/\r", "\x1b[31m \xff").what()) ==
          "a\\nb: at /\\r: \\x1b[31m \\xff");
    CHECK(std::string(InputError("a\nb", 1, 2, "\t").what()) == "a\\nb:1:2: \\t");
}

TEST_CASE("did you mean: the nearest name, if one is near", "[input_error]") {
    constexpr std::array<std::string_view, 4> names{"deadline", "seed", "market", "markets"};
    CHECK(did_you_mean("dead_line", names) == " (did you mean \"deadline\"?)");
    CHECK(did_you_mean("sed", names) == " (did you mean \"seed\"?)");
    CHECK(did_you_mean("marketz", names) == " (did you mean \"market\"?)");  // the first of equals
    CHECK(did_you_mean("workload", names) == "");
    CHECK(did_you_mean("x", names) == "");
    CHECK(did_you_mean("", names) == "");
    CHECK(did_you_mean("seed", {}) == "");
    CHECK(did_you_mean(std::string(10'000, 'x'), names) == "");  // and without the quadratic time
}

TEST_CASE("plain text: UTF-8 is told from other bytes", "[plain_text]") {
    struct Case {
        std::string text;
        std::size_t prefix;
    };
    const Case sample = GENERATE(values<Case>({
        {"", 0},
        {"abc", 3},
        {"\u00b5s \u2265 \U0001F600", 12},  // 2 + 1 + 1 + 3 + 1 + 4: all lengths
        {"a\x80", 1},                       // a continuation without a start
        {"\xc0\xaf", 0},                    // an overlong "/"
        {"\xe0\x9f\xbf", 0},                // overlong in three bytes
        {"\xed\xa0\x80", 0},                // a surrogate
        {"\xf0\x8f\xbf\xbf", 0},            // overlong in four bytes
        {"\xf4\x90\x80\x80", 0},            // above U+10FFFF
        {"ab\xe2\x82", 2},                  // cut short
    }));
    CAPTURE(sample.text);
    CHECK(utf8_prefix(sample.text) == sample.prefix);
}

TEST_CASE("plain text: control characters are shown, letters are kept", "[plain_text]") {
    CHECK(one_line("\u00fcber \u2192") == "\u00fcber \u2192");
    CHECK(one_line(std::string_view("a\0b", 3)) == "a\\x00b");
    CHECK(one_line("\x7f\u009b") == "\\x7f\\xc2\\x9b");  // U+009B starts a terminal command
}

TEST_CASE("plain text: is shortened between characters", "[plain_text]") {
    CHECK(shortened("abcdef", 6) == "abcdef");
    CHECK(shortened("abcdefg", 6) == "abc...");
    CHECK(shortened("ab\u2192cdefg", 7) == "ab...");  // the arrow would need bytes 3 to 5
    CHECK(ukemi::quoted("a\"b") == "\"a\"b\"");
    CHECK(ukemi::quoted(std::string(1'000, 'x')) == '"' + std::string(57, 'x') + "...\"");
}
