// elasticflow.cpp — deadlines by the minimum satisfactory share (Gu et al., ASPLOS'23, Alg. 1), and
// nothing above it.
//
// Time is in slots. A plan goes through the jobs by deadline: each gets the smallest k for which
// min(k, what earlier ones left) GPUs in every slot up to its deadline finish its work. A job that
// comes is admitted if all still find a plan, else it is refused. Every slot the plan is made anew
// of what is left to do; one that would be late for somebody does not replace the last, so that who
// was admitted is in time.
#include <algorithm>
#include <memory>
#include <tuple>

#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

struct Admitted {
    JobRequest request;
    std::vector<std::int32_t> gpus = {};  // of each slot of the plan, to the end of the work
};

struct IsAdmitted {
    JobId job;
    bool operator()(const Admitted& one) const { return one.request.id == job; }
};

std::tuple<Instant, Instant, JobId> by_deadline(const Admitted& one) {
    return {one.request.deadline, one.request.arrival, one.request.id};
}

class ElasticFlow final : public Scheduler {
public:
    explicit ElasticFlow(Duration slot) : slot_(slot) {}
    std::string_view name() const override { return "elasticflow"; }
    Duration round() const override { return slot_; }

    void begin(const ClusterFacts& cluster) override { gpus_ = cluster.gpus; }
    void completed(JobId job) override { std::erase_if(admitted_, IsAdmitted{job}); }
    void arrived(const JobRequest& request) override { asking_.push_back(request); }

    void decide(Instant now, const JobForecasts& jobs, Allocation& allocation) override {
        for (const JobRequest& request : asking_) {
            std::vector<Admitted> with = admitted_;
            const Admitted one{request};
            with.insert(std::ranges::upper_bound(with, by_deadline(one), {}, by_deadline), one);
            if (plan(now, jobs, with)) {
                adopt(now, std::move(with));
            } else {
                allocation.refused.push_back(request.id);
            }
        }
        asking_.clear();
        std::vector<Admitted> anew = admitted_;
        if (plan(now, jobs, anew) || !still_holds(now, jobs)) adopt(now, std::move(anew));
        for (const Admitted& one : admitted_) {
            const std::size_t slot = slots_until(now);
            const std::int32_t gpus = slot < one.gpus.size() ? one.gpus[slot] : 0;
            if (gpus > 0) allocation.shares.push_back({one.request.id, gpus});
        }
    }

private:
    void adopt(Instant now, std::vector<Admitted> planned) {
        admitted_ = std::move(planned);
        planned_at_ = now;
    }
    std::size_t slots_until(Instant now) const {
        return static_cast<std::size_t>((now - planned_at_).raw() / slot_.raw());
    }
    // Not if restarts took time that no plan knew of.
    bool still_holds(Instant now, const JobForecasts& jobs) const {
        return std::ranges::all_of(admitted_, [&](const Admitted& one) {
            Int128 work = jobs.work_left(one.request.id);
            for (std::size_t slot = slots_until(now); slot < one.gpus.size(); ++slot) {
                work -= jobs.work_in(one.request.id, one.gpus[slot], slot_);
            }
            return work <= 0;
        });
    }

    // Whether all are done in time. Jobs that cannot be have what others leave in the first slot.
    bool plan(Instant now, const JobForecasts& jobs, std::vector<Admitted>& planned) const {
        std::vector<std::int32_t> left(1, gpus_);  // GPUs of each slot from now on
        bool all_in_time = true;
        for (Admitted& one : planned) {
            const std::int64_t slots =
                std::max<std::int64_t>(0, (one.request.deadline - now).raw() / slot_.raw());
            const std::int32_t most = std::min(gpus_, jobs.gpus_max(one.request.id));
            bool in_time = false;
            for (std::int32_t share = 1; share <= most && !in_time; ++share) {
                in_time = fits(one, share, static_cast<std::size_t>(slots), jobs, left);
            }
            if (!in_time) one.gpus = {std::min(most, left.front())};
            for (std::size_t slot = 0; slot < one.gpus.size(); ++slot) {
                left[slot] -= one.gpus[slot];
            }
            all_in_time = all_in_time && in_time;
        }
        return all_in_time;
    }
    bool fits(Admitted& one, std::int32_t share, std::size_t slots, const JobForecasts& jobs,
              std::vector<std::int32_t>& left) const {
        one.gpus.clear();
        Int128 work = jobs.work_left(one.request.id);
        for (std::size_t slot = 0; work > 0 && slot < slots; ++slot) {
            if (slot == left.size()) left.push_back(gpus_);
            one.gpus.push_back(std::min(share, left[slot]));
            work -= jobs.work_in(one.request.id, one.gpus.back(), slot_);
        }
        return work <= 0;
    }

    Duration slot_;
    std::int32_t gpus_ = 0;
    std::vector<Admitted> admitted_;  // by deadline
    Instant planned_at_;              // of their plans
    std::vector<JobRequest> asking_;
};

}  // namespace

std::unique_ptr<Scheduler> make_elasticflow(ConfigReader& parameters) {
    const Duration slot = parameters.duration("slot", minutes(1));
    if (slot <= Duration{}) parameters.fail("slot", "expected more than zero");
    return std::make_unique<ElasticFlow>(slot);
}

}  // namespace ukemi::schedulers
