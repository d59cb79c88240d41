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

// The printed table; nothing if there is none in the text.
std::vector<CollectiveTable> read_tables(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_json(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_vtrain(std::string_view text, const std::filesystem::path& file);
std::vector<CollectiveTable> read_collected(std::string_view text,
                                            const std::filesystem::path& file);

// What can only be known when all rows are there: ranks and collective from the ratio of the two
// bandwidths, and whether bandwidths are what bytes and times say.
void finish(CollectiveTable& table, const std::filesystem::path& file,
            const NcclReadOptions& options);

}  // namespace ukemi::traces::nccl
