// nccl_columns.hpp — what the readers of nccl-tests' forms share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "traces/nccl_tests.hpp"

namespace ukemi::traces::nccl {

// "all_reduce" of "./build/all_reduce_perf" and of "all_reduce_output.dat.4"; empty if none.
std::string_view collective_in(std::string_view name);

// A time, a bandwidth; nothing for text that is no finite number from 0 on.
std::optional<double> amount(std::string_view text);
std::optional<std::int64_t> whole(std::string_view text);

inline constexpr std::string_view table_form = "nccl-tests table";

// The printed table; nothing if there is none in the text.
std::vector<CollectiveTable> read_tables(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_json(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_vtrain(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_collected(std::string_view text,
                                            const std::filesystem::path& file);

// Whether algbw is bytes ÷ time.
bool is_consistent(const CollectiveRow& row, const CollectiveTime& half);

// Collective, ranks and nodes, from what the log says, the options, the file's name and the ratio
// of the two bandwidths; where these differ, a note.
void settle(CollectiveTable& table, const std::filesystem::path& file,
            const NcclReadOptions& options);

// What can only be known when all rows are there: the above, and whether bandwidths are what bytes
// and times say.
void finish(CollectiveTable& table, const std::filesystem::path& file,
            const NcclReadOptions& options);

}  // namespace ukemi::traces::nccl
