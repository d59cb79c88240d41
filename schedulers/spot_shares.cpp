// spot_shares.cpp — jobs that grow and shrink on spot machines under a budget, and go to machines
// that stay when their deadlines ask for it. Ours; no published rule.
//
// Spot machines are shared by how much of what it asked for each job has, over its priority: when
// some are taken, the job with the largest part gives up a GPU, then the next, so that a loss is
// shared and nobody is put off whom a GPU less would spare. Who comes gets one, if need be of the
// largest. What is free goes to the smallest parts; a job grows only if that saves it more than two
// restarts. A job with a deadline moves to machines that stay at the last moment at which they
// still finish it in time, all unsaved work counted as saved; others use these only where there are
// no spot machines for them.
//
// Under a budget a job is refused if what it takes to finish all that were admitted, at the prices
// of the moment (of machines that stay, if it has a deadline) and `allowance` more, is not there.
// So is a job that would take more than its own budget. When the money is out, all stop and the
// rest is refused. What is counted is GPU time: where machines have several GPUs, those of them
// that no job has are paid for, too, and are not counted.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/invariant.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

struct SpotRule {
    std::optional<double> budget_usd;
    double allowance = 0.1;
    Duration margin;  // before the last moment
};

class SpotShares final : public Scheduler {
public:
    explicit SpotShares(const SpotRule& rule) : rule_(rule) {}
    std::string_view name() const override { return "spot_shares"; }

    void begin(const ClusterFacts& cluster) override { cluster_ = next_ = cluster; }
    void cluster_changed(const ClusterFacts& cluster) override { next_ = cluster; }
    void completed(JobId job) override {
        ended_.push_back(job);  // what it had counts until the decision
    }
    void arrived(const JobRequest& request) override { asking_.push_back({request}); }

    void decide(Instant now, const JobForecasts& jobs, Allocation& allocation) override {
        account(now);
        cluster_ = next_;
        if (rule_.budget_usd && *rule_.budget_usd - spent_usd_ <= nothing_usd) {
            stop(now, allocation);
            return;
        }
        admit(jobs, allocation);
        for (Sharing& job : jobs_) job.before = job.gpus;
        fit_machines();
        hurry(now, jobs, allocation);
        for (Sharing& job : jobs_) {
            if (job.gpus == 0) let_in(job, jobs);
        }
        grow(jobs);
        give(now, allocation);
    }

private:
    struct Sharing {
        JobRequest request;
        std::size_t group = 0;
        std::int32_t gpus = 0;
        std::int32_t before = 0;  // this decision, on the same group
        bool hurries = false;
    };
    static constexpr double nothing_usd = 1e-6;

    // Part of what it asked for, over its priority: larger first; of equals the later one.
    static bool has_more(const Sharing& a, const Sharing& b) {
        const Int128 left = Int128{a.gpus} * b.request.gpus * b.request.priority;
        const Int128 right = Int128{b.gpus} * a.request.gpus * a.request.priority;
        return left != right ? left > right : a.request.id > b.request.id;
    }

    double gpu_usd_per_s(std::size_t group) const {
        return to_dollars_per_hour(cluster_.states[group].price) / 3600 /
               cluster_.groups[group].gpus_per_machine;
    }
    void account(Instant now) {
        const double time_s = to_seconds(now - counted_);
        for (const Sharing& job : jobs_) spent_usd_ += time_s * job.gpus * gpu_usd_per_s(job.group);
        counted_ = now;
        std::erase_if(jobs_, [&](const Sharing& job) {
            return std::ranges::count(ended_, job.request.id) > 0;
        });
        ended_.clear();
    }
    // Those who hold something are refused at the next decision, when they no longer do.
    void stop(Instant now, Allocation& allocation) {
        for (const Sharing& job : asking_) allocation.refused.push_back(job.request.id);
        asking_.clear();
        std::erase_if(jobs_, [&](Sharing& job) {
            const bool holds = std::exchange(job.gpus, 0) > 0;
            if (!holds) allocation.refused.push_back(job.request.id);
            return !holds;
        });
        if (!jobs_.empty()) allocation.ask_again = now + nanoseconds(1);
    }

