#include "runtime/measured_world.hpp"

#include "base/invariant.hpp"

namespace ukemi::runtime {

namespace {

class MeasuredWork final : public sim::JobWork {
public:
    MeasuredWork(const sim::SharingJob& asked, const sim::SharingJob& measured)
        : real_(sim::make_service_work(measured)),
          told_(sim::make_service_work(asked)),
          whole_(real_->work_left({})) {}

    void hold(Instant now, const sim::HeldShare& held, bool starts) override {
        real_->hold(now, held, starts);
    }
    Instant advance(Instant now) override { return real_->advance(now); }
    Instant completion() const override { return real_->completion(); }
    void step_takes(Instant, Duration, Duration) override { INVARIANT(false); }
    void lose(Instant, bool) override { INVARIANT(false); }
    const sim::SpentTimes* spent(Instant now) override { return real_->spent(now); }
    bool starting(Instant now) const override { return real_->starting(now); }

    Duration remaining(Instant now) const override {
        return seconds(to_seconds(told_->remaining(now)) * share_left(now));
    }
    Int128 work_left(Instant now) const override {
        return static_cast<Int128>(static_cast<double>(told_->work_left(now)) * share_left(now));
    }
    Int128 work_in(std::int32_t gpus, Duration time) const override {
        return told_->work_in(gpus, time);
    }
    std::int32_t gpus_max() const override { return told_->gpus_max(); }
    double step_s(std::int32_t gpus) const override { return told_->step_s(gpus); }
    double steps_left(Instant now) const override {
        return told_->steps_left(now) * share_left(now);
    }
    double pace(std::int32_t group, std::int32_t gpus, std::int32_t machines) const override {
        return told_->pace(group, gpus, machines);
    }
    double pace_left(Instant now) const override { return told_->pace_left(now) * share_left(now); }

private:
    double share_left(Instant now) const {
        return static_cast<double>(real_->work_left(now)) / static_cast<double>(whole_);
    }
    std::unique_ptr<sim::JobWork> real_;
    std::unique_ptr<sim::JobWork> told_;  // never holds anything: all of its work is left
    Int128 whole_;
};

}  // namespace

std::unique_ptr<sim::JobWork> MeasuredWorld::arrived(std::size_t number,
                                                     const sim::SharingJob& job) {
    return std::make_unique<MeasuredWork>(job, measured_[number]);
}

// As without a world.
sim::WorldMoment MeasuredWorld::wait(Instant next) {
    INVARIANT(next < Instant::never());
    return {next};
}

}  // namespace ukemi::runtime
