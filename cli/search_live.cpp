#include "cli/search_live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/command.hpp"
#include "cli/stop_signals.hpp"
#include "runtime/live_trials.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;
using Pieces = std::vector<sim::TrainedPiece>;

void expect_possible(const scenarios::SearchScenario& scenario) {
    const std::string file = scenario.file.string();
    const auto* entry = schedulers::find_scheduler(scenario.make_scheduler()->name());
    if (entry->divides) {
        throw InputError(
            file, "/scheduler",
            fmt::format("{} gives parts of GPUs, and a worker is on a whole one", entry->name));
    }
    sim::SearchSpace first = scenario.space;
    for (sim::SearchedKey& key : first) {
        key.points = 2;
        if (!key.values.empty()) key.values.resize(1);
    }
    const scenarios::Scenario trial =
        scenario.live_trial(sim::grid_settings(first).front()).scenario;
    runtime::expect_live(trial, scenarios::told_market(trial, "share"),
                         scenarios::first_policies(trial));
}

// How many pieces, from the first on, train the same trials as far, in the same order.
std::size_t asked_alike(const Pieces& some, const Pieces& others) {
    const std::size_t most = std::min(some.size(), others.size());
    std::size_t alike = 0;
    while (alike < most && some[alike].asked == others[alike].asked) ++alike;
    return alike;
}

// Of pieces that both have, the largest difference of metrics.
double largest_difference(const Pieces& some, const Pieces& others) {
    std::map<std::pair<std::size_t, std::int64_t>, double> metrics;
    for (const sim::TrainedPiece& piece : some) {
        if (!piece.failed) metrics[{piece.asked.trial, piece.asked.until}] = piece.metric;
    }
    double largest = 0;
    for (const sim::TrainedPiece& piece : others) {
        const auto found = metrics.find({piece.asked.trial, piece.asked.until});
        if (found == metrics.end() || piece.failed) continue;
        largest = std::max(largest, std::abs(found->second - piece.metric));
    }
    return largest;
}

std::string comparison(const analysis::SearchedRun& live, const analysis::SearchedRun& simulated) {
    const Pieces& pieces = live.outcome.pieces;
    const Pieces& expected = simulated.outcome.pieces;
    return fmt::format(
        "{}: winner {}, simulated {}; {} of {} pieces as simulated, metrics within {:.4f}; {:.2f} "
        "s, "
        "simulated {:.2f} s\n",
        live.searcher, live.outcome.winner, simulated.outcome.winner, asked_alike(pieces, expected),
        std::max(pieces.size(), expected.size()), largest_difference(pieces, expected),
        live.makespan_s(), simulated.makespan_s());
}

// What a search that was told to stop leaves: what has ended, and who was not asked.
std::string broken_off(const scenarios::SearchScenario& scenario,
                       const analysis::SearchedRun& live) {
    const Pieces& pieces = live.outcome.pieces;
    std::string text = fmt::format(
        "{}: told to stop; {} of {} pieces that had begun came to their "
        "ends, {}\n",
        live.searcher, std::ranges::count(pieces, false, &sim::TrainedPiece::failed), pieces.size(),
        live.outcome.anything() ? fmt::format("the best so far is trial {}", live.outcome.winner)
                                : std::string("so there is no best one"));
    bool after = false;
    for (const scenarios::NamedSearcher& named : scenario.searchers) {
        if (after) text += fmt::format("{}: not begun\n", named.entry->name);
        after = after || named.entry->name == live.searcher;
    }
    return text;
}

// The decisions of the scheduler about the pieces, a row each.
std::string decisions_of(const analysis::SearchedRun& run) {
    analysis::ScheduledRun scheduled;
    std::vector<sim::SharingJob> jobs(run.outcome.pieces.size());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const sim::TrialPiece& piece = run.outcome.pieces[i].asked;
        jobs[i].name = sim::piece_name(piece);
        scheduled.jobs.emplace_back().job = &jobs[i];
    }
    scheduled.outcome.decided = run.outcome.schedule.decided;
    return analysis::decisions_csv(scheduled);
}

}  // namespace

void search_live(const scenarios::SearchScenario& scenario, std::uint64_t seed,
                 const analysis::StepDocument& document, const LiveScheduleOptions& options,
                 const OutputOptions& output, const plots::FigureOptions& draw) {
    expect_possible(scenario);
    expect_results_folder(output);
    analysis::OutputFolder folder(output.out, output.force);
    CsvFile csv(output);
    std::vector<analysis::SearchedRun> runs;
    std::string compared;
    analysis::MoreFiles files;
    bool failed = false;
    bool interrupted = false;
    warn_of_cores(scenario.where.cluster.gpus());
    sim::LearnedTrials learned(scenario.space, scenario.make_trial, scenario.units, seed);
    for (const scenarios::NamedSearcher& named : scenario.searchers) {
        const analysis::SearchedRun simulated =
            analysis::searched_run(scenario, named, learned, nullptr);
        runtime::LiveTrials trials(
            [&](const sim::TrialSettings& settings) { return scenario.live_trial(settings); },
            fs::path(output.out + "-checkpoints") / named.entry->name,
            live_jobs_options(options, options.time_scale.value_or(1),
                              scenario.where.cluster.gpus()));
        runs.push_back(analysis::searched_run(scenario, named, learned, &trials));
        const analysis::SearchedRun& live = runs.back();
        failed = !say_unfinished(trials.take_records()) || failed;
        interrupted = live.outcome.schedule.interrupted;
        if (!interrupted && !live.outcome.anything()) {
            throw std::runtime_error(
                fmt::format("{}: no trial was trained to its end", named.entry->name));
        }
        compared += interrupted ? broken_off(scenario, live) : comparison(live, simulated);
        files.emplace_back(fmt::format("live/{}-decisions.csv", named.entry->name),
                           decisions_of(live));
        if (interrupted) break;
    }
    files.emplace_back("compared.txt", compared);
    const std::span variants(&scenario, 1);
    const plots::FigureResult figures =
        analysis::write_searches(folder, document, variants, runs, draw, std::move(files));
    fmt::print("{}", output.json ? analysis::searches_json(scenario, runs, document.baseline)
                                 : analysis::searches_table(scenario, runs, document.baseline) +
                                       "\n" + compared);
    if (csv.is_wanted()) csv.write(analysis::searched_trials_csv(runs));
    say_results(output, folder.path(), figures);
    if (interrupted) throw ExitWith{stopped_exit_code()};
    if (!analysis::say_figures(figures) || failed) throw ExitWith{exit_machine_failed};
}

}  // namespace ukemi::cli
