// schedule_live.hpp — `ukemi schedule --live`: the jobs are live runs that share this machine.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "analysis/schedule_results.hpp"
#include "cli/run_options.hpp"
#include "runtime/live_jobs.hpp"

namespace ukemi::cli {

struct LiveScheduleOptions {
    bool live = false;
    bool paced = false;
    std::optional<double> time_scale;
    std::vector<int> cores;

    void add_to(CLI::App& command);
    void expect_live() const;  // InputError for one that says nothing without --live
    // With --live: what is not said is as in the live run that the document is of, if it is; then
    // the document says how this one is.
    void settle(analysis::StepDocument& document);
};

// What every command with live jobs says of them: this program's workers, this machine's cores.
runtime::LiveJobsOptions live_jobs_options(const LiveScheduleOptions& options, double time_scale,
                                           std::int32_t gpus);
void warn_of_cores(std::int32_t gpus);  // of fewer than the scenario has GPUs
// Those that are not done, why, and where their models are. Whether there are none.
bool say_unfinished(const std::vector<runtime::LiveJobRecord>& records);
// InputError without --out: models are kept beside the results.
void expect_results_folder(const OutputOptions& output);
// Where a job's checkpoints go: a folder of its own in `all`.
std::filesystem::path job_folder(const std::filesystem::path& all, std::string_view job);

// Simulates what is about to happen, lets it happen, simulates it again with what was measured, and
// says all three. `read` reads the scenario anew, whose schedulers are each for one run.
void schedule_live(const std::function<scenarios::ScheduleScenario()>& read,
                   const analysis::StepDocument& document, const LiveScheduleOptions& options,
                   const OutputOptions& output, const plots::FigureOptions& draw);

}  // namespace ukemi::cli
