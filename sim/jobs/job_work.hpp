// job_work.hpp — how one of the jobs that share a cluster gets on with the GPUs that it has.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/quantity.hpp"
#include "records/ledger.hpp"
#include "schedulers/scheduler.hpp"
#include "sim/job/transition_costs.hpp"
#include "sim/jobs/group_market.hpp"
#include "traces/application_tables.hpp"

namespace ukemi::sim {

using schedulers::GpusOnMachine;
using schedulers::MachineGroup;

class BatchLadder;
struct ControlledJob;  // controlled_work.hpp

struct SharedCluster {
    std::vector<MachineGroup> groups = {{}};
    std::vector<GroupMarket> markets;  // by group; empty: all machines are there, and cost nothing
    std::uint64_t seed = 0;            // of what markets draw

    SharedCluster() = default;
    SharedCluster(std::int32_t machines, std::int32_t gpus_per_machine)
        : groups({{"", machines, gpus_per_machine}}) {}
    std::int32_t machines() const;
    std::int32_t gpus() const;
    std::int32_t first_machine(std::int32_t group) const;  // its number
};

// What a job has between two decisions: none, whole GPUs on machines, or parts of some.
struct HeldShare {
    schedulers::GpuShare share;
    std::vector<GpusOnMachine> machines;  // empty for parts
};

// Saves of a job's state, from which it goes on after a loss. What a start, a stop or a move that
// was decided takes is in its restart, and loses nothing.
struct SaveRule {
    Duration every;      // of computing; zero: never but when it is told of a loss
    Duration takes;      // it computes nothing meanwhile
    Duration restore{};  // of a start from a save, where transitions are told apart by phase

    friend bool operator==(const SaveRule&, const SaveRule&) = default;
};

// What a step takes depends on who else sends over the same links (shared_links.hpp).
struct LinkedStep {
    std::size_t kind = 0;
    Duration alone;  // of a step on the GPUs that it asks for, packed, nobody else there

    friend bool operator==(const LinkedStep&, const LinkedStep&) = default;
};

// What a measured application's job goes by when it says how fast it would be elsewhere, and when
// it chooses its batch: its tables, or a model fitted to the steps that it has made (step_fit.hpp)
// with the gradients that it saw last.
enum class JobPredictor : std::uint8_t { known, fitted };

// A job of a workload. Its service time is known, or its application and its batch, or it is
// adapted by a Controller of its own.
struct SharingJob {
    std::string name;
    Instant arrival;
    std::int32_t gpus = 1;
    Duration restart;  // of each start with other GPUs than before: it holds them and stands still
    // What that takes phase by phase, instead: share_change.hpp. `restart` is then what a start of
    // all is expected to take.
    std::shared_ptr<const TransitionCosts> transition;
    Instant deadline = Instant::never();
    // At speed 1. By number of GPUs, in millionths: speeds[0] is 0. Empty: speed 1 on `gpus`, and
    // less in proportion.
    Duration service;
    std::vector<std::int64_t> speeds;
    std::vector<std::int64_t> speed_of_group;  // by group of machines, in millionths; empty: 1
    const traces::Application* application = nullptr;
    std::int64_t batch = 0;
    JobPredictor predictor = JobPredictor::known;
    std::span<const traces::RecordedBatch> recorded_batches;  // that it had; empty: it chooses
    SaveRule saves;
    std::optional<LinkedStep> step;  // nothing: links never hold it up
    // What a JobWorld trains for it, by number, and with how many samples; 0: nobody can run it.
    std::size_t trains = 0;
    std::int64_t samples = 0;
    std::shared_ptr<const ControlledJob> controlled;  // in place of a service time
    std::string user;                                 // whose it is; "": nobody says
    std::int64_t priority = 1;                        // from 1: schedulers::JobRequest
    // It is stopped for good when its part of the bill comes to so much.
    std::optional<Dollars> budget;
};

// GPUs × ns: more than 292 years.
using GpuTimes = std::array<Int128, records::cause_count>;
using PhaseGpuTimes = std::array<Int128, policies::transition_phase_count>;
// By cause, and of what transitions took by phase: all of a flat restart is `none`; draining is a
// checkpoint by cause, all others are transition.
struct SpentTimes {
    GpuTimes by_cause{};
    PhaseGpuTimes by_phase{};
};

// Time goes forward from call to call.
class JobWork {
public:
    virtual ~JobWork() = default;
    // `starts`: on other GPUs than before, which takes a restart.
    virtual void hold(Instant now, const HeldShare& held, bool starts) = 0;
    // The instant, at most `now`, at which it was complete with what it has; else never.
    virtual Instant advance(Instant now) = 0;
    // At which it will be complete with what it has; never if it holds nothing. Only of jobs whose
    // service time is known.
    virtual Instant completion() const = 0;
    // From now on as much slower than alone as its step takes longer.
    virtual void step_takes(Instant now, Duration step, Duration alone) = 0;
    // Its machines are taken. It goes on from its last save; told in time, it saved last of all.
    virtual void lose(Instant now, bool told) = 0;
    // It is over, as `advance` says, and its work is not done: it never will be.
    virtual bool failed() const { return false; }
    // Since it holds what it holds, parts of GPUs × ns (HeldShare); after the last call of the
    // others or later. Null: it says so at its end.
    virtual const SpentTimes* spent(Instant now) = 0;

    // As in JobForecasts; work in 2^-20 ns at speed 1.
    virtual Duration remaining(Instant now) const = 0;
    virtual Int128 work_left(Instant now) const = 0;
    virtual Int128 work_in(std::int32_t gpus, Duration time) const = 0;
    virtual std::int32_t gpus_max() const = 0;
    virtual double step_s(std::int32_t gpus) const = 0;
    virtual double steps_left(Instant now) const = 0;
    virtual double pace(std::int32_t group, std::int32_t gpus, std::int32_t machines) const = 0;
    virtual double pace_left(Instant now) const = 0;
    virtual bool starting(Instant now) const = 0;
    // Whether it computes, and so sends, and until when it does or does not if nothing happens.
    struct Turn {
        bool computes = true;
        Instant until = Instant::never();
    };
    virtual Turn turn(Instant) const { return {}; }
    // How far it has come, in a unit of its own; less after a loss. Only of work that is computed.
    virtual double reached(Instant) const { return 0; }
};

// By its service time: exact to 2^-20 ns of work a decision, and complete at the next nanosecond.
std::unique_ptr<JobWork> make_service_work(const SharingJob& job);

// By its application's tables, in whole seconds and epochs as the simulator that came with Pollux
// (Qiao et al., OSDI'21) counts them. Forecasts pack GPUs on as few machines as can be.
// With a ladder it chooses its batch anew with every share and epoch, the one with the largest
// goodput; else it keeps its batch.
std::unique_ptr<JobWork> make_epoch_work(const SharingJob& job, const SharedCluster& cluster,
                                         BatchLadder* ladder);

}  // namespace ukemi::sim
