// collective_records.hpp — recorded times of collectives as rows of one table, whatever file they
// stood in (traces/nccl_tests.hpp reads them).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "traces/nccl_tests.hpp"

namespace ukemi::test {

struct CollectiveRecord {
    std::string series;  // what was not varied: "v100", "polaris nccl_2_21/setup4"
    std::string system;  // "v100", "polaris"
    std::string gpu;     // as recorded
    std::string collective;
    std::int32_t machines = 1;
    std::int32_t per_machine = 1;
    Bytes size;
    Duration time;
};

// Out of place times; rows without a size or a time are left out, and tables that do not say how
// many ranks they had, or not as many on each machine.
std::vector<CollectiveRecord> collective_records(std::span<const traces::CollectiveTable> tables);

// Of every file GPU_COUNT.csv of the folder (or .csv.gz; github VIA-Research/vTrain keeps them so),
// in the order of names; others are not looked at.
std::vector<CollectiveRecord> read_collective_folder(const std::filesystem::path& folder);

// Equal rows (all but the time) as one, with the median of their times, by series, ranks and size.
std::vector<CollectiveRecord> medians(std::vector<CollectiveRecord> records);

}  // namespace ukemi::test
