// play_workload_bytes.hpp — any bytes at all as a workload of four ranks, or as what it is played
// on: read, and played where it is small.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken. A system or a network
// is told by its first key.
#pragma once

#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "scenarios/reader/chakra_model.hpp"
#include "scenarios/reader/chakra_workload.hpp"
#include "scenarios/reader/layer_workload.hpp"
#include "sim/cluster/astra_network.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {

inline void play_workload(sim::Workload workload) {
    constexpr std::size_t nodes_max = 500;
    std::size_t nodes = 0;
    for (const auto& program : workload.programs) nodes += program.size();
    if (nodes == 0 || nodes > nodes_max) return;
    const sim::Topology topology = sim::build_cluster("p3.2xlarge", 4);
    sim::StepJob job;
    job.name = "fuzz";
    job.workers = topology.workers();
    job.compute.resize(job.workers.size());
    job.workload = std::make_shared<const sim::Workload>(std::move(workload));
    sim::StepOptions options;
    options.detailed_steps = 1;
    const auto results = sim::run_steps(topology, std::span(&job, 1), {}, options);
    const sim::StepRecord& step = results.front().steps.at(0);
    INVARIANT(step.parts.total() == step.end - step.begin);
}

// A model is what data parallelism has recorded, or it is refused; so the trace may still be
// played.
inline void read_as_model(const std::vector<scenarios::ChakraNode>& nodes) {
    try {
        const scenarios::ProfiledStep step = scenarios::chakra_step(nodes, "fuzz", {}, 4);
        INVARIANT(step.seconds > 0 && !step.gradients.empty());
        for (const auto& gradient : step.gradients) {
            INVARIANT(gradient.elements > 0 && gradient.ready >= 0 && gradient.ready <= 1);
        }
    } catch (const InputError&) {
    }
}

// False if it was refused.
inline bool play_workload_bytes(std::string_view bytes) {
    constexpr std::int32_t ranks = 4;
    try {
        if (bytes.find("-implementation") != std::string_view::npos) {
            const std::vector<std::int32_t> sizes = {2, 4};
            scenarios::parse_astra_system(bytes, "fuzz", sizes);
        } else if (bytes.find("npus_count") != std::string_view::npos) {
            const sim::AstraNetwork network = sim::parse_astra_network(bytes, "fuzz", "");
            if (network.topology.devices().size() < 1000) sim::check_connected(network.topology);
        } else if (scenarios::is_layer_workload(bytes)) {
            play_workload(scenarios::parse_layer_workload(bytes, "fuzz", ranks));
        } else {
            const std::vector<scenarios::RankTrace> traces = {
                {"fuzz", scenarios::parse_chakra(bytes, "fuzz")}};
            read_as_model(traces.front().nodes);
            play_workload(scenarios::chakra_workload(traces, ranks, {}, {}));
        }
        return true;
    } catch (const InputError&) {  // the only way to refuse
        return false;
    }
}

}  // namespace ukemi
