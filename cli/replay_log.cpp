// replay_log.cpp — `ukemi replay-log`: feeds a recorded run to its policies again.
#include <fmt/format.h>

#include <memory>

#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "records/decision_log.hpp"

namespace ukemi {

namespace {

void replay_logs(const std::vector<std::string>& files) {
    bool all_equal = true;
    for (const std::string& file : files) {
        const LogReplay replay = replay_decisions(read_file(file), file);
        fmt::print("{}: {} questions, {} decisions, {} answered otherwise\n", file,
                   replay.questions, replay.decisions, replay.difference_count);
        for (const std::string& difference : replay.differences) {
            fmt::print(stderr, "ukemi: {}\n", difference);
        }
        all_equal = all_equal && replay.difference_count == 0;
    }
    if (!all_equal) throw ExitWith{exit_machine_failed};
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

}  // namespace ukemi
