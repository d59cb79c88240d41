// sia.cpp — each round the configurations that are worth most to their jobs, by an integer
// programme (Sia: Jayaram Subramanya et al., SOSP'23).
//
// A job may have 1, 2, 4, … GPUs of one machine of a group or whole machines of it, at most twice
// what it has had at most, one at first. The programme takes for each job at most one
// configuration, so that GPUs are enough and the sum of weights is the least; a job without one
// costs 1.1. A weight is 1/√(value), to 2 decimals. The value is the job's goodput there over its
// least one, times, for any but the present configuration, the share of its life that a restart
// more would leave it: (age − restarts × restart) / (age + restart), 1 up to the age of a restart.
// A job whose restart is under way keeps what it has. Ties, weights of restarts and the rule by
// which machines are taken are those of the simulator that came with Sia.
//
// `solutions` takes a recorded solver's answers instead of solving.
#include <cmath>
#include <memory>

#include "base/invariant.hpp"
#include "schedulers/multiple_choice.hpp"
#include "schedulers/recorded_solutions.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

struct Configuration {
    std::size_t group = 0;
    std::int32_t machines = 1;
    std::int32_t gpus = 1;
};

std::vector<Configuration> configurations_of(const std::vector<MachineGroup>& groups) {
    std::vector<Configuration> all;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::int32_t each = groups[i].gpus_per_machine;
        for (std::int32_t gpus = 1; gpus < each; gpus *= 2) all.push_back({i, 1, gpus});
        for (std::int32_t machines = 1; machines <= groups[i].machines; ++machines) {
            all.push_back({i, machines, machines * each});
        }
    }
    return all;
}

// Machines of one group, taken from a pointer onwards.
class RoundOfMachines {
public:
    RoundOfMachines(const MachineGroup& group, std::int32_t first)
        : first_(first),
          each_(group.gpus_per_machine),
          free_(static_cast<std::size_t>(group.machines), group.gpus_per_machine) {}

    // Whole machines that are free, looked for once round; what is missing machine by machine.
    std::vector<GpusOnMachine> take(std::int32_t gpus) {
        std::vector<GpusOnMachine> taken;
        const auto take_here = [&](std::int32_t most) {
            const std::int32_t some = std::min(most, free_[at_]);
            if (some == 0) return;
            free_[at_] -= some;
            gpus -= some;
            taken.push_back({first_ + static_cast<std::int32_t>(at_), some});
        };
        std::int32_t whole = gpus / each_;
        for (std::size_t i = 0; i < free_.size() && whole > 0; ++i) {
            if (free_[at_] == each_) {
                take_here(each_);
                if (--whole == 0) break;  // the pointer stays where it stopped
            }
            next();
        }
        std::size_t looked = 0;
        while (gpus > 0) {
            INVARIANT(looked <= free_.size());
            ++looked;
            take_here(gpus);
            next();
        }
        return taken;
    }

private:
    void next() { at_ = (at_ + 1) % free_.size(); }

    std::int32_t first_;
    std::int32_t each_;
    std::vector<std::int32_t> free_;
    std::size_t at_ = 0;
};

class Sia final : public Scheduler {
public:
    Sia(Duration round, RecordedSolutions recorded)
        : round_(round), recorded_(std::move(recorded)) {}
    std::string_view name() const override { return "sia"; }
    Duration round() const override { return round_; }
    bool tunes_batches() const override { return true; }

    void begin(const ClusterFacts& cluster) override {
        groups_ = cluster.groups;
        configurations_ = configurations_of(groups_);
        gpus_.clear();
        for (const MachineGroup& group : groups_) gpus_.push_back(group.gpus());
    }
    void completed(JobId job) override {
        std::erase_if(jobs_, [&](const Known& one) { return one.request.id == job; });
    }
    void arrived(const JobRequest& request) override { jobs_.emplace_back().request = request; }

    void decide(Instant now, const JobForecasts& forecasts, Allocation& allocation) override {
        const std::vector<std::optional<std::size_t>> chosen =
            recorded_.empty() ? solved(now, forecasts) : recorded(now);
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            Known& job = jobs_[i];
            if (chosen[i] && chosen[i] != job.configuration) ++job.starts;
            job.configuration = chosen[i];
            if (!chosen[i]) continue;
            job.gpus_most = std::max(job.gpus_most, configurations_[*chosen[i]].gpus);
        }
        place(allocation);
    }

