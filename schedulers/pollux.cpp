// pollux.cpp — each round as many GPUs to each job as make the power mean of speedups largest
// (Pollux: Qiao et al., OSDI'21).
//
// A job's speedup is its goodput over that on an equal part of the cluster; the mean is the
// harmonic one (p = -1), so that the sum of 1 / speedup is made least. A change of GPUs counts with
// the share of the job's life that a restart more would leave it, (age − restarts × restart) / (age
// + restart). A job may have at most twice the GPUs that it has had at most, one at first.
//
// With `search` "exact" the numbers of GPUs are found by dynamic programming, as if each job were
// packed on as few machines as can be; then jobs are placed where they fit best. With "genetic"
// numbers and machines are bred as Pollux does it (genetic_search.hpp), from `seed`.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include "base/invariant.hpp"
#include "schedulers/genetic_search.hpp"
#include "schedulers/multiple_choice.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

class Pollux final : public Scheduler {
public:
    Pollux(Duration round, std::optional<GeneticRules> genetic)
        : round_(round), genetic_(genetic) {}
    std::string_view name() const override { return "pollux"; }
    Duration round() const override { return round_; }
    bool tunes_batches() const override { return true; }

    void begin(const ClusterFacts& cluster) override {
        group_ = cluster.groups.front();
        free_.assign(static_cast<std::size_t>(group_.machines), group_.gpus_per_machine);
        if (genetic_) search_.emplace(*genetic_, group_.machines, group_.gpus_per_machine);
    }
    void completed(JobId job) override {
        const auto gone =
            std::ranges::find(jobs_, job, [](const Tuned& one) { return one.request.id; });
        INVARIANT(gone != jobs_.end());
        give_back(*gone);
        jobs_.erase(gone);
    }
    void arrived(const JobRequest& request) override { jobs_.emplace_back().request = request; }

    void decide(Instant now, const JobForecasts& forecasts, Allocation& allocation) override {
        for (Tuned& job : jobs_) job.service_s += job.gpus * to_seconds(now - decided_at_);
        decided_at_ = now;
        if (search_) {
            choose_by_search(now, forecasts);
        } else {
            choose_exactly(now, forecasts);
        }
        for (const Tuned& job : jobs_) {
            if (job.gpus == 0) continue;
            allocation.shares.push_back({job.request.id, job.gpus});
            allocation.places.push_back(job.machines);
        }
    }

private:
    struct Tuned {
        JobRequest request;
        std::int32_t gpus = 0;
        std::vector<GpusOnMachine> machines;
        std::int32_t gpus_most = 0;  // that it has had
        std::int64_t starts = 0;
        double service_s = 0;  // GPU time that it has had
    };
    struct Option {
        std::int32_t gpus = 0;
        bool stays = false;
    };

