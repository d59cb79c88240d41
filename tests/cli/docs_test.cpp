// docs_test.cpp — the pages of docs/: every command on them, in its order, as their readers type
// it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>

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
    const char* const page = GENERATE("own_trace.md", "own_job.md", "own_learning.md",
                                      "own_steps.md", "own_policy.md", "hosts.md", "questions.md");
    CAPTURE(page);
#ifdef UKEMI_SANITIZED
    const std::string name = page;  // a library is built without sanitizers
    if (name == "own_policy.md" || name == "own_trace.md") return;
#endif
    const ScratchFolder scratch;
    const Ran ran = run_page(scratch.path(), page);
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
}

// Those of the README that write or read these, with fewer seeds.
std::string readme_commands(const std::vector<std::string>& names) {
    std::string script = "set -euo pipefail\n";
    const std::regex seeds("--seeds 1\\.\\.[0-9]+");
    for (const std::string& line : lines_of(text_in(fs::path(UKEMI_SOURCE_DIR) / "README.md"))) {
        const bool is_wanted = std::ranges::any_of(names, [&](const std::string& name) {
            return line.starts_with("    ") && line.find(name) != std::string::npos;
        });
        if (!is_wanted || line.find("mpirun") != std::string::npos ||
            line.find("ukemi merge") != std::string::npos) {
            continue;  // of several processes, and of files that another machine writes
        }
        script += std::regex_replace(line, seeds, "--seeds 1..2") + "\n";
    }
    return script;
}

TEST_CASE("docs: the README's commands can be typed in their order", "[cli][docs]") {
    const ScratchFolder scratch;
    const std::string script = readme_commands(
        {"results/spot", "runs.db", "clusters.db", "ukemi train scenarios/learners/two_worlds"});
    for (const char* const command :
         {"replay results/spot", "ukemi timeline", "ukemi plot", "diff", "ukemi query",
          "ukemi report", "sweep spot_cluster", "two_worlds.json --notices aws"}) {
        CHECK_THAT(script, Catch::Contains(command));
    }
    write_file(scratch / "page.sh", script);
    fs::create_directory_symlink(fs::path(UKEMI_SOURCE_DIR) / "scenarios", scratch / "scenarios");
    const std::string path = fs::path(UKEMI_BINARY).parent_path().string() + ":" + getenv("PATH");
    const Ran ran =
        run_program("/usr/bin/env", scratch.path(), {"PATH=" + path, "bash", "page.sh"});
    INFO(script << ran.out << ran.err);
    CHECK(ran.code == 0);
}

TEST_CASE("docs: keys that pages name in quotes are keys of scenarios", "[cli][docs]") {
    const fs::path root = UKEMI_SOURCE_DIR;
    const std::string keys = text_in(root / "scenarios/KEYS.md");
    const std::regex quoted("`\"([a-z_]+)\"`");
    int found = 0;
    for (const fs::directory_entry& page : fs::directory_iterator(root / "docs")) {
        if (page.path().extension() != ".md") continue;
        const std::string text = text_in(page.path());
        for (std::sregex_iterator key(text.begin(), text.end(), quoted), end; key != end; ++key) {
            CAPTURE(page.path().filename(), key->str());
            const std::regex whole("[`/]" + key->str(1) + "[`/]");
            CHECK(std::regex_search(keys, whole));
            ++found;
        }
    }
    CHECK(found >= 3);
}

TEST_CASE("docs: numbers that the pages name are those that come out", "[cli][docs]") {
#ifdef UKEMI_SANITIZED
    return;  // a library is built without sanitizers
#endif
    const ScratchFolder trace;
    const Ran own_trace = run_page(trace.path(), "own_trace.md");
    CHECK_THAT(own_trace.out, Catch::Contains("79.5 %") && Catch::Contains("losses        8 in") &&
                                  Catch::Contains("median 20.8,") &&
                                  Catch::Contains("only 8 losses: the fit is rough"));
    const ScratchFolder job;
    const Ran own_job = run_page(job.path(), "own_job.md");
    CHECK_THAT(own_job.out, Catch::Contains("881.38"));
    const ScratchFolder learning;
    const Ran own_learning = run_page(learning.path(), "own_learning.md");
    for (const char* const printed :
         {" 54.71 +-", " 1.918 +-", " 23.87 +-", " 0.8371 +-", " 18.42 +-", " 0.6461 +-",
          "samples off by +12.7 % at 512", " 3.058e+06 +-", " 4.324e+06 +-"}) {
        CHECK_THAT(own_learning.out, Catch::Contains(printed));
    }
    const ScratchFolder steps;
    const Ran own_steps = run_page(steps.path(), "own_steps.md");
    for (const char* const printed :
         {"batch 8 x 16 = 128", "  32.21 GB a GPU: 0.7097 weights",
          "  compute time: kernel by kernel", "  709.7 MB of gradients in 21 buckets",
          "  network: nccl", "  compute (mean worker)         188.370 ms",
          "  exposed communication           3.", "fitted to all_reduce.log (2 x 1 GPUs, 3 rows",
          "  compute (mean worker)          27.000 ms", "618 fit in a GPU's memory",
          "/cluster/count=8", "simulated steps: step.json: nccl"}) {
        CHECK_THAT(own_steps.out, Catch::Contains(printed));
    }
}

TEST_CASE("docs: the commands of the talks run and say what their pages say", "[cli][docs]") {
    struct Page {
        const char* name;
        std::vector<const char*> printed;
    };
    const auto& page = GENERATE(values<Page>({
        {"kungfu.md",
         {"92632.20", "15155.14", "15731.35", " 40.2 ", " 42.5 ", "29.0 a worker", "115.8",
          "101.6"}},
        {"compression.md",
         {"133.786", "353.552", "0.374", "240.429", "691.059", "212.337", "0.6959", "0.71 ",
          "0.7171", " 1.23 ", " 1.307 ", " 2.7 "}},
        {"powerai_ddl.md",
         {"0.980", "0.990", "44041.8", "0.764 ", "0.7624", "0.7233", "10.5 %", "10.9 %", "3.3 %"}},
        {"autoscaling.md",
         {"24.63", " 24.1 ", " 20.6 ", "5.69", "25.09", " 78 ", " 44.6 ", "33.45", " 50.1 ",
          "25.14", " 7.8 ", " 10.2 ", " 46.8 ", " 62.3 "}},
        {"crossbow.md", {" 81.8 ", " 43.3 ", " 25.2 ", " 49.4 ", "3.565e+05", "1.29e+05"}},
    }));
    CAPTURE(page.name);
    const ScratchFolder scratch;
    const Ran ran = run_page(scratch.path(), (std::string("talks/") + page.name).c_str());
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
    for (const char* const number : page.printed) CHECK_THAT(ran.out, Catch::Contains(number));
}

}  // namespace ukemi
