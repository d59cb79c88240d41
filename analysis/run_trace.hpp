// run_trace.hpp — whole runs as a trace that ui.perfetto.dev and chrome://tracing open.
//
// The Trace Event Format's JSON, of the timelines in results folders: those of simulated and of
// live runs are alike, so both may stand in one file, each run a process. A process has a row for
// what the job does (training, a transition with its phase, waiting), an instant for spot machines
// that were lost, and counters: machines held, workers, spot capacity, price, progress, dollars
// spent, and of a model that learns its loss, batch and noise scale. Times are microseconds since
// the beginning of each run, in the scenario's time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ukemi::analysis {

struct TracedRun {
    std::string name;
    std::filesystem::path timeline;  // the file
};

// The runs of a results folder that kept a timeline, by name. InputError for a folder without.
std::vector<TracedRun> traced_runs(const std::filesystem::path& results);

struct RunTrace {
    std::string text;
    std::size_t rows = 0;   // of timelines
    std::size_t drawn = 0;  // of them; the first and the last of each run among them
};
// At most about `rows_max` rows, as many of each run as its length allows: of a longer run every
// second, third … row, so that what is shorter than the rows between may be missed; losses are
// counted nevertheless. InputError for a file that is no timeline.
RunTrace trace_of_runs(std::span<const TracedRun> runs, std::size_t rows_max);

}  // namespace ukemi::analysis
