// service_work.cpp — a job whose service time is known: work that shrinks at a rate.
#include <algorithm>

#include "base/invariant.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::sim {

namespace {

constexpr std::int64_t unit = std::int64_t{1} << 20;  // of work, a nanosecond at speed 1
constexpr std::int64_t millionths = 1'000'000;

// Speed as a fraction.
struct WorkRate {
    std::int64_t parts = 0;
    std::int64_t of = 1;

    Int128 done_in(Duration time) const {
        return static_cast<Int128>(time.raw()) * unit * parts / of;
    }
    Duration time_for(Int128 work) const {  // rounded up
        const Int128 per_ns = static_cast<Int128>(parts) * unit;
        return nanoseconds(static_cast<std::int64_t>((work * of + per_ns - 1) / per_ns));
    }
};

class ServiceWork final : public JobWork {
public:
    explicit ServiceWork(const SharingJob& job)
        : gpus_(job.gpus),
          speeds_(job.speeds),
          speed_of_group_(job.speed_of_group),
          restart_(job.restart) {
        left_ = static_cast<Int128>(job.service.raw()) * unit;
    }

    void hold(Instant now, const HeldShare& held, bool starts) override {
        left_ = work_left(now);
        rate_ = rate_of(held.share.parts, held.share.of);
        if (!speed_of_group_.empty()) {
            rate_.parts *= speed_of(held.share.group);
            rate_.of *= millionths;
        }
        const bool waits_on = rate_.parts > 0 && now < since_;  // for what began before
        if (!waits_on || starts) since_ = now + (rate_.parts > 0 && starts ? restart_ : Duration{});
    }
    Instant advance(Instant now) override {
        const Instant end = completion();
        return end <= now ? end : Instant::never();
    }
    Instant completion() const override {
        return rate_.parts == 0 ? Instant::never() : since_ + rate_.time_for(left_);
    }

    Duration remaining(Instant now) const override {
        return rate_of(gpus_, 1).time_for(work_left(now));
    }
    Int128 work_left(Instant now) const override {
        if (now <= since_ || rate_.parts == 0) return left_;
        return std::max<Int128>(0, left_ - rate_.done_in(now - since_));
    }
    Int128 work_in(std::int32_t gpus, Duration time) const override {
        return rate_of(gpus, 1).done_in(time);
    }
    std::int32_t gpus_max() const override {
        return speeds_.empty() ? gpus_ : static_cast<std::int32_t>(speeds_.size()) - 1;
    }
    double step_s(std::int32_t gpus) const override {
        const WorkRate rate = rate_of(gpus, 1);
        return static_cast<double>(rate.of) / static_cast<double>(rate.parts);
    }
    double steps_left(Instant now) const override {
        return static_cast<double>(work_left(now)) / static_cast<double>(unit) / 1e9;
    }

    double pace(std::int32_t group, std::int32_t gpus, std::int32_t) const override {
        if (gpus > gpus_max()) return 0;
        const WorkRate rate = rate_of(gpus, 1);
        return static_cast<double>(rate.parts) / static_cast<double>(rate.of) *
               (static_cast<double>(speed_of(group)) / millionths);
    }
    double pace_left(Instant now) const override { return steps_left(now); }
    bool starting(Instant now) const override { return rate_.parts > 0 && now < since_; }

private:
    std::int64_t speed_of(std::int32_t group) const {
        return speed_of_group_.empty() ? millionths
                                       : speed_of_group_[static_cast<std::size_t>(group)];
    }
    // Between two numbers of GPUs speed is on the straight line.
    WorkRate rate_of(std::int64_t parts, std::int64_t of) const {
        if (speeds_.empty()) return {parts, of * gpus_};
        const std::int64_t whole = parts / of;
        const auto speed = [&](std::int64_t gpus) {
            const auto last = static_cast<std::int64_t>(speeds_.size()) - 1;
            return speeds_[static_cast<std::size_t>(std::min(gpus, last))];
        };
        const std::int64_t above = speed(whole + 1) - speed(whole);
        return {speed(whole) * of + above * (parts - whole * of), of * millionths};
    }

    std::int32_t gpus_;
    std::vector<std::int64_t> speeds_;
    std::vector<std::int64_t> speed_of_group_;
    Duration restart_;
    Int128 left_ = 0;  // at `since_`
    WorkRate rate_;
    Instant since_;
};

}  // namespace

std::unique_ptr<JobWork> make_service_work(const SharingJob& job) {
    return std::make_unique<ServiceWork>(job);
}

}  // namespace ukemi::sim
