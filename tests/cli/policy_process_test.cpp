// policy_process_test.cpp — policies in a process of their own, played by a shell that says what
// `python3 -m ukemi.policy_process` would: standard input is the socket, both ways.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

constexpr const char* hello =
    R"(say '{"record":"policies","policies":[{"name":"shell_rule","summary":"Spot, always.",)"
    R"("needs_deadline":false}]}')";
constexpr const char* made =
    R"(say '{"record":"made","knobs":["market"],"hooks":["before_train","on_event"],)"
    R"("every_steps":1,"looks_at_ages":false,"looks_at_workers":false,"looks_at_links":false}')";

// Answers each line that holds one of these words by these commands.
void write_program(const fs::path& folder, const std::string& first, const std::string& to_make,
                   const std::string& to_question) {
    const fs::path file = folder / "player";
    write_file(file, "#!/bin/sh\nsay() { printf '%s\\n' \"$1\" >&0; }\n" + first +
                         "\nwhile read -r line; do\n  case \"$line\" in\n    *'\"make\"'*) " +
                         to_make + ";;\n    *'\"question\"'*) " + to_question +
                         ";;\n  esac\ndone\n");
    fs::permissions(file, fs::perms::owner_all);
    setenv("UKEMI_PYTHON", file.c_str(), 1);
}

Ran replay(const fs::path& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{
        "--plugin",   "rule.py",    "replay",  UKEMI_SOURCE_DIR "/scenarios/smoke/one_machine.json",
        "--policies", "shell_rule", "--seeds", "1",
        "--no-files"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Ran ran = run_program(UKEMI_BINARY, folder, std::move(arguments));
    unsetenv("UKEMI_PYTHON");
    return ran;
}

// The one line of complaint; what the process itself said on standard error stands before it.
void check_complaint(const Ran& ran, const std::string& text) {
    INFO(ran.out << ran.err);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::Contains(text));
    CHECK(ran.out.empty());
}

constexpr const char* spot =
    R"(say '{"record":"answer","decision":{"market":"spot","reason":"always"}}')";

}  // namespace

TEST_CASE("policy process: decides like a policy of ours", "[policy_process]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "rule.py", "");
    write_program(scratch.path(), hello, made, spot);
    const Ran told = replay(scratch.path(), {"--json"});
    INFO(told.err);
    REQUIRE(told.code == 0);
    const auto end = told.out.find("\"event_hash\"");
    REQUIRE(end != std::string::npos);
    // It asks for a number in between, and gets one of its own random stream.
    write_program(scratch.path(), hello, made,
                  R"(say '{"record":"asks","what":"uniform"}'; read -r number; case "$number" in )"
                  R"(*'"value":0.'*) )" +
                      std::string(spot) + R"(;; *) exit 3;; esac)");
    const Ran asked = replay(scratch.path(), {"--json"});
    INFO(asked.err);
    CHECK(asked.code == 0);
    CHECK(asked.out.substr(end, 40) == told.out.substr(end, 40));
}

TEST_CASE("policy process: what goes wrong in it names policy, hook and scenario time",
          "[policy_process]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "rule.py", "");
    const std::string where = "rule.py: policy shell_rule, before_train at 0 s of scenario time: ";
    const std::pair<std::string, std::string> answers[] = {
        {R"(say '{"record":"raised","why":"rule.py:3: KeyError: 7"}')", "rule.py:3: KeyError: 7"},
        {R"(say '{"record":"answer","decision":{"count":2}}')", "turns count, and its knobs are"},
        {R"(say '{"record":"answer","decision":{"colour":2}}')", "unknown key \"colour\""},
        {R"(say '{"record":"answer","decision":{"market":"moon"}}')",
         "\"market\": expected a known name"},
        {R"(say '{"record":"asks","what":"the time"}')", "asks what cannot be answered"},
        {"say 'nonsense'", "said what cannot be read"},
        {"exit 0", "its process has ended"},
        {"sleep 100", "gave no answer within 5 s"},
    };
    for (const auto& [answer, complaint] : answers) {
        write_program(scratch.path(), hello, made, answer);
        check_complaint(replay(scratch.path()), where + complaint);
    }
}

TEST_CASE("policy process: moments are in a unit that can be read", "[policy_process]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "rule.py", "");
    write_program(scratch.path(), hello, made,
                  R"(case "$line" in *before_train*) )"
                  R"(say '{"record":"answer","decision":{"ask_again_in_ns":62737583}}';; )"
                  R"(*) exit 0;; esac)");
    const Ran ran = run_program(UKEMI_BINARY, scratch.path(),
                                {"--plugin", "rule.py", "replay", "demo", "--policies",
                                 "shell_rule", "--seeds", "1", "--no-files"});
    unsetenv("UKEMI_PYTHON");
    check_complaint(ran,
                    "on_event about clock at 62.7376 ms of scenario time: its process has ended");
}

TEST_CASE("policy process: what cannot be asked is said before anything runs", "[policy_process]") {
    const ScratchFolder scratch;
    write_program(scratch.path(), hello, made, spot);
    check_complaint(replay(scratch.path()), "--plugin: rule.py: cannot be opened");
    write_file(scratch.path() / "rule.py", "");
    write_program(scratch.path(), "exit 1", made, spot);
    check_complaint(replay(scratch.path()), "is the module ukemi installed for ");
    write_program(scratch.path(), R"(say '{"record":"policies","policies":[]}')", made, spot);
    check_complaint(replay(scratch.path()), "rule.py: has no class derived from ukemi.Policy");
    write_program(scratch.path(), R"(say '{"record":"raised","why":"rule.py:1: no"}')", made, spot);
    check_complaint(replay(scratch.path()), "--plugin: rule.py: rule.py:1: no");
    write_program(scratch.path(), hello, R"(say '{"record":"raised","why":"no such knob"}')", spot);
    check_complaint(replay(scratch.path()), "policy \"shell_rule\": no such knob");
    setenv("UKEMI_PYTHON", "no-such-program", 1);
    check_complaint(replay(scratch.path()), "there is no program no-such-program");
    // A scenario may be somebody else's.
    std::string text = text_in(UKEMI_SOURCE_DIR "/scenarios/smoke/one_machine.json");
    text.insert(text.find('{') + 1, "\"plugins\": [\"rule.py\"],");
    write_file(scratch.path() / "job.json", text);
    check_complaint(run_program(UKEMI_BINARY, scratch.path(), {"check", "job.json"}),
                    "rule.py: is Python, which would run with your rights");
}

}  // namespace ukemi