    static double left_s(const JobForecasts& jobs, const Sharing& job, std::size_t group,
                         std::int32_t gpus) {
        const auto on = static_cast<std::int32_t>(group);
        const double pace = jobs.pace(job.request.id, on, gpus, 0);
        return pace > 0 ? jobs.pace_left(job.request.id) / pace : -1;
    }
    // On all GPUs that it asks for; with a deadline on machines that stay, else on the cheapest.
    double usd_to_finish(const JobForecasts& jobs, const Sharing& job) const {
        const auto stays =
            job.request.deadline < Instant::never() ? staying_group(jobs, job) : std::nullopt;
        double least = -1;
        for (std::size_t group = 0; group < cluster_.groups.size(); ++group) {
            const double time_s = left_s(jobs, job, group, job.request.gpus);
            if (time_s < 0 || (stays && group != *stays)) continue;
            const double usd = time_s * job.request.gpus * gpu_usd_per_s(group);
            if (least < 0 || usd < least) least = usd;
        }
        return std::max(0.0, least) * (1 + rule_.allowance);
    }
    void admit(const JobForecasts& jobs, Allocation& allocation) {
        double committed_usd = spent_usd_;
        if (rule_.budget_usd) {
            for (const Sharing& job : jobs_) committed_usd += usd_to_finish(jobs, job);
        }
        for (const Sharing& job : asking_) {
            const bool counts = rule_.budget_usd || job.request.budget_usd;
            const double usd = counts ? usd_to_finish(jobs, job) : 0;
            const bool too_dear = job.request.budget_usd && usd > *job.request.budget_usd;
            if (too_dear || (rule_.budget_usd && committed_usd + usd > *rule_.budget_usd)) {
                allocation.refused.push_back(job.request.id);
                continue;
            }
            committed_usd += usd;
            jobs_.push_back(job);
        }
        asking_.clear();
    }

    std::int32_t free_in(std::size_t group) const {
        std::int32_t free = cluster_.gpus_of(group);
        for (const Sharing& job : jobs_) free -= job.group == group ? job.gpus : 0;
        return free;
    }
    // The one that is to give up a GPU; null if there is none that may.
    Sharing* largest_in(std::size_t group, std::int32_t at_least, bool also_hurrying) {
        Sharing* largest = nullptr;
        for (Sharing& job : jobs_) {
            if (job.group != group || job.gpus < at_least || (job.hurries && !also_hurrying))
                continue;
            if (largest == nullptr || has_more(job, *largest)) largest = &job;
        }
        return largest;
    }
    void fit_machines() {
        for (std::size_t group = 0; group < cluster_.groups.size(); ++group) {
            while (free_in(group) < 0) --largest_in(group, 1, true)->gpus;
        }
    }
    // The group of machines that stay on which it is done soonest.
    std::optional<std::size_t> staying_group(const JobForecasts& jobs, const Sharing& job) const {
        std::optional<std::size_t> best;
        double least_s = 0;
        for (std::size_t group = 0; group < cluster_.groups.size(); ++group) {
            if (cluster_.states[group].may_be_taken) continue;
            if (cluster_.gpus_of(group) < job.request.gpus) continue;
            const double time_s = left_s(jobs, job, group, job.request.gpus);
            if (time_s < 0 || (best && time_s >= least_s)) continue;
            best = group;
            least_s = time_s;
        }
        return best;
    }
    void hurry(Instant now, const JobForecasts& jobs, Allocation& allocation) {
        for (Sharing& job : jobs_) {
            if (job.hurries || job.request.deadline == Instant::never()) continue;
            const auto group = staying_group(jobs, job);
            if (!group) continue;
            const Duration takes = seconds(left_s(jobs, job, *group, job.request.gpus));
            const Instant last = job.request.deadline - takes - job.request.restart - rule_.margin;
            if (last > now) {
                allocation.ask_again = std::min(allocation.ask_again, last);
                continue;
            }
            job.hurries = true;
            if (job.group == *group && job.gpus == job.request.gpus) continue;
            job.gpus = job.before = 0;
            while (free_in(*group) < job.request.gpus) {
                Sharing* const other = largest_in(*group, 1, false);
                if (other == nullptr) break;
                --other->gpus;
            }
            job.group = *group;
            job.gpus = std::min(job.request.gpus, free_in(*group));
        }
    }

