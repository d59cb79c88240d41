// gavel.cpp — shares of time on each type of GPU by a linear programme, then rounds in which the
// jobs that are furthest behind their shares run (Gavel: Narayanan et al., OSDI'20).
//
// The programme chooses x(job, type) ≥ 0, at most 1 a job, GPUs × x at most those of the type. The
// objectives: `max_sum` of the jobs' throughputs; `max_min` of throughput over that of an equal
// part of all types, times GPUs, over the job's priority; `makespan`, all done as early as can be;
// `finish_time`, the largest (age + time left) / (time on an equal part of the cluster) as small as
// can be (Themis' measure); `cost`, work for its price: as much as can be for each dollar, a job's
// work counted at what it costs where it is cheapest, and deadlines met before all else. That is
// linear-fractional: solved by linear programmes in which a dollar weighs what the last one made of
// it (Dinkelbach, Management Science 1967), until that stays. Where a least is maximised,
// throughput beyond it counts a thousandth.
//
// Rounds, as the simulator that came with Sia has them: a job's priority on a type is x over the
// part that it had of all time given on that type; a new job starts with half a round on each. By
// priority, then x, each job takes the first type on which it fits, also at priority 0 (under
// `cost` not: idle machines cost nothing if they are paid for in use). Then GPUs,
// those of the widest jobs first: who keeps its type keeps its GPUs if all are free, then the
// others take the first free ones. `solutions` takes a recorded solver's x instead of solving.
#include <algorithm>
#include <limits>
#include <memory>

#include "base/invariant.hpp"
#include "schedulers/linear_programme.hpp"
#include "schedulers/recorded_solutions.hpp"
#include "schedulers/registry.hpp"

namespace ukemi::schedulers {

namespace {

enum class GavelGoal : std::uint8_t { max_sum, max_min, finish_time, makespan, cost };

struct GavelJob {
    JobRequest request;
    std::vector<double> paces;       // by type
    double work = 0;                 // at its arrival
    std::vector<double> x;           // by type
    std::vector<double> received_s;  // by type
    std::optional<std::size_t> type;
    std::vector<std::int32_t> gpus;  // numbers within the type
};

double left_of(const GavelJob& job, const JobForecasts& forecasts) {
    return forecasts.pace_left(job.request.id);
}

// x by job and type; `jobs` have their paces.
class GavelProgramme {
public:
    GavelProgramme(const std::vector<GavelJob>& jobs, const ClusterFacts& cluster)
        : jobs_(jobs), groups_(cluster.groups), cluster_(cluster), gpus_(cluster.gpus) {}

    std::vector<double> max_sum() const {
        LinearProgramme programme = shares(0);
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                programme.maximise(variable(job, type), jobs_[job].paces[type]);
            }
        }
        return solve(programme);
    }
    // The least throughput over `needs` is as large as can be; the last value is that least.
    std::vector<double> max_least(const std::vector<double>& needs) const {
        const std::size_t least = jobs_.size() * groups_.size();
        if (std::ranges::none_of(jobs_, [&](const GavelJob& job) { return can_run(job); })) {
            std::vector<double> nothing(least + 1, 0);
            nothing.back() = std::numeric_limits<double>::infinity();  // of nobody
            return nothing;
        }
        LinearProgramme programme = shares(1);
        programme.maximise(least, 1);
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            if (!can_run(jobs_[job])) continue;  // for lack of machines
            std::vector<std::pair<std::size_t, double>> row = {{least, 1}};
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                const double part = jobs_[job].paces[type] / needs[job];
                row.emplace_back(variable(job, type), -part);
                const double beyond = 1e-3 / static_cast<double>(jobs_.size());
                programme.maximise(variable(job, type), beyond * part);
            }
            programme.at_most(std::move(row), 0);
        }
        return solve(programme);
    }
    // The most work for its price. `paces_for`: what jobs need to be in time, or 0.
    std::vector<double> cheapest(const std::vector<double>& paces_for) const {
        double worth_of_dollar = 0;
        std::vector<double> x;
        for (int i = 0; i < 50; ++i) {
            x = worth_less_cost(paces_for, worth_of_dollar);
            double worth = 0;
            double cost = 0;
            for (std::size_t job = 0; job < jobs_.size(); ++job) {
                for (std::size_t type = 0; type < groups_.size(); ++type) {
                    worth += x[variable(job, type)] * worth_of(job, type);
                    cost += x[variable(job, type)] * usd_per_h(job, type);
                }
            }
            constexpr double same = 1 - 1e-9;
            if (cost <= 0 || worth / cost <= worth_of_dollar / same) break;
            worth_of_dollar = worth / cost * same;  // below it: what is worth it is still done
        }
        return x;
    }
    // Of a job that has as much time on each type as that type has of all GPUs.
    double equal_pace(const GavelJob& job) const {
        double sum = 0;
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            sum += job.paces[type] * cluster_.gpus_of(type) / gpus_;
        }
        return sum;
    }
    double gpus() const { return gpus_; }