private:
    struct Known {
        JobRequest request;
        std::optional<std::size_t> configuration;  // since the last decision
        std::int32_t gpus_most = 0;                // that it has had
        std::int64_t starts = 0;
    };

    std::vector<std::optional<std::size_t>> recorded(Instant now) const {
        std::vector<std::optional<std::size_t>> chosen(jobs_.size());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            const double number = recorded_.at(now, jobs_[i].request.name).front();
            INVARIANT(number < static_cast<double>(configurations_.size()));
            if (number >= 0) chosen[i] = static_cast<std::size_t>(number);
        }
        return chosen;
    }

    std::vector<std::optional<std::size_t>> solved(Instant now,
                                                   const JobForecasts& forecasts) const {
        std::vector<JobChoice> programme;
        std::vector<std::vector<std::size_t>> numbers;  // of each job's options
        for (const Known& job : jobs_) {
            programme.push_back(choice_of(job, now, forecasts, numbers.emplace_back()));
        }
        const std::optional<Choices> choices = cheapest_choices(gpus_, programme);
        INVARIANT(choices);  // who must keep what it has had it before
        std::vector<std::optional<std::size_t>> chosen(jobs_.size());
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (choices->chosen[i]) chosen[i] = numbers[i][*choices->chosen[i]];
        }
        return chosen;
    }

    JobChoice choice_of(const Known& job, Instant now, const JobForecasts& forecasts,
                        std::vector<std::size_t>& numbers) const {
        constexpr std::int64_t hundredths_of_none = 110;
        JobChoice choice;
        if (job.configuration && forecasts.starting(job.request.id)) {
            const Configuration& kept = configurations_[*job.configuration];
            choice.options.push_back({kept.group, kept.gpus, 0});
            numbers.push_back(*job.configuration);
            return choice;
        }
        choice.cost_of_none = hundredths_of_none;
        std::vector<double> paces;
        double least = 0;
        for (std::size_t i = 0; i < configurations_.size(); ++i) {
            const Configuration& one = configurations_[i];
            if (one.gpus > std::max(1, 2 * job.gpus_most)) continue;
            const double pace = forecasts.pace(job.request.id, static_cast<std::int32_t>(one.group),
                                               one.gpus, one.machines);
            if (pace <= 0) continue;
            paces.push_back(pace);
            numbers.push_back(i);
            if (least == 0 || pace < least) least = pace;
        }
        for (std::size_t k = 0; k < numbers.size(); ++k) {
            const Configuration& one = configurations_[numbers[k]];
            const bool stays = job.configuration == numbers[k];
            const double value = paces[k] / least * (stays ? 1.0 : left_by_restart(job, now));
            constexpr double value_least = 1e-6;
            const double weight = 100 / std::sqrt(std::max(value_least, value));
            choice.options.push_back({one.group, one.gpus, round_nearest(weight)});
        }
        return choice;
    }

    static double left_by_restart(const Known& job, Instant now) {
        const double age = to_seconds(now - job.request.arrival);
        const double restart = to_seconds(job.request.restart);
        if (age <= restart) return 1;
        const auto restarts = static_cast<double>(std::max<std::int64_t>(0, job.starts - 1));
        return std::max(0.0, age - restarts * restart) / std::max(1e-9, age + restart);
    }

    // Group by group, those with most GPUs first.
    void place(Allocation& allocation) const {
        std::int32_t first = 0;
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            RoundOfMachines machines(groups_[group], first);
            first += groups_[group].machines;
            std::vector<const Known*> here;
            for (const Known& job : jobs_) {
                if (job.configuration && configurations_[*job.configuration].group == group) {
                    here.push_back(&job);
                }
            }
            const auto gpus = [&](const Known* job) {
                return configurations_[*job->configuration].gpus;
            };
            std::ranges::stable_sort(here, std::greater<>{}, gpus);
            for (const Known* const job : here) {
                allocation.shares.push_back(
                    {job->request.id, gpus(job), 1, static_cast<std::int32_t>(group)});
                allocation.places.push_back(machines.take(gpus(job)));
            }
        }
    }

    Duration round_;
    RecordedSolutions recorded_;
    std::vector<MachineGroup> groups_;
    std::vector<std::int32_t> gpus_;  // by group
    std::vector<Configuration> configurations_;
    std::vector<Known> jobs_;
};

}  // namespace

std::unique_ptr<Scheduler> make_sia(ConfigReader& parameters) {
    const Duration round = parameters.duration("round", minutes(1));
    if (round <= Duration{}) parameters.fail("round", "expected more than zero");
    return std::make_unique<Sia>(round, RecordedSolutions::in(parameters, "solutions"));
}

}  // namespace ukemi::schedulers
