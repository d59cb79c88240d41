// swept_run.hpp — a run as it goes into a database, and from one process to another.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "records/run_columns.hpp"

namespace ukemi::analysis {

struct SweptRun {
    std::int64_t key = 0;
    std::int64_t scenario = 0;  // its row; on its way between processes, its number of a case
    std::uint64_t trace_digest = 0;
    std::string trace;
    std::string policy;
    std::vector<records::RunValue> values;  // of the columns that a run has to itself
    std::vector<std::string> doubts;
    double wall_s = 0;  // that it took to make
};

// MessagePack, for a process of the same build.
std::vector<std::uint8_t> packed(std::span<const SweptRun> runs);
std::vector<SweptRun> unpacked(std::span<const std::uint8_t> bytes);

}  // namespace ukemi::analysis
