// python_test.cpp — the tests of the Python module, which are Python: a case runs one file of them.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

#ifdef UKEMI_PYTHON

Ran run_python(std::vector<std::string> arguments) {
    setenv("PYTHONPATH", UKEMI_PYTHON_PATH ":" UKEMI_SOURCE_DIR "/tests/python", 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("UKEMI_BINARY", UKEMI_BINARY, 1);
    setenv("UKEMI_SOURCE_DIR", UKEMI_SOURCE_DIR, 1);
    const ScratchFolder scratch;
    // By a shell, because Python finds itself by the whole path that it is called by.
    arguments.insert(arguments.begin(), {"-c", R"(exec "$0" "$@")", UKEMI_PYTHON});
    return run_program("/bin/sh", scratch.path(), std::move(arguments));
}

// Whether Python here has the package; a test that needs it is skipped where it does not.
bool has_package(const std::string& name) { return run_python({"-c", "import " + name}).code == 0; }

void run_tests(const std::string& file) {
    const Ran ran = run_python({"-m", "unittest", "-v", file});
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
    CHECK_THAT(ran.err, Catch::Contains("\nOK\n"));  // and nothing in it was skipped
}

void run_with_torch(const std::string& file) {
    if (has_package("torch")) {
        run_tests(file);
    } else {
        WARN("skipped: PyTorch is missing");
    }
}

#else

void run_with_torch(const std::string&) {
    WARN("skipped: no Python module: " UKEMI_PYTHON_MISSING);
}
void run_tests(const std::string&) { WARN("skipped: no Python module: " UKEMI_PYTHON_MISSING); }
bool has_package(const std::string&) { return true; }

#endif

}  // namespace

TEST_CASE("python: experiments are those of the commands", "[python]") {
    run_tests("test_experiments");
}

TEST_CASE("python: a policy is a class", "[python]") { run_tests("test_policy"); }

TEST_CASE("python: a policy in a file is a policy of every command", "[python]") {
    run_tests("test_policy_process");
}

TEST_CASE("python: worlds and training loops are somebody's own", "[python]") {
    run_tests("test_loop");
}

TEST_CASE("python: interrupts, progress and the time of an import", "[python]") {
    run_tests("test_running");
}

TEST_CASE("python: the notebook's blocks run in their order", "[python][docs]") {
    run_tests("test_notebook");
}

TEST_CASE("python: workers of a script say what the header says", "[python]") {
    run_tests("test_torch_messages");
}

TEST_CASE("python: members of a script's group on several hosts meet by its secret", "[python]") {
    run_tests("test_torch_meeting");
}

TEST_CASE("python: steps of workers of a script", "[python][torch]") {
    run_with_torch("test_torch_step");
}

TEST_CASE("python: what workers of a script save", "[python][torch]") {
    run_with_torch("test_torch_checkpoints");
}

TEST_CASE("python: PyTorch trains under a scenario's policies", "[python][torch]") {
    run_with_torch("test_torch_live");
}

TEST_CASE("python: workers of a script die at random, and nothing is lost", "[python][torch]") {
    run_with_torch("test_torch_chaos");
}

TEST_CASE("python: LeNet learns while machines are taken", "[python][torch]") {
    run_with_torch("test_torch_example");
}

TEST_CASE("python: ukemi decides and torchrun restarts", "[python][torch]") {
    run_with_torch("test_torchrun");
}

TEST_CASE("python: policies decide for a Hugging Face Trainer", "[python][torch]") {
    if (!has_package("torch, transformers")) {
        WARN("skipped: transformers or PyTorch is missing");
        return;
    }
    run_tests("test_hugging_face");
}

TEST_CASE("python: the page about PyTorch is run as it stands", "[python][torch]") {
    run_with_torch("test_torch_page");
}

TEST_CASE("python: runs are a DataFrame where pandas is", "[python]") {
    if (!has_package("pandas")) {
        WARN("skipped: pandas is missing");
        return;
    }
    run_tests("test_frames");
}

TEST_CASE("python: the package is typed", "[python]") {
    if (!has_package("mypy")) {
        WARN("skipped: mypy is missing");
        return;
    }
    run_tests("test_types");
}

}  // namespace ukemi
