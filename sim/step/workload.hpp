// workload.hpp — what each rank of a recorded or generated job does in a step, and what waits for
// what: the form into which Chakra's execution traces and the layers of SimAI are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "sim/step/layout_work.hpp"

namespace ukemi::sim {

enum class WorkKind : std::uint8_t {
    compute,     // on the GPU, one at a time
    host,        // on the CPU, one at a time
    collective,  // of all ranks of a group; a group's run one after another, in the order in which
                 // their ranks come to them
    send,        // to a peer; over when it has arrived
    receive,     // over when it has arrived
};

struct WorkNode {
    std::string name;
    WorkKind kind = WorkKind::compute;
    Duration time;  // compute, host
    // Of a collective: between replicas, whose bytes it counts.
    ExchangeKind exchange = ExchangeKind::all_reduce;
    Bytes bytes;
    std::uint32_t family = 0;  // of groups: Workload::families
    std::int32_t peer = 0;     // send, receive: a rank
    std::int64_t tag = 0;
    std::vector<std::uint32_t> after;  // nodes of the same rank that must be over
};

struct Workload {
    std::string source;  // for people
    std::vector<std::vector<WorkNode>> programs;
    std::vector<std::uint32_t> program_of;  // by rank
    // By rank, the number of its group, or -1; ranks with one number are a group. The first family
    // is one group of all.
    std::vector<std::vector<std::int32_t>> families;
};

}  // namespace ukemi::sim
