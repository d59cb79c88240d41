#include "cli/schedule_live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "analysis/results.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop_signals.hpp"
#include "runtime/measured_jobs.hpp"
#include "runtime/measured_world.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

// What a live cluster is not: found before anything starts.
void expect_possible(const scenarios::ScheduleScenario& scenario) {
    const std::string file = scenario.file.string();
    if (scenario.schedulers.size() != 1) {
        throw InputError(
            file, "/schedulers",
            fmt::format("a live run has one: expected `--schedulers {}`, found {}",
                        scenario.schedulers.front()->name(), scenario.schedulers.size()));
    }
    const auto* entry = schedulers::find_scheduler(scenario.schedulers.front()->name());
    if (entry->divides) {
        throw InputError(
            file, "/schedulers",
            fmt::format("{} gives parts of GPUs, and a worker is on a whole one", entry->name));
    }
    const bool stays = std::ranges::all_of(scenario.cluster.markets, [](const auto& market) {
        return !market.launchable && market.price.steps.empty();
    });
    if (scenario.cluster.groups.size() > 1 || !stays) {
        throw InputError(file, "/cluster",
                         "a live run has this machine's cores: expected one kind of machine that "
                         "stays and costs nothing");
    }
    for (const sim::SharingJob& job : scenario.jobs) {
        if (job.trains > 0) continue;
        throw InputError(file, "/jobs",
                         fmt::format("a live run trains: expected \"trains\", a scenario of a job, "
                                     "of {}",
                                     ukemi::quoted(job.name)));
    }
}

runtime::LiveJobs::SpecOf spec_of(const scenarios::ScheduleScenario& scenario,
                                  const fs::path& checkpoints) {
    return [&scenario, checkpoints](std::size_t number, const sim::SharingJob& job) {
        runtime::LiveJobSpec spec;
        spec.scenario = *scenario.trained[job.trains - 1];
        spec.scenario.job.samples_total = job.samples;
        spec.policies = scenarios::first_policies(spec.scenario);
        spec.seed = spec.scenario.seed + number;
        spec.folder = job_folder(checkpoints, job.name);
        return spec;
    };
}

// Everything that can be wrong with a job is said before the first one starts.
void expect_jobs(const scenarios::ScheduleScenario& scenario) {
    for (const auto& trained : scenario.trained) {
        runtime::expect_live(*trained, scenarios::told_market(*trained, "share"),
                             scenarios::first_policies(*trained));
    }
}

// What came out of one job, beside what was expected. Seconds from its arrival to its end.
struct JobForecast {
    const analysis::ScheduledJob* live = nullptr;
    double completion_s = 0;
    double predicted_s = 0;  // simulated before, with what the scenario says
    double naive_s = 0;      // as if nobody else were there, and starts took no time
    std::optional<double> recomputed_s = {};  // simulated afterwards, with what was measured
};

double error_in_percent(double guess_s, double truth_s) { return 100 * (guess_s / truth_s - 1); }

struct LiveOutcome {
    analysis::ScheduledRun live;
    analysis::ScheduledRun predicted;
    std::optional<analysis::ScheduledRun> recomputed;  // unless time is the scenario's
    std::vector<runtime::LiveJobRecord> records;
    std::vector<JobForecast> forecasts;  // of jobs that ended, if there is a compared()
    bool paced = false;
    bool all_done = false;
    // With which decisions it is compared; nothing if a job did not end.
    const analysis::ScheduledRun* compared() const {
        if (paced) return all_done ? &predicted : nullptr;
        return recomputed ? &*recomputed : nullptr;
    }
};

analysis::ScheduledRun simulated(const scenarios::ScheduleScenario& scenario,
                                 sim::JobWorld* world = nullptr) {
    sim::ScheduledWorkload workload = scenario.workload();
    workload.keeps_decisions = true;
    workload.world = world;
    schedulers::Scheduler& scheduler = *scenario.schedulers.front();
    return analysis::SchedulerRuns(scenario).summed_up(scheduler.name(),
                                                       sim::run_schedule(workload, scheduler));
}

std::vector<JobForecast> forecasts_of(const LiveOutcome& outcome) {
    std::vector<JobForecast> all;
    for (std::size_t i = 0; i < outcome.live.jobs.size(); ++i) {
        const analysis::ScheduledJob& job = outcome.live.jobs[i];
        const analysis::ScheduledJob& predicted = outcome.predicted.jobs[i];
        if (!job.outcome->is_complete()) continue;
        JobForecast one{&job, to_seconds(job.completion_time)};
        one.predicted_s = to_seconds(predicted.completion_time);
        if (outcome.recomputed) {
            one.recomputed_s = to_seconds(outcome.recomputed->jobs[i].completion_time);
        }
        const auto row = static_cast<std::size_t>(job.job->gpus);
        one.naive_s =
            to_seconds(job.job->service) * 1e6 / static_cast<double>(job.job->speeds[row]);
        all.push_back(one);
    }
    return all;
}

