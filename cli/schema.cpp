// schema.cpp — `ukemi schema`: the JSON Schema of scenarios, for editors.
#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "scenarios/reader/scenario_schema.hpp"

namespace ukemi::cli {

void add_schema(CLI::App& app) {
    auto command_name = std::make_shared<std::string>("replay");
    CLI::App* command = app.add_subcommand("schema", "the JSON schema of scenarios, for editors");
    command->add_option("KIND", *command_name, "the command whose scenarios it is of")
        ->check(CLI::IsMember({"replay", "compare", "train", "simulate", "schedule"}))
        ->capture_default_str();
    command->callback([command_name] {
        const auto schema = *command_name == "simulate"   ? scenarios::step_scenario_schema
                            : *command_name == "schedule" ? scenarios::schedule_scenario_schema
                                                          : scenarios::scenario_schema;
        fmt::print("{}", schema());
    });
}

}  // namespace ukemi::cli
