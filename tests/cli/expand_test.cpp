// expand_test.cpp — what users write short.
#include <catch2/catch.hpp>

#include "analysis/requests/expand.hpp"
#include "base/input_error.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

using Seeds = std::vector<std::uint64_t>;

template <class Action>
std::string expand_complaint(Action action) {
    try {
        action();
    } catch (const InputError& error) {
        return error.what();
    }
    return "(no complaint)";
}

}  // namespace

TEST_CASE("seeds: numbers, ranges and both, in the order given", "[cli]") {
    CHECK(analysis::parse_seeds("3", "") == Seeds{3});
    CHECK(analysis::parse_seeds("1..4", "") == Seeds{1, 2, 3, 4});
    CHECK(analysis::parse_seeds("7,1,2", "") == Seeds{7, 1, 2});
    CHECK(analysis::parse_seeds("9,1..3,5..5", "") == Seeds{9, 1, 2, 3, 5});
    CHECK(analysis::parse_seeds("9223372036854775807", "") == Seeds{9'223'372'036'854'775'807U});
    CHECK(analysis::parse_seeds("1..1000000", "").size() == 1'000'000);
}

TEST_CASE("seeds: whatever else is refused, and so is a seed that comes twice", "[cli]") {
    const std::string form = "--seeds: expected seeds such as \"1..10\" or \"1,2,7\", found ";
    const auto complaint = [](const std::string& text) {
        return expand_complaint([&] { analysis::parse_seeds(text, "--seeds"); });
    };
    CHECK(complaint("") == form + "\"\"");
    CHECK(complaint("x") == form + "\"x\"");
    CHECK(complaint("-1") == form + "\"-1\"");
    CHECK(complaint("1,,2") == form + "\"\"");
    CHECK(complaint("1..") == form + "\"\"");
    CHECK(complaint("1..2..3") == form + "\"2..3\"");
    CHECK(complaint("1 ") == form + "\"1 \"");
    CHECK(complaint("9223372036854775808") == form + "\"9223372036854775808\"");
    CHECK(complaint("5..1") == "--seeds: expected a range that goes up, found \"5..1\"");
    CHECK(complaint("1..3,2") == "--seeds: seed 2 stands there twice");
    CHECK(complaint("2,1..3") == "--seeds: seed 2 stands there twice");
    CHECK(complaint("1..1000001") ==
          "--seeds: expected at most 1000000 seeds, found more in \"1..1000001\"");
    CHECK(complaint("0..9223372036854775807") ==
          "--seeds: expected at most 1000000 seeds, found more in \"0..9223372036854775807\"");
}

TEST_CASE("glob: files come sorted and a name with brackets is taken as it stands", "[cli]") {
    const ScratchFolder scratch;
    for (const char* name : {"b.csv", "a.csv", "a[1].csv", "note.txt"}) {
        write_file(scratch.path() / name, "x");
    }
    const std::string folder = scratch.path().string();
    const auto found = analysis::expand_glob(folder + "/*.csv", "--traces");
    REQUIRE(found.size() == 3);
    CHECK(found[0].filename() == "a.csv");
    CHECK(found[1].filename() == "a[1].csv");
    CHECK(found[2].filename() == "b.csv");
    CHECK(analysis::expand_glob(folder + "/a[1].csv", "--traces").at(0).filename() == "a[1].csv");
    CHECK(expand_complaint([&] { analysis::expand_glob("/nowhere/*.csv", "--traces"); }) ==
          "--traces: no file matches \"/nowhere/*.csv\"");
}

}  // namespace ukemi
