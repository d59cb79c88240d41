// max_min.cpp — GPUs shared max-min fairly: equal parts, but to none more than it asked for. What
// small jobs leave is shared by the others (water filling). A job of priority p counts as p jobs.
// Parts of a GPU are given exactly, as if jobs took turns on it without a cost.
#include <map>
#include <memory>
#include <numeric>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

// Who asks for least of its weight has it first.
struct Asking {
    std::int64_t gpus = 1;
    std::int64_t priority = 1;
    friend bool operator<(const Asking& a, const Asking& b) {
        const std::int64_t left = a.gpus * b.priority;
        const std::int64_t right = b.gpus * a.priority;
        return left != right ? left < right : a.gpus < b.gpus;
    }
};

class MaxMin final : public Scheduler {
public:
    std::string_view name() const override { return "max_min"; }
    void begin(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override {
        const auto gang = std::ranges::find(jobs_, job, &Gang::id);
        INVARIANT(gang != jobs_.end());
        const auto alike = asking_.find(asking(*gang));
        if (--alike->second == 0) asking_.erase(alike);
        weight_ -= gang->priority;
        jobs_.erase(gang);
    }
    void arrived(const JobRequest& request) override {
        const Gang gang{request.id, request.gpus, request.priority};
        jobs_.push_back(gang);
        ++asking_[asking(gang)];
        weight_ += gang.priority;
    }
    void decide(Instant, const JobForecasts&, Allocation& allocation) override {
        std::int64_t left = gpus_;
        std::int64_t weight = weight_;
        auto unmet = asking_.begin();  // who stands before it has what it asked for
        for (; unmet != asking_.end(); ++unmet) {
            const auto& [one, count] = *unmet;
            if (one.gpus * weight > left * one.priority) break;
            left -= one.gpus * count;
            weight -= one.priority * count;
        }
        std::int64_t unit = 0;  // so that jobs that are alike have parts of their number
        for (auto each = unmet; each != asking_.end(); ++each) {
            unit = std::gcd(unit, each->first.priority);
        }
        for (const Gang& gang : jobs_) {
            if (unmet == asking_.end() || asking(gang) < unmet->first) {
                allocation.shares.push_back({gang.id, gang.gpus});
            } else {
                allocation.shares.push_back(
                    {gang.id, left * (gang.priority / unit), weight / unit});
            }
        }
    }

private:
    static Asking asking(const Gang& gang) { return {gang.gpus, gang.priority}; }

    std::int32_t gpus_ = 0;
    std::vector<Gang> jobs_;
    std::map<Asking, std::int64_t> asking_;  // how many jobs
    std::int64_t weight_ = 0;                // of all jobs
};

}  // namespace

std::unique_ptr<Scheduler> make_max_min(ConfigReader&) { return std::make_unique<MaxMin>(); }

}  // namespace ukemi::schedulers
