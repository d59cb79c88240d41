// shared_machines.hpp — which machines of a shared cluster are there, which are about to be taken,
// and what they cost.
//
// Machines are numbered as in SharedCluster. When a market carries fewer than there are, the excess
// is announced, drawn from the stream "cluster/GROUP/victims" among those that are there, and gone
// `notice` later. When it carries more, those with the lowest numbers come. What a market cannot
// fill for lack of machines in its group is left.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

class SharedMachines {
public:
    explicit SharedMachines(const SharedCluster& cluster);

    // What happens next at all: never() if nothing will.
    Instant next_change() const;
    struct Changes {
        std::vector<std::int32_t> announced;
        std::vector<std::int32_t> lost;
        std::vector<std::int32_t> come;
        bool prices = false;
    };
    Changes take(Instant now);  // all of this instant

    // To stay, as far as anybody knows.
    bool stays(std::int32_t machine) const { return at(machine).state == State::there; }
    bool is_gone(std::int32_t machine) const { return at(machine).state == State::gone; }
    std::vector<schedulers::MachinesNow> states(Instant now) const;  // by group
    std::int64_t losses() const { return losses_; }

private:
    enum class State : std::uint8_t { there, announced, gone };
    struct Machine {
        State state = State::there;
        std::size_t group = 0;
        Instant lost_at = Instant::never();
    };
    struct Group {
        std::int32_t first = 0;
        std::int32_t machines = 0;
        Duration notice;
        std::optional<CapacityCursor> carried;
        PriceMeter price;
        Instant price_changes;
        RandomStream victims;
    };
    const Machine& at(std::int32_t machine) const {
        return machines_[static_cast<std::size_t>(machine)];
    }
    std::int32_t count_there(const Group& group) const;
    void announce(const Group& group, std::int32_t machine, Instant now, Changes& changes);
    void match(Group& group, Instant now, Changes& changes);
    void lose_due(Instant now, Changes& changes);

    std::vector<Group> groups_;
    std::vector<Machine> machines_;
    std::int64_t losses_ = 0;
};

// What each machine cost from when it opened to when it closed, and who pays what part of it. A
// bill is rounded once, to the nano-dollar. Its parts, by GPUs × time × the price of the moment,
// are rounded so that they add up to it; what no job had is nobody's.
class MachineBills {
public:
    MachineBills(const SharedCluster& cluster, std::size_t jobs);

    bool costs_something() const { return costs_something_; }
    void open(std::int32_t machine, Instant now);
    // A job had GPUs of a machine, which is open.
    void use(std::size_t job, const GpusOnMachine& gpus, Instant begin, Instant end);
    void close(std::int32_t machine, Instant now);
    // What GPUs of a machine cost in that time, and an hour from then on; rounded up.
    Dollars cost_of(const GpusOnMachine& gpus, Instant begin, Instant end) const;
    Dollars cost_an_hour(const GpusOnMachine& gpus, Instant at) const;
    bool is_open(std::int32_t machine) const {
        return leases_[static_cast<std::size_t>(machine)].is_open;
    }
    void expect_jobs(std::size_t jobs) { by_job_.resize(costs_something_ ? jobs : 0); }
    bool in_use_only(std::int32_t machine) const {
        return in_use_only_[leases_[static_cast<std::size_t>(machine)].group];
    }

    Dollars fleet() const { return fleet_; }    // all that was closed
    Dollars unused() const { return unused_; }  // of it
    Duration machine_time() const { return machine_time_; }
    Dollars of_job(std::size_t job) const { return by_job_[job]; }  // where it costs something

private:
    struct Lease {
        bool is_open = false;
        std::size_t group = 0;
        Instant opened;
        std::map<std::size_t, Charge> uses;  // by job: of all its GPUs, as if each were a machine
    };
    std::vector<PriceMeter> meters_;  // by group
    std::vector<std::int32_t> gpus_of_;
    std::vector<bool> in_use_only_;
    std::vector<Lease> leases_;
    bool costs_something_ = false;
    Dollars fleet_;
    Dollars unused_;
    Duration machine_time_;
    std::vector<Dollars> by_job_;
};

}  // namespace ukemi::sim
