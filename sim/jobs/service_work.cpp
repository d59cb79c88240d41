// service_work.cpp — a job whose service time is known: work that shrinks at a rate.
#include <algorithm>
#include <numeric>
#include <utility>

#include "base/invariant.hpp"
#include "sim/jobs/share_change.hpp"
#include "sim/jobs/work_unit.hpp"

namespace ukemi::sim {

namespace {

// Speed as a fraction.
struct WorkRate {
    std::int64_t parts = 0;
    std::int64_t of = 1;

    Int128 done_in(Duration time) const {
        return static_cast<Int128>(time.raw()) * work_unit * parts / of;
    }
    Duration time_for(Int128 work) const {  // rounded up
        const Int128 per_ns = static_cast<Int128>(parts) * work_unit;
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
    // Of the moment after so much time: whether it computes, and for how long still; zero: for
    // ever.
    std::pair<bool, Duration> at(Duration time) const {
        if (rule_.every == Duration{} || rule_.takes == Duration{}) return {true, {}};
        const Duration in_turn = nanoseconds(time.raw() % turn().raw());
        const bool computes = in_turn < rule_.every;
        return {computes, (computes ? rule_.every : turn()) - in_turn};
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
          transition_(job.transition),
          saves_(job.saves),
          turns_(job.saves) {
        restart_[static_cast<std::size_t>(policies::TransitionPhase::none)] = job.restart;
        whole_ = static_cast<Int128>(job.service.raw()) * work_unit;
        left_ = saved_left_ = least_left_ = whole_;
    }

    void hold(Instant now, const HeldShare& held, bool starts) override {
        settle(now);
        spent_ = {};
        const bool was_held = std::exchange(parts_, held.share.parts) > 0;
        step_ = alone_ = nanoseconds(1);
        held_rate_ = rate_in(held.share.group, held.share.parts, held.share.of);
        if (transition_) {
            change_by_phase(now, held);
            return;
        }
        rate_ = held_rate_;
        if (starts || (was_held && rate_.parts == 0)) save();
        const bool waits_on = rate_.parts > 0 && now < since_;  // for what began before
        if (waits_on && !starts) return;
        wait_from(now, rate_.parts > 0 && starts ? restart_ : records::PhaseTimes{});
    }
    void step_takes(Instant now, Duration step, Duration alone) override {
        if (step == step_ && alone == alone_) return;
        settle(now);
        step_ = step;
        alone_ = alone;
        rate_ = on_links(meeting_ ? meeting_->rate : held_rate_);
    }
    void lose(Instant now, bool told) override {
        if (told) {
            const Instant from = std::max(at_, now - saves_.takes);
            settle(from);
            saved_left_ = left_;
            const Instant waits_until = std::min(std::max(since_, from), now);
            spend_wait(from, waits_until);
            spend(records::Cause::checkpoint, now - waits_until);
            if (meeting_) others_spawn(now - from);
            at_ = now;
            since_ = std::max(since_, now);
        } else {
            settle(now);
        }
        left_ = saved_left_;
        turned_ = {};
        meeting_.reset();
        held_.clear();
        with_model_.clear();
    }
    const SpentTimes* spent(Instant now) override {
        settle(now);
        return &spent_;
    }

    Instant advance(Instant now) override {
        const Instant end = completion();
        return end <= now ? end : Instant::never();
    }
    Instant completion() const override {
        if (rate_.parts == 0) return Instant::never();
        const Duration computing = turns_.computed(turned_) + rate_.time_for(left_);
        const Instant end =
            since_ + (turns_.time_for(computing) - std::min(turned_, turns_.time_for(computing)));
        return meeting_ && end > meeting_->at ? after_meeting().completion() : end;
    }

    Duration remaining(Instant now) const override {
        return rate_of(gpus_, 1).time_for(work_left(now));
    }
    Int128 work_left(Instant now) const override {
        if (meeting_ && now > meeting_->at) return after_meeting().work_left(now);
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
        return static_cast<double>(work_left(now)) / static_cast<double>(work_unit) / 1e9;
    }

    double pace(std::int32_t group, std::int32_t gpus, std::int32_t) const override {
        if (gpus > gpus_max()) return 0;
        const WorkRate rate = rate_of(gpus, 1);
        return static_cast<double>(rate.parts) / static_cast<double>(rate.of) *
               (static_cast<double>(speed_of(group)) / millionths);
    }
    double pace_left(Instant now) const override { return steps_left(now); }
    double reached(Instant now) const override { return -steps_left(now); }
    Turn turn(Instant now) const override {
        if (meeting_)
            return now < meeting_->at ? Turn{true, meeting_->at} : after_meeting().turn(now);
        if (now < since_) return {false, since_};
        const auto [computes, left] = turns_.at(turned_ + (now - since_));
        return {computes, left == Duration{} ? Instant::never() : now + left};
    }
    bool starting(Instant now) const override {
        return meeting_ || (rate_.parts > 0 && now < since_);
    }

private:
    Duration computed_in(Duration time) const {
        return turns_.computed(turned_ + time) - turns_.computed(turned_);
    }
    WorkRate rate_in(std::int32_t group, std::int64_t parts, std::int64_t of) const {
        WorkRate rate = rate_of(parts, of);
        if (speed_of_group_.empty()) return rate;
        rate.parts *= speed_of(group);
        rate.of *= millionths;
        return rate;
    }
    WorkRate on_links(const WorkRate& rate) const {
        const std::int64_t both = std::gcd(rate.parts, rate.of);
        const std::int64_t steps = std::gcd(step_.raw(), alone_.raw());
        return {rate.parts / both * (alone_.raw() / steps), rate.of / both * (step_.raw() / steps)};
    }

    // Those that were kept compute on while others spawn, and meet them then.
    struct Meeting {
        Instant at;
        std::int64_t parts = 0;  // that compute until then
        WorkRate rate;           // of them
    };
    void change_by_phase(Instant now, const HeldShare& held) {
        const bool is_changing = meeting_ || now < since_;
        meeting_.reset();
        if (!is_changing) with_model_ = held_;
        held_ = held.machines;
        rate_ = held_rate_;
        wait_from(now, {});
        const ShareChange change = share_change(
            *transition_, saves_,
            {with_model_, least_left_ < whole_, left_ < saved_left_, is_changing}, held);
        keep_models_on(held_, with_model_);
        if (change.kept == 0) with_model_.clear();
        if (parts_ == 0) return;
        if (change.kept == 0) {
            if (change.loses_unsaved) left_ = saved_left_;
            save();
        }
        if (change.overlapped > Duration{}) {
            rate_ = rate_in(held.share.group, change.kept, 1);
            meeting_ = Meeting{now + change.overlapped, change.kept, rate_};
            waits_ = change.phases;
            return;
        }
        wait_from(now, change.phases);
    }
    void meet() {
        const Instant at = meeting_->at;
        meeting_.reset();
        rate_ = on_links(held_rate_);
        wait_from(at, waits_);
    }
    ServiceWork after_meeting() const {
        ServiceWork later = *this;
        later.settle(meeting_->at);
        return later;
    }

    void wait_from(Instant now, const records::PhaseTimes& phases) {
        waits_ = phases;
        waits_since_ = now;
        since_ = now + records::sum_of(phases);
    }
    void spend_wait(Instant from, Instant until) {
        if (from >= until) return;
        Instant begin = waits_since_;
        for (std::size_t phase = 0; phase < waits_.size(); ++phase) {
            const Instant end = begin + waits_[phase];
            const Duration part =
                std::max(std::min(end, until) - std::max(begin, from), Duration{});
            begin = end;
            spend(cause_of(static_cast<policies::TransitionPhase>(phase)), part);
            spent_.by_phase[phase] += static_cast<Int128>(part.raw()) * parts_;
        }
    }
    void spend(records::Cause cause, Duration time) {
        const std::int64_t parts = meeting_ ? meeting_->parts : parts_;
        spent_.by_cause[at_cause(cause)] += static_cast<Int128>(time.raw()) * parts;
    }
    void others_spawn(Duration time) {
        const Int128 spawning = static_cast<Int128>(time.raw()) * (parts_ - meeting_->parts);
        spent_.by_cause[at_cause(records::Cause::transition)] += spawning;
        spent_.by_phase[static_cast<std::size_t>(policies::TransitionPhase::spawn)] += spawning;
    }
    // All that was done is as good as saved: a start, a stop and a move lose nothing.
    void save() {
        saved_left_ = left_;
        turned_ = {};
    }
    void settle(Instant now) {
        if (meeting_ && now >= meeting_->at) {
            settle_until(meeting_->at);
            meet();
        }
        settle_until(now);
    }
    void settle_until(Instant now) {
        const Instant begun = std::exchange(at_, std::max(at_, now));
        if (rate_.parts == 0) return;
        if (meeting_) others_spawn(at_ - begun);
        const Instant waits_until = std::min(std::max(since_, begun), at_);
        spend_wait(begun, waits_until);
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
    std::shared_ptr<const TransitionCosts> transition_;
    SaveRule saves_;
    SaveTurns turns_;
    records::PhaseTimes restart_{};  // all of it in one
    Int128 whole_ = 0;
    Int128 left_ = 0;        // at `since_`
    Int128 saved_left_ = 0;  // at the last save
    Int128 least_left_ = 0;  // that there ever was: what is above it is done again
    WorkRate held_rate_;     // of what it holds, alone on its links
    WorkRate rate_;
    Duration step_;
    Duration alone_;
    Duration turned_;         // since the last save ended, at `since_`
    Instant at_;              // until which `spent_` counts
    Instant since_;           // computing or saving; in future while a start is under way
    std::int64_t parts_ = 0;  // held
    Instant waits_since_;     // of what is waited for, or was last
    records::PhaseTimes waits_{};
    std::optional<Meeting> meeting_;
    std::vector<GpusOnMachine> held_;        // with transitions by phase
    std::vector<GpusOnMachine> with_model_;  // of it, while a change is under way
    SpentTimes spent_{};
};

}  // namespace

std::unique_ptr<JobWork> make_service_work(const SharingJob& job) {
    return std::make_unique<ServiceWork>(job);
}

}  // namespace ukemi::sim