std::string forecasts_csv(const LiveOutcome& outcome) {
    std::vector<std::string> header{"job",
                                    "completion_s",
                                    "predicted_s",
                                    "naive_s",
                                    "predicted_error_percent",
                                    "naive_error_percent"};
    if (outcome.recomputed) {
        header.insert(header.end(), {"recomputed_s", "recomputed_error_percent"});
    }
    CsvWriter csv(header);
    for (const JobForecast& one : outcome.forecasts) {
        csv.add(one.live->job->name).add(one.completion_s).add(one.predicted_s).add(one.naive_s);
        csv.add(error_in_percent(one.predicted_s, one.completion_s));
        csv.add(error_in_percent(one.naive_s, one.completion_s));
        if (one.recomputed_s) {
            csv.add(*one.recomputed_s).add(error_in_percent(*one.recomputed_s, one.completion_s));
        }
        csv.end_row();
    }
    return csv.text();
}

std::string forecasts_table(const LiveOutcome& outcome) {
    std::string text = fmt::format("\n{:<16}{:>12}{:>12}{:>8}{:>12}{:>8}", "job", "live (s)",
                                   "predicted", "%", "naive", "%");
    if (outcome.recomputed) text += fmt::format("{:>14}{:>8}", "recomputed", "%");
    text += "\n";
    for (const JobForecast& one : outcome.forecasts) {
        text += fmt::format("{:<16}{:>12.2f}{:>12.2f}{:>+8.1f}{:>12.2f}{:>+8.1f}",
                            one_line(one.live->job->name), one.completion_s, one.predicted_s,
                            error_in_percent(one.predicted_s, one.completion_s), one.naive_s,
                            error_in_percent(one.naive_s, one.completion_s));
        if (one.recomputed_s) {
            text += fmt::format("{:>14.2f}{:>+8.1f}", *one.recomputed_s,
                                error_in_percent(*one.recomputed_s, one.completion_s));
        }
        text += "\n";
    }
    text += outcome.paced
                ? "\nFrom arrival to end: as it was, in the scenario's time; as simulated before; "
                : "\nFrom arrival to end: as it was; as simulated before, with what the scenario "
                  "says; ";
    text += "as if nobody\nelse were there";
    if (outcome.recomputed) {
        text += "; as simulated afterwards, with the speeds and starts that were measured";
    }
    return text + ".\n";
}

std::string alike_text(const LiveOutcome& outcome) {
    const auto& decided = outcome.live.outcome.decided;
    const auto& expected = outcome.compared()->outcome.decided;
    return fmt::format("decisions: {} of {} as in the simulated run with {}\n",
                       sim::alike_from_first(decided, expected),
                       std::max(decided.size(), expected.size()),
                       outcome.paced ? "the scenario's steps" : "what was measured");
}

analysis::MoreFiles live_files(const LiveOutcome& outcome) {
    analysis::MoreFiles files = {{"decisions.csv", analysis::decisions_csv(outcome.live)}};
    if (!outcome.forecasts.empty()) {
        files.emplace_back("forecasts.csv", forecasts_csv(outcome));
    }
    if (outcome.compared() != nullptr) {
        files.emplace_back("simulated_decisions.csv", analysis::decisions_csv(*outcome.compared()));
    }
    for (const runtime::LiveJobRecord& record : outcome.records) {
        for (std::size_t run = 0; run < record.runs.size(); ++run) {
            const runtime::LiveRun& live = record.runs[run];
            const std::string folder =
                fmt::format("live/{}/{}/", analysis::file_name_of(record.name), run);
            files.emplace_back(folder + "steps.csv", runtime::steps_csv(live.record));
            files.emplace_back(folder + "live.json", runtime::live_json(live.record));
            files.emplace_back(folder + "decisions.jsonl", live.run.decisions);
        }
    }
    return files;
}

// The same jobs as they turned out to be; nothing if of one nobody knows.
std::optional<analysis::ScheduledRun> recomputed(const LiveOutcome& outcome,
                                                 const scenarios::ScheduleScenario& again) {
    std::vector<sim::SharingJob> measured;
    for (std::size_t i = 0; i < outcome.records.size(); ++i) {
        const auto one = runtime::measured_job(again.jobs[i], outcome.records[i]);
        if (!one) return std::nullopt;
        measured.push_back(*one);
    }
    runtime::MeasuredWorld world(measured);
    return simulated(again, &world);
}

}  // namespace

bool say_unfinished(const std::vector<runtime::LiveJobRecord>& records) {
    bool all_done = true;
    for (const runtime::LiveJobRecord& record : records) {
        if (record.failure.empty()) continue;
        all_done = false;
        const std::string where = record.checkpoint.empty()
                                      ? "no model of it is saved"
                                      : fmt::format("saved as {}", record.checkpoint.string());
        say_on_the_way(fmt::format("{} is not done: {}; {} of {} samples, {}\n",
                                   one_line(record.name), one_line(record.failure),
                                   record.samples_done, record.samples_total, where));
    }
    return all_done;
}

void expect_results_folder(const OutputOptions& output) {
    if (!output.out.empty()) return;
    throw InputError("--live", "", "keeps models beside its results: expected --out FOLDER");
}

