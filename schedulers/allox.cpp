// allox.cpp — the mean time to completion made least by matching jobs to places in the queues of
// GPUs (AlloX: Le et al., EuroSys'20).
//
// A job that runs keeps its GPU. Whenever something changes, each waiting job is matched to a GPU
// and a place in its queue, counted from the end: at the k-th from the end it holds up k jobs,
// itself among them, so that it adds k × (its time on that type of GPU) to the sum of completion
// times, and the time until that GPU is free. The cheapest matching is exact (assignment.hpp); on
// a GPU that is free now the first of its queue starts. Time grows with (jobs waiting)³ × GPUs.
//
// For jobs of one GPU. `share`: only that part of those who wait, who have waited longest, is
// matched; it stands for the fairness filter of the paper, which goes by users.
#include <algorithm>
#include <memory>

#include "schedulers/assignment.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

class Allox final : public Scheduler {
public:
    explicit Allox(double share) : share_(share) {}
    std::string_view name() const override { return "allox"; }

    void begin(const ClusterFacts& cluster) override {
        free_.clear();
        for (const MachineGroup& group : cluster.groups) free_.push_back(group.gpus());
    }
    void completed(JobId job) override {
        const auto gone = std::ranges::find(running_, job, &GpuShare::job);
        INVARIANT(gone != running_.end());
        ++free_[static_cast<std::size_t>(gone->group)];
        running_.erase(gone);
    }
    void arrived(const JobRequest& request) override { waiting_.push_back(request.id); }

    void decide(Instant, const JobForecasts& jobs, Allocation& allocation) override {
        match(jobs);
        allocation.shares = running_;
    }

private:
    // One GPU, and in how long it is free.
    struct Queue {
        std::size_t group = 0;
        std::int64_t free_in_us = 0;
        std::size_t first = nobody;  // of the waiting jobs in it, once they are matched
        std::int64_t first_from_end = 0;
    };
    static constexpr std::size_t nobody = static_cast<std::size_t>(-1);

    void match(const JobForecasts& jobs) {
        const bool nothing_free = std::ranges::all_of(free_, [](auto gpus) { return gpus == 0; });
        if (waiting_.empty() || nothing_free) return;
        const auto rows =
            static_cast<std::size_t>(round_up(share_ * static_cast<double>(waiting_.size())));
        std::vector<Queue> queues = queues_now(jobs);
        std::vector<std::int64_t> times_us;  // by row and group
        for (std::size_t row = 0; row < rows; ++row) {
            for (std::size_t group = 0; group < free_.size(); ++group) {
                times_us.push_back(time_on(jobs, waiting_[row], group));
            }
        }
        const auto time_us = [&](std::size_t row, std::size_t group) {
            return times_us[row * free_.size() + group];
        };
        const auto from_end = [&](std::size_t place) {
            return static_cast<std::int64_t>(place / queues.size()) + 1;
        };
        const auto chosen =
            cheapest_assignment(rows, rows * queues.size(), [&](auto row, auto place) {
                const Queue& queue = queues[place % queues.size()];
                return from_end(place) * time_us(row, queue.group) + queue.free_in_us;
            });
        for (std::size_t row = 0; row < rows; ++row) {
            Queue& queue = queues[chosen[row] % queues.size()];
            if (time_us(row, queue.group) >= never_us) continue;
            if (from_end(chosen[row]) <= queue.first_from_end) continue;
            queue.first = row;
            queue.first_from_end = from_end(chosen[row]);
        }
        start(queues);
    }
    std::vector<Queue> queues_now(const JobForecasts& jobs) const {
        std::vector<Queue> queues;
        for (std::size_t group = 0; group < free_.size(); ++group) {
            queues.resize(queues.size() + static_cast<std::size_t>(free_[group]), {group});
        }
        for (const GpuShare& share : running_) {
            const auto group = static_cast<std::size_t>(share.group);
            queues.push_back({group, time_on(jobs, share.job, group)});
        }
        return queues;
    }
    // Where it cannot run it costs more than any queue elsewhere.
    static constexpr std::int64_t never_us = 1'000'000'000'000;
    static std::int64_t time_on(const JobForecasts& jobs, JobId job, std::size_t group) {
        const double pace = jobs.pace(job, static_cast<std::int32_t>(group), 1, 1);
        if (pace <= 0) return never_us;
        return round_nearest(
            std::min(1e6 * jobs.pace_left(job) / pace, static_cast<double>(never_us)));
    }
    void start(const std::vector<Queue>& queues) {
        std::vector<JobId> started;
        for (const Queue& queue : queues) {
            const bool is_free = free_[queue.group] > 0 && queue.free_in_us == 0;
            if (!is_free || queue.first == nobody) continue;
            --free_[queue.group];
            started.push_back(waiting_[queue.first]);
            running_.push_back({started.back(), 1, 1, static_cast<std::int32_t>(queue.group)});
        }
        std::erase_if(waiting_, [&](JobId job) { return std::ranges::count(started, job) > 0; });
    }

    double share_;
    std::vector<std::int32_t> free_;  // by group
    std::vector<GpuShare> running_;   // in the order of their starts
    std::vector<JobId> waiting_;      // in the order of arrival
};

}  // namespace

std::unique_ptr<Scheduler> make_allox(ConfigReader& parameters) {
    return std::make_unique<Allox>(parameters.number("share", 0.01, 1, 1));
}

}  // namespace ukemi::schedulers
