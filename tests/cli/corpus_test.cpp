// corpus_test.cpp — what the fuzzer of results begins with is compared and can be drawn.
#include <catch2/catch.hpp>

#include "base/read_file.hpp"
#include "tests/cli/use_results_text.hpp"

namespace ukemi {

TEST_CASE("results: each file of the fuzzer's corpus is read back", "[results]") {
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/cli/corpus";
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        const std::string text = read_file(entry.path());
        const ResultsTaken whole = use_results_text(text);
        CHECK(whole.drawn);
        // Runs of several variants are not compared.
        CHECK(whole.compared == (entry.path().filename() != "variants"));
        const ResultsTaken cut = use_results_text(text.substr(0, 100));
        CHECK_FALSE(cut.drawn);
        CHECK_FALSE(cut.compared);
        ++count;
    }
    CHECK(count == 3);
}

}  // namespace ukemi
