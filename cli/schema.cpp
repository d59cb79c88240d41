// schema.cpp — `ukemi schema`: the JSON Schema of scenarios for editors, their keys for people.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "cli/command.hpp"
#include "scenarios/reader/scenario_schema.hpp"

namespace ukemi::cli {

void add_schema(CLI::App& app) {
    auto command_name = std::make_shared<std::string>("replay");
    auto as_table = std::make_shared<bool>(false);
    CLI::App* command = app.add_subcommand("schema", "the JSON schema of scenarios, for editors");
    command->add_option("KIND", *command_name, "the command whose scenarios it is of")
        ->check(CLI::IsMember({"replay", "compare", "train", "simulate", "schedule", "search"}))
        ->capture_default_str();
    command->add_flag("--keys", *as_table,
                      "a table of all keys instead, a line each: value, bounds, default");
    command->callback([command_name, as_table] {
        const auto [schema, keys] =
            *command_name == "simulate"
                ? std::pair(&scenarios::step_scenario_schema, &scenarios::step_scenario_key_table)
            : *command_name == "schedule" ? std::pair(&scenarios::schedule_scenario_schema,
                                                      &scenarios::schedule_scenario_key_table)
            : *command_name == "search"
                ? std::pair(&scenarios::search_scenario_schema,
                            &scenarios::search_scenario_key_table)
                : std::pair(&scenarios::scenario_schema, &scenarios::scenario_key_table);
        fmt::print("{}", *as_table ? keys() : schema());
    });
}

}  // namespace ukemi::cli
