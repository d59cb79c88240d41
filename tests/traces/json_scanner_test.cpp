// The scanner against RFC 8259: what it takes, what it refuses, and where it says so.
#include "base/json_scanner.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

using ukemi::InputError;
using ukemi::JsonScanner;

namespace {

// Reads one value of any kind, to the end of the text.
std::string scanner_complaint(std::string_view text) {
    try {
        JsonScanner json(text, "f.json");
        json.skip_value();
        json.finish();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

std::string text_of(std::string_view text) {
    JsonScanner json(text, "f.json");
    std::string value(json.text());
    json.finish();
    return value;
}

}  // namespace

TEST_CASE("json scanner: accepts every kind of value of RFC 8259", "[json_scanner]") {
    for (const std::string_view text :
         {"{}", "[]", " [ ] ", "null", "true", "false", "0", "-0", "-0.5e-10", "1E+2", "\"\"",
          "{\"a\":{\"b\":[1,2,{}]},\"c\":null}", "[[[]],\r\n\t[true]]", "\"\\u00e9\\ud83d\\ude00\"",
          "\"\xC3\xA9\""}) {
        CAPTURE(text);
        CHECK(scanner_complaint(text) == "");
    }
}

TEST_CASE("json scanner: refuses what RFC 8259 forbids, with line and column", "[json_scanner]") {
    CHECK(scanner_complaint("") == "f.json:1:1: expected a value, found the end of the file");
    CHECK(scanner_complaint("[1,\n 02]") == "f.json:2:2: expected a number, found \"02\"");
    CHECK(scanner_complaint("[1.]") == "f.json:1:2: expected a number, found \"1.\"");
    CHECK(scanner_complaint("[.5]") == "f.json:1:2: expected a value, found \".5\"");
    CHECK(scanner_complaint("[+1]") == "f.json:1:2: expected a value, found \"+1\"");
    CHECK(scanner_complaint("[NaN]") == "f.json:1:2: expected a value, found \"NaN\"");
    CHECK(scanner_complaint("[-Infinity]") == "f.json:1:2: expected a number, found \"-Infinity\"");
    CHECK(scanner_complaint("[1e]") == "f.json:1:2: expected a number, found \"1e\"");
    CHECK(scanner_complaint("[1,]") == "f.json:1:4: expected a value, found \"]\"");
    CHECK(scanner_complaint("[1 2]") == "f.json:1:4: expected \",\" or \"]\", found \"2\"");
    CHECK(scanner_complaint("[1") ==
          "f.json:1:3: expected \",\" or \"]\", found the end of the file");
    CHECK(scanner_complaint("{\"a\" 1}") == "f.json:1:6: expected \":\", found \"1\"");
    CHECK(scanner_complaint("{a:1}") ==
          "f.json:1:2: expected a key in double quotes, found \"a:1\"");
    CHECK(scanner_complaint("{\"a\":1,}") ==
          "f.json:1:8: expected a key in double quotes, found \"}\"");
    CHECK(scanner_complaint("{} {}") == "f.json:1:4: expected the end of the file, found \"{\"");
    CHECK(scanner_complaint("[tru]") == "f.json:1:2: expected a value, found \"tru\"");
    CHECK(scanner_complaint("// x") == "f.json:1:1: expected a value, found \"//\"");
    CHECK(scanner_complaint("\"a") ==
          "f.json:1:1: expected a closing quote, found the end of the file");
    CHECK(scanner_complaint("\"a\nb\"") ==
          "f.json:1:3: expected no control character in a text (write it as \\u00XX)");
    CHECK(scanner_complaint("\"\\x\"") == "f.json:1:2: expected an escape such as \\n or \\u00E9");
    CHECK(scanner_complaint("\"\\u12g4\"") == "f.json:1:6: expected four hexadecimal digits");
    CHECK(scanner_complaint("\"\\ud800x\"") == "f.json:1:2: expected no lone surrogate");
    CHECK(scanner_complaint("\"\\udc00\"") == "f.json:1:2: expected no lone surrogate");
}

TEST_CASE("json scanner: refuses what is not UTF-8", "[json_scanner]") {
    // A lone continuation byte, an overlong "/", a surrogate, above U+10FFFF, a cut sequence.
    for (const std::string_view bytes :
         {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
        const std::string text = "\"abcdefghijkl\n" + std::string(bytes) + "\"";
        CHECK(scanner_complaint(text) == "f.json:2:1: expected UTF-8, found another byte");
    }
}

TEST_CASE("json scanner: nesting is limited", "[json_scanner]") {
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    CHECK(scanner_complaint(nested(64)) == "");
    CHECK(scanner_complaint(nested(65)) == "f.json:1:65: expected at most 64 levels of nesting");
}

TEST_CASE("json scanner: escapes are undone", "[json_scanner]") {
    CHECK(text_of(R"("plain")") == "plain");
    CHECK(text_of(R"("a\"\\\/\b\f\n\r\tb")") == "a\"\\/\b\f\n\r\tb");
    // U+00E9 is C3 A9, U+20AC is E2 82 AC, U+1F600 is F0 9F 98 80.
    CHECK(text_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")") ==
          "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("json scanner: numbers are exact decimals", "[json_scanner]") {
    const auto nano = [](std::string_view text) {
        JsonScanner json(text, "f.json");
        return json.decimal(9, -9'000'000'000'000'000'000, 9'000'000'000'000'000'000, "a number");
    };
    CHECK(nano("0.3") == 300'000'000);
    CHECK(nano("-1.5") == -1'500'000'000);
    CHECK(nano("12.3456789012") == 12'345'678'901);  // the tenth decimal is rounded away
    CHECK(nano("0.0000000005") == 1);                // halves away from zero
    CHECK(nano("1.28421e+06") == 1'284'210'000'000'000);
    CHECK(nano("3e-9") == 3);
    CHECK(nano("0e999999999999") == 0);
    CHECK_THROWS_AS(nano("1e30"), InputError);
    CHECK_THROWS_AS(nano("99999999999"), InputError);  // 10^11 · 10^9 does not fit
}

TEST_CASE("json scanner: lists of whole numbers in every spelling", "[json_scanner]") {
    const auto list = [](std::string_view text, std::int32_t max, std::size_t count_max) {
        JsonScanner json(text, "f.json");
        std::vector<std::int32_t> values;
        json.whole_numbers(max, "a count", values, count_max);
        json.finish();
        return values;
    };
    using Values = std::vector<std::int32_t>;
    CHECK(list("[]", 9, 99).empty());
    CHECK(list("[0,1,0]", 9, 99) == Values{0, 1, 0});
    CHECK(list("[1.0, 0.0, 1.0]", 9, 99) == Values{1, 0, 1});
    CHECK(list("[1 ,\n2, 1e1, 30.00, -0, 4]", 99, 99) == Values{1, 2, 10, 30, 0, 4});
    CHECK(list("[16, 7, 16, 7, 5]", 16, 5) == Values{16, 7, 16, 7, 5});
    CHECK_THROWS_WITH(list("[0, 1, 2, 1]", 1, 99), "f.json:1:8: expected a count, found 2");
    CHECK_THROWS_WITH(list("[0, 0.5, 1]", 1, 99), "f.json:1:5: expected a count, found 0.5");
    CHECK_THROWS_WITH(list("[0, -1]", 1, 99), "f.json:1:5: expected a count, found -1");
    CHECK_THROWS_WITH(list("[0, 1, 0, 1, 0, 1]", 1, 3),
                      Catch::Matchers::Contains("expected at most 3 values"));
    CHECK_THROWS_WITH(list("[0,1,,1,0,1]", 1, 99), "f.json:1:6: expected a count, found \",1\"");
    CHECK_THROWS_WITH(list("[0,1,0,1,0,1", 1, 99),
                      "f.json:1:13: expected \",\" or \"]\", found the end of the file");
}
