// collective_records.hpp — recorded times of collectives, by nccl-tests, as others have collected
// them.
//
//   tables   one file a GPU and count, named GPU_COUNT.csv, as github VIA-Research/vTrain keeps
//            them: size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)
//   joined   one CSV of many runs, with columns system, gpu, nodes, gpus_per_node, setup,
//            collective, size_bytes and oop_time_us, in any order, others ignored
// Of the two times a row has, the first (out of place) is taken. Rows without a size or a time are
// left out. Both refuse what is not of their form with an InputError that names file and line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi {

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

// Every file of the folder whose name is of that form, in the order of names; others are not
// looked at.
std::vector<CollectiveRecord> read_collective_tables(const std::filesystem::path& folder);
std::vector<CollectiveRecord> read_joined_collectives(std::string_view text, std::string_view file);

// Equal rows (all but the time) as one, with the median of their times, by series, ranks and size.
std::vector<CollectiveRecord> medians(std::vector<CollectiveRecord> records);

}  // namespace ukemi
