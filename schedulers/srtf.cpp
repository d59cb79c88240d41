// srtf.cpp — shortest remaining time first: at every decision the jobs with the least time left
// run, as far as they fit; the others are paused (Schrage, Operations Research 1968, for one
// server).
#include <compare>
#include <memory>
#include <set>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

struct TimeLeft {
    Duration remaining;
    Instant arrival;
    JobId id{};
    std::int32_t gpus = 1;

    friend auto operator<=>(const TimeLeft&, const TimeLeft&) = default;
};

class Srtf final : public Scheduler {
public:
    std::string_view name() const override { return "srtf"; }
    void begin(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void cluster_changed(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override {
        std::erase_if(running_, [&](const TimeLeft& one) { return one.id == job; });
    }
    void arrived(const JobRequest& request) override {
        waiting_.insert({request.service, request.arrival, request.id, request.gpus});
    }
    void decide(Instant, const JobForecasts& jobs, Allocation& allocation) override {
        for (TimeLeft& one : running_) {
            one.remaining = jobs.remaining(one.id);
            waiting_.insert(one);
        }
        running_.clear();
        std::int32_t free = gpus_;
        for (auto one = waiting_.begin(); free > 0 && one != waiting_.end();) {
            if (one->gpus > free) {
                ++one;
                continue;
            }
            free -= one->gpus;
            running_.push_back(*one);
            allocation.shares.push_back({one->id, one->gpus});
            one = waiting_.erase(one);
        }
    }

private:
    std::int32_t gpus_ = 0;
    std::set<TimeLeft> waiting_;  // whose time left does not change
    std::vector<TimeLeft> running_;
};

}  // namespace

std::unique_ptr<Scheduler> make_srtf(ConfigReader&) { return std::make_unique<Srtf>(); }

}  // namespace ukemi::schedulers
