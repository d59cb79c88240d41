// schedule_tables.hpp — jobs.csv and spans.csv of many runs, written while the runs go: their rows
// are kept on the disk, so that memory holds what is under way and no more.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "analysis/scheduled_runs.hpp"
#include "base/csv_writer.hpp"
#include "base/spool.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

// One of the tables: what stands in it, of a run that is one of several.
class JobsTable {
public:
    explicit JobsTable(records::VariedColumns varied) : varied_(std::move(varied)) {}
    CsvWriter head() const;
    void add(CsvWriter& csv, const ScheduledRun& run, const ScheduledJob& one) const;

private:
    records::VariedColumns varied_;
};
class SpansTable {
public:
    explicit SpansTable(records::VariedColumns varied) : varied_(std::move(varied)) {}
    CsvWriter head() const;
    void add(CsvWriter& csv, const ScheduledRun& run, std::string_view job,
             const sim::HeldSpan& span) const;

private:
    records::VariedColumns varied_;
};

// Rows of one table and run, on their way to the disk.
class SpooledRows {
public:
    // Both outlive it; the writer has the head only.
    SpooledRows(Spool& spool, const CsvWriter& head) : head_(&head), rows_(head), text_(spool) {}
    CsvWriter& rows() { return rows_; }
    void row_ended();  // there may be enough to write
    void end();
    const SpooledText& text() const { return text_; }

private:
    const CsvWriter* head_;
    CsvWriter rows_;
    SpooledText text_;
};

class ScheduleTables;

// Of one run; by one thread at a time.
class ScheduleRows {
public:
    // It outlives this.
    explicit ScheduleRows(ScheduleTables& tables);
    bool take_spans() const;
    void add(const ScheduledRun& run, const ScheduledJob& one);
    void add(const ScheduledRun& run, std::string_view job, const sim::HeldSpan& span);
    void end();

private:
    friend class ScheduleTables;
    ScheduleTables* tables_;
    SpooledRows jobs_;
    SpooledRows spans_;
};

class ScheduleTables {
public:
    enum class Which : std::uint8_t { jobs, jobs_and_spans };
    // Of the variants, each under each of its schedulers; rows go to the disk of a folder.
    ScheduleTables(std::span<const scenarios::ScheduleScenario> variants,
                   const std::filesystem::path& folder, Which which);

    ScheduleRows& of(std::size_t variant, std::size_t scheduler) {
        return rows_[variant][scheduler];
    }
    // Once all runs have ended; while this is there.
    TextPieces jobs_csv() const { return csv(jobs_head_, &ScheduleRows::jobs_); }
    TextPieces spans_csv() const { return csv(spans_head_, &ScheduleRows::spans_); }

private:
    friend class ScheduleRows;
    TextPieces csv(const CsvWriter& head, SpooledRows ScheduleRows::*rows) const;

    Which which_;
    JobsTable jobs_;
    SpansTable spans_;
    CsvWriter jobs_head_;
    CsvWriter spans_head_;
    Spool spool_;
    std::vector<std::vector<ScheduleRows>> rows_;  // by variant and scheduler
};

}  // namespace ukemi::analysis
