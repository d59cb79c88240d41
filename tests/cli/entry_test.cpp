// entry_test.cpp — from nothing to a first result: init, names of scenarios, examples in the help,
// all mistakes at once, a policy's parameters.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_line.hpp"
#include "scenarios/reader/first_scenarios.hpp"
#include "tests/cli/child.hpp"

namespace ukemi {

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
        if (word == ">") break;  // the shell's
        std::erase(word, '\'');
        words.push_back(word);
    }
    return words;
}

struct Parsed {};

}  // namespace

TEST_CASE("ukemi: a name that no file can have is a wrong input", "[cli][entry]") {
    const ScratchFolder scratch;
    const std::string name(300, 'x');
    for (const std::vector<std::string>& words : {std::vector<std::string>{"report", name},
                                                  {"import", name + ".csv"},
                                                  {"describe", "--topology", name}}) {
        CAPTURE(words.front());
        const Ran ran = run_ukemi(scratch.path(), words);
        CHECK(ran.code == 2);
        CHECK_THAT(ran.err, Catch::StartsWith("ukemi: "));
        CHECK(std::ranges::count(ran.err, '\n') <= 2);
    }
}

TEST_CASE("ukemi init: writes a scenario that runs as it is with the command that it names",
          "[cli][init]") {
    const ScratchFolder scratch;
    for (const scenarios::FirstScenario& first : scenarios::first_scenarios()) {
        const std::string kind(first.kind);
        CAPTURE(kind);
        const Ran made = run_ukemi(scratch.path(), {"init", kind});
        CHECK(made.code == 0);
        CHECK_THAT(made.out, Catch::StartsWith(kind + ".json: written. Next: ukemi " + kind + " " +
                                               kind + ".json"));
        const Ran checked = run_ukemi(scratch.path(), {"check", kind + ".json"});
        CHECK(checked.err == "");
        CHECK(checked.code == 0);
        std::vector<std::string> next = words_of(made.out.substr(made.out.find("ukemi ") + 6));
        next.insert(next.end(), {"--json"});
        if (kind == "train") next.insert(next.end(), {"--out", "trained"});
        const Ran ran = run_ukemi(scratch.path(), next);
        CHECK(ran.code == 0);
        CHECK_FALSE(ran.out.empty());
    }
}

TEST_CASE("ukemi init: replaces nothing unless told, and knows its kinds", "[cli][init]") {
    const ScratchFolder scratch;
    CHECK(run_ukemi(scratch.path(), {"init", "replay", "first.json"}).code == 0);
    const std::string text = text_in(scratch.path() / "first.json");
    CHECK_THAT(text, Catch::Contains("\"name\": \"first\"") && Catch::Contains("// "));
    write_file(scratch.path() / "first.json", "mine");
    write_file(scratch.path() / "mine", "");
    const Ran in_place = run_ukemi(scratch.path(), {"init", "policy", "mine"});
    CHECK(in_place.code == 2);
    CHECK(in_place.err == "ukemi: mine: is there already\n");
    const Ran refused = run_ukemi("/proc", {"init", "policy", "mine"});  // by the machine
    CHECK(refused.code == 1);
    CHECK(refused.err == "ukemi: mine: No such file or directory\n");
    const Ran again = run_ukemi(scratch.path(), {"init", "replay", "first.json"});
    CHECK(again.code == 2);
    CHECK(is_one_line(again.err));
    CHECK(text_in(scratch.path() / "first.json") == "mine");
    CHECK(run_ukemi(scratch.path(), {"init", "replay", "first.json", "--force"}).code == 0);
    CHECK(text_in(scratch.path() / "first.json") == text);
    CHECK(run_ukemi(scratch.path(), {"init", "reply"}).code == 2);
}

TEST_CASE("ukemi schema: is JSON Schema of both kinds of scenarios", "[cli]") {
    const ScratchFolder scratch;
    for (const char* kind : {"replay", "simulate"}) {
        const Ran ran = run_ukemi(scratch.path(), {"schema", kind});
        CHECK(ran.code == 0);
        CHECK(ran.err.empty());
        const auto schema = nlohmann::json::parse(ran.out);
        CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
        CHECK(schema["properties"]["job"]["type"] == "object");
    }
}

TEST_CASE("scenarios by name: are found from any folder, and a slip is told the nearest", "[cli]") {
    const ScratchFolder scratch;
    const Ran found = run_ukemi(scratch.path(), {"check", "demo"});
    CHECK(found.code == 0);
    CHECK_THAT(found.out, Catch::Contains("market/demo.json: ok"));
    const Ran slip = run_ukemi(scratch.path(), {"check", "dmeo"});
    CHECK(slip.code == 2);
    CHECK(slip.err ==
          "ukemi: dmeo: there is no such file, and no scenario of this name (did you mean "
          "\"demo\"?) (see `ukemi list scenarios`)\n");
    // A folder of that name, such as the results, is none; a file beside the user comes first, and
    // what looks like a path is one.
    std::filesystem::create_directory(scratch.path() / "elastic_batch");
    CHECK(run_ukemi(scratch.path(), {"check", "elastic_batch"}).code == 0);
    write_file(scratch.path() / "demo", "{}");
    CHECK_THAT(run_ukemi(scratch.path(), {"check", "demo"}).err,
               Catch::StartsWith("ukemi: demo: at /: missing key \"name\"\n"));
    CHECK_THAT(run_ukemi(scratch.path(), {"check", "nowhere/demo.json"}).err,
               Catch::StartsWith("ukemi: nowhere/demo.json: cannot be opened"));
    const Ran all = run_ukemi(scratch.path(), {"list", "scenarios"});
    CHECK(all.code == 0);
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(UKEMI_SOURCE_DIR "/scenarios")) {
        if (entry.path().extension() != ".json") continue;
        CHECK_THAT(all.out, Catch::Contains("\n" + entry.path().stem().string() + " "));
    }
}

