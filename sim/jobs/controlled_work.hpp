// controlled_work.hpp — a job that shares a cluster and is adapted by a Controller of its own: the
// same simulated job as on a market, whose market is what the Scheduler gives it.
//
// A GPU of the cluster is a machine to the job, in one place with as many as it was given. More or
// fewer: the place has so many from then on, and those that are no longer its own are recalled. A
// machine that is announced to be taken is its own until then, with a notice. Its policies are the
// same code as elsewhere and are asked the same questions; alone on a cluster that gives it all at
// once its event hash is that of a replay.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "records/decision_log.hpp"
#include "records/run_result.hpp"
#include "sim/job/job_spec.hpp"
#include "sim/jobs/job_work.hpp"
#include "sim/market/market.hpp"

namespace ukemi::policies {
class Policy;
}

namespace ukemi::sim {

class World;

struct ControlledJob {
    std::string policies;  // as results call the list
    JobSpec job;           // its times count from its arrival
    MarketData market;     // of one place; prices are the cluster's, where that has some
    std::uint64_t seed = 0;
    std::function<std::vector<std::unique_ptr<policies::Policy>>()> make_policies;
    std::function<std::unique_ptr<records::DecisionLog>()> make_log;
};

// What became of it within.
struct ControlledOutcome {
    std::string policies;
    records::RunResult result;  // its bill: of machines that it used, at prices that it was told
    std::string decisions;      // its log
};

class ControlledWork final : public JobWork {
public:
    // `price`: of one GPU, in the group where it is placed first; zero: as its own market has it.
    ControlledWork(const SharingJob& job, Instant now, Price price, bool keeps_log);
    ~ControlledWork() override;

    void hold(Instant now, const HeldShare& held, bool starts) override;
    // Its GPUs on a machine will be taken then; it has them until `gone`.
    void announced(Instant now, std::int32_t machine, Instant lost_at);
    void gone(std::int32_t machine);
    void price_is(Instant now, Price price);
    // All that happens to it at `now` or before. The first call begins it, with what it holds.
    void play(Instant now);
    Instant next_at();     // at which it wants to be played
    bool is_over() const;  // complete, or it gave up
    // Of a job that is complete; never() if it gave up.
    Instant ended_at() const { return ended_at_; }
    // Of all its time, in which it held so much in all; what it held and did not use is idle. Once.
    std::shared_ptr<const ControlledOutcome> end(Int128 held, SpentTimes& spent);

    Instant advance(Instant now) override;
    Instant completion() const override { return Instant::never(); }  // it is played
    void step_takes(Instant, Duration, Duration) override;
    void lose(Instant, bool) override;
    const SpentTimes* spent(Instant) override { return nullptr; }  // at its end

    Duration remaining(Instant now) const override;
    Int128 work_left(Instant now) const override;
    Int128 work_in(std::int32_t gpus, Duration time) const override;
    std::int32_t gpus_max() const override;
    double step_s(std::int32_t gpus) const override;
    double steps_left(Instant now) const override;
    double pace(std::int32_t group, std::int32_t gpus, std::int32_t machines) const override;
    double pace_left(Instant now) const override { return steps_left(now); }
    bool starting(Instant now) const override;

private:
    struct Slot {  // a GPU
        std::int32_t machine = 0;
        bool leaving = false;
        bool used = false;
        InstanceId by{};
    };
    Instant own(Instant now) const { return Instant::at(now - zero_); }
    std::int32_t wanted() const;  // GPUs, by its Plan
    void go_on_until(Instant now);
    void catch_up(Instant now);
    void see_machines();
    void give_up_slots(Instant now, std::int32_t machine, std::int32_t more);
    std::int32_t places() const;
    void tell_places(Instant now);
    Duration time_on(std::int32_t gpus) const;       // of what is left
    std::int64_t speed_on(std::int32_t gpus) const;  // in millionths, of that on what it asks for

    std::shared_ptr<const ControlledJob> about_;
    std::int32_t gpus_;
    Instant zero_;  // of its clock
    JobSpec job_;
    std::int32_t useful_;  // GPUs, as far as its Plans have shown
    MarketData market_;
    Price price_;
    std::unique_ptr<records::DecisionLog> log_;
    std::unique_ptr<World> world_;
    bool begun_ = false;
    Instant played_;
    Instant ended_at_ = Instant::never();
    std::optional<records::RunResult> result_;
    std::vector<Slot> slots_;
    std::int32_t places_told_ = 0;
};

}  // namespace ukemi::sim
