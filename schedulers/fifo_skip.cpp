// fifo_skip.cpp — as fifo, but a job that fits may start before an earlier one that does not.
#include <memory>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

class FifoSkip final : public Scheduler {
public:
    std::string_view name() const override { return "fifo_skip"; }
    void begin(const ClusterFacts& cluster) override { held_.begin(cluster.gpus); }
    void cluster_changed(const ClusterFacts& cluster) override {
        const std::vector<Gang> put_off = held_.resize(cluster.gpus);
        waiting_.insert(waiting_.begin(), put_off.begin(), put_off.end());
    }
    void completed(JobId job) override {
        if (held_.end(job)) return;
        std::erase_if(waiting_, [&](const Gang& gang) { return gang.id == job; });
    }
    void arrived(const JobRequest& request) override {
        wait_in_line(waiting_, {request.id, request.gpus, request.priority});
    }
    void decide(Instant, const JobForecasts&, Allocation& allocation) override {
        std::erase_if(waiting_, [&](const Gang& gang) { return held_.start(gang); });
        held_.share(allocation);
    }

private:
    HeldGpus held_;
    std::vector<Gang> waiting_;
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo_skip(ConfigReader&) { return std::make_unique<FifoSkip>(); }

}  // namespace ukemi::schedulers