TEST_CASE("ukemi check: names every mistake of a file on a line of its own", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "bad.json", R"({"name": "bad", "seed": -1, // a comment
        "job": {"work": "10", "dedline": "20 h"}, "cluster": {"count": 0},
        "market": {"on_demand_price": "$3/h", "spot_price": 1}, "replay": ["greedy"]})");
    for (const char* command : {"check", "replay", "compare", "train"}) {
        CAPTURE(command);
        const Ran ran = run_ukemi(scratch.path(), {command, "bad.json"});
        CHECK(ran.code == 2);
        CHECK(ran.out.empty());
        const auto lines = lines_of(ran.err);
        CHECK(lines.size() == 5);
        for (const std::string& line : lines)
            CHECK_THAT(line, Catch::StartsWith("ukemi: bad.json: at /"));
    }
}

TEST_CASE("ukemi check: says of each list of policies why it cannot run", "[cli]") {
    const ScratchFolder scratch;
    write_file(scratch.path() / "lists.json", R"({"name": "lists", "seed": 1,
        "job": {"work": "10 h"}, "cluster": {}, "market": {"on_demand_price": "$3/h",
        "spot_price": "$1/h"}, "replay": ["greedy", "spot_only", "time_sliced:4h"]})");
    const Ran ran = run_ukemi(scratch.path(), {"check", "lists.json"});
    CHECK(ran.code == 2);
    const auto lines = lines_of(ran.err);
    REQUIRE(lines.size() == 2);
    CHECK_THAT(lines[0], Catch::Contains("at /replay/0: \"greedy\" needs a deadline"));
    CHECK_THAT(lines[1], Catch::Contains("at /replay/2: \"time_sliced:4h\" needs a deadline"));
}

TEST_CASE("ukemi list policies NAME: parameters, defaults, source, and how to set one", "[cli]") {
    const ScratchFolder scratch;
    const Ran ran = run_ukemi(scratch.path(), {"list", "policies", "periodic"});
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::StartsWith("periodic_checkpoint (short: periodic): "));
    CHECK_THAT(ran.out, Catch::Contains("a duration from 1 s to 36500 d; default \"1 h\"") &&
                            Catch::Contains("source  baseline") &&
                            Catch::Contains("periodic_checkpoint:VALUE sets interval"));
    CHECK_THAT(run_ukemi(scratch.path(), {"list", "policies", "greedy"}).out,
               Catch::Contains("one of simple, strong; default \"strong\"") &&
                   Catch::Contains("greedy:safety_net=VALUE"));
    const Ran slip = run_ukemi(scratch.path(), {"list", "policies", "greddy"});
    CHECK(slip.code == 2);
    CHECK_THAT(slip.err, Catch::Contains("did you mean \"greedy\"?"));
    CHECK(run_ukemi(scratch.path(), {"list", "codecs", "qsgd"}).code == 2);
}

TEST_CASE("policies with a value: of the main parameter, or of any by name", "[cli]") {
    const ScratchFolder scratch;
    CHECK(run_ukemi(scratch.path(), {"init", "replay", "first.json"}).code == 0);
    const auto replay = [&](const char* policies) {
        return run_ukemi(scratch.path(), {"replay", "first.json", "--no-files", "--starts", "1",
                                          "--policies", policies});
    };
    const Ran ran = replay("greedy:safety_net=simple+periodic_checkpoint:20min");
    CHECK(ran.code == 0);
    CHECK_THAT(ran.out, Catch::Contains("greedy:safety_net=simple+"));
    const Ran unknown = replay("greedy:safty_net=simple");
    CHECK(unknown.code == 2);
    CHECK_THAT(unknown.err, Catch::Contains("unknown key \"safty_net\" (did you mean "));
    CHECK(replay("periodic_checkpoint:soon").code == 2);
    CHECK(replay("greedy:3").code == 2);
}

TEST_CASE("help: each command has two examples that its own parser takes", "[cli]") {
    for (const cli::CommandExamples& examples : cli::command_examples()) {
        for (const std::string_view line : examples.lines) {
            CAPTURE(line);
            CLI::App app{"ukemi", "ukemi"};
            app.require_subcommand(1);
            cli::add_commands(app);
            CLI::App* const command = app.get_subcommand(examples.command);
            // Once all is parsed and checked, and before anything runs.
            command->parse_complete_callback([] { throw Parsed{}; });
            std::vector<std::string> words = words_of(std::string(line));
            REQUIRE(words.size() >= 2);
            CHECK(words[0] == "ukemi");
            CHECK(words[1] == examples.command);
            std::reverse(words.begin(), words.end());
            words.pop_back();  // CLI11 takes them from the back, without the program
            CHECK_THROWS_AS(app.parse(words), Parsed);
            CHECK_THAT(command->help(),
                       Catch::Contains("Examples:") && Catch::Contains(std::string(line)));
        }
    }
}

}  // namespace ukemi
