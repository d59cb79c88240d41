// epoch_work.cpp — a job of a measured application: progress through epochs, by the rules of the
// simulator that came with Pollux (Qiao et al., OSDI'21).
//
// Progress is in iterations of the first batch. A slice of time lasts to the end of a round or of
// an epoch; an epoch's end is rounded to whole seconds, half to even. The order of operations is
// theirs, so that results are equal to the last bit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/invariant.hpp"
#include "sim/jobs/batch_ladder.hpp"
#include "sim/jobs/fitted_pace.hpp"
#include "sim/jobs/job_work.hpp"
#include "sim/jobs/share_change.hpp"

namespace ukemi::sim {

namespace {

using policies::TransitionPhase;

class EpochWork final : public JobWork {
public:
    EpochWork(const SharingJob& job, const SharedCluster& cluster, BatchLadder* ladder)
        : application_(*job.application),
          batch_(job.batch),
          restart_s_(whole_seconds_of(job.restart)),
          transition_(job.transition),
          saves_(job.saves),
          save_every_s_(whole_seconds_of(job.saves.every)),
          save_takes_s_(whole_seconds_of(job.saves.takes)),
          groups_(cluster.groups),
          ladder_(ladder),
          recorded_(job.recorded_batches),
          epoch_end_(application_.progress(1)),
          saved_{0, 0, epoch_end_} {
        for (const MachineGroup& group : groups_) {
            types_.push_back(application_.type_called(group.gpu_type));
        }
        times_.assign(static_cast<std::size_t>(gpus_max()) + 1, 0);
        if (job.predictor == JobPredictor::fitted) fitted_.emplace(application_, types_.front());
    }

    void hold(Instant now, const HeldShare& held, bool starts) override {
        at_ = now;
        spent_ = {};
        const bool was_held = std::exchange(gpus_, static_cast<std::int32_t>(held.share.parts)) > 0;
        if (transition_) {
            change_by_phase(held);
        } else if (starts || (was_held && gpus_ == 0)) {
            save();
        }
        if (gpus_ == 0) return;
        if (starts && !transition_) waits_.assign(1, {TransitionPhase::none, restart_s_});
        type_ = types_[static_cast<std::size_t>(held.share.group)];
        by_machine_.clear();
        for (const GpusOnMachine& one : held.machines) by_machine_.push_back(one.gpus);
        is_chosen_ = false;
    }

    Instant advance(Instant now) override {
        Instant clock = at_;
        std::int64_t left_s = whole_seconds_of(now - at_);
        at_ = now;
        if (gpus_ == 0) return Instant::never();
        const auto wait = [&](std::int64_t& for_s, records::Cause cause) {
            const std::int64_t waited_s = std::min(for_s, left_s);
            for_s -= waited_s;
            left_s -= waited_s;
            clock = clock + whole_seconds(waited_s);
            spend(cause, whole_seconds(waited_s));
        };
        for (auto& [phase, for_s] : waits_) {
            const std::int64_t before_s = left_s;
            wait(for_s, cause_of(phase));
            spent_.by_phase[static_cast<std::size_t>(phase)] +=
                static_cast<Int128>(whole_seconds(before_s - left_s).raw()) * gpus_;
        }
        while (left_s > 0) {
            if (saving_s_ > 0) {
                wait(saving_s_, records::Cause::checkpoint);
                continue;
            }
            if (!is_chosen_) choose_batch();
            ++slice_;
            is_chosen_ = recorded_.empty() && !fitted_;  // who learns chooses anew
            const std::int64_t until_s =
                save_every_s_ > 0 ? std::min(left_s, save_every_s_ - unsaved_s_) : left_s;
            const double further = progress_ + rate_ * static_cast<double>(until_s);
            if (further < epoch_end_) {
                computed(until_s, further);
                clock = clock + whole_seconds(until_s);
                left_s -= until_s;
                continue;
            }
            const auto slice_s =
                static_cast<std::int64_t>(std::nearbyint((epoch_end_ - progress_) / rate_));
            computed(slice_s, epoch_end_);
            left_s -= slice_s;
            clock = clock + whole_seconds(slice_s);
            if (++epoch_ > application_.last_epoch()) return clock;
            epoch_end_ = application_.progress(epoch_ + 1);
            is_chosen_ = false;
        }
        return Instant::never();
    }
    void step_takes(Instant, Duration, Duration) override { INVARIANT(false); }  // it has tables
    void lose(Instant, bool told) override {
        if (told) save();  // in the seconds before, which count as computing
        go_back();
        unsaved_s_ = saving_s_ = 0;
        with_model_.clear();
        held_.clear();
    }
    const SpentTimes* spent(Instant) override { return &spent_; }

