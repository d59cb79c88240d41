// finish_time_fairness.cpp — every round goes to the jobs that sharing has delayed most, by the
// measure of Themis (Mahajan et al., NSDI'20), without its auctions: ρ is the time from a job's
// arrival to its end if it ran from now on, over the time that it would take on its part of the
// cluster, service × max(1, gpus × jobs / GPUs of the cluster). The largest ρ comes first.
#include <algorithm>
#include <memory>

#include "schedulers/gangs.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

// a / b < c / d of positive numbers, without a product that could overflow.
bool is_less(Int128 a, Int128 b, Int128 c, Int128 d) {
    for (bool turned = false;; turned = !turned) {
        if (a / b != c / d) return (a / b < c / d) != turned;
        a %= b;
        c %= d;
        if (a == 0 || c == 0) return turned ? a != 0 && c == 0 : a == 0 && c != 0;
        std::swap(a, b);
        std::swap(c, d);
    }
}

struct Delayed {
    JobRequest request;
    Int128 fair = 0;      // ideal time × GPUs of the cluster
    Int128 expected = 0;  // time from the arrival to the end

    bool operator<(const Delayed& other) const {
        if (is_less(other.expected, other.fair, expected, fair)) return true;
        if (is_less(expected, fair, other.expected, other.fair)) return false;
        if (request.arrival != other.request.arrival)
            return request.arrival < other.request.arrival;
        return request.id < other.request.id;
    }
};

class FinishTimeFairness final : public Scheduler {
public:
    explicit FinishTimeFairness(Duration round) : round_(round) {}
    std::string_view name() const override { return "finish_time_fairness"; }
    Duration round() const override { return round_; }

    void begin(const ClusterFacts& cluster) override { cluster_ = cluster; }
    void cluster_changed(const ClusterFacts& cluster) override { cluster_.gpus = cluster.gpus; }
    void completed(JobId job) override {
        std::erase_if(jobs_, [&](const Delayed& one) { return one.request.id == job; });
    }
    void arrived(const JobRequest& request) override {
        const auto share = request.gpus * static_cast<std::int64_t>(cluster_.jobs);
        const Int128 fair = static_cast<Int128>(request.service.raw()) *
                            std::max<std::int64_t>(cluster_.gpus, share);
        jobs_.push_back({request, fair, 0});
    }
    void decide(Instant now, const JobForecasts& jobs, Allocation& allocation) override {
        for (Delayed& one : jobs_) {
            one.expected = (now - one.request.arrival + jobs.remaining(one.request.id)).raw();
        }
        std::ranges::sort(jobs_, std::less<>{});
        std::int32_t free = cluster_.gpus;
        for (const Delayed& one : jobs_) {
            if (one.request.gpus > free) continue;
            free -= one.request.gpus;
            allocation.shares.push_back({one.request.id, one.request.gpus});
        }
    }

private:
    Duration round_;
    ClusterFacts cluster_;
    std::vector<Delayed> jobs_;
};

}  // namespace

std::unique_ptr<Scheduler> make_finish_time_fairness(ConfigReader& parameters) {
    const Duration round = parameters.duration("round", minutes(1));
    if (round <= Duration{}) parameters.fail("round", "expected more than zero");
    return std::make_unique<FinishTimeFairness>(round);
}

}  // namespace ukemi::schedulers
