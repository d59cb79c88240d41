// shell_test.cpp — `ukemi man` and `ukemi completion`: what they write says what the parser says,
// and a shell takes it.
#include <catch2/catch.hpp>

#include "cli/command_line.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

// What bash offers for the last of these words, through the script that `ukemi completion` writes.
std::string offered(const ScratchFolder& scratch, const std::string& words) {
    const Ran script = run_ukemi(scratch.path(), {"completion", "bash"});
    REQUIRE(script.code == 0);
    write_file(scratch.path() / "offer.sh",
               script.out + "COMP_WORDS=(" + words +
                   ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_ukemi\necho \"${COMPREPLY[*]}\"\n");
    const Ran ran = run_program("/usr/bin/env", scratch.path(), {"bash", "-eu", "offer.sh"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return ran.out;
}

}  // namespace

TEST_CASE("man: each command has a page with its options and examples", "[cli][shell]") {
    const ScratchFolder scratch;
    const Ran program = run_ukemi(scratch.path(), {"man"});
    REQUIRE(program.code == 0);
    CHECK(program.out.starts_with(".TH UKEMI 1 "));
    for (const cli::CommandExamples& examples : cli::command_examples()) {
        CAPTURE(examples.command);
        const Ran page = run_ukemi(scratch.path(), {"man", examples.command});
        REQUIRE(page.code == 0);
        CHECK(page.out.starts_with(".TH UKEMI\\-"));
        CHECK_THAT(page.out, Catch::Contains("\\fB\\-h\\fR, \\fB\\-\\-help\\fR"));
        CHECK_THAT(page.out, Catch::Contains(".SH EXAMPLES\n.nf\nukemi "));
    }
    const Ran replay = run_ukemi(scratch.path(), {"man", "replay"});
    CHECK_THAT(replay.out, Catch::Contains("\\fISCENARIO\\fR") &&
                               Catch::Contains("\\fIabove|below|right|none\\fR") &&
                               Catch::Contains("\\fB\\-\\-set\\fR \\fITEXT\\fR ..."));
    // A line of roff that begins with a full stop would be a request.
    CHECK_THAT(run_ukemi(scratch.path(), {"man", "init"}).out, !Catch::Contains("\n.json"));
    const Ran unknown = run_ukemi(scratch.path(), {"man", "repla"});
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, Catch::Contains("did you mean \"replay\"?"));
}

TEST_CASE("completion: bash offers commands, options, values and names", "[cli][shell]") {
    const ScratchFolder scratch;
    CHECK(offered(scratch, "ukemi rep") == "replay replay-log report reproduce\n");
    CHECK(offered(scratch, "ukemi --plugin replay.so rep") ==
          "replay replay-log report reproduce\n");
    CHECK(offered(scratch, "ukemi replay --le") == "--legend\n");
    CHECK(offered(scratch, "ukemi replay demo --legend b") == "below\n");
    CHECK(offered(scratch, "ukemi replay demo --legend = r") == "right\n");
    CHECK(offered(scratch, "ukemi replay demo --policies uniform_p") == "uniform_progress\n");
    CHECK(offered(scratch, "ukemi man simu") == "simulate\n");
    // Nothing known: the shell offers files.
    CHECK(offered(scratch, "ukemi replay --csv a") == "\n");
}

TEST_CASE("completion: a shell that is not known is refused", "[cli][shell]") {
    const ScratchFolder scratch;
    CHECK(run_ukemi(scratch.path(), {"completion", "fish"}).code == 2);
    const Ran zsh = run_ukemi(scratch.path(), {"completion", "zsh"});
    CHECK(zsh.code == 0);
    CHECK(zsh.out.starts_with("#compdef ukemi\n"));
    // Brackets and colons end a description there.
    CHECK_THAT(zsh.out, Catch::Contains("a,b+c runs \\[a\\] and \\[b, c\\] (default\\: the"));
}

}  // namespace ukemi
