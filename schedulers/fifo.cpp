// fifo.cpp — jobs start in the order in which they came, of those that wait the ones of the highest
// priority first, and none is paused, unless machines are taken: then those that started last, who
// wait before all others.
#include <deque>
#include <memory>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

class Fifo final : public Scheduler {
public:
    std::string_view name() const override { return "fifo"; }
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
        while (!waiting_.empty() && held_.start(waiting_.front())) waiting_.pop_front();
        held_.share(allocation);
    }

private:
    HeldGpus held_;
    std::deque<Gang> waiting_;
};

}  // namespace

std::unique_ptr<Scheduler> make_fifo(ConfigReader&) { return std::make_unique<Fifo>(); }

}  // namespace ukemi::schedulers
