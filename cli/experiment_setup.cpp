#include "cli/experiment_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "analysis/files_of_run.hpp"
#include "analysis/result_doubts.hpp"
#include "base/plain_text.hpp"
#include "cli/progress_line.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::cli {

namespace {

// From how many beginnings each trace was replayed; nothing where nobody recorded anything.
void print_windows(const scenarios::StartsChoice& choice,
                   std::span<const records::RunResult> results) {
    if (choice.kind == scenarios::StartsChoice::Kind::first) return;
    std::map<std::string, std::set<std::int64_t>> starts;  // by trace
    for (const records::RunResult& run : results) starts[run.trace].insert(run.start.raw());
    std::size_t fewest = starts.begin()->second.size();
    std::size_t most = fewest;
    for (const auto& [trace, own] : starts) {
        fewest = std::min(fewest, own.size());
        most = std::max(most, own.size());
    }
    const std::string count =
        fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
    fmt::print("from {} beginning{} in {} ({})\n", count, most == 1 ? "" : "s",
               starts.size() == 1 ? "the trace" : fmt::format("each of {} traces", starts.size()),
               most == 1 ? "there is room for one window only, and one beginning decides nothing"
               : choice.kind == scenarios::StartsChoice::Kind::apart
                   ? "windows that do not overlap; --starts"
                   : "--starts " + one_line(choice.text));
}

}  // namespace

std::vector<scenarios::FinishedRun> run_prepared(analysis::PreparedRuns& runs, bool strict) {
    auto progress = std::make_shared<ProgressLine>();
    runs.setup.progress = [progress](std::size_t done, std::size_t total) {
        (*progress)(done, total);
    };
    std::vector<scenarios::FinishedRun> finished =
        scenarios::run_experiment(runs.cases, runs.setup);
    std::vector<records::RunResult> results;
    for (const scenarios::FinishedRun& run : finished) results.push_back(run.result);
    runs.inputs.warnings = analysis::warnings_of_changed_files();
    std::ranges::move(analysis::warnings_about(results), std::back_inserter(runs.inputs.warnings));
    analysis::warn(runs.inputs.warnings, strict);
    return finished;
}

void print_step_exchange(const scenarios::Scenario& scenario) {
    if (scenario.step_exchange.empty()) return;
    fmt::print("simulated steps: {}\n", one_line(scenario.step_exchange));
}

namespace {

// Of each variant, where they differ.
void print_step_exchanges(const analysis::PreparedRuns& runs) {
    const std::string& first = runs.cases.front().scenario->step_exchange;
    const bool alike = std::ranges::all_of(runs.cases, [&](const scenarios::ExperimentCase& one) {
        return one.scenario->step_exchange == first;
    });
    if (alike) return print_step_exchange(*runs.cases.front().scenario);
    for (const scenarios::ExperimentCase& one : runs.cases) {
        if (one.scenario->step_exchange.empty()) continue;
        const std::string variant = records::variant_label(one.scenario->varied);
        fmt::print("{}: ", one_line(variant));
        print_step_exchange(*one.scenario);
    }
}

}  // namespace

void print_notes(const analysis::PreparedRuns& runs, std::span<const records::RunResult> results) {
    const scenarios::ExperimentSetup& setup = runs.setup;
    const scenarios::Scenario& scenario = *runs.inputs.scenario;
    print_windows(setup.starts, results);
    print_step_exchanges(runs);
    // A file of 0 and 1 gives no hint when it is read the wrong way round.
    if (!setup.traces.empty() && scenario.market.polarity != traces::Polarity::as_documented) {
        const bool available = scenario.market.polarity == traces::Polarity::one_is_available;
        fmt::print("traces read with 1 = {}, as one_means at /market says\n",
                   available ? "available" : "unavailable");
    }
    if (!setup.join_zones) return;  // else what was joined, and on which clock
    for (const std::string& note :
         traces::join_zones(setup.traces, scenarios::trace_options(scenario)).report.notes) {
        fmt::print("market: {}\n", one_line(note));
    }
}

}  // namespace ukemi::cli
