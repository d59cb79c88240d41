// sweep.cpp — `ukemi sweep`: very many runs into one database, which goes on where it was stopped.
#include <fmt/format.h>

#include <charconv>
#include <exception>
#include <functional>
#include <memory>

#include "analysis/database/sweep_request.hpp"
#include "analysis/database/sweep_runs.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"
#include "cli/stop_signals.hpp"

namespace ukemi::cli {

namespace {

struct SweepOptions : analysis::SweepRequest {
    std::filesystem::path database;
    bool resume = false;
    std::string shard = "1/1";
};

struct SweepShard {
    std::size_t number = 1;
    std::size_t count = 1;
};

SweepShard parse_shard(const std::string& text) {
    constexpr std::size_t shards_most = 1'000'000;
    SweepShard shard;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, shard.number);
    bool good = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
    if (good) {
        const auto second = std::from_chars(first.ptr + 1, end, shard.count);
        good = second.ec == std::errc{} && second.ptr == end;
    }
    if (good && shard.number >= 1 && shard.number <= shard.count && shard.count <= shards_most) {
        return shard;
    }
    throw InputError("--shard", "",
                     fmt::format("expected I/N, the I-th of N parts from 1/N to N/N, found {}",
                                 ukemi::quoted(text)));
}

std::function<bool()> stop_asked() {
    const std::atomic<int>& requests = watch_stop_signals(SecondSignal::kills);
    return [&requests] { return requests > 0; };
}

// Of all but the first of the processes that mpirun has started: what they have to say, the first
// says.
void help_sweep(const SweepOptions& options, analysis::RankGroup& ranks) {
    try {
        analysis::help_sweep(*analysis::run_maker(options), stop_asked(), ranks);
    } catch (const InputError& error) {
        ranks.fail({true, error.what()});
    } catch (const std::exception& error) {
        ranks.fail({false, error.what()});
    }
}

void run_sweep(const SweepOptions& options) {
    analysis::RankGroup ranks;
    if (ranks.rank() > 0) {
        help_sweep(options, ranks);
        return;
    }
    const SweepShard shard = parse_shard(options.shard);
    const std::unique_ptr<analysis::RunMaker> maker = analysis::run_maker(options);
    ProgressLine line;
    const analysis::SweepEnd end = analysis::sweep_runs(
        *maker,
        {options.database, options.resume, shard.number, shard.count, stop_asked(),
         [&](std::size_t done, std::size_t total) { line(done, total); }},
        ranks);
    line.clear();
    const std::string name = one_line(options.database.string());
    if (end.failure) {
        if (end.made > 0) {
            fmt::print(stderr, "{} of {} runs were made and are in {}\n", end.made, end.wanted,
                       name);
        }
        std::rethrow_exception(end.failure);
    }
    if (end.made < end.wanted) {
        fmt::print(
            "stopped: {} of {} runs were made and are in {}; the same with --resume makes "
            "the others\n",
            end.made, end.wanted, name);
        throw ExitWith{stopped_exit_code()};
    }
    fmt::print("{}: {} runs made in {:.1f} s", name, end.made, end.wall_s);
    if (end.made > 0) fmt::print(" ({:.0f} a second)", static_cast<double>(end.made) / end.wall_s);
    if (end.there > 0) fmt::print(", {} were there already", end.there);
    fmt::print("\n");
}

}  // namespace

void add_sweep(CLI::App& app) {
    auto options = std::make_shared<SweepOptions>();
    CLI::App* command = app.add_subcommand(
        "sweep", "very many runs into one database; killed or stopped, it goes on where it was");
    command
        ->add_option("SCENARIO", options->scenarios,
                     "a scenario file, or several; one of jobs that share a cluster, or of a "
                     "search; or the run.json of results")
        ->required();
    add_experiment_options(*command, *options, "apart where recorded, else 1: its beginning");
    add_schedulers_option(*command, options->schedulers);
    add_full_option(*command, options->full);
    command->add_option("--out", options->database, "the database (SQLite)")
        ->type_name("FILE")
        ->required();
    command->add_flag("--resume", options->resume,
                      "add what is missing to a database that has runs already");
    command->add_option("--shard", options->shard,
                        "I/N: only the I-th of N parts, for several machines (ukemi merge)");
    command->callback([options] { run_sweep(*options); });
}

}  // namespace ukemi::cli
