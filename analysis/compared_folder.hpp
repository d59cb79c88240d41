// compared_folder.hpp — a results folder as `ukemi diff` reads it: its runs one by one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/run_comparison.hpp"
#include "base/quantity.hpp"

namespace ukemi::analysis {

// One thing that was decided: what two runs are compared by, and how it is told.
struct ComparedChange {
    std::string what;
    std::string text;
};
DecisionComparison compare_changes(const std::vector<ComparedChange>& predicted,
                                   const std::vector<ComparedChange>& measured);

// Wall time by what the group was doing, from a timeline.
struct RecordedPhases {
    double running_s = 0;
    double transition_s = 0;
    double progress_before = 0;  // of a run that went on from a checkpoint
    double progress_after = 0;
};

struct StoredRun {
    std::string policy;  // or scheduler, or searcher
    std::string trace;   // or what was varied, in words
    std::uint64_t seed = 0;
    Duration start;
    std::shared_ptr<const nlohmann::ordered_json>
        row;  // of runs.json, schedule.json or search.json
    std::optional<RecordedPhases> phases;
    std::filesystem::path decisions;                     // a log; empty if there is none
    std::optional<std::vector<ComparedChange>> changes;  // who held what; trials that went on
    std::vector<std::string> identifiers = {};           // keys of the row whose numbers are names

    std::string which() const;
    std::string name() const;
};

struct StoredResults {
    std::string command;                             // "schedule"; of runs on markets "replay"
    std::shared_ptr<const nlohmann::json> scenario;  // resolved
    std::vector<StoredRun> runs;
};

// Of `ukemi schedule` or `ukemi search`; nothing for a folder of another command.
std::optional<StoredResults> cluster_results(const std::filesystem::path& folder);

}  // namespace ukemi::analysis
