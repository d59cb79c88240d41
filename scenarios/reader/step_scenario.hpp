// step_scenario.hpp — a scenario of steps on a cluster, as `ukemi simulate` reads it.
//
// Sections: "cluster" (cluster_file.hpp), "job" or "jobs", and optionally "efficiency" (what
// software reaches of the line rates of links), "cross_traffic", "fidelity" and "window_chunks"
// (how exactly the network is played). As strict as other scenarios: unknown keys, wrong units, a
// batch that does not fit on its GPU, a job larger than the cluster and a collective that cannot
// run are InputErrors with a JSON path. Workers are taken in the order of machines, one job after
// another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "records/run_result.hpp"
#include "sim/cluster/learner_time.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/codec_plan.hpp"
#include "sim/step/layout_plan.hpp"
#include "sim/step/step_run.hpp"
#include "sim/step/variable_update.hpp"

namespace ukemi::scenarios {

struct StepJobEntry {
    sim::StepJob job;
    std::string model;
    std::string gpus;          // kinds of its workers, in the order in which they come
    std::string curve;         // where the compute time is from
    bool cheapest = false;     // its collective: of all that were priced
    bool searched = false;     // for dimensions
    bool usual_nccl = false;   // nobody asked for it: what machines with NVLink have,
    bool nccl_by_log = false;  // or those whose links are fitted to a log of NCCL's
    std::string why;           // what else was priced; what NCCL picks for its messages
    double alone_s = 0;        // a step on the slowest kind of worker, nothing to wait for
    // Of all buckets of a worker; in a layout, of the pipeline rank with most bytes.
    Bytes gradient;
    std::int64_t buckets = 0;
    const sim::GpuProfile* least_gpu = nullptr;  // of its kinds the one with the slowest memory
    sim::StepCodec codec;
    sim::CodedBytes coded;  // with a codec
    sim::VariableUpdate update = sim::VariableUpdate::all_reduce;
    Bytes most_on_a_server;
    sim::LayoutRequest request;
    sim::LearnerRule learners;
    sim::LayoutMemory memory;  // of a worker
    sim::MemoryNeed whole;     // if the worker held the whole model, and kept one micro-batch
    sim::MemoryRule memory_rule;
    Bytes gpu_memory;  // of the smallest of its kinds
    sim::ModelProfile profile;
};

// Whether a job that needs more memory than its GPUs have is refused, or is read all the same.
enum class MemoryCheck : std::uint8_t { refuse, skip };

struct StepScenario {
    std::string name;
    std::filesystem::path file;
    std::uint64_t seed = 0;
    std::string cluster;  // a line for people
    sim::Topology topology;
    std::vector<std::string> fitted;  // efficiencies, in words
    std::vector<StepJobEntry> jobs;
    std::vector<sim::CrossTraffic> cross_traffic;
    sim::StepEvents events;
    sim::NetworkRule network;
    std::int64_t warm_up = 0;  // steps that no mean counts
    std::string resolved;
    std::vector<records::VariedValue> varied;  // of the document that this is a variant of
};

inline constexpr std::int64_t steps_most = 100'000;
inline constexpr std::int64_t messages_most = 5'000'000;  // and blocks, in the steps of all jobs

// What is sent and computed piece by piece in a step of a job.
std::int64_t messages_a_step(const sim::StepJob& job);

// Whether a file is meant as one, and not as a scenario of a job on a market: it has "cluster" with
// machines. InputError if it is no JSON object.
bool is_step_scenario(const std::filesystem::path& file);

StepScenario read_step_scenario(const std::filesystem::path& file,
                                std::span<const ConfigOverride> overrides = {},
                                MemoryCheck memory = MemoryCheck::refuse);
StepScenario step_scenario_from_text(std::string_view text, const std::filesystem::path& file,
                                     std::span<const ConfigOverride> overrides = {},
                                     MemoryCheck memory = MemoryCheck::refuse);

}  // namespace ukemi::scenarios
