// schedule_columns.hpp — of jobs that share a cluster: what their changes took by phase, and what
// came of those that have a Controller of their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/schedule_results.hpp"
#include "base/csv_writer.hpp"

namespace ukemi::analysis {

void name_phase_columns(std::vector<std::string>& columns);
void add_phase_fields(CsvWriter& csv, const ScheduledJob& job);
void name_controlled_columns(std::vector<std::string>& columns);
void add_controlled_fields(CsvWriter& csv, const ScheduledJob& job);  // empty without one

// A decisions.jsonl of each job and run that has one: names of files and texts.
void add_decision_logs(std::span<const ScheduledRun> runs, MoreFiles& files);

// What was lost, by job, of runs that lost something: a line of it, and a table for people.
void add_loss(const ScheduledJob& one, ScheduledRun& run);
std::string losses_table(std::span<const ScheduledRun> runs);

}  // namespace ukemi::analysis
