// main.cpp — the one binary: picks the command, and turns what went wrong into one line and an exit
// code (0 done, 1 the machine failed, 2 the input was wrong).
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/build_info.hpp"
#include "analysis/files_of_run.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/typed_command.hpp"
#include "base/input_error.hpp"
#include "base/input_files.hpp"
#include "base/plain_text.hpp"
#include "base/plugin_library.hpp"
#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/stop_signals.hpp"
#include "scenarios/reader/plugins.hpp"
#include "sim/engine/event_queue.hpp"

namespace {

// A file opened later must not become standard output by taking its number.
void keep_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (fcntl(stream, F_GETFD) != -1) continue;
        if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
    }
}

// What was printed must have arrived: a full disk is a failure, not a short table.
void flush_output() {
    const bool failed = std::fflush(stdout) != 0;
    if (failed || std::ferror(stdout) != 0) {
        throw std::system_error(failed ? errno : EIO, std::generic_category(),
                                "cannot write to standard output");
    }
}

std::string unexpected(const CLI::App& command, const std::string& argument) {
    std::string hint;
    if (argument.starts_with("-")) {
        std::vector<std::string> names;
        for (const CLI::Option* option : command.get_options()) {
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
        const std::vector<std::string_view> known(names.begin(), names.end());
        hint = ukemi::did_you_mean(argument.substr(0, argument.find('=')), known);
    } else if (std::filesystem::exists(argument)) {
        hint = " (put a pattern in quotation marks, so that the shell leaves it alone)";
    }
    return fmt::format("unexpected argument {}{}", ukemi::quoted(argument), hint);
}

// What the command line got wrong, in a line.
std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const CLI::App& command = chosen.empty() ? app : *chosen.front();
    const std::vector<std::string> extra = app.remaining(true);
    if (chosen.empty() && (extra.empty() || !extra.front().starts_with("-"))) {
        return ukemi::cli::expected_command(app, extra.empty() ? "" : extra.front());
    }
    const bool about_extra =
        chosen.empty() || error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    return fmt::format("{} (see ukemi {}{}--help)",
                       about_extra && !extra.empty() ? unexpected(command, extra.front())
                                                     : ukemi::one_line(error.what()),
                       chosen.empty() ? "" : command.get_name(), chosen.empty() ? "" : " ");
}

int complain(std::string_view problem, int code) {
    fmt::print(stderr, "ukemi: {}\n", problem);
    return code;
}

// Before the command, whose action then finds the policies.
void add_plugin_options(CLI::App& app) {
    app.add_option_function<std::vector<std::string>>(
           "--plugin",
           [](const std::vector<std::string>& files) {
               ukemi::allow_plugins();
               for (const std::string& file : files) {
                   ukemi::scenarios::load_plugin(file, "--plugin");
               }
           },
           "a shared library with policies or trace forms of its own (ukemi init), or a Python "
           "file with policies (docs/own_policy.md)")
        ->type_name("FILE")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->trigger_on_parse();
    app.add_flag_callback(
           "--allow-plugins", [] { ukemi::allow_plugins(); },
           "load the libraries and Python files that scenarios name under \"plugins\"")
        ->trigger_on_parse();
}

int run(int argc, char** argv) {
    CLI::App app{
        "ukemi rehearses how a training job should adapt to a market that takes its "
        "machines away.",
        "ukemi"};
    app.set_version_flag("--version", std::string(ukemi::analysis::build_description()));
    add_plugin_options(app);
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);
    app.footer(
        "Exit codes: 0 done, 1 the machine failed, 2 the input was wrong.\n"
        "`ukemi COMMAND --help` says more about each.");
    ukemi::cli::add_commands(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help, --version
        const int code = app.exit(wanted);
        flush_output();
        return code;
    } catch (const CLI::ParseError& error) {
        return complain(complaint(app, error), ukemi::cli::exit_input_wrong);
    } catch (const ukemi::cli::ExitWith& exit) {
        flush_output();
        return exit.code;
    } catch (const ukemi::InputError& error) {
        ukemi::cli::print_complaint(error);
        return ukemi::cli::exit_input_wrong;
    } catch (const std::filesystem::filesystem_error& error) {
        // Names that no file can have are wrong inputs; all else is the machine's refusal.
        const bool is_wrong_name = error.code() == std::errc::filename_too_long ||
                                   error.code() == std::errc::not_a_directory;
        return complain(
            fmt::format("{}: {}", ukemi::shortened(ukemi::one_line(error.path1().string()), 120),
                        error.code().message()),
            is_wrong_name ? ukemi::cli::exit_input_wrong : ukemi::cli::exit_machine_failed);
    } catch (const std::system_error& error) {
        if (std::ferror(stdout) == 0) throw;
        // fmt fails on the way when there is more to print than fits the buffer.
        throw std::system_error(error.code(), "cannot write to standard output");
    } catch (const ukemi::sim::RunLimitReached& error) {
        // The scenario asks for more than its own limits allow.
        return complain(error.what(), ukemi::cli::exit_input_wrong);
    }
    ukemi::analysis::warn(ukemi::analysis::warnings_of_changed_files(), false);
    flush_output();
    return ukemi::cli::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
    keep_standard_streams();
    ukemi::cli::remove_locks_when_killed();
    const ukemi::InputFiles inputs;
    try {
        ukemi::analysis::keep_typed_command({argv, static_cast<std::size_t>(argc)});
        return run(argc, argv);
    } catch (const std::exception& error) {
        // fputs: where standard error is gone too, there is nobody left to tell.
        std::fputs(fmt::format("ukemi: {}\n", ukemi::one_line(error.what())).c_str(), stderr);
        return ukemi::cli::exit_machine_failed;
    }
}
