// max_min.cpp — GPUs shared max-min fairly: equal parts, but to none more than it asked for. What
// small jobs leave is shared by the others (water filling). Parts of a GPU are given exactly, as if
// jobs took turns on it without a cost.
#include <map>
#include <memory>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

class MaxMin final : public Scheduler {
public:
    std::string_view name() const override { return "max_min"; }
    void begin(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override {
        const auto gang = std::ranges::find(jobs_, job, &Gang::id);
        INVARIANT(gang != jobs_.end());
        --asking_[gang->gpus];
        jobs_.erase(gang);
    }
    void arrived(const JobRequest& request) override {
        jobs_.push_back({request.id, request.gpus});
        ++asking_[request.gpus];
    }
    void decide(Instant, const JobForecasts&, Allocation& allocation) override {
        std::int64_t left = gpus_;
        auto sharing = static_cast<std::int64_t>(jobs_.size());
        std::int32_t met = 0;  // who asked for at most so many has them
        for (const auto& [gpus, count] : asking_) {
            if (gpus * sharing > left) break;
            left -= gpus * count;
            sharing -= count;
            met = gpus;
        }
        for (const Gang& gang : jobs_) {
            if (gang.gpus <= met) {
                allocation.shares.push_back({gang.id, gang.gpus});
            } else {
                allocation.shares.push_back({gang.id, left, sharing});
            }
        }
    }

private:
    std::int32_t gpus_ = 0;
    std::vector<Gang> jobs_;
    std::map<std::int32_t, std::int64_t> asking_;  // by GPUs: how many jobs
};

}  // namespace

std::unique_ptr<Scheduler> make_max_min(ConfigReader&) { return std::make_unique<MaxMin>(); }

}  // namespace ukemi::schedulers