void LiveScheduleOptions::add_to(CLI::App& command) {
    command.add_flag("--live", live,
                     "train: groups of workers share this machine's cores, a GPU of the scenario "
                     "is one of them");
    command.add_flag("--paced", paced,
                     "with --live: time is the scenario's, and workers make the steps that it "
                     "gives them; decisions are then those of the simulated run");
    command
        .add_option("--time-scale", time_scale,
                    "with --live: seconds of the scenario in a second of the wall (default: the "
                    "scenario's time_scale, or 1)")
        ->check(CLI::Range(1e-3, 1e6));
}

void LiveScheduleOptions::expect_live() const {
    if (live) return;
    if (paced || time_scale) {
        throw InputError(paced ? "--paced" : "--time-scale", "",
                         "is for live runs: expected --live beside it");
    }
}

void LiveScheduleOptions::settle(analysis::StepDocument& document) {
    if (!live) return;
    if (document.live) {
        paced = paced || document.live->paced;
        if (!time_scale) time_scale = document.live->time_scale;
    }
    document.live = {paced, time_scale};
}

runtime::LiveJobsOptions live_jobs_options(const LiveScheduleOptions& options, double time_scale,
                                           std::int32_t gpus) {
    runtime::LiveJobsOptions jobs;
    jobs.live.worker_program = fs::read_symlink("/proc/self/exe");
    jobs.live.worker_arguments = {"worker"};
    jobs.live.time_scale = time_scale;
    jobs.live.stop_requests = &watch_stop_signals(SecondSignal::counts);
    jobs.live.keep.decisions = true;
    jobs.cores = gpus;
    jobs.paced = options.paced;
    jobs.say = [](const std::string& line) { say_on_the_way(line + "\n"); };
    return jobs;
}

void warn_of_cores(std::int32_t gpus) {
    const auto cores = static_cast<std::int32_t>(std::thread::hardware_concurrency());
    if (gpus <= cores) return;
    say_on_the_way(
        fmt::format("the scenario has {} GPUs and this machine {} cores: workers will wait for "
                    "each other\n",
                    gpus, cores));
}

fs::path job_folder(const fs::path& all, std::string_view job) {
    const fs::path folder = all / analysis::file_name_of(job);
    fs::create_directories(folder);
    return folder;
}

void schedule_live(const std::function<scenarios::ScheduleScenario()>& read,
                   const analysis::StepDocument& document, const LiveScheduleOptions& options,
                   const OutputOptions& output, const plots::FigureOptions& draw) {
    const scenarios::ScheduleScenario scenario = read();
    expect_possible(scenario);
    expect_jobs(scenario);
    expect_results_folder(output);
    analysis::OutputFolder folder(output.out, output.force);
    CsvFile csv(output);
    LiveOutcome outcome;
    outcome.paced = options.paced;
    const scenarios::ScheduleScenario before = read();
    outcome.predicted = simulated(before);
    schedulers::Scheduler& scheduler = *scenario.schedulers.front();
    warn_of_cores(scenario.cluster.gpus());
    runtime::LiveJobs jobs(
        spec_of(scenario, output.out + "-checkpoints"),
        live_jobs_options(options, scenario.time_scale, scenario.cluster.gpus()));
    sim::ScheduledWorkload workload = scenario.workload();
    workload.world = &jobs;
    workload.keeps_decisions = true;
    outcome.live = analysis::SchedulerRuns(scenario).summed_up(
        scheduler.name(), sim::run_schedule(workload, scheduler));
    outcome.records = jobs.take_records();
    const bool none_unfinished = say_unfinished(outcome.records);
    outcome.all_done = none_unfinished && outcome.records.size() == scenario.jobs.size();
    const scenarios::ScheduleScenario again = read();
    if (outcome.all_done && !outcome.paced) outcome.recomputed = recomputed(outcome, again);
    if (outcome.compared() != nullptr) outcome.forecasts = forecasts_of(outcome);
    const std::span runs(&outcome.live, 1);
    const plots::FigureResult figures =
        analysis::write_schedules(folder, document, scenario, runs, draw, live_files(outcome));
    if (output.json) {
        fmt::print("{}", analysis::schedules_json(scenario, runs, document.baseline));
    } else {
        fmt::print("{}", analysis::schedules_table(scenario, runs, document.baseline));
        if (!outcome.forecasts.empty()) fmt::print("{}", forecasts_table(outcome));
        if (outcome.compared() != nullptr) fmt::print("{}", alike_text(outcome));
        if (outcome.compared() == nullptr && none_unfinished) {
            fmt::print(
                "\nnot compared with a simulation: a job has made no whole step by which its "
                "speed would be known\n");
        }
    }
    if (csv.is_wanted()) csv.write(analysis::scheduled_jobs_csv(runs));
    say_results(output, folder.path(), figures);
    if (outcome.live.outcome.interrupted) throw ExitWith{stopped_exit_code()};
    if (!analysis::say_figures(figures) || !none_unfinished) throw ExitWith{exit_machine_failed};
}

}  // namespace ukemi::cli
