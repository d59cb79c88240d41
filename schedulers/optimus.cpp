// optimus.cpp — one GPU each in the order of the workload, then one more to the job whose remaining
// time it shortens most, while any gains (Peng et al., EuroSys'18, by the rules of the simulator
// that came with Pollux: Qiao et al., OSDI'21).
#include <algorithm>
#include <memory>
#include <queue>

#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

struct Grown {
    double gain_s = 0;
    std::size_t job = 0;  // position among those that are there
};
// The largest gain first; of equals, who came first.
struct LessGain {
    bool operator()(const Grown& a, const Grown& b) const {
        return a.gain_s != b.gain_s ? a.gain_s < b.gain_s : a.job > b.job;
    }
};

class Optimus final : public Scheduler {
public:
    std::string_view name() const override { return "optimus"; }
    void begin(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void cluster_changed(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override { std::erase(jobs_, job); }
    void arrived(const JobRequest& request) override { jobs_.push_back(request.id); }

    void decide(Instant, const JobForecasts& jobs, Allocation& allocation) override {
        std::vector<GpuShare>& shares = allocation.shares;
        std::int32_t free = gpus_;
        for (const JobId job : jobs_) {
            if (free == 0) break;
            shares.push_back({job, 1});
            --free;
        }
        std::priority_queue<Grown, std::vector<Grown>, LessGain> grown;
        const auto consider = [&](std::size_t at) {
            const double gain_s = gain(jobs, shares[at]);
            if (gain_s > 0) grown.push({gain_s, at});
        };
        for (std::size_t at = 0; free > 0 && at < shares.size(); ++at) consider(at);
        while (free > 0 && !grown.empty()) {
            const std::size_t at = grown.top().job;
            grown.pop();
            ++shares[at].parts;
            --free;
            if (free > 0) consider(at);
        }
        std::ranges::stable_sort(shares, {}, &GpuShare::parts);  // small ones are placed first
    }

private:
    static double gain(const JobForecasts& jobs, const GpuShare& share) {
        const auto gpus = static_cast<std::int32_t>(share.parts);
        if (gpus + 1 > jobs.gpus_max(share.job)) return 0;
        return (jobs.step_s(share.job, gpus) - jobs.step_s(share.job, gpus + 1)) *
               jobs.steps_left(share.job);
    }

    std::int32_t gpus_ = 0;
    std::vector<JobId> jobs_;
};

}  // namespace

std::unique_ptr<Scheduler> make_optimus(ConfigReader&) { return std::make_unique<Optimus>(); }

}  // namespace ukemi::schedulers
