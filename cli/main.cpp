// main.cpp — the one binary: picks the command, and turns what went wrong into one line and an exit
// code (0 done, 1 the machine failed, 2 the input was wrong).
#include <fmt/format.h>

#include <exception>

#include "base/input_error.hpp"
#include "cli/build_info.hpp"
#include "cli/command.hpp"
#include "sim/event_queue.hpp"

namespace {

int run(int argc, char** argv) {
    CLI::App app{"ukemi rehearses how a training job should adapt to a market that takes its "
                 "machines away.",
                 "ukemi"};
    app.set_version_flag("--version", std::string(ukemi::build_description()));
    app.require_subcommand(1);
    app.get_formatter()->column_width(34);
    app.footer("Exit codes: 0 done, 1 the machine failed, 2 the input was wrong.\n"
               "`ukemi COMMAND --help` says more about each.");
    ukemi::add_replay(app);
    ukemi::add_check(app);
    ukemi::add_list(app);
    ukemi::add_import(app);
    ukemi::add_replay_log(app);
    ukemi::add_plot(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help, --version
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "ukemi: {} (see ukemi --help)\n", error.what());
        return ukemi::exit_input_wrong;
    } catch (const ukemi::ExitWith& exit) {
        return exit.code;
    } catch (const ukemi::InputError& error) {
        fmt::print(stderr, "ukemi: {}\n", error.what());
        return ukemi::exit_input_wrong;
    } catch (const ukemi::RunLimitReached& error) {
        fmt::print(stderr, "ukemi: {}\n", error.what());
        return ukemi::exit_input_wrong;  // the scenario asks for more than its own limits allow
    } catch (const std::exception& error) {
        fmt::print(stderr, "ukemi: {}\n", error.what());
        return ukemi::exit_machine_failed;
    }
    return ukemi::exit_done;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {  // printing the complaint failed: a closed pipe, say
        std::fputs(error.what(), stderr);
        return ukemi::exit_machine_failed;
    }
}
