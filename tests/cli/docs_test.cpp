// docs_test.cpp — the pages of docs/: every command on them, in its order, as their readers type
// it.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// The blocks of commands of a page, one after the other.
std::string commands_in(const fs::path& page) {
    std::string script = "set -euo pipefail\n";
    bool within = false;
    for (const std::string& line : lines_of(text_in(page))) {
        if (line.starts_with("```")) {
            within = line == "```sh";
        } else if (within) {
            script += line + "\n";
        }
    }
    return script;
}

// In an empty folder that is home, too, with `ukemi` on the path and the build where a clone has
// it.
Ran run_page(const fs::path& folder, const char* page) {
    write_file(folder / "page.sh", commands_in(fs::path(UKEMI_SOURCE_DIR) / "docs" / page));
    fs::create_directory(folder / "build");
    fs::create_directory_symlink(UKEMI_BUILD_DIR, folder / "build/dev");
    const std::string path = fs::path(UKEMI_BINARY).parent_path().string() + ":" + getenv("PATH");
    return run_program(
        "/usr/bin/env", folder,
        {"HOME=" + folder.string(), "PATH=" + path, "CXX=" UKEMI_COMPILER, "bash", "page.sh"});
}

}  // namespace

TEST_CASE("docs: every command of a page runs, in its order", "[cli][docs]") {
    const char* const page =
        GENERATE("own_trace.md", "own_job.md", "own_policy.md", "questions.md");
    CAPTURE(page);
#ifdef UKEMI_SANITIZED
    if (page == std::string("own_policy.md")) return;  // a library is built without sanitizers
#endif
    const ScratchFolder scratch;
    const Ran ran = run_page(scratch.path(), page);
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
}

TEST_CASE("docs: numbers that the pages name are those that come out", "[cli][docs]") {
    const ScratchFolder trace;
    const Ran own_trace = run_page(trace.path(), "own_trace.md");
    CHECK_THAT(own_trace.out, Catch::Contains("79.5 %") && Catch::Contains("losses        8 in") &&
                                  Catch::Contains("median 20,") &&
                                  Catch::Contains("only 8 losses: the fit is rough"));
    const ScratchFolder job;
    const Ran own_job = run_page(job.path(), "own_job.md");
    CHECK_THAT(own_job.out, Catch::Contains("881.38"));
}

}  // namespace ukemi
