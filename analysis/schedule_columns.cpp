#include "analysis/schedule_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/plain_text.hpp"
#include "sim/jobs/controlled_work.hpp"

namespace ukemi::analysis {

namespace {

using policies::TransitionPhase;

// A notice keeps nobody from training.
constexpr std::array phases{TransitionPhase::none,     TransitionPhase::drain,
                            TransitionPhase::spawn,    TransitionPhase::rendezvous,
                            TransitionPhase::transfer, TransitionPhase::warm_up};

std::string_view name_of(TransitionPhase phase) {
    return phase == TransitionPhase::none
               ? "flat"
               : policies::transition_phase_names[static_cast<std::size_t>(phase)];
}

double gpu_h(const sim::JobOutcome& job, records::Cause cause) {
    return static_cast<double>(job.gpu_time[static_cast<std::size_t>(cause)]) / 3.6e12;
}

// Of a name of a job, what may stand in a file's.
std::string in_file_name(std::string_view name) {
    std::string text(name.substr(0, 64));
    for (char& one : text) {
        if (std::isalnum(static_cast<unsigned char>(one)) == 0 && one != '-') one = '_';
    }
    return text;
}

}  // namespace

void name_phase_columns(std::vector<std::string>& columns) {
    for (const TransitionPhase phase : phases) {
        columns.push_back(fmt::format("{}_phase_gpu_s", name_of(phase)));
    }
}

void add_phase_fields(CsvWriter& csv, const ScheduledJob& job) {
    for (const TransitionPhase phase : phases) {
        const Int128 time = job.outcome->phase_time[static_cast<std::size_t>(phase)];
        csv.add(static_cast<double>(time) / 1e9);
    }
}

void name_controlled_columns(std::vector<std::string>& columns) {
    columns.insert(columns.end(), {"policies", "plans", "discarded", "transitions", "checkpoints",
                                   "learned", "event_hash", "unfinished_because", "failures"});
}

void add_controlled_fields(CsvWriter& csv, const ScheduledJob& job) {
    const auto& own = job.outcome->controlled;
    if (own == nullptr) {
        for (int i = 0; i < 9; ++i) csv.add("");
        return;
    }
    const records::RunResult& result = own->result;
    csv.add(own->policies).add(result.plans).add(result.discarded);
    csv.add(result.transitions).add(result.checkpoints);
    result.learned ? csv.add(*result.learned) : csv.add("");
    csv.add(result.event_hash).add(result.unfinished_because).add(result.failures);
}

void add_decision_logs(std::span<const ScheduledRun> runs, MoreFiles& files) {
    for (std::size_t run = 0; run < runs.size(); ++run) {
        for (const ControlledLeft& own : runs[run].controlled) {
            if (own.outcome->decisions.empty()) continue;
            files.emplace_back(
                fmt::format("decisions/{}-{}/{}-{}.jsonl", run + 1,
                            in_file_name(runs[run].scheduler), own.job + 1, in_file_name(own.name)),
                own.outcome->decisions);
        }
    }
}

void add_loss(const ScheduledJob& one, ScheduledRun& run) {
    const auto& own = one.outcome->controlled;
    if (one.outcome->losses == 0 && own == nullptr) return;
    if (++run.losses.count > LossLines::most) return;
    run.losses.first.push_back(fmt::format(
        "{:<21}{:<14}{:>7}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>8.2f}  {}\n",
        run.scheduler, one_line(one.job->name), one.outcome->losses,
        gpu_h(*one.outcome, records::Cause::useful), gpu_h(*one.outcome, records::Cause::redone),
        gpu_h(*one.outcome, records::Cause::transition),
        gpu_h(*one.outcome, records::Cause::checkpoint),
        gpu_h(*one.outcome, records::Cause::idle) + gpu_h(*one.outcome, records::Cause::wasted),
        to_dollars(one.outcome->cost), own == nullptr ? "" : own->policies));
}

std::string losses_table(std::span<const ScheduledRun> runs) {
    std::string text;
    std::size_t rows = 0;
    for (const ScheduledRun& run : runs) {
        for (std::size_t i = 0; i < run.losses.first.size() && rows + i < LossLines::most; ++i) {
            text += run.losses.first[i];
        }
        rows += run.losses.count;
    }
    if (rows == 0) return text;
    if (rows > LossLines::most) {
        text += fmt::format("and {} more (jobs.csv)\n", rows - LossLines::most);
    }
    return fmt::format("\n{:<21}{:<14}{:>7}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}  {}\n", "scheduler",
                       "job", "losses", "useful h", "redone h", "change h", "saving h", "idle h",
                       "cost $", "policies") +
           text +
           "\nJobs that lost machines or have policies of their own: GPU hours by cause (idle: "
           "held for\nnothing, or in a step that was torn), and their part of the bill.\n";
}

}  // namespace ukemi::analysis
