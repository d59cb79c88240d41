#include "analysis/schedule_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/schedule_columns.hpp"

namespace ukemi::analysis {

namespace {

// Columns that all tables begin with.
CsvWriter headed(const records::VariedColumns& varied, std::vector<std::string> own) {
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"seed", "scheduler"});
    std::ranges::move(own, std::back_inserter(columns));
    return CsvWriter(columns);
}

void add_head(CsvWriter& csv, const records::VariedColumns& varied, const ScheduledRun& run) {
    varied.add_fields(csv, run.varied);
    csv.add(run.seed).add(run.scheduler);
}

std::string_view in_time_word(const ScheduledJob& one) {
    if (one.outcome->refused()) return "refused";
    if (one.outcome->failed) return "failed";
    if (one.outcome->stuck) return "stuck";
    if (one.outcome->out_of_budget) return "out_of_budget";
    if (!one.in_time) return "";
    return *one.in_time ? "yes" : "no";
}

}  // namespace

CsvWriter JobsTable::head() const {
    std::vector<std::string> columns = {
        "job",    "arrival_s", "gpus",     "completion_s",      "waited_s",
        "held_s", "gpu_s",     "restarts", "finish_time_ratio", "in_time",
        "losses", "cost_usd",  "user",     "priority",          "budget_usd"};
    for (const std::string_view cause : records::cause_names()) {
        columns.push_back(fmt::format("{}_gpu_s", cause));
    }
    name_phase_columns(columns);
    name_controlled_columns(columns);
    return headed(varied_, std::move(columns));
}

void JobsTable::add(CsvWriter& csv, const ScheduledRun& run, const ScheduledJob& one) const {
    const auto add_known = [&](const std::optional<double>& value) {
        value ? csv.add(*value) : csv.add("");
    };
    const auto known = [&](double value) {
        return one.outcome->is_complete() ? std::optional(value) : std::nullopt;
    };
    add_head(csv, varied_, run);
    csv.add(one.job->name);
    csv.add(to_seconds(one.job->arrival.since_start())).add(one.job->gpus);
    add_known(known(to_seconds(one.completion_time)));
    add_known(known(to_seconds(one.completion_time - one.outcome->held)));
    csv.add(to_seconds(one.outcome->held)).add(one.outcome->gpu_s).add(one.restarts);
    add_known(one.finish_time_ratio);
    csv.add(in_time_word(one)).add(one.outcome->losses).add(to_dollars(one.outcome->cost));
    csv.add(one.job->user).add(one.job->priority);
    add_known(one.job->budget ? std::optional(to_dollars(*one.job->budget)) : std::nullopt);
    for (const Int128 time : one.outcome->gpu_time) csv.add(static_cast<double>(time) / 1e9);
    add_phase_fields(csv, one);
    add_controlled_fields(csv, one);
    csv.end_row();
}

CsvWriter SpansTable::head() const {
    return headed(varied_, {"job", "begin_s", "end_s", "gpus", "gpu_type", "machines"});
}

void SpansTable::add(CsvWriter& csv, const ScheduledRun& run, std::string_view job,
                     const sim::HeldSpan& span) const {
    add_head(csv, varied_, run);
    csv.add(job);
    csv.add(to_seconds(span.begin.since_start())).add(to_seconds(span.end.since_start()));
    csv.add(static_cast<double>(span.held.share.parts) / static_cast<double>(span.held.share.of));
    std::string machines;  // "0:4 1:2", or nothing for parts of GPUs
    for (const sim::GpusOnMachine& one : span.held.machines) {
        machines += fmt::format("{}{}:{}", machines.empty() ? "" : " ", one.machine, one.gpus);
    }
    const auto group = static_cast<std::size_t>(span.held.share.group);
    csv.add(run.cluster->groups[group].gpu_type).add(machines).end_row();
}

void SpooledRows::row_ended() {
    constexpr std::size_t enough = std::size_t{64} << 10;
    if (rows_.text().size() < enough) return;
    text_.add(std::string_view(rows_.text()).substr(head_->text().size()));
    rows_ = *head_;
}

void SpooledRows::end() {
    text_.add(std::string_view(rows_.text()).substr(head_->text().size()));
    rows_ = CsvWriter(*head_);  // the room that it had is given back
}

ScheduleRows::ScheduleRows(ScheduleTables& tables)
    : tables_(&tables),
      jobs_(tables.spool_, tables.jobs_head_),
      spans_(tables.spool_, tables.spans_head_) {}

bool ScheduleRows::take_spans() const {
    return tables_->which_ == ScheduleTables::Which::jobs_and_spans;
}

void ScheduleRows::add(const ScheduledRun& run, const ScheduledJob& one) {
    tables_->jobs_.add(jobs_.rows(), run, one);
    jobs_.row_ended();
}

void ScheduleRows::add(const ScheduledRun& run, std::string_view job, const sim::HeldSpan& span) {
    tables_->spans_.add(spans_.rows(), run, job, span);
    spans_.row_ended();
}

void ScheduleRows::end() {
    jobs_.end();
    spans_.end();
}

ScheduleTables::ScheduleTables(std::span<const scenarios::ScheduleScenario> variants,
                               const std::filesystem::path& folder, Which which)
    : which_(which),
      jobs_(records::VariedColumns(variants)),
      spans_(records::VariedColumns(variants)),
      jobs_head_(jobs_.head()),
      spans_head_(spans_.head()),
      spool_(folder) {
    for (const scenarios::ScheduleScenario& variant : variants) {
        rows_.emplace_back(variant.schedulers.size(), ScheduleRows(*this));
    }
}

TextPieces ScheduleTables::csv(const CsvWriter& head, SpooledRows ScheduleRows::*rows) const {
    return [this, &head, rows](const TextTaker& take) {
        take(head.text());
        for (const std::vector<ScheduleRows>& variant : rows_) {
            for (const ScheduleRows& run : variant) (run.*rows).text().give(take);
        }
    };
}

}  // namespace ukemi::analysis
