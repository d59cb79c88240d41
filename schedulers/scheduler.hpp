// scheduler.hpp — who shares a cluster among jobs: jobs and GPUs in, shares of GPUs out.
//
// A Scheduler is told which jobs come and end. At a decision it says who has how many GPUs until
// the next one; what it does not name has none. It reads no clock, draws from named streams of its
// own seed only, and keeps no pointer to what it was shown. What it knows of a job's future comes
// from the job's own forecasts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::schedulers {

enum class JobId : std::uint32_t {};  // the number in the workload, which is the last tie-break

constexpr std::size_t number_of(JobId id) { return static_cast<std::size_t>(id); }

// What a job says when it comes.
struct JobRequest {
    JobId id{};
    std::string_view name;  // of the workload, which outlives the scheduler's use of it
    Instant arrival;
    std::int32_t gpus = 1;  // asked for
    Duration service;       // on these GPUs; zero where nobody knows
    Instant deadline = Instant::never();
    Duration restart;  // of each start with other GPUs than before
    // How much more it weighs than a job of priority 1, for schedulers that weigh jobs
    // (SchedulerEntry::weighs_priorities).
    std::int64_t priority = 1;
    // It is stopped when its part of the bill comes to so much, whatever the scheduler says.
    std::optional<double> budget_usd = std::nullopt;
};

// Machines that are alike. Those of a cluster are numbered from 0, group after group.
struct MachineGroup {
    std::string gpu_type;  // "" where there is one only
    std::int32_t machines = 1;
    std::int32_t gpus_per_machine = 1;
    std::int32_t gpus() const { return machines * gpus_per_machine; }
};

// Of a group: how many of its machines are there to stay, as far as anybody knows, and what one
// costs now (zero: nothing is known of it).
struct MachinesNow {
    std::int32_t machines = 0;
    Price price;
    bool may_be_taken = false;  // of a spot market
};

struct ClusterFacts {
    std::int32_t gpus = 0;  // that are there to stay
    std::size_t jobs = 0;   // of the whole workload
    std::vector<MachineGroup> groups;
    std::vector<MachinesNow> states;  // by group
    std::vector<bool> away;           // by machine: not there, or not to stay; empty: all stay
    std::int32_t gpus_of(std::size_t group) const {
        return states[group].machines * groups[group].gpus_per_machine;
    }
    bool is_away(std::int32_t machine) const {
        return !away.empty() && away[static_cast<std::size_t>(machine)];
    }
};

// parts / of GPUs of one group. Only schedulers that divide GPUs (SchedulerEntry::divides) have
// `of` above 1, only those that know types (SchedulerEntry::knows_types) groups above 0.
struct GpuShare {
    JobId job{};
    std::int64_t parts = 0;
    std::int64_t of = 1;
    std::int32_t group = 0;

    friend bool operator==(const GpuShare&, const GpuShare&) = default;
};

struct GpusOnMachine {
    std::int32_t machine = 0;
    std::int32_t gpus = 0;

    friend bool operator==(const GpusOnMachine&, const GpusOnMachine&) = default;
};

struct Allocation {
    // A job whose share is what it was keeps its GPUs; the others are placed in this order.
    std::vector<GpuShare> shares;
    // Of a scheduler that chooses machines itself: those of each share, in the same order. A job
    // that gets as many GPUs of its type on as many machines as before then moves without a
    // restart, as the simulators of Gavel and Sia count.
    std::vector<std::vector<GpusOnMachine>> places;
    std::vector<JobId> refused;  // never to run
    // To be asked then, even if nothing happens before. Without rounds only.
    Instant ask_again = Instant::never();
};

// What each live job expects of itself, at the moment of the decision. Work is in units of the
// job's own; `work_in` and `work_left` are exact.
class JobForecasts {
public:
    virtual ~JobForecasts() = default;
    // Of jobs whose service time is known:
    virtual Duration remaining(JobId job) const = 0;  // on the GPUs that it asked for
    virtual Int128 work_left(JobId job) const = 0;
    virtual Int128 work_in(JobId job, std::int32_t gpus, Duration time) const = 0;
    // Of all:
    virtual std::int32_t gpus_max(JobId job) const = 0;  // that it can use
    virtual double step_s(JobId job, std::int32_t gpus) const = 0;
    virtual double steps_left(JobId job) const = 0;
    // Work a second on so many GPUs of a group, on so many of its machines; 0: it cannot run so.
    virtual double pace(JobId job, std::int32_t group, std::int32_t gpus,
                        std::int32_t machines) const = 0;
    virtual double pace_left(JobId job) const = 0;  // work left, in the unit of `pace`
    // Whether a start is still under way, so that a change would be paid for twice.
    virtual bool starting(JobId job) const = 0;
};

class Scheduler {
public:
    virtual ~Scheduler() = default;
    virtual std::string_view name() const = 0;
    // Zero: asked whenever jobs come or end. Else at whole multiples of this time only; GPUs of a
    // job that ends in between are idle until then.
    virtual Duration round() const { return {}; }
    // Whether jobs choose their batches anew with every share, where they can.
    virtual bool tunes_batches() const { return false; }

    virtual void begin(const ClusterFacts& cluster) = 0;
    // Machines came or are about to be taken, or prices changed; before the decision. Only of those
    // that follow it (SchedulerEntry::follows_machines): what they gave may be more than there is.
    virtual void cluster_changed(const ClusterFacts&) {}
    // Of one instant: first who ended, then who came, each in the order of the workload.
    virtual void completed(JobId job) = 0;
    virtual void arrived(const JobRequest& request) = 0;
    virtual void decide(Instant now, const JobForecasts& jobs, Allocation& allocation) = 0;
};

}  // namespace ukemi::schedulers
