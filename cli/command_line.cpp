// command_line.cpp — the table of commands made into a parser.
#include "cli/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "analysis/requests/shipped_scenarios.hpp"
#include "base/complaint_list.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"

namespace ukemi::cli {

namespace {

// "replay_log" of the table is the command "replay-log".
std::string command_name(std::string name) {
    std::ranges::replace(name, '_', '-');
    return name;
}

// An option that is given with nothing (as by a variable of the shell that is not set) would
// otherwise read as one that is not given.
void refuse_empty_values(CLI::App& command) {
    const CLI::Validator not_empty(
        [](const std::string& value) {
            return value.empty() ? std::string("expected a value, found nothing") : std::string();
        },
        "", "not empty");
    for (CLI::Option* option : command.get_options()) {
        if (option->get_expected_max() > 0) option->check(not_empty);
    }
}

void find_scenarios_by_name(CLI::App& command) {
    CLI::Option* const scenario = command.get_option_no_throw("SCENARIO");
    if (scenario == nullptr) return;
    scenario->transform(CLI::Validator(
        [](std::string& value) {
            if (!value.empty()) value = analysis::scenario_file(value).string();
            return std::string();
        },
        ""));
}

}  // namespace

void print_complaint(const InputError& error) {
    for (const std::string& line : lines_of(error)) fmt::print(stderr, "ukemi: {}\n", line);
}

std::span<const CommandExamples> command_examples() {
#define COMMAND(name, ...) CommandExamples{command_name(#name), {__VA_ARGS__}},
    static const std::vector<CommandExamples> table{
#include "cli/command_table.def"
    };
#undef COMMAND
    return table;
}

std::string expected_command(const CLI::App& app, std::string_view found) {
    std::vector<std::string> names;
    for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    const std::vector<std::string_view> known(names.begin(), names.end());
    return fmt::format("expected a command ({}){}", fmt::join(names, ", "),
                       found.empty() ? ""
                                     : fmt::format(", found {}{}", ukemi::quoted(found),
                                                   did_you_mean(found, known)));
}

void add_commands(CLI::App& app) {
#define COMMAND(name, ...) add_##name(app);
#include "cli/command_table.def"
#undef COMMAND
    for (const CommandExamples& examples : command_examples()) {
        CLI::App& command = *app.get_subcommand(examples.command);
        command.footer(fmt::format("Examples:\n  {}\n  {}\n\n{}", examples.lines[0],
                                   examples.lines[1], app.get_footer()));
        find_scenarios_by_name(command);
        refuse_empty_values(command);
    }
}

}  // namespace ukemi::cli