    // What only known service times answer (SchedulerEntry::needs_service; epochs need rounds).
    Instant completion() const override { return Instant::at(remaining({})); }
    Int128 work_left(Instant) const override { return remaining({}).raw(); }
    Int128 work_in(std::int32_t, Duration) const override { return remaining({}).raw(); }
    Duration remaining(Instant) const override {
        INVARIANT(false);
        return {};
    }

    std::int32_t gpus_max() const override {
        if (application_.gpus_max > 0) return application_.gpus_max;
        const std::int64_t most = ladder_ != nullptr ? application_.batch_max : batch_;
        return static_cast<std::int32_t>(most / application_.local_min);
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

    double pace(std::int32_t group, std::int32_t gpus, std::int32_t machines) const override {
        const auto at = static_cast<std::size_t>(group);
        if (gpus > gpus_max() || !application_.runs_on(types_[at])) return 0;
        const auto spread = gpus_by_machine(gpus, machines, groups_[at].gpus_per_machine);
        if (fitted_) {
            const auto on = static_cast<std::int32_t>(spread.size());
            const double pace =
                ladder_ != nullptr ? fitted_->best(on, gpus).pace : fitted_->pace(on, gpus, batch_);
            return pace / application_.slowdown;
        }
        if (ladder_ != nullptr) {
            const auto [rung, pace] = best_rung(types_[at], spread);
            return pace / application_.slowdown;
        }
        const DividedBatch shape = divided_batch(application_, types_[at], batch_, gpus, false);
        return 1 /
               step_time_s(application_.step(types_[at], spread, shape.local), shape.accumulated) /
               application_.slowdown;
    }
    double pace_left(Instant) const override {
        const double left = application_.progress(application_.last_epoch() + 1) - progress_;
        return ladder_ != nullptr ? left : left / batch_gain(application_, batch_, epoch_);
    }
    double reached(Instant) const override { return progress_; }
    bool starting(Instant) const override { return gpus_ > 0 && waits(); }

private:
    static std::int64_t whole_seconds_of(Duration time) {
        constexpr std::int64_t second = 1'000'000'000;
        INVARIANT(time.raw() % second == 0);
        return time.raw() / second;
    }

    void spend(records::Cause cause, Duration time) {
        spent_.by_cause[static_cast<std::size_t>(cause)] += static_cast<Int128>(time.raw()) * gpus_;
    }
    struct Wait {
        TransitionPhase phase;
        std::int64_t for_s;
    };
    bool waits() const {
        return std::ranges::any_of(waits_, [](const Wait& one) { return one.for_s > 0; });
    }
    // Each phase ends at a whole second. Nobody trains while others spawn.
    void change_by_phase(const HeldShare& held) {
        const bool is_changing = waits();
        if (!is_changing) with_model_ = held_;
        held_ = held.machines;
        ShareChange change = share_change(
            *transition_, saves_,
            {with_model_, most_progress_ > 0, progress_ > saved_.progress, is_changing}, held);
        keep_models_on(held_, with_model_);
        if (change.kept == 0) with_model_.clear();
        waits_.clear();
        if (gpus_ == 0) return;
        if (change.kept == 0) {
            if (change.loses_unsaved) go_back();
            save();
        }
        change.phases[static_cast<std::size_t>(TransitionPhase::spawn)] += change.overlapped;
        Duration end;
        for (std::size_t phase = 0; phase < change.phases.size(); ++phase) {
            const Duration begin = round_up_to(end, whole_seconds(1));
            end += change.phases[phase];
            const Duration time = round_up_to(end, whole_seconds(1)) - begin;
            waits_.push_back({static_cast<TransitionPhase>(phase), whole_seconds_of(time)});
        }
    }
    void go_back() {
        progress_ = saved_.progress;
        epoch_ = saved_.epoch;
        epoch_end_ = saved_.epoch_end;
        is_chosen_ = false;
    }
    void save() {
        saved_ = {progress_, epoch_, epoch_end_};
        unsaved_s_ = saving_s_ = 0;
    }
    // A slice that lasts so long brings it there; what it had done before is done again.
    void computed(std::int64_t slice_s, double further) {
        const Duration slice = whole_seconds(slice_s);
        const double again =
            std::clamp((most_progress_ - progress_) / rate_, 0.0, static_cast<double>(slice_s));
        const Duration redone = std::min(slice, seconds(again));
        spend(records::Cause::redone, redone);
        spend(records::Cause::useful, slice - redone);
        progress_ = further;
        most_progress_ = std::max(most_progress_, progress_);
        if (save_every_s_ == 0 || (unsaved_s_ += slice_s) < save_every_s_) return;
        save();
        saving_s_ = save_takes_s_;
    }

    struct Rung {
        std::size_t rung = 0;
        double pace = 0;  // progress a second; 0: no batch can be divided so
    };
    Rung best_rung(std::size_t type, std::span<const std::int32_t> by_machine) const {
        if (gains_of_ != epoch_) {
            for (std::size_t i = 0; i < BatchLadder::rungs; ++i) {
                gains_[i] = batch_gain(application_, ladder_->batch(i), epoch_);
            }
            gains_of_ = epoch_;
        }
        const auto& times_s = ladder_->times_s(type, by_machine);
        Rung best;
        for (std::size_t i = 0; i < BatchLadder::rungs; ++i) {
            const double pace = gains_[i] / times_s[i];
            if (pace > best.pace) best = {i, pace};
        }
        return best;
    }

    DividedBatch best_shape() const {
        if (ladder_ == nullptr) return divided_batch(application_, type_, batch_, gpus_, false);
        if (fitted_)
            return fitted_->best(static_cast<std::int32_t>(by_machine_.size()), gpus_).shape;
        const std::int64_t batch = ladder_->batch(best_rung(type_, by_machine_).rung);
        return divided_batch(application_, type_, batch, gpus_, false);
    }

    // And how fast it makes the job. When a slice of work begins, so that nothing is looked up that
    // no work is done with.
    void choose_batch() {
        DividedBatch shape;
        if (!recorded_.empty()) {
            while (recorded_.size() > 1 && recorded_[1].slice <= slice_) {
                recorded_ = recorded_.subspan(1);
            }
            shape = {recorded_.front().local, recorded_.front().accumulated};
        } else {
            shape = best_shape();
        }
        const traces::ApplicationStep step = application_.step(type_, by_machine_, shape.local);
        const double step_s = step_time_s(step, shape.accumulated);
        const std::int64_t divided = gpus_ * shape.local * (shape.accumulated + 1);
        if (fitted_) {
            const auto machines = static_cast<std::int32_t>(by_machine_.size());
            fitted_->saw({machines, gpus_, shape.local, step.step_s - step.sync_s, step.step_s},
                         application_.gradient(divided, epoch_));
        }
        is_chosen_ = true;
        rate_ = batch_gain(application_, divided, epoch_) / step_s;
        rate_ *= 1 / application_.slowdown;
    }

    // On as few machines as can be, where one GPU always accumulates.
    double packed_step_s(std::int32_t gpus) const {
        const DividedBatch shape = divided_batch(application_, types_.front(), batch_, gpus, true);
        const auto spread = gpus_by_machine(gpus, 1, groups_.front().gpus_per_machine);
        return step_time_s(application_.step(types_.front(), spread, shape.local),
                           shape.accumulated);
    }

    const traces::Application& application_;
    std::int64_t batch_;
    std::int64_t restart_s_;
    std::shared_ptr<const TransitionCosts> transition_;
    SaveRule saves_;
    std::int64_t save_every_s_;
    std::int64_t save_takes_s_;
    std::span<const MachineGroup> groups_;
    BatchLadder* ladder_;
    std::optional<FittedPace> fitted_;                 // nothing: it knows its tables
    std::span<const traces::RecordedBatch> recorded_;  // from the present one on
    std::vector<std::size_t> types_;                   // of the tables, by group
    Instant at_;
    std::int32_t gpus_ = 0;
    std::size_t type_ = 0;
    std::vector<std::int32_t> by_machine_;
    std::vector<Wait> waits_;                // still
    std::vector<GpusOnMachine> held_;        // with transitions by phase
    std::vector<GpusOnMachine> with_model_;  // of it, while a change is under way
    bool is_chosen_ = false;                 // the batch of the next slice
    double rate_ = 0;
    double progress_ = 0;
    double epoch_end_ = 0;
    std::int64_t epoch_ = 0;
    struct Saved {
        double progress = 0;
        std::int64_t epoch = 0;
        double epoch_end = 0;
    };
    Saved saved_;
    double most_progress_ = 0;  // that it ever had
    std::int64_t unsaved_s_ = 0;
    std::int64_t saving_s_ = 0;  // of the save under way, still
    SpentTimes spent_{};
    std::int64_t slice_ = 0;
    mutable std::vector<double> times_;  // by GPUs, as far as somebody asked
    mutable std::array<double, BatchLadder::rungs> gains_{};
    mutable std::int64_t gains_of_ = -1;  // epoch
};

}  // namespace

std::unique_ptr<JobWork> make_epoch_work(const SharingJob& job, const SharedCluster& cluster,
                                         BatchLadder* ladder) {
    return std::make_unique<EpochWork>(job, cluster, ladder);
}

}  // namespace ukemi::sim