private:
    bool can_run(const GavelJob& job) const {
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            if (job.paces[type] > 0 && cluster_.gpus_of(type) >= job.request.gpus) return true;
        }
        return false;
    }
    std::size_t variable(std::size_t job, std::size_t type) const {
        return job * groups_.size() + type;
    }
    // All GPUs of a job's, an hour.
    double usd_per_h(std::size_t job, std::size_t type) const {
        return to_dollars_per_hour(cluster_.states[type].price) * jobs_[job].request.gpus /
               groups_[type].gpus_per_machine;
    }
    // Of the work of an hour, where it is cheapest.
    double worth_of(std::size_t job, std::size_t type) const {
        double most = 0;  // work for a dollar
        for (std::size_t other = 0; other < groups_.size(); ++other) {
            most = std::max(most, jobs_[job].paces[other] / usd_per_h(job, other));
        }
        return jobs_[job].paces[type] / most;
    }
    std::vector<double> worth_less_cost(const std::vector<double>& paces_for,
                                        double worth_of_dollar) const {
        LinearProgramme programme = shares(jobs_.size());
        double all = 0;
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                const double cost = usd_per_h(job, type);
                all += cost;
                programme.maximise(variable(job, type),
                                   worth_of(job, type) - worth_of_dollar * cost);
            }
        }
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            if (paces_for[job] <= 0) continue;
            const std::size_t met = jobs_.size() * groups_.size() + job;  // at most 1
            programme.maximise(met, 100 * all);
            programme.at_most({{met, 1}}, 1);
            std::vector<std::pair<std::size_t, double>> row = {{met, 1}};
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                row.emplace_back(variable(job, type), -jobs_[job].paces[type] / paces_for[job]);
            }
            programme.at_most(std::move(row), 0);
        }
        return solve(programme);
    }
    LinearProgramme shares(std::size_t more_variables) const {
        LinearProgramme programme(jobs_.size() * groups_.size() + more_variables);
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            std::vector<std::pair<std::size_t, double>> row;
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                row.emplace_back(variable(job, type), 1);
            }
            programme.at_most(std::move(row), 1);
        }
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            std::vector<std::pair<std::size_t, double>> row;
            for (std::size_t job = 0; job < jobs_.size(); ++job) {
                row.emplace_back(variable(job, type), jobs_[job].request.gpus);
            }
            programme.at_most(std::move(row), cluster_.gpus_of(type));
        }
        return programme;
    }
    static std::vector<double> solve(const LinearProgramme& programme) {
        auto x = programme.solve();
        INVARIANT(x);  // shares are bounded
        return std::move(*x);
    }

    const std::vector<GavelJob>& jobs_;
    const std::vector<MachineGroup>& groups_;
    const ClusterFacts& cluster_;
    double gpus_ = 0;
};

class Gavel final : public Scheduler {
public:
    Gavel(std::string_view name, GavelGoal goal, Duration round, RecordedSolutions recorded)
        : name_(name), goal_(goal), round_(round), recorded_(std::move(recorded)) {}
    std::string_view name() const override { return name_; }
    Duration round() const override { return round_; }

    void begin(const ClusterFacts& cluster) override {
        groups_ = cluster.groups;
        cluster_ = cluster;
        total_s_.assign(groups_.size(), 0);
    }
    void cluster_changed(const ClusterFacts& cluster) override { cluster_ = cluster; }
    void completed(JobId job) override {
        std::erase_if(jobs_, [&](const GavelJob& one) { return one.request.id == job; });
    }
    void arrived(const JobRequest& request) override {
        const double half_s = to_seconds(round_) / 2;
        GavelJob& job = jobs_.emplace_back();
        job.request = request;
        job.received_s.assign(groups_.size(), half_s);
        for (double& total : total_s_) total += half_s;
    }

    void decide(Instant now, const JobForecasts& forecasts, Allocation& allocation) override {
        recorded_.empty() ? solve(now, forecasts) : take_recorded(now);
        std::vector<std::vector<GavelJob*>> chosen = choose();
        std::int32_t first = 0;
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            place(type, first, chosen[type], allocation);
            first += groups_[type].machines;
        }
        for (GavelJob& job : jobs_) {
            if (!job.type) continue;
            job.received_s[*job.type] += to_seconds(round_);
            total_s_[*job.type] += to_seconds(round_);
        }
    }

