// own_training_loop_test.cpp — the shipped example trains, adapts, and leaves a log that replays.
#include <catch2/catch.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {

TEST_CASE("own training loop: learns and grows, and its log is reproduced by replay-log",
          "[examples]") {
    const ScratchFolder scratch;
    const Ran ran = run_program(UKEMI_OWN_TRAINING_LOOP, scratch.path(), {"decisions.jsonl"});
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.err.empty());
    const std::string log = text_in(scratch.path() / "decisions.jsonl");
    CHECK_THAT(log, Catch::Contains("the noise scale rose"));
    CHECK_THAT(log, Catch::Contains("\"checkpoint_interval_ns\":2000000000"));
    CHECK_THAT(log, Catch::Contains("\"record\":\"committed\""));

    const Ran replayed = run_ukemi(scratch.path(), {"replay-log", "decisions.jsonl"});
    INFO(replayed.out << replayed.err);
    CHECK(replayed.code == 0);
    CHECK_THAT(replayed.out, Catch::Contains(", 0 answered otherwise\n"));

    // The same run, to the last byte, wherever its log goes.
    const Ran again = run_program(UKEMI_OWN_TRAINING_LOOP, scratch.path(), {"again.jsonl"});
    CHECK(again.code == 0);
    CHECK(text_in(scratch.path() / "again.jsonl") == log);
}

TEST_CASE("own training loop: a log that cannot be written is one line and exit code 1",
          "[examples]") {
    const ScratchFolder scratch;
    const Ran ran =
        run_program(UKEMI_OWN_TRAINING_LOOP, scratch.path(), {"no/such/folder/decisions.jsonl"});
    CHECK(ran.code == 1);
    CHECK_THAT(ran.err, Catch::StartsWith("own_training_loop: "));
}

}  // namespace ukemi
