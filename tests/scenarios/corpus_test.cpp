// corpus_test.cpp — what the fuzzers of scenarios of steps and of calibrations begin with is taken.
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>

#include "base/read_file.hpp"
#include "tests/scenarios/costs/use_costs_text.hpp"
#include "tests/scenarios/steps/play_step_text.hpp"

namespace ukemi {
namespace {

namespace fs = std::filesystem;

int taken_in(const fs::path& folder, const std::function<bool(const std::string&)>& takes) {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;  // the fuzzer's own choices
        CAPTURE(entry.path().string());
        const std::string text = read_file(entry.path());
        CHECK(takes(text));
        CHECK_FALSE(takes(text.substr(0, text.size() / 2)));
        ++count;
    }
    return count;
}

}  // namespace

TEST_CASE("corpus: scenarios of steps are read and played", "[scenario]") {
    CHECK(taken_in(fs::path(UKEMI_SOURCE_DIR) / "tests/scenarios/steps/corpus", play_step_text) >=
          5);
}

TEST_CASE("corpus: calibrations are read, written again and used", "[calibration]") {
    CHECK(taken_in(fs::path(UKEMI_SOURCE_DIR) / "tests/scenarios/costs/corpus", use_costs_text) >=
          2);
}

TEST_CASE("corpus: a calibration's settings are in order, each once", "[calibration]") {
    const std::string text =
        read_file(fs::path(UKEMI_SOURCE_DIR) / "tests/scenarios/costs/corpus/two_workers.json");
    const std::string_view first = "\"batch\": 16";
    for (const char* other : {"\"batch\": 32", "\"batch\": 33"}) {  // as the second, and after it
        std::string turned = text;
        turned.replace(turned.find(first), first.size(), other);
        CHECK_FALSE(use_costs_text(turned));
    }
    CHECK(use_costs_text(text));
}

}  // namespace ukemi
