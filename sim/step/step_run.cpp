// step_run.cpp — a player for each job, and cross traffic beside them.
#include "sim/step/step_run.hpp"

#include <memory>

#include "base/invariant.hpp"
#include "sim/step/async_player.hpp"
#include "sim/step/data_parallel_player.hpp"
#include "sim/step/layout_player.hpp"

namespace ukemi {
namespace {

std::unique_ptr<StepPlayer> player_of(StepHost& host, const StepJob& job,
                                      const StepOptions& options) {
    INVARIANT(!job.workers.empty() && job.compute.size() == job.workers.size());
    INVARIANT(job.steps >= 1 && job.accumulation >= 1);
    if (job.asynchronous) return std::make_unique<AsyncPlayer>(host, job, options);
    if (job.layout) return std::make_unique<LayoutPlayer>(host, job, options);
    return std::make_unique<DataParallelPlayer>(host, job, options);
}

void add_cross_traffic(ClusterNetwork& network, std::span<const CrossTraffic> all) {
    for (const CrossTraffic& one : all) {
        const RouteId route = network.flows().add_route(network.routes().route(one.from, one.to));
        for (std::int64_t i = 0; i < one.flows; ++i) {
            network.flows().start(route, FlowNetwork::endless, UINT64_MAX);
        }
    }
}

}  // namespace

std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options) {
    StepHost host(topology);
    std::vector<std::unique_ptr<StepPlayer>> players;
    for (const StepJob& job : jobs) players.push_back(player_of(host, job, options));
    add_cross_traffic(host.network(), cross_traffic);
    host.run(players);
    std::vector<JobSteps> results;
    for (const auto& player : players) results.push_back(player->take_result());
    return results;
}

}  // namespace ukemi
