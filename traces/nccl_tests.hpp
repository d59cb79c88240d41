// nccl_tests.hpp — reads what nccl-tests printed: collectives' times by size, of any vintage.
//
// Known forms: the printed table (from 2.0's `redop` without `root` and `error` for `#wrong`, to
// today's with per-iteration columns, CPU times and timestamps), several tables in one log with
// other output between them, prefixes before lines (nccl_lines.hpp) and '#' that Markdown has
// taken; the JSON of -J; vTrain's CSV; and the collected CSV with a row a measurement. Columns are
// found by the table's own heading, its time unit by the line below. Input is distrusted: what
// begins like a row and is none is an InputError with file:line:column; what is dropped or odd is
// said in the notes. Runs that were printed into one another are refused; ranks whose lines were
// left out are counted by what is there and by the bandwidths.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_fit.hpp"

namespace ukemi::traces {

struct CollectiveTime {
    double time_us = 0;
    double algbw_gbytes_s = 0;          // bytes ÷ time
    double busbw_gbytes_s = 0;          // × nccl-tests' factor (doc/PERFORMANCE.md)
    std::optional<std::int64_t> wrong;  // elements; nothing if nobody looked
    std::optional<double> p99_us;
    std::optional<double> cv_percent;
};

struct CollectiveRow {
    std::int64_t bytes = 0;
    std::int64_t count = 0;
    std::string type;
    std::optional<CollectiveTime> out_of_place;
    std::optional<CollectiveTime> in_place;
};

// A "#  Rank" line.
struct CollectiveRank {
    int rank = 0;
    std::string host;  // empty: it is not said
    int device = -1;   // −1: it is not said
};

struct CollectiveTable {
    std::string collective;  // "all_reduce", …; "unknown" if nothing says it
    std::string form;        // "nccl-tests table", "nccl-tests json", "vtrain csv", "collected csv"
    std::string system;      // as the collected form names it
    std::string setup;       // as the collected form names it
    int ranks = 0;           // 0: nothing says it
    int nodes = 0;           // 0: nothing says it
    std::vector<CollectiveRank> places;  // of printed tables, by rank; some may have been left out
    int ranks_of_process = 0;            // 0: nothing says it
    bool rootless_sum = true;            // redop and root, if printed, may be an all-reduce's
    std::vector<std::string> devices;    // distinct names, sorted
    std::string version;                 // of nccl-tests, and of NCCL
    int warm_up = -1;                    // iterations; −1: nothing says it
    int iterations = -1;
    bool cpu_time = false;
    std::vector<CollectiveRow> rows;  // in the file's order
    std::optional<std::int64_t> out_of_bounds;
    std::optional<double> average_busbw;
    std::vector<std::string> notes;
};

struct NcclReadOptions {
    std::string_view collective = {};  // where the file does not say it
    int ranks = 0;
};

inline constexpr std::size_t nccl_rows_max = 1'000'000;

// All tables of a file, at least one; gzipped or not. InputError for anything else.
std::vector<CollectiveTable> read_nccl_tests(const std::filesystem::path& file,
                                             const NcclReadOptions& options = {});
std::vector<CollectiveTable> parse_nccl_tests(std::string_view text,
                                              const std::filesystem::path& file,
                                              const NcclReadOptions& options = {});

enum class BufferUse { out_of_place, in_place };
// α–β over the rows that were right: seconds, and seconds a byte. Nothing for fewer than two sizes.
std::optional<LineFit> alpha_beta(std::span<const CollectiveTable> tables, BufferUse use);
// InputError if they are of different collectives, numbers of ranks or devices: no fit mixes them.
void check_one_machine(std::span<const CollectiveTable> tables, std::string_view where);

std::string to_plain_csv(std::span<const CollectiveTable> tables);

}  // namespace ukemi::traces
