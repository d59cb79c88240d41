// step_record.hpp — what is kept of a step: its parts, and of the first steps the details.
//
// The parts are those of a step's critical path where all workers do the same, and else the means
// over the workers of what each of them does; either way they add up to the step exactly:
//   torn        since a step was begun that a worker's leaving has torn, until it is begun anew
//   input       until the batch is there
//   compute     of the mean worker
//   straggler   how much longer the slowest worker computes
//   exchange    what the model itself sends between its passes (tensor parallel sums, batch norm,
//               split layers); of an asynchronous job, fetching variables and sending gradients
//   bubble      a worker of a pipeline has nothing to compute, and nothing is on its way to it
//   transfer    a worker of a pipeline waits for what is on its way to it
//   sending     after all have computed: while a collective of the job is on its way (exposed
//               communication)
//   coding      encoding gradients, while the backward pass waits; after all have computed: while
//               no collective is on its way, but gradients are decoded
//   agreeing    after that: the rest (cycles and negotiation of the launch rule)
//   validation  after the step, before the next one
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "sim/network/link.hpp"
#include "sim/step/network_rule.hpp"

namespace ukemi::sim {

struct StepParts {
    Duration torn;
    Duration input;
    Duration compute;
    Duration straggler;
    Duration exchange;
    Duration bubble;
    Duration transfer;
    Duration sending;
    Duration coding;
    Duration agreeing;
    Duration validation;
    Duration total() const;
};

struct StepPart {
    std::string_view name;   // in files
    std::string_view words;  // for people
    Duration StepParts::*value;
    bool of_some = false;  // most jobs have none of it
};
inline constexpr std::array<StepPart, 11> step_parts = {{
    {"torn", "torn by a loss", &StepParts::torn, true},
    {"input", "waiting for input", &StepParts::input},
    {"compute", "compute (mean worker)", &StepParts::compute},
    {"straggler", "waiting for the slowest", &StepParts::straggler},
    {"exchange", "exchanges of the model", &StepParts::exchange, true},
    {"bubble", "pipeline bubble", &StepParts::bubble, true},
    {"transfer", "pipeline transfers", &StepParts::transfer, true},
    {"sending", "exposed communication", &StepParts::sending},
    {"coding", "encoding and decoding", &StepParts::coding, true},
    {"agreeing", "cycles and negotiation", &StepParts::agreeing},
    {"validation", "validation", &StepParts::validation, true},
}};

inline Duration StepParts::total() const {
    Duration sum;
    for (const StepPart& part : step_parts) sum += this->*part.value;
    return sum;
}

// Sums over `workers` workers, by part, as their means: rounded so that the means add up to
// `length` if the sums add up to workers × length.
StepParts mean_parts(const StepParts& sums, std::int64_t workers);

struct SentMessage {
    std::string name;  // of its first bucket
    std::int64_t buckets = 0;
    Bytes bytes;
    Instant begin;
    Instant end;
};

// What workers do from one moment to another, for a trace; may lie within another one.
struct WorkSpan {
    std::int32_t rank = 0;   // of the first
    std::int32_t ranks = 1;  // that do the same
    std::string name;
    Instant begin;
    Instant end;
};

// Of updates by workers that do not wait for each other.
struct Staleness {
    std::int64_t updates = 0;
    std::int64_t sum = 0;
    std::int64_t most = 0;
    double mean() const {
        return updates == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(updates);
    }
};

struct StepRecord {
    Instant begin;
    Instant end;
    StepParts parts;
    std::int64_t samples = 0;
    std::int64_t workers = 0;
    Staleness staleness;  // of the updates that make it, in an asynchronous job
    // Of the first steps only (StepOptions):
    bool detailed = false;
    Instant compute_begin;
    std::vector<std::int32_t> first_ranks;  // by rank, as they were at the start; empty: the same
    std::vector<Duration> computing;        // by rank, where all do one pass after another
    std::vector<WorkSpan> spans;            // else
    std::vector<SentMessage> sent;          // in the order in which they ended
};

// Of all updates of these steps.
Staleness staleness_of(std::span<const StepRecord> steps);

struct JobSteps {
    std::vector<StepRecord> steps;
    std::string collective;     // empty: nothing was sent
    std::vector<LinkId> links;  // that its gradients cross, ascending
    // How many of the collectives that it sent were played exactly, and how many not.
    std::int64_t exact = 0;
    std::int64_t fluid = 0;
    std::int64_t nccl = 0;  // as long as NCCL's take
};

// "exact", "fluid" or "mixed", whatever takes as long as NCCL's; "nccl" if all does, and "none" if
// nothing was sent.
std::string_view fidelity_of(const JobSteps& result);

struct StepOptions {
    std::uint64_t seed = 0;
    std::int64_t detailed_steps = 0;  // how many steps of each job keep their details
    NetworkRule network = {};
    // A job that has done its steps goes on until all have done theirs, so that nobody is alone on
    // a link that they share; InputError after a hundred thousand steps more than its own.
    bool until_all_are_done = false;
};

}  // namespace ukemi::sim