    void choose_exactly(Instant now, const JobForecasts& forecasts) {
        std::vector<JobChoice> choices;
        std::vector<std::vector<Option>> options;
        for (const Tuned& job : jobs_) {
            choices.push_back(choice_of(job, now, forecasts, options.emplace_back()));
        }
        const std::optional<Choices> best = cheapest_choices({group_.gpus()}, choices);
        INVARIANT(best);
        std::vector<std::pair<std::int32_t, std::size_t>> changed;  // GPUs, job
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            const Option chosen = best->chosen[i] ? options[i][*best->chosen[i]] : Option{};
            if (chosen.stays) continue;
            give_back(jobs_[i]);
            if (chosen.gpus > 0) changed.emplace_back(chosen.gpus, i);
        }
        std::ranges::stable_sort(changed, std::greater<>{},
                                 [](const auto& one) { return one.first; });
        for (const auto& [gpus, at] : changed) start(jobs_[at], take(gpus));
    }

    // Of two who want the same GPUs the one that has had less GPU time is served first.
    void choose_by_search(Instant now, const JobForecasts& forecasts) {
        std::vector<Tuned*> order;
        for (Tuned& job : jobs_) order.push_back(&job);
        std::ranges::stable_sort(order, {}, &Tuned::service_s);
        const auto machines = static_cast<std::size_t>(group_.machines);
        GpuGrid present(order.size() * machines, 0);
        std::vector<SearchedJob> searched;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const Tuned& job = *order[i];
            const JobId id = job.request.id;
            for (const auto& [machine, gpus] : job.machines) {
                present[i * machines + static_cast<std::size_t>(machine)] =
                    static_cast<std::uint16_t>(gpus);
            }
            const double age_s = to_seconds(now - job.request.arrival);
            const double restart_s = to_seconds(job.request.restart);
            const auto restarts = static_cast<double>(std::max<std::int64_t>(0, job.starts - 1));
            const double whole_s = std::max(1e-9, age_s + restart_s);
            searched.push_back({id, std::min(most_of(job), forecasts.gpus_max(id)),
                                std::max(0.0, age_s - restarts * restart_s) / whole_s,
                                [&forecasts, id, fair = fair_pace_of(job, forecasts)](
                                    std::int32_t on, std::int32_t gpus) {
                                    return forecasts.pace(id, 0, gpus, on) / fair;
                                }});
        }
        const GpuGrid best = search_->best(searched, present);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto row = static_cast<std::ptrdiff_t>(i * machines);
            if (std::equal(best.begin() + row, best.begin() + row + group_.machines,
                           present.begin() + row)) {
                continue;
            }
            give_back(*order[i]);
            std::vector<GpusOnMachine> taken;
            for (std::int32_t machine = 0; machine < group_.machines; ++machine) {
                const std::int32_t gpus = best[static_cast<std::size_t>(row + machine)];
                if (gpus > 0) taken.push_back({machine, gpus});
            }
            if (!taken.empty()) start(*order[i], std::move(taken));
        }
        free_.assign(machines, group_.gpus_per_machine);
        for (const Tuned& job : jobs_) {
            for (const auto& [machine, gpus] : job.machines) {
                free_[static_cast<std::size_t>(machine)] -= gpus;
            }
        }
    }
    static void start(Tuned& job, std::vector<GpusOnMachine> machines) {
        job.machines = std::move(machines);
        job.gpus = 0;
        for (const GpusOnMachine& some : job.machines) job.gpus += some.gpus;
        job.gpus_most = std::max(job.gpus_most, job.gpus);
        ++job.starts;
    }
    std::int32_t most_of(const Tuned& job) const {
        return std::min(group_.gpus(), std::max(1, 2 * job.gpus_most));
    }
    // On an equal part of the cluster.
    double fair_pace_of(const Tuned& job, const JobForecasts& forecasts) const {
        const auto jobs = static_cast<std::int32_t>(jobs_.size());
        const std::int32_t fair = search_ ? (group_.gpus() + jobs - 1) / jobs
                                          : std::max<std::int32_t>(1, group_.gpus() / jobs);
        double pace = 0;
        for (std::int32_t gpus = fair; gpus > 0 && pace == 0; --gpus) {
            pace = forecasts.pace(job.request.id, 0, gpus, 0);
        }
        return pace;
    }

    // Costs are millionths of 1 / speedup; a job without GPUs costs as much as one that is
    // slowed down a thousandfold.
    JobChoice choice_of(const Tuned& job, Instant now, const JobForecasts& forecasts,
                        std::vector<Option>& options) const {
        constexpr double millionths = 1e6;
        constexpr double cost_most = 1e9;
        const JobId id = job.request.id;
        const std::int32_t each = group_.gpus_per_machine;
        const double fair_pace = fair_pace_of(job, forecasts);
        JobChoice choice;
        choice.cost_of_none = static_cast<std::int64_t>(cost_most);
        const auto offer = [&](Option option, double pace) {
            if (pace <= 0) return;
            const double cost = std::min(cost_most, millionths * fair_pace / pace);
            choice.options.push_back({0, option.gpus, round_nearest(cost)});
            options.push_back(option);
        };
        if (job.gpus > 0) {
            const auto machines = static_cast<std::int32_t>(job.machines.size());
            offer({job.gpus, true}, forecasts.pace(id, 0, job.gpus, machines));
        }
        const double left = left_by_restart(job, now);
        const std::int32_t most = most_of(job);
        for (std::int32_t gpus = 1; gpus <= most; gpus += gpus < 4 * each ? 1 : each) {
            offer({gpus, false}, left * forecasts.pace(id, 0, gpus, 0));
        }
        return choice;
    }

    static double left_by_restart(const Tuned& job, Instant now) {
        const double age = to_seconds(now - job.request.arrival);
        const double restart = to_seconds(job.request.restart);
        if (age <= restart) return 1;
        const auto restarts = static_cast<double>(std::max<std::int64_t>(0, job.starts - 1));
        constexpr double least = 1e-3;
        return std::max(least, (age - restarts * restart) / (age + restart));
    }

    void give_back(Tuned& job) {
        for (const auto& [machine, gpus] : job.machines) {
            free_[static_cast<std::size_t>(machine)] += gpus;
        }
        job.machines.clear();
        job.gpus = 0;
    }
    // The fullest machine on which all of them fit; else the freest, and so on.
    std::vector<GpusOnMachine> take(std::int32_t gpus) {
        std::vector<GpusOnMachine> taken;
        while (gpus > 0) {
            std::size_t best = 0;
            for (std::size_t i = 1; i < free_.size(); ++i) {
                const bool fits = free_[i] >= gpus;
                const bool best_fits = free_[best] >= gpus;
                const bool better =
                    fits && best_fits ? free_[i] < free_[best] : free_[i] > free_[best];
                if (better) best = i;
            }
            const std::int32_t some = std::min(gpus, free_[best]);
            INVARIANT(some > 0);
            free_[best] -= some;
            gpus -= some;
            taken.push_back({static_cast<std::int32_t>(best), some});
        }
        return taken;
    }

    Duration round_;
    std::optional<GeneticRules> genetic_;
    std::optional<GeneticSearch> search_;
    Instant decided_at_;
    MachineGroup group_;
    std::vector<std::int32_t> free_;  // by machine
    std::vector<Tuned> jobs_;
};

}  // namespace

std::unique_ptr<Scheduler> make_pollux(ConfigReader& parameters) {
    const Duration round = parameters.duration("round", minutes(1));
    if (round <= Duration{}) parameters.fail("round", "expected more than zero");
    static const std::vector<std::string_view> searches = {"exact", "genetic"};
    const bool breeds = parameters.one_of("search", searches, "exact") == "genetic";
    GeneticRules rules;
    constexpr std::int64_t seed_most = std::numeric_limits<std::int64_t>::max();
    rules.seed = parameters.integer("seed", 0, seed_most, rules.seed);
    const auto count = [&](std::string_view key, std::int32_t value) {
        return static_cast<std::int32_t>(parameters.integer(key, 1, 10'000, value));
    };
    rules.population = count("population", rules.population);
    rules.generations = count("generations", rules.generations);
    return std::make_unique<Pollux>(round, breeds ? std::optional(rules) : std::nullopt);
}

}  // namespace ukemi::schedulers
