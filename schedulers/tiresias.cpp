// tiresias.cpp — least attained service in two queues (Gu et al., NSDI'19, discretised 2D-LAS).
//
// A job begins in the first queue, by arrival. Once it has had `demote_after` of GPU time (GPUs
// that it held, restarts included, times how long), it moves to the tail of the second, for good.
// At a decision the first queue is walked, then the second: a job that fits runs, one that does not
// is paused, keeps its place, and later, smaller ones are still tried. The threshold of 16
// GPU-hours is that of the simulator that came with Pollux (Qiao et al., OSDI'21).
#include <algorithm>
#include <array>
#include <memory>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

// An order of jobs from which any may leave. Those that left are passed over until they are half.
class JobQueue {
public:
    void push(const Gang& gang) { gangs_.push_back(gang); }
    // Goes through those that `is_here`, in order, until `visit` says false.
    template <class IsHere, class Visit>
    void walk(IsHere is_here, Visit visit) {
        for (const Gang& gang : gangs_) {
            if (is_here(gang.id) && !visit(gang)) return;
        }
    }
    template <class IsHere>
    void one_left(IsHere is_here) {
        if (++gone_ * 2 <= gangs_.size()) return;
        std::erase_if(gangs_, [&](const Gang& gang) { return !is_here(gang.id); });
        gone_ = 0;
    }

private:
    std::vector<Gang> gangs_;
    std::size_t gone_ = 0;
};

class Tiresias final : public Scheduler {
public:
    explicit Tiresias(Duration demote_after) : demote_after_(demote_after) {}
    std::string_view name() const override { return "tiresias"; }

    void begin(const ClusterFacts& cluster) override {
        gpus_ = cluster.gpus;
        queue_of_.assign(cluster.jobs, nowhere);
        attained_.assign(cluster.jobs, Duration{});
    }
    void cluster_changed(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override { leave(job, nowhere); }
    void arrived(const JobRequest& request) override {
        queue_of_[number_of(request.id)] = 0;
        queues_[0].push({request.id, request.gpus});
    }
    void decide(Instant now, const JobForecasts&, Allocation& allocation) override {
        demote(now);
        running_.clear();
        std::int32_t free = gpus_;
        for (std::size_t queue = 0; queue < queues_.size() && free > 0; ++queue) {
            queues_[queue].walk([&](JobId job) { return queue_of_[number_of(job)] == queue; },
                                [&](const Gang& gang) {
                                    if (gang.gpus > free) return true;
                                    free -= gang.gpus;
                                    running_.push_back(gang);
                                    allocation.shares.push_back({gang.id, gang.gpus});
                                    if (queue == 0)
                                        allocation.ask_again = std::min(allocation.ask_again,
                                                                        now + until_demotion(gang));
                                    return free > 0;
                                });
        }
        asked_ = now;
    }

private:
    static constexpr std::uint8_t nowhere = 2;

    void leave(JobId job, std::uint8_t next) {
        const std::uint8_t queue = std::exchange(queue_of_[number_of(job)], next);
        queues_[queue].one_left([&](JobId one) { return queue_of_[number_of(one)] == queue; });
    }
    Duration until_demotion(const Gang& gang) const {
        const Duration missing = demote_after_ - attained_[number_of(gang.id)];
        return nanoseconds((missing.raw() + gang.gpus - 1) / gang.gpus);
    }
    // Of those that ran since the last decision and are still there.
    void demote(Instant now) {
        std::vector<Gang> demoted;
        for (const Gang& gang : running_) {
            if (queue_of_[number_of(gang.id)] != 0) continue;
            Duration& attained = attained_[number_of(gang.id)];
            attained += gang.gpus * (now - asked_);
            if (attained >= demote_after_) demoted.push_back(gang);
        }
        std::ranges::sort(demoted, {}, &Gang::id);
        for (const Gang& gang : demoted) {
            leave(gang.id, 1);
            queues_[1].push(gang);
        }
    }

    Duration demote_after_;
    std::int32_t gpus_ = 0;
    Instant asked_;
    std::array<JobQueue, 2> queues_;
    std::vector<Gang> running_;
    std::vector<std::uint8_t> queue_of_;  // by job
    std::vector<Duration> attained_;      // of jobs in the first queue
};

}  // namespace

std::unique_ptr<Scheduler> make_tiresias(ConfigReader& parameters) {
    const Duration demote_after = parameters.duration("demote_after", hours(16));
    if (demote_after <= Duration{}) parameters.fail("demote_after", "expected more than zero");
    return std::make_unique<Tiresias>(demote_after);
}

}  // namespace ukemi::schedulers
