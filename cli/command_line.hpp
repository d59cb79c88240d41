// command_line.hpp — all commands in one parser, with what their help shows beside the options.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace ukemi::cli {

struct CommandExamples {
    std::string command;
    std::array<std::string_view, 2> lines;
};

std::span<const CommandExamples> command_examples();

// "expected a command (init, replay, …), found "x"", with the nearest one; `found` may be empty.
std::string expected_command(const CLI::App& app, std::string_view found);

// A scenario may be named instead of given by its path (analysis/requests/shipped_scenarios.hpp),
// and no option may be given with nothing.
void add_commands(CLI::App& app);

}  // namespace ukemi::cli
