// service_work.cpp — a job whose service time is known: work that shrinks at a rate.
#include <algorithm>
#include <numeric>
#include <utility>

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

constexpr std::size_t at_cause(records::Cause cause) { return static_cast<std::size_t>(cause); }

// Computing and saving in turns: `every` of the one, then `takes` of the other.
class SaveTurns {
public:
    explicit SaveTurns(const SaveRule& rule) : rule_(rule) {}
    // Of so much time since the last save ended.
    Duration computed(Duration time) const {
        if (rule_.every == Duration{}) return time;
        const std::int64_t turns = time.raw() / turn().raw();
        const Duration rest = nanoseconds(time.raw() % turn().raw());
        return turns * rule_.every + std::min(rest, rule_.every);
    }
    // The least time in which so much is computed.
    Duration time_for(Duration computing) const {
        if (rule_.every == Duration{} || computing == Duration{}) return computing;
        const std::int64_t saves = (computing.raw() - 1) / rule_.every.raw();
        return computing + saves * rule_.takes;
    }
    Duration last_save(Duration time) const {  // zero: there was none
        return rule_.every == Duration{} ? Duration{} : time.raw() / turn().raw() * turn();
    }

private:
    Duration turn() const { return rule_.every + rule_.takes; }
    SaveRule rule_;
};

class ServiceWork final : public JobWork {
public:
    explicit ServiceWork(const SharingJob& job)
        : gpus_(job.gpus),
          speeds_(job.speeds),
          speed_of_group_(job.speed_of_group),
          restart_(job.restart),
          saves_(job.saves),
          turns_(job.saves) {
        left_ = static_cast<Int128>(job.service.raw()) * unit;
        saved_left_ = least_left_ = left_;
    }

    void hold(Instant now, const HeldShare& held, bool starts) override {
        settle(now);
        const bool was_held = rate_.parts > 0;
        step_ = alone_ = nanoseconds(1);
        held_rate_ = rate_of(held.share.parts, held.share.of);
        if (!speed_of_group_.empty()) {
            held_rate_.parts *= speed_of(held.share.group);
            held_rate_.of *= millionths;
        }
        rate_ = held_rate_;
        if (starts || (was_held && rate_.parts == 0)) save();
        const bool waits_on = rate_.parts > 0 && now < since_;  // for what began before
        if (!waits_on || starts) since_ = now + (rate_.parts > 0 && starts ? restart_ : Duration{});
    }
    void step_takes(Instant now, Duration step, Duration alone) override {
        if (step == step_ && alone == alone_) return;
        settle(now);
        step_ = step;
        alone_ = alone;
        rate_ = held_rate_;
        const std::int64_t both = std::gcd(rate_.parts, rate_.of);
        const std::int64_t steps = std::gcd(step.raw(), alone.raw());
        rate_.parts = rate_.parts / both * (alone.raw() / steps);
        rate_.of = rate_.of / both * (step.raw() / steps);
    }
    void lose(Instant now, bool told) override {
        if (told) {
            const Instant from = std::max(at_, now - saves_.takes);
            settle(from);
            saved_left_ = left_;
            const Instant waits_until = std::min(std::max(since_, from), now);
            spend(records::Cause::transition, waits_until - from);
            spend(records::Cause::checkpoint, now - waits_until);
            at_ = now;
            since_ = std::max(since_, now);
        } else {
            settle(now);
        }
        left_ = saved_left_;
        turned_ = {};
    }
    const CauseTimes& spent(Instant now) override {
        settle(now);
        return spent_;
    }

    Instant advance(Instant now) override {
        const Instant end = completion();
        return end <= now ? end : Instant::never();
    }
    Instant completion() const override {
        if (rate_.parts == 0) return Instant::never();
        const Duration computing = turns_.computed(turned_) + rate_.time_for(left_);
        return since_ +
               (turns_.time_for(computing) - std::min(turned_, turns_.time_for(computing)));
    }

    Duration remaining(Instant now) const override {
        return rate_of(gpus_, 1).time_for(work_left(now));
    }
    Int128 work_left(Instant now) const override {
        if (now <= since_ || rate_.parts == 0) return left_;
        return std::max<Int128>(0, left_ - rate_.done_in(computed_in(now - since_)));
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
    Duration computed_in(Duration time) const {
        return turns_.computed(turned_ + time) - turns_.computed(turned_);
    }
    void spend(records::Cause cause, Duration time) { spent_[at_cause(cause)] += time; }
    // All that was done is as good as saved: a start, a stop and a move lose nothing.
    void save() {
        saved_left_ = left_;
        turned_ = {};
    }
    void settle(Instant now) {
        const Instant begun = std::exchange(at_, std::max(at_, now));
        if (rate_.parts == 0) return;
        const Instant waits_until = std::min(std::max(since_, begun), at_);
        spend(records::Cause::transition, waits_until - begun);
        if (at_ <= since_) return;
        const Duration time = at_ - since_;
        const Duration computing = computed_in(time);
        spend(records::Cause::checkpoint, time - computing);
        const Int128 left = work_left(at_);
        const Int128 again = left_ - std::max(left, std::min(left_, least_left_));
        const Duration redone = std::min(computing, rate_.time_for(again));
        spend(records::Cause::redone, redone);
        spend(records::Cause::useful, computing - redone);
        least_left_ = std::min(least_left_, left);
        const Duration saved = turns_.last_save(turned_ + time);
        if (saved > turned_) {
            const Duration before = turns_.computed(saved) - turns_.computed(turned_);
            saved_left_ = std::max<Int128>(0, left_ - rate_.done_in(before));
        }
        turned_ = turned_ + time - saved;
        left_ = left;
        since_ = at_;
    }
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
    SaveRule saves_;
    SaveTurns turns_;
    Int128 left_ = 0;        // at `since_`
    Int128 saved_left_ = 0;  // at the last save
    Int128 least_left_ = 0;  // that there ever was: what is above it is done again
    WorkRate held_rate_;     // of what it holds, alone on its links
    WorkRate rate_;
    Duration step_;
    Duration alone_;
    Duration turned_;  // since the last save ended, at `since_`
    Instant at_;       // until which `spent_` counts
    Instant since_;    // computing or saving; in future while a start is under way
    CauseTimes spent_{};
};

}  // namespace

std::unique_ptr<JobWork> make_service_work(const SharingJob& job) {
    return std::make_unique<ServiceWork>(job);
}

}  // namespace ukemi::sim
