// placed_steps.hpp — steps of jobs that share a cluster, simulated where the jobs are.
//
// A scenario of steps (step_scenario.hpp) says what a step of each of its jobs is, and the network.
// Jobs that run at once are put into it, worker by worker on the machines that the scheduler gave,
// and played as `ukemi simulate` plays them: with every other job's flows on the same links.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/shared_links.hpp"

namespace ukemi::scenarios {

class PlacedSteps final : public sim::SharedLinks {
public:
    // InputError if it has not the machines of the cluster.
    PlacedSteps(const std::filesystem::path& file, const sim::SharedCluster& cluster);

    const std::vector<std::string>& kinds() const { return kinds_; }  // names of its jobs
    // On so many GPUs, on as few machines as can be, nobody else there.
    Duration alone(std::size_t kind, std::int32_t gpus);
    std::vector<Duration> step_times(std::span<const PlacedJob> together) override;

private:
    std::string document_of(std::span<const PlacedJob> together) const;

    std::filesystem::path file_;
    sim::SharedCluster cluster_;
    std::vector<std::string> kinds_;
    std::vector<std::string> templates_;  // by kind: JSON of the job
    std::string rest_;                    // JSON of the scenario without its jobs
    std::map<std::string, std::vector<Duration>> known_;
};

}  // namespace ukemi::scenarios