private:
    void take_recorded(Instant now) {
        for (GavelJob& job : jobs_) {
            const auto x = recorded_.at(now, job.request.name);
            job.x.assign(x.begin(), x.end());
            job.x.resize(groups_.size(), 0);
        }
    }
    void solve(Instant now, const JobForecasts& forecasts) {
        for (GavelJob& job : jobs_) {
            if (!job.paces.empty()) continue;
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                const bool fits = job.request.gpus <= groups_[type].gpus();
                job.paces.push_back(fits ? forecasts.pace(job.request.id,
                                                          static_cast<std::int32_t>(type),
                                                          job.request.gpus, 0)
                                         : 0);
            }
            job.work = left_of(job, forecasts);
        }
        const GavelProgramme programme(jobs_, cluster_);
        const std::vector<double> x = solved(programme, now, forecasts);
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            jobs_[i].x.clear();
            for (std::size_t type = 0; type < groups_.size(); ++type) {
                constexpr double decimals = 1e5;  // to which solvers of linear programmes agree
                const double share = x[i * groups_.size() + type];
                jobs_[i].x.push_back(static_cast<double>(round_nearest(share * decimals)) /
                                     decimals);
            }
        }
    }
    std::vector<double> solved(const GavelProgramme& programme, Instant now,
                               const JobForecasts& forecasts) const {
        if (cluster_.gpus == 0) return std::vector<double>(jobs_.size() * groups_.size(), 0);
        if (goal_ == GavelGoal::max_sum) return programme.max_sum();
        if (goal_ == GavelGoal::cost) return programme.cheapest(paces_in_time(now, forecasts));
        std::vector<double> needs;
        for (const GavelJob& job : jobs_) {
            const auto weight = static_cast<double>(job.request.priority);
            needs.push_back(
                goal_ == GavelGoal::max_min
                    ? std::max(1e-12, weight * programme.equal_pace(job) / job.request.gpus)
                    : std::max(1e-9, left_of(job, forecasts)));
        }
        if (goal_ != GavelGoal::finish_time) return programme.max_least(needs);
        return least_finish_time(programme, now, forecasts);
    }
    // 0 where there is no deadline, or it has passed. A start and a round may be lost.
    std::vector<double> paces_in_time(Instant now, const JobForecasts& forecasts) const {
        std::vector<double> paces;
        for (const GavelJob& job : jobs_) {
            const bool has_one = job.request.deadline < Instant::never();
            const double left_s =
                has_one ? to_seconds(job.request.deadline - now - job.request.restart - round_) : 0;
            paces.push_back(left_s > 0 ? left_of(job, forecasts) / left_s : 0);
        }
        return paces;
    }
    // The smallest ratio for which all can be in time, by halving.
    std::vector<double> least_finish_time(const GavelProgramme& programme, Instant now,
                                          const JobForecasts& forecasts) const {
        const auto paces_for = [&](double ratio) {
            std::vector<double> needs;
            for (const GavelJob& job : jobs_) {
                const double part = job.request.gpus * static_cast<double>(jobs_.size());
                const double fair_s = job.work / std::max(1e-12, programme.equal_pace(job)) *
                                      std::max(1.0, part / programme.gpus());
                const double age_s = to_seconds(now - job.request.arrival);
                const double left_s = std::max(1e-6, ratio * fair_s - age_s);
                needs.push_back(std::max(1e-12, left_of(job, forecasts) / left_s));
            }
            return needs;
        };
        double low = 0;
        double high = 1;
        std::vector<double> x = programme.max_least(paces_for(high));
        for (int i = 0; i < 60 && x.back() < 1; ++i) {
            low = high;
            high *= 2;
            x = programme.max_least(paces_for(high));
        }
        for (int i = 0; i < 20; ++i) {
            const double middle = (low + high) / 2;
            std::vector<double> other = programme.max_least(paces_for(middle));
            const bool in_time = other.back() >= 1;
            (in_time ? high : low) = middle;
            if (in_time) x = std::move(other);
        }
        return x;
    }

    std::vector<std::vector<GavelJob*>> choose() {
        struct Wish {
            double priority = 0;
            double x = 0;
            GavelJob* job = nullptr;
            std::size_t type = 0;
        };
        std::vector<Wish> wishes;
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            for (GavelJob& job : jobs_) {
                if (!job.paces.empty() && job.paces[type] == 0) continue;  // cannot run there
                const double x = job.x[type];
                if (goal_ == GavelGoal::cost && x == 0) continue;
                const double had = job.received_s[type] / total_s_[type];
                wishes.push_back({x == 0 ? 0 : x / had, x, &job, type});
            }
        }
        std::ranges::stable_sort(wishes, [](const Wish& a, const Wish& b) {
            return a.priority != b.priority ? a.priority > b.priority : a.x > b.x;
        });
        std::vector<std::int32_t> free;
        for (std::size_t type = 0; type < groups_.size(); ++type) {
            free.push_back(cluster_.gpus_of(type));
        }
        std::vector<std::vector<GavelJob*>> chosen(groups_.size());
        std::vector<bool> has(jobs_.size());
        for (const Wish& wish : wishes) {
            const auto at = static_cast<std::size_t>(wish.job - jobs_.data());
            if (has[at] || wish.job->request.gpus > free[wish.type]) continue;
            has[at] = true;
            free[wish.type] -= wish.job->request.gpus;
            chosen[wish.type].push_back(wish.job);
        }
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (!has[i]) jobs_[i].type.reset();
        }
        return chosen;
    }

    void place(std::size_t type, std::int32_t first_machine, std::vector<GavelJob*>& chosen,
               Allocation& allocation) const {
        std::vector<bool> taken(static_cast<std::size_t>(groups_[type].gpus()));
        for (std::size_t gpu = 0; gpu < taken.size(); ++gpu) {
            const auto machine =
                first_machine + static_cast<std::int32_t>(gpu) / groups_[type].gpus_per_machine;
            taken[gpu] = cluster_.is_away(machine);
        }
        std::ranges::stable_sort(chosen, std::greater<>{},
                                 [](const GavelJob* job) { return job->request.gpus; });
        const auto is_taken = [&](std::int32_t gpu) {
            return taken[static_cast<std::size_t>(gpu)];
        };
        const auto take = [&](GavelJob& job) {
            for (const std::int32_t gpu : job.gpus) taken[static_cast<std::size_t>(gpu)] = true;
        };
        for (std::size_t from = 0; from < chosen.size();) {
            std::size_t to = from;
            while (to < chosen.size() && chosen[to]->request.gpus == chosen[from]->request.gpus) {
                GavelJob& job = *chosen[to++];
                const bool keeps = job.type == type && std::ranges::none_of(job.gpus, is_taken);
                job.type = type;
                keeps ? take(job) : job.gpus.clear();
            }
            for (; from < to; ++from) {
                GavelJob& job = *chosen[from];
                if (!job.gpus.empty()) continue;
                for (std::int32_t gpu = 0; std::ssize(job.gpus) < job.request.gpus; ++gpu) {
                    if (!is_taken(gpu)) job.gpus.push_back(gpu);
                }
                take(job);
            }
        }
        for (const GavelJob* const job : chosen) {
            allocation.shares.push_back(
                {job->request.id, job->request.gpus, 1, static_cast<std::int32_t>(type)});
            std::vector<GpusOnMachine>& machines = allocation.places.emplace_back();
            for (const std::int32_t gpu : job->gpus) {
                const std::int32_t machine = first_machine + gpu / groups_[type].gpus_per_machine;
                if (machines.empty() || machines.back().machine != machine) {
                    machines.push_back({machine, 0});
                }
                ++machines.back().gpus;
            }
        }
    }

    std::string_view name_;
    GavelGoal goal_;
    Duration round_;
    RecordedSolutions recorded_;
    std::vector<MachineGroup> groups_;
    ClusterFacts cluster_;
    std::vector<double> total_s_;  // that was ever given, by type
    std::vector<GavelJob> jobs_;
};

