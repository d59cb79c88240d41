// epoch_work.cpp — a job of a measured application: progress through epochs, by the rules of the
// simulator that came with Pollux (Qiao et al., OSDI'21).
//
// Progress is in iterations of the first batch. A slice of time lasts to the end of a round or of
// an epoch; an epoch's end is rounded to whole seconds, half to even. The order of operations is
// theirs, so that results are equal to the last bit.
#include <cmath>
#include <limits>

#include "base/invariant.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

namespace {

// How a batch is divided: gpus × local × (accumulated + 1).
struct DividedBatch {
    std::int64_t local = 0;
    std::int64_t accumulated = 0;
};

DividedBatch divided(const traces::Application& application, std::int64_t batch, std::int32_t gpus,
                     bool accumulates_alone) {
    constexpr double slack = 1e-8;  // theirs, against quotients that are not quite whole
    const auto parts = [&](double of, double by) {
        return static_cast<std::int64_t>(std::ceil(of / by - slack));
    };
    const std::int64_t each = parts(static_cast<double>(batch), gpus);
    DividedBatch one;
    one.accumulated =
        parts(static_cast<double>(each), static_cast<double>(application.local_max)) - 1;
    // Alone, two passes are what the variance of gradients is measured with.
    if (gpus == 1 && (accumulates_alone || batch > application.first_batch)) {
        one.accumulated = std::max<std::int64_t>(1, one.accumulated);
    }
    const std::int64_t passes = one.accumulated + 1;
    one.local = std::min(parts(static_cast<double>(each), static_cast<double>(passes)),
                         application.batch_max / (gpus * passes));
    return one;
}

double time_of(const traces::ApplicationStep& step, std::int64_t accumulated) {
    return step.step_s + (step.step_s - step.sync_s) * static_cast<double>(accumulated);
}

class EpochWork final : public JobWork {
public:
    EpochWork(const SharingJob& job, std::int32_t gpus_per_machine)
        : application_(*job.application),
          batch_(job.batch),
          restart_s_(whole_seconds_of(job.restart)),
          gpus_per_machine_(gpus_per_machine),
          epoch_end_(application_.progress(1)) {
        times_.assign(static_cast<std::size_t>(gpus_max()) + 1, 0);
    }

    void hold(Instant now, const HeldShare& held) override {
        at_ = now;
        gpus_ = static_cast<std::int32_t>(held.share.parts);
        if (gpus_ == 0) return;
        wait_s_ = restart_s_;
        const DividedBatch shape = divided(application_, batch_, gpus_, false);
        std::vector<std::int32_t> by_machine;
        for (const GpusOnMachine& one : held.machines) by_machine.push_back(one.gpus);
        step_s_ = time_of(application_.step(by_machine, shape.local), shape.accumulated);
        divided_batch_ = gpus_ * shape.local * (shape.accumulated + 1);
        scale_ =
            static_cast<double>(divided_batch_) / static_cast<double>(application_.first_batch);
        gradients_ = application_.gradients(divided_batch_);
    }

    Instant advance(Instant now) override {
        Instant clock = at_;
        std::int64_t left_s = whole_seconds_of(now - at_);
        at_ = now;
        if (gpus_ == 0) return Instant::never();
        const std::int64_t waited_s = std::min(wait_s_, left_s);
        wait_s_ -= waited_s;
        left_s -= waited_s;
        clock = clock + whole_seconds(waited_s);
        while (left_s > 0) {
            const double rate = rate_now();
            const double further = progress_ + rate * static_cast<double>(left_s);
            if (further < epoch_end_) {
                progress_ = further;
                break;
            }
            const auto slice_s =
                static_cast<std::int64_t>(std::nearbyint((epoch_end_ - progress_) / rate));
            progress_ = epoch_end_;
            left_s -= slice_s;
            clock = clock + whole_seconds(slice_s);
            if (++epoch_ > application_.last_epoch()) return clock;
            epoch_end_ = application_.progress(epoch_ + 1);
        }
        return Instant::never();
    }

    // What only known service times answer (SchedulerEntry::needs_service; epochs need rounds).
    Instant completion() const override { return Instant::at(remaining({})); }
    Int128 work_left(Instant) const override { return remaining({}).raw(); }
    Int128 work_in(std::int32_t, Duration) const override { return remaining({}).raw(); }
    Duration remaining(Instant) const override {
        INVARIANT(false);
        return {};
    }

    std::int32_t gpus_max() const override {
        return application_.gpus_max > 0
                   ? application_.gpus_max
                   : static_cast<std::int32_t>(batch_ / application_.local_min);
    }
    double step_s(std::int32_t gpus) const override {
        double& known = times_[static_cast<std::size_t>(gpus)];
        if (known == 0) known = packed_step_s(gpus);
        return known;
    }
    double steps_left(Instant) const override {
        const std::int64_t last = application_.last_epoch();
        if (last <= epoch_) return 1;
        return application_.iterations(batch_, last) - application_.iterations(batch_, epoch_);
    }

private:
    static std::int64_t whole_seconds_of(Duration time) {
        constexpr std::int64_t second = 1'000'000'000;
        INVARIANT(time.raw() % second == 0);
        return time.raw() / second;
    }

    double rate_now() const {
        const auto epoch = static_cast<std::size_t>(epoch_);
        if (epoch >= gradients_.size() || gradients_[epoch].squared_norm <= 0) {
            application_.no_gradient(divided_batch_, epoch_);
        }
        const traces::MeasuredGradient& seen = gradients_[epoch];
        const double gain =
            (seen.variance + seen.squared_norm) / (seen.variance / scale_ + seen.squared_norm);
        return gain / step_s_;
    }

    // On as few machines as can be, where one GPU always accumulates.
    double packed_step_s(std::int32_t gpus) const {
        const DividedBatch shape = divided(application_, batch_, gpus, true);
        std::vector<std::int32_t> by_machine;
        for (std::int32_t left = gpus; left > 0; left -= gpus_per_machine_) {
            by_machine.push_back(std::min(left, gpus_per_machine_));
        }
        return time_of(application_.step(by_machine, shape.local), shape.accumulated);
    }

    const traces::Application& application_;
    std::int64_t batch_;
    std::int64_t restart_s_;
    std::int32_t gpus_per_machine_;
    Instant at_;
    std::int32_t gpus_ = 0;
    std::int64_t wait_s_ = 0;
    double step_s_ = 0;
    std::int64_t divided_batch_ = 0;
    double scale_ = 0;
    std::span<const traces::MeasuredGradient> gradients_;
    double progress_ = 0;
    double epoch_end_ = 0;
    std::int64_t epoch_ = 0;
    mutable std::vector<double> times_;  // by GPUs, as far as somebody asked
};

}  // namespace

std::unique_ptr<JobWork> make_epoch_work(const SharingJob& job, std::int32_t gpus_per_machine) {
    return std::make_unique<EpochWork>(job, gpus_per_machine);
}

}  // namespace ukemi::sim
