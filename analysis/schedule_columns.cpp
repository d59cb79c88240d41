#include "analysis/schedule_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "analysis/table_cells.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
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
    if (++run.losses.count > JobLosses::most) return;
    const auto of = [&](records::Cause cause) { return gpu_h(*one.outcome, cause); };
    run.losses.first.push_back(
        {one_line(one.job->name),
         one.outcome->losses + (own == nullptr ? 0 : own->result.failures),
         {of(records::Cause::useful), of(records::Cause::redone), of(records::Cause::transition),
          of(records::Cause::checkpoint), of(records::Cause::idle) + of(records::Cause::wasted)},
         one.outcome->cost,
         own == nullptr ? "" : own->policies});
}

std::string losses_table(std::span<const ScheduledRun> runs) {
    std::size_t rows = 0;
    double longest_h = 0;
    for (const ScheduledRun& run : runs) {
        rows += run.losses.count;
        for (const JobLoss& one : run.losses.first) {
            longest_h = std::max(longest_h, std::ranges::max(one.gpu_h));
        }
    }
    if (rows == 0) return {};
    const TimeUnit unit = table_time_unit(longest_h);
    std::string text = fmt::format("\n{:<21} {:<13} {:>6}", "scheduler", "job", "losses");
    for (const char* cause : {"useful", "redone", "change", "saving", "idle"}) {
        text += fmt::format(" {:>10}", fmt::format("{} {}", cause, unit.symbol));
    }
    text += fmt::format(" {:>8}  policies\n", "cost $");
    std::size_t shown = 0;
    for (const ScheduledRun& run : runs) {
        for (const JobLoss& one : run.losses.first) {
            if (++shown > JobLosses::most) continue;
            text += fmt::format("{:<21} {:<13} {:>6}", run.scheduler, one.job, one.losses);
            for (const double hours : one.gpu_h) {
                text += fmt::format(" {:>10.2f}", hours * unit.per_hour);
            }
            text += fmt::format(" {:>8}", fitted_usd(to_dollars(one.cost), 8));
            text += one.policies.empty() ? "\n" : fmt::format("  {}\n", one.policies);
        }
    }
    if (rows > JobLosses::most) {
        text += fmt::format("and {} more (jobs.csv)\n", rows - JobLosses::most);
    }
    return text +
           "\nJobs that lost machines or have policies of their own: GPU time by cause (idle: "
           "held for\nnothing, or in a step that was torn), and their part of the bill.\n";
}

}  // namespace ukemi::analysis