std::unique_ptr<Scheduler> gavel_for(std::string_view name, GavelGoal goal,
                                     ConfigReader& parameters) {
    const Duration round = parameters.duration("round", minutes(6));
    if (round <= Duration{}) parameters.fail("round", "expected more than zero");
    return std::make_unique<Gavel>(name, goal, round,
                                   RecordedSolutions::in(parameters, "solutions"));
}

}  // namespace

std::unique_ptr<Scheduler> make_gavel_max_sum(ConfigReader& parameters) {
    return gavel_for("gavel_max_sum", GavelGoal::max_sum, parameters);
}
std::unique_ptr<Scheduler> make_gavel_max_min(ConfigReader& parameters) {
    return gavel_for("gavel_max_min", GavelGoal::max_min, parameters);
}
std::unique_ptr<Scheduler> make_gavel_finish_time(ConfigReader& parameters) {
    return gavel_for("gavel_finish_time", GavelGoal::finish_time, parameters);
}
std::unique_ptr<Scheduler> make_gavel_makespan(ConfigReader& parameters) {
    return gavel_for("gavel_makespan", GavelGoal::makespan, parameters);
}

std::unique_ptr<Scheduler> make_gavel_cost(ConfigReader& parameters) {
    return gavel_for("gavel_cost", GavelGoal::cost, parameters);
}

}  // namespace ukemi::schedulers