    // Spot machines; others where there are none on which it can run.
    std::vector<std::size_t> groups_for(const JobForecasts& jobs, const Sharing& job) const {
        std::vector<std::size_t> groups;
        for (const bool spot : {true, false}) {
            for (std::size_t group = 0; group < cluster_.groups.size(); ++group) {
                if (cluster_.states[group].may_be_taken != spot) continue;
                if (left_s(jobs, job, group, 1) >= 0) groups.push_back(group);
            }
            if (!groups.empty()) break;
        }
        std::ranges::stable_sort(groups, std::less<>{}, [&](std::size_t group) {
            return left_s(jobs, job, group, 1) * gpu_usd_per_s(group);
        });
        return groups;
    }
    void let_in(Sharing& job, const JobForecasts& jobs) {
        const std::vector<std::size_t> groups = groups_for(jobs, job);
        for (const std::size_t group : groups) {
            if (free_in(group) == 0) continue;
            begin_on(job, group);
            return;
        }
        for (const std::size_t group : groups) {
            Sharing* const largest = largest_in(group, 2, false);
            if (largest == nullptr) continue;
            --largest->gpus;
            begin_on(job, group);
            return;
        }
    }
    static void begin_on(Sharing& job, std::size_t group) {
        if (job.group != group) job.before = 0;
        job.group = group;
        job.gpus = 1;
    }
    void grow(const JobForecasts& jobs) {
        while (true) {
            Sharing* smallest = nullptr;
            for (Sharing& job : jobs_) {
                const std::int32_t most = std::min(job.request.gpus, jobs.gpus_max(job.request.id));
                if (job.gpus == 0 || job.gpus >= most || free_in(job.group) == 0) continue;
                if (left_s(jobs, job, job.group, job.gpus + 1) < 0) continue;
                if (smallest == nullptr || has_more(*smallest, job)) smallest = &job;
            }
            if (smallest == nullptr) break;
            ++smallest->gpus;
        }
        for (Sharing& job : jobs_) {
            if (job.before == 0 || job.gpus <= job.before) continue;
            const double saved_s =
                left_s(jobs, job, job.group, job.before) - left_s(jobs, job, job.group, job.gpus);
            if (saved_s <= 2 * to_seconds(job.request.restart)) job.gpus = job.before;
        }
    }
    void give(Instant now, Allocation& allocation) {
        double usd_per_s = 0;
        for (const Sharing& job : jobs_) {
            if (job.gpus == 0) continue;
            usd_per_s += job.gpus * gpu_usd_per_s(job.group);
            allocation.shares.push_back(
                {job.request.id, job.gpus, 1, static_cast<std::int32_t>(job.group)});
        }
        if (!rule_.budget_usd || usd_per_s <= 0) return;
        constexpr double longest_s = 1e9;
        const double time_s = std::min(longest_s, (*rule_.budget_usd - spent_usd_) / usd_per_s);
        const Instant out = now + std::max(nanoseconds(1), seconds(time_s));
        allocation.ask_again = std::min(allocation.ask_again, out);
    }

    SpotRule rule_;
    ClusterFacts cluster_;  // since the last decision
    ClusterFacts next_;
    std::vector<Sharing> jobs_;  // admitted, in the order of arrival
    std::vector<Sharing> asking_;
    std::vector<JobId> ended_;
    Instant counted_;  // until which money is
    double spent_usd_ = 0;
};

}  // namespace

std::unique_ptr<Scheduler> make_spot_shares(ConfigReader& parameters) {
    SpotRule rule;
    constexpr double most_usd = 1e9;
    if (parameters.has("budget_usd")) {
        rule.budget_usd = parameters.number("budget_usd", 0.000001, most_usd);
    }
    rule.allowance = parameters.number("allowance", 0, 10, 0.1);
    rule.margin = parameters.duration("margin", minutes(10));
    return std::make_unique<SpotShares>(rule);
}

}  // namespace ukemi::schedulers
