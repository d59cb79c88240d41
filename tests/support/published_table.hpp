// published_table.hpp — an nccl-tests table as it is typed in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/support/nccl_tables.hpp"

namespace ukemi::test {

// Microseconds out of place, from a size on, each next one of so many times the size.
struct Published {
    std::string_view name;
    std::string_view machine;
    std::int32_t machines = 1;
    std::int32_t per_machine = 8;
    std::int64_t first_mib = 1;
    std::vector<double> us;
    std::string_view source;
    bool fitted = false;
    sim::NcclCollective collective = sim::NcclCollective::all_reduce;
    std::int64_t step = 2;
};

NcclTable table_of(const Published& typed);
// All-reduces, which figures show. A time that the same log has in place stands where a row was
// disturbed: 2 x 8 H200 by RoCE at 16 MiB, 4 x 8 H100, another, to 4, at 16 and 64 MiB.
std::vector<NcclTable> figure_nccl_tables();
// Gathers and scatters that came after the model's numbers had been chosen for the first time
// (2026-11-28).
std::vector<NcclTable> later_nccl_tables();

}  // namespace ukemi::test
