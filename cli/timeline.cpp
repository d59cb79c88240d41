// timeline.cpp — `ukemi timeline`: whole runs, simulated and live, as one trace for
// ui.perfetto.dev.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "analysis/output_folder.hpp"
#include "analysis/run_trace.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

struct TimelineOptions {
    std::vector<fs::path> results;
    fs::path out;
    std::size_t rows_max = 100'000;
    bool force = false;
};

void timeline(const TimelineOptions& options) {
    std::vector<analysis::TracedRun> runs;
    for (const fs::path& results : options.results) {
        if (std::ranges::count(options.results, results) > 1) {
            throw InputError(results.string(), "", "named twice");
        }
        const auto own = analysis::traced_runs(results);
        runs.insert(runs.end(), own.begin(), own.end());
    }
    analysis::OutputFile file(options.out, options.force);
    const analysis::RunTrace trace = analysis::trace_of_runs(runs, options.rows_max);
    file.write(trace.text);
    fmt::print("trace: {} ({} run{}, {:.1f} MB)\n", one_line(options.out.string()), runs.size(),
               runs.size() == 1 ? "" : "s", static_cast<double>(trace.text.size()) / 1e6);
    if (trace.drawn < trace.rows) {
        fmt::print("it has {} of {} moments: --rows-max allows no more\n", trace.drawn, trace.rows);
    }
}

}  // namespace

void add_timeline(CLI::App& app) {
    auto options = std::make_shared<TimelineOptions>();
    CLI::App* command = app.add_subcommand(
        "timeline", "whole runs, simulated and live, as one trace for ui.perfetto.dev");
    command
        ->add_option("RESULTS", options->results,
                     "results folders of replay, train or predict: all in one trace")
        ->required();
    command->add_option("--out", options->out, "the trace (JSON)")->type_name("FILE")->required();
    command
        ->add_option("--rows-max", options->rows_max,
                     "at most so many moments of all runs, which bounds the file")
        ->check(CLI::Range(2, 10'000'000))
        ->capture_default_str();
    command->add_flag("--force", options->force, "replace what is there already");
    command->callback([options] { timeline(*options); });
}

}  // namespace ukemi::cli
