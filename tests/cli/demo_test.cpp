// demo_test.cpp — what `./dev demo` concludes holds: at the number of runs that it makes, after
// Holm's correction, and on markets that it does not run.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// The words of one command of a shell script: no variables, no nesting of quotes.
Words shell_words(const std::string& command) {
    Words words;
    bool inside = false;
    char quote = 0;
    for (const char c : command) {
        if (quote == 0 && (c == ' ' || c == '\n' || c == '\\')) {
            inside = false;
        } else if (quote == 0 && (c == '"' || c == '\'')) {
            quote = c;
        } else if (c == quote) {
            quote = 0;
        } else {
            if (!inside) words.emplace_back();
            inside = true;
            words.back() += c;
        }
    }
    return words;
}

// Of demo_commands in `dev`: each call of the program, without where its results go.
std::vector<Words> demo_commands() {
    const std::string dev = text_in(std::filesystem::path(UKEMI_SOURCE_DIR) / "dev");
    const std::size_t begin = dev.find("\ndemo_commands() {");
    const std::size_t end = dev.find("\n}", begin);
    REQUIRE(end != std::string::npos);
    const std::string body = dev.substr(begin, end - begin);
    constexpr std::string_view program = "\"$ukemi\" ";
    std::vector<Words> commands;
    for (std::size_t at = body.find(program); at != std::string::npos;
         at = body.find(program, at + 1)) {
        const std::size_t from = at + program.size();
        std::size_t to = body.find('\n', from);
        while (to != std::string::npos && body[to - 1] == '\\') to = body.find('\n', to + 1);
        Words words = shell_words(body.substr(from, to == std::string::npos ? to : to - from));
        const auto out = std::ranges::find(words, "--out");
        REQUIRE(words.end() - out >= 2);
        words.erase(out, out + 2);
        std::erase(words, "--force");
        commands.push_back(std::move(words));
    }
    return commands;
}

// The pairs of one command, by policy.
std::map<std::string, json> pairs_of(Words command) {
    command.insert(command.end(), {"--json", "--no-files"});
    const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, command);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    std::map<std::string, json> pairs;
    const json document = json::parse(ran.out);
    for (const json& pair : document.at("pairs")) {
        pairs[pair.at("policy").get<std::string>()] = pair;
    }
    return pairs;
}

void is_cheaper(const json& pair, double holm) {
    CAPTURE(pair.dump());
    CHECK(pair.at("cost_usd_difference_high_95").get<double>() < 0);
    CHECK(pair.at("cost_usd_p_holm").get<double>() < holm);
}

}  // namespace

TEST_CASE("demo: its conclusions hold at the number of runs that it makes, and on other markets",
          "[cli][demo]") {
    const std::vector<Words> commands = demo_commands();
    REQUIRE(commands.size() == 2);
    const std::string saves = "uniform_progress+periodic+on_notice";

    // A deadline rule alone is no gain over greedy; one that saves at the notice is.
    auto generated = pairs_of(commands[0]);
    REQUIRE(generated.size() == 5);
    is_cheaper(generated.at(saves), 0.001);
    for (const char* alike : {"uniform_progress+daly", "time_sliced+daly"}) {
        const json& pair = generated.at(alike);
        CAPTURE(pair.dump());
        CHECK(pair.at("cost_usd_p_holm").get<double>() > 0.05);
        CHECK(pair.at("cost_usd_ratio_low_95").get<double>() > 0.95);
        CHECK(pair.at("cost_usd_ratio_high_95").get<double>() < 1.05);
    }
    Words others = commands[0];
    *std::ranges::find(others, "1..300") = "301..600";
    is_cheaper(pairs_of(others).at(saves), 0.001);

    // It is the saving: the same rule with Daly's interval pays more. Six zones can bear this one
    // comparison and no second, for p is 2/2^6 at least.
    auto recorded = pairs_of(commands[1]);
    REQUIRE(recorded.size() == 1);
    CHECK(recorded.at(saves).at("clusters") == 6);
    is_cheaper(recorded.at(saves), 0.05);
}

}  // namespace ukemi
