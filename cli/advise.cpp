// advise.cpp — `ukemi advise`: the policies of a scenario for a world in any language, which sends
// lines and gets lines.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "base/input_error.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "records/advisor.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::cli {

namespace {

struct AdviseOptions {
    std::filesystem::path scenario;
    std::string policies;
    std::uint64_t seed = 0;
    analysis::VariationRequest variation;
};

scenarios::PolicyList list_of(const AdviseOptions& options, const scenarios::Scenario& scenario) {
    if (options.policies.empty()) return scenarios::first_policies(scenario);
    auto lists = scenarios::parse_policies(options.policies, scenario, "--policies");
    if (lists.size() == 1) return std::move(lists.front());
    throw InputError("--policies", "",
                     fmt::format("expected one list of policies, found {}", lists.size()));
}

// The world waits for each line before it goes on.
void say(const std::string& text) {
    fmt::print("{}", text);
    std::fflush(stdout);
}

void advise(const AdviseOptions& options, bool seed_given) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.variation.settings) {
        overrides.push_back(parse_override(setting));
    }
    const auto scenario = scenarios::read_scenario(options.scenario, overrides);
    records::Advisor advisor(scenarios::advice_header(scenario, list_of(options, scenario),
                                                      seed_given ? options.seed : scenario.seed),
                             "standard input");
    say(advisor.header());
    for (std::string line; std::getline(std::cin, line);) say(advisor.answer(line));
}

}  // namespace

void add_advise(CLI::App& app) {
    auto options = std::make_shared<AdviseOptions>();
    CLI::App* command = app.add_subcommand(
        "advise", "answer a world in any language: JSON lines on standard input and output");
    command
        ->add_option("SCENARIO", options->scenario,
                     "a scenario file: its job, its policies, and what may be changed")
        ->required();
    command->add_option("--policies", options->policies,
                        "the list that answers: a or a+b (default: the scenario's first)");
    CLI::Option* seed = command->add_option("--seed", options->seed,
                                            "of what policies draw (default: the scenario's)");
    add_setting_option(*command, options->variation);
    command->callback([options, seed] { advise(*options, seed->count() > 0); });
}

}  // namespace ukemi::cli
