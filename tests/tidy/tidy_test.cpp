// tidy_test.cpp — the project's own files, held to its style.
#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/tidy/rules.hpp"

namespace ukemi::tidy {

TEST_CASE("tidy: every file keeps to the rules", "[tidy]") {
    const auto files = project_files(UKEMI_SOURCE_DIR);
    REQUIRE(files.size() > 10);
    const Findings findings = check_all(files);
    // Not through Catch2, which would break the lines: an editor can jump to "path:line".
    for (const Finding& finding : findings) {
        std::fprintf(stderr, "%s\n", to_string(finding).c_str());
    }
    CHECK(findings.size() == 0);
}

TEST_CASE("tidy: the files that are checked are the project's", "[tidy]") {
    bool this_file = false;
    for (const SourceFile& file : project_files(UKEMI_SOURCE_DIR)) {
        CAPTURE(file.path);
        CHECK_FALSE(file.path.starts_with("build"));
        CHECK_FALSE(file.path.starts_with(".git/"));
        this_file = this_file || file.path == "tests/tidy/tidy_test.cpp";
    }
    CHECK(this_file);
}

}  // namespace ukemi::tidy
