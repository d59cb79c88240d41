// config_document_test.cpp — JSON that must not be read, and where the complaint points.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "base/config_reader.hpp"
#include "tests/scratch_folder.hpp"

using namespace ukemi;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string complaint(const std::string& text) {
    try {
        return "accepted " + ConfigReader::from_text(text, "s.json").resolved();
    } catch (const InputError& error) {
        return error.what();
    }
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

TEST_CASE("config document: a syntax error is named with its line and column", "[config]") {
    // Line and column of the character that cannot be, counted by hand.
    CHECK_THAT(complaint(""), StartsWith("s.json:1:1: ") && Contains("unexpected end of input"));
    CHECK_THAT(complaint("{"), StartsWith("s.json:1:2: ") && Contains("expected string literal"));
    CHECK_THAT(complaint("{\n  \"a\": 1,\n  x\n}"), StartsWith("s.json:3:3: "));
    CHECK_THAT(complaint("{\"a\": 1} 2"),
               StartsWith("s.json:1:10: ") && Contains("expected end of input"));
    CHECK_THAT(complaint("{\"a\": [1, 2,]}"), StartsWith("s.json:1:13: "));
    CHECK_THAT(complaint("{\"a\": 'x'}"), StartsWith("s.json:1:7: "));
    CHECK_THAT(complaint("{\"a\": 1 # b\n}"), StartsWith("s.json:1:9: "));
    CHECK_THAT(complaint("{\"a\": \"\\ud800\"}"), StartsWith("s.json:1:"));
}

TEST_CASE("config document: comments are blanks, and leave places as they are", "[config]") {
    CHECK(complaint("// of one line\n{\"a\": /* 2, */ 1}  // end") == "accepted {\n  \"a\": 1\n}");
    CHECK(complaint("{\"a\": \"// kept /* too */\"}") ==
          "accepted {\n  \"a\": \"// kept /* too */\"\n}");
    CHECK_THAT(complaint("// one\n/* two\nthree */ {\"a\": 1,\n  x\n}"),
               StartsWith("s.json:4:3: "));
    CHECK_THAT(complaint("{\"a\": 1 /* open\n}"), StartsWith("s.json:2:2: "));
    CHECK_THAT(complaint("{\"a\": 1 / 2}"), StartsWith("s.json:1:10: "));
}

TEST_CASE("config document: numbers that JSON or a double cannot hold are refused", "[config]") {
    for (const std::string number : {"NaN", "Infinity", "-inf", "+1", "01", ".5", "5.", "0x1"}) {
        CAPTURE(number);
        CHECK_THAT(complaint("{\"a\": " + number + "}"), StartsWith("s.json:1:"));
    }
    CHECK_THAT(complaint("{\"a\": 1e400}"),
               StartsWith("s.json:1:") && Contains("number overflow parsing '1e400'"));
}

TEST_CASE("config document: a complaint about a long token is short", "[config]") {
    CHECK(complaint("{\"a\": \"" + std::string(100'000, 'x')).size() < 250);
}

TEST_CASE("config document: equal keys are refused, with the path of their object", "[config]") {
    CHECK(complaint(R"({"jobs": [], "jobs": []})") == "s.json: at /: key \"jobs\" appears twice");
    CHECK(complaint(R"({"jobs": [{}, {"a/b": {"x": 1, "y": [{"x": 3}], "x": 2}}]})") ==
          "s.json: at /jobs/1/a~1b: key \"x\" appears twice");
    CHECK(complaint(R"({"a": 1, "\u0061": 2})") == "s.json: at /: key \"a\" appears twice");
    CHECK_THAT(complaint(R"({"a": {"x": 1}, "b": {"x": 1}, "c": [{"x": 1}, {"x": 1}]})"),
               StartsWith("accepted"));
}

TEST_CASE("config document: more than 64 levels are refused before they cost stack", "[config]") {
    CHECK_THAT(complaint("{\"a\": " + repeated("[", 63) + repeated("]", 63) + "}"),
               StartsWith("accepted"));
    CHECK_THAT(complaint("{\"a\": " + repeated("[", 64) + repeated("]", 64) + "}"),
               StartsWith("s.json: at /a/0/0") &&
                   Contains("expected at most 64 levels of nesting, found more"));
    CHECK_THAT(complaint("{\"a\": " + repeated("{\"b\": ", 1'000'000)), Contains("64 levels"));
}

TEST_CASE("config document: bytes that are not UTF-8 are refused with their place", "[config]") {
    CHECK(complaint("{\n \"a\": \"\xff\"}") == "s.json:2:8: expected UTF-8, found byte 0xff");
    CHECK(complaint("\xff\xfe{\0}\0") == "s.json:1:1: expected UTF-8, found byte 0xff");  // UTF-16
    CHECK_THAT(complaint("{\"name\": \"\u00fc\"}"), StartsWith("accepted"));
}

TEST_CASE("config document: more than 16 MiB are refused", "[config]") {
    const std::string large = "{" + std::string(std::size_t{16} << 20, ' ') + "}";
    CHECK(complaint(large) == "s.json: expected at most 16777216 bytes, found 16777218");

    const ScratchFolder folder;
    const auto file = folder.file("large.json", large);
    CHECK_THROWS_WITH(ConfigReader::from_file(file), Contains("at most 16777216 bytes"));
}

TEST_CASE("config document: the whole must be an object", "[config]") {
    CHECK(complaint("[1, 2]") == "s.json: at /: expected an object, found [1,2]");
    CHECK(complaint("null") == "s.json: at /: expected an object, found null");
    CHECK(complaint("\"x\"") == "s.json: at /: expected an object, found \"x\"");
}

TEST_CASE("config document: a file is read by its name, and named in complaints", "[config]") {
    CHECK_THROWS_WITH(ConfigReader::from_file("no/such.json"),
                      StartsWith("no/such.json: cannot be opened"));
}
