// mutants_test.cpp — the table of planted mistakes fits the tree: each is one place of one file.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ukemi::tidy {
namespace {

// What a shell command says, and its exit code.
int run_in_shell(const std::string& command, std::string& said) {
    FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
    const int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("mutants: every planted mistake still fits one place of the tree", "[tidy][mutants]") {
    std::string said;
    const int code =
        run_in_shell("bash '" UKEMI_SOURCE_DIR "/tests/mutation/run.sh' --check", said);
    INFO(said);
    CHECK(code == 0);
}

TEST_CASE("mutants: an option that is not there is refused", "[tidy][mutants]") {
    std::string said;
    CHECK(run_in_shell("bash '" UKEMI_SOURCE_DIR "/tests/mutation/run.sh' --chekc", said) == 2);
    CHECK(said == "run.sh: no option --chekc (there are --check and --preset)\n");
}

}  // namespace ukemi::tidy
