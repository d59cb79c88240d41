// config_override_test.cpp — `--set /pointer=VALUE`: what it may change, and how it refuses.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/config_reader.hpp"

using namespace ukemi;

namespace {

constexpr const char* scenario =
    R"({"job": {"seed": 7, "deadline": "72 h", "a/b~c": 1}, "zones": [{"n": 1}, {"n": 2}],
        "nothing": {}, "none": []})";

// The scenario after overrides, without blanks; or the complaint.
std::string after(const std::vector<std::string>& arguments) {
    try {
        std::vector<ConfigOverride> overrides;
        for (const std::string& argument : arguments) overrides.push_back(parse_override(argument));
        std::string text = ConfigReader::from_text(scenario, "s.json", overrides).resolved();
        std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
        return text;
    } catch (const InputError& error) {
        return error.what();
    }
}

std::string with(const std::string& job, const std::string& zones = R"([{"n":1},{"n":2}])") {
    return R"({"job":)" + job + R"(,"none":[],"nothing":{},"zones":)" + zones + "}";
}

}  // namespace

TEST_CASE("override: an argument is a pointer and a value", "[config]") {
    const ConfigOverride set = parse_override("/job/name=a=b");
    CHECK(set.pointer == "/job/name");
    CHECK(set.value == "a=b");
    CHECK(parse_override("/a=").value == "");
    for (const std::string argument : {"job/seed=3", "/job/seed", "", "=3", "seed 3"}) {
        CHECK_THROWS_WITH(parse_override(argument),
                          "--set: expected /json/pointer=VALUE, found \"" + argument + '"');
    }
}

TEST_CASE("override: replaces values and adds keys", "[config]") {
    const std::string rest = R"("deadline":"72h","seed":)";
    CHECK(after({"/job/seed=8"}) == with(R"({"a/b~c":1,)" + rest + "8}"));
    CHECK(after({"/job/seed=8", "/job/seed=9"}) == with(R"({"a/b~c":1,)" + rest + "9}"));
    CHECK(after({"/job/a~1b~0c=2"}) == with(R"({"a/b~c":2,)" + rest + "7}"));
    CHECK(after({"/job/x=true"}) == with(R"({"a/b~c":1,)" + rest + R"(7,"x":true})"));
    CHECK(after({R"(/job={"n":[1,{}]})"}) == with(R"({"n":[1,{}]})"));
    CHECK(after({"/job={}", "/job/y=null"}) == with(R"({"y":null})"));
    const std::string job = R"({"a/b~c":1,)" + rest + "7}";
    CHECK(after({"/zones/1/n=5"}) == with(job, R"([{"n":1},{"n":5}])"));
    CHECK(after({"/zones/0=3"}) == with(job, R"([3,{"n":2}])"));
}

TEST_CASE("override: a value that is no JSON is text", "[config]") {
    CHECK(after({"/job=90 s"}) == with(R"("90s")"));
    CHECK(after({R"(/job="8")"}) == with(R"("8")"));
    CHECK(after({"/job={\"a\":"}) == with(R"("{\"a\":")"));
    CHECK(after({"/job="}) == with(R"("")"));
    CHECK(after({"/job=NaN"}) == with(R"("NaN")"));
    CHECK(after({"/job=1e400"}) == with(R"("1e400")"));  // then refused where a number is read
}

TEST_CASE("override: objects on the way to a key are made, and read as if written", "[config]") {
    const std::string job = R"({"a/b~c":1,"deadline":"72h","seed":7})";
    CHECK(after({"/nothing/a/b=1"}) ==
          R"({"job":)" + job + R"(,"none":[],"nothing":{"a":{"b":1}},"zones":[{"n":1},{"n":2}]})");
    CHECK(after({"/nothing/a/b=1", "/nothing/a/c=2", "/zones/1/x/y=3"}) ==
          R"({"job":)" + job +
              R"(,"none":[],"nothing":{"a":{"b":1,"c":2}},"zones":[{"n":1},{"n":2,"x":{"y":3}}]})");
    const std::vector<ConfigOverride> misspelt{parse_override("/jab/seed=1")};
    ConfigReader root = ConfigReader::from_text(R"({"job": {}})", "s.json", misspelt);
    root.object_if_present("job");
    CHECK_THROWS_WITH(root.finish(), "s.json: at /: unknown key \"jab\" (did you mean \"job\"?)");
}

TEST_CASE("override: there is no way through what is no object", "[config]") {
    CHECK(after({"/job/seed/x=1"}) == "--set /job/seed/x: /job/seed is 7, not an object");
    CHECK(after({"/job/seed/x/y=1"}) == "--set /job/seed/x/y: /job/seed is 7, not an object");
    CHECK(after({"/job/a~1b~0c/x=1"}) == "--set /job/a~1b~0c/x: /job/a~1b~0c is 1, not an object");
    CHECK(after({"/job/seed=null", "/job/seed/x=1"}) ==
          "--set /job/seed/x: /job/seed is null, not an object");
}

TEST_CASE("override: an element of a list must exist", "[config]") {
    for (const std::string index : {"2", "-", "-1", "01", "x", "", "99999999999999999999"}) {
        CHECK(after({"/zones/" + index + "=1"}) ==
              "--set /zones/" + index + ": /zones is a list with elements 0 to 1, found \"" +
                  index + '"');
    }
    CHECK(after({"/zones/2/n=1"}) ==
          "--set /zones/2/n: /zones is a list with elements 0 to 1, found \"2\"");
    CHECK(after({"/none/0=1"}) == "--set /none/0: /none is an empty list");
}

TEST_CASE("override: a malformed pointer is refused", "[config]") {
    CHECK(after({"/job~/x=1"}) ==
          "--set /job~/x: expected ~0 (for ~) or ~1 (for /) in a JSON pointer, found \"~/\"");
    CHECK(after({"/job~=1"}) ==
          "--set /job~: expected ~0 (for ~) or ~1 (for /) in a JSON pointer, found \"~\"");
    const std::vector<ConfigOverride> by_hand{{.pointer = "job", .value = "1"}};
    CHECK_THROWS_WITH(ConfigReader::from_text("{}", "s.json", by_hand),
                      "--set job: expected a JSON pointer such as /job/deadline, found \"job\"");
}

TEST_CASE("override: the value is held to the rules of the document", "[config]") {
    CHECK(after({R"(/job={"a":{"b":1,"b":2}})"}) ==
          "--set /job: at /job/a: key \"b\" appears twice");
    const std::string deep = std::string(63, '[') + std::string(63, ']');
    CHECK(after({"/job=" + deep}) == with(deep));
    std::string way;
    for (int i = 0; i < 63; ++i) way += "/a";
    CHECK(after({"/nothing" + way + "=1"}).find(R"("nothing":{"a":{"a":)") != std::string::npos);
    CHECK_THAT(after({"/nothing/a" + way + "=1"}),
               Catch::EndsWith(": expected at most 64 levels of nesting, found 65"));
    CHECK(after({"/job=[" + deep + "]"}).find("at most 64 levels of nesting") != std::string::npos);
    CHECK(after({"/job=\xff"}) == "--set /job: expected UTF-8, found other bytes");
}
