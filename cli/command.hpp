// command.hpp — the commands of `ukemi`, one file each. Each adds its options and its action.
//
// Actions throw InputError for bad input (exit 2) and anything else for a failing machine (exit 1);
// main prints the one line. Results go to stdout, progress and reports to stderr.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/input_error.hpp"

namespace ukemi::cli {

#define COMMAND(name, ...) void add_##name(CLI::App& app);
#include "cli/command_table.def"
#undef COMMAND

// A complaint on standard error, each of its lines with the program's name before it.
void print_complaint(const InputError& error);

inline constexpr int exit_done = 0;
inline constexpr int exit_machine_failed = 1;
inline constexpr int exit_input_wrong = 2;

// For commands that found what they were to look for and want another exit code than 0.
struct ExitWith {
    int code;
};

}  // namespace ukemi::cli
