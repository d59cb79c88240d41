// variable_update.hpp — where a job's variables live, and what is sent when: the modes of
// TensorFlow's tf_cnn_benchmarks (--variable_update), as baselines.
//
//   all_reduce              every worker has them; gradients are summed as the job says
//   parameter_server        on servers, each variable whole on one of them, the least laden one in
//                           forward order (GreedyLoadBalancingStrategy by bytes). Every worker
//                           sends it its gradient and fetches the new value
//   replicated              every worker of one machine; gradients are summed tensor by tensor
//   distributed_replicated  every worker; gradients are summed within each machine, one worker of
//                           it sends the sum to the servers, fetches and hands on the new values
//   independent             every worker has its own, and nothing is sent
//   distributed_all_reduce, collective_all_reduce
//                           every worker; gradients are summed tensor by tensor, by rings
//   horovod                 the same with Horovod's coordinated launch
// and one of KungFu's:
//   pair_averaging          every worker; each averages with the model of one other (PairPlayer)
// Servers add and update in no time. A server on a worker's machine shares its links.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/step/gradient_lanes.hpp"

namespace ukemi::sim {

enum class VariableUpdate : std::uint8_t {
    all_reduce,
    parameter_server,
    replicated,
    distributed_replicated,
    independent,
    distributed_all_reduce,
    collective_all_reduce,
    horovod,
    pair_averaging,
};
inline constexpr std::array<std::string_view, 9> variable_update_names = {"all_reduce",
                                                                          "parameter_server",
                                                                          "replicated",
                                                                          "distributed_replicated",
                                                                          "independent",
                                                                          "distributed_all_reduce",
                                                                          "collective_all_reduce",
                                                                          "horovod",
                                                                          "pair_averaging"};

constexpr bool has_servers(VariableUpdate update) {
    return update == VariableUpdate::parameter_server ||
           update == VariableUpdate::distributed_replicated;
}

// Gives every bucket the server that holds it: its one leg. By server, the bytes.
std::vector<Bytes> place_on_servers(std::span<GradientBucket> buckets, std::size_t servers);

// A lane for each server of the job: gradients to it, then new values from it. Where the job sums
// by machine, one worker of each stands for all of it.
std::vector<GradientLane> server_lanes(ClusterNetwork& network, const StepJob& job);

}  // namespace ukemi::sim
