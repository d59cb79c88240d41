// replay_log.cpp — `ukemi replay-log`: feeds a recorded run to its policies again.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "records/decision_log.hpp"

namespace ukemi::cli {

namespace {

// A log that cannot be replayed does not keep the others from it.
void replay_logs(const std::vector<std::string>& files) {
    int code = exit_done;
    for (const std::string& file : files) {
        try {
            const records::LogReplay replay = records::replay_decisions(read_file(file), file);
            fmt::print("{}: {} questions, {} decisions, {} answered otherwise\n", file,
                       replay.questions, replay.decisions, replay.difference_count);
            for (const std::string& difference : replay.differences) {
                fmt::print(stderr, "ukemi: {}\n", difference);
            }
            if (replay.difference_count > 0) code = std::max(code, exit_machine_failed);
        } catch (const InputError& error) {
            fmt::print(stderr, "ukemi: {}\n", error.what());
            code = exit_input_wrong;
        }
    }
    if (code != exit_done) throw ExitWith{code};
}

}  // namespace

void add_replay_log(CLI::App& app) {
    auto files = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand(
        "replay-log", "feed recorded decisions.jsonl to the policies again; exit 1 if they differ");
    command->add_option("LOG", *files, "decisions.jsonl with every question (--log-observations)")
        ->required();
    command->callback([files] { replay_logs(*files); });
}

}  // namespace ukemi::cli
