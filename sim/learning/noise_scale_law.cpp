#include "sim/learning/noise_scale_law.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "sim/learning/schedule_cells.hpp"
#include "sim/learning/step_worth.hpp"

namespace ukemi::sim {

namespace {

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t collected_most = 4'000'000'000'000'000'000;

std::int64_t progress_of(std::int64_t samples) { return samples * progress_per_sample; }

// What was collected of each phase, in millionths of a sample, and the samples that were used.
class Collected final : public LearningMemory {
public:
    explicit Collected(std::size_t phases) : of_phase(phases) {}
    std::vector<std::int64_t> of_phase;
    std::int64_t samples = 0;
};

struct Piece {  // steps that are all worth the same
    std::vector<std::int64_t> worth;
    std::int64_t steps = endless;
    bool learns() const {
        return std::ranges::any_of(worth, [](std::int64_t one) { return one > 0; });
    }
};

struct PhaseOfSchedule {
    double factor = 1;        // of the rate
    std::int64_t length = 0;  // of the schedule, as progress
    double weight = 0;        // w_k
    double collected = 0;     // N_k, as progress
};

// One for all where the rate is the law's own: then its drops are in the noise scale alone.
std::vector<PhaseOfSchedule> phases_of(const NoiseScaleLaw& law) {
    std::vector<PhaseOfSchedule> phases(1);
    std::int64_t begins = 0;
    const auto end_at = [&](std::int64_t samples) {
        phases.back().length = progress_of(samples - begins);
        phases.back().weight =
            static_cast<double>(samples - begins) / static_cast<double>(law.samples);
        begins = samples;
    };
    for (const RateDrop& drop : law.drops) {
        if (law.rule != RateRule::plan || drop.samples >= law.samples) break;
        end_at(drop.samples);
        phases.push_back({phases.back().factor * drop.factor});
    }
    end_at(law.samples);
    return phases;
}

std::vector<double> factors_of(const std::vector<PhaseOfSchedule>& phases) {
    std::vector<double> factors;
    for (const PhaseOfSchedule& phase : phases) factors.push_back(phase.factor);
    return factors;
}

class NoiseScaleModel final : public LearningModel {
public:
    explicit NoiseScaleModel(NoiseScaleLaw law)
        : law_(std::move(law)),
          cells_(schedule_cells(law_)),
          phases_(phases_of(law_)),
          worth_(law_, factors_of(phases_)) {
        run_schedule();
        stretch(1);
    }

    std::int64_t target() const override { return target_; }

    LearningState after(const LearningState& from, std::int64_t steps,
                        const LearningStep& step) const override {
        return state_of(walk(from, steps, step));
    }

    LookAhead look_ahead(const LearningState& from, const LearningStep& step,
                         std::int64_t most) const override {
        const Walked walked = walk(from, most, step);
        return walked.done ? LookAhead{walked.steps, true} : LookAhead{most, false};
    }

    std::int64_t straight_steps(const LearningState& from,
                                const LearningStep& step) const override {
        const Collected at = collected(from);
        const std::int64_t along = along_schedule(at);
        Piece piece = piece_at(at, step);
        if (!piece.learns()) return endless;
        // The metric has corners of its own.
        const auto corner_of = [&](const MetricPoint& point) {
            return round_up(static_cast<double>(progress_of(point.samples)) * stretch_);
        };
        const auto corner = std::ranges::upper_bound(law_.metric, along, {}, corner_of);
        const std::int64_t slope = slope_of(at, piece);
        if (corner != law_.metric.end() && slope > 0) {
            piece.steps = std::min(piece.steps, steps_to_cover(corner_of(*corner) - along, slope));
        }
        return piece.steps;
    }

    // If every step were worth to its own phase what one is worth now; at most 10^15.
    std::int64_t samples_left(const LearningState& at, const LearningStep& step) const override {
        constexpr std::int64_t most = 1'000'000'000'000'000;
        if (at.progress >= target_) return 0;
        const std::int64_t one = law_.until_samples
                                     ? progress_of(step.batch)
                                     : std::ranges::max(piece_at(collected(at), step).worth);
        if (one == 0) return most;
        const std::int64_t steps = steps_to_cover(target_ - at.progress, one);
        return steps > most / step.batch ? most : steps * step.batch;
    }

    policies::GradientStatistics gradient(const LearningState& at,
                                          const LearningStep& step) const override {
        const ScheduleCell& cell = cell_at(along_schedule(collected(at)));
        const double noise = worth_.noise_scale(cell, step);
        const double squared =
            noise > 0 ? cell.squared_norm * cell.noise_scale / noise : cell.squared_norm;
        return {squared, squared * noise, noise};
    }

    std::optional<double> metric(const LearningState& at) const override {
        const Collected done = collected(at);
        if (law_.accuracy) {  // on the way it is not known
            if (at.progress < target_) return std::nullopt;
            const double lost = law_.accuracy->scale * excess(done.of_phase);
            if (!std::isfinite(lost)) return std::nullopt;  // a phase of which there was nothing
            return std::clamp(law_.accuracy->reference - lost, 0.0, 1.0);
        }
        if (law_.metric.empty()) return std::nullopt;
        const std::int64_t samples =
            round_nearest(static_cast<double>(along_schedule(done)) / stretch_ /
                          static_cast<double>(progress_per_sample));
        const auto after =
            std::ranges::upper_bound(law_.metric, samples, {}, &MetricPoint::samples);
        if (after == law_.metric.begin()) return law_.metric.front().value;
        const MetricPoint& left = *(after - 1);
        if (after == law_.metric.end()) return left.value;
        return left.value + (after->value - left.value) *
                                static_cast<double>(samples - left.samples) /
                                static_cast<double>(after->samples - left.samples);
    }

    std::optional<std::uint64_t> digest(const LearningState& at) const override {
        if (at.memory == nullptr) return std::nullopt;
        std::uint64_t sum = 0;
        for (const std::int64_t one : collected(at).of_phase) {
            sum = (sum ^ static_cast<std::uint64_t>(one)) * 0x9E3779B97F4A7C15U;
            sum = std::rotl(sum, 29);
        }
        return sum;
    }

    bool rate_of_plan() const override { return law_.rule == RateRule::plan; }

    std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const override {
        auto model = std::make_shared<NoiseScaleModel>(*this);
        RandomStream luck(seed, "learning");
        model->stretch(std::clamp(1 + law_.spread * luck.normal(0, 1), 0.1, 10.0));
        return model;
    }

private:
    struct Walked {
        Collected at;
        std::int64_t steps = 0;
        bool done = false;
    };

    bool one_number() const { return phases_.size() == 1 && !law_.until_samples; }

    Collected collected(const LearningState& state) const {
        if (state.memory != nullptr) return static_cast<const Collected&>(*state.memory);
        INVARIANT(state.progress == 0 || one_number());
        Collected at(phases_.size());
        at.of_phase.front() = state.progress;
        return at;
    }

    LearningState state_of(Walked walked) const {
        const std::int64_t along =
            law_.until_samples ? progress_of(walked.at.samples) : along_schedule(walked.at);
        const std::int64_t progress = walked.done ? target_ : std::min(along, target_ - 1);
        if (one_number()) return {walked.done ? target_ : walked.at.of_phase.front()};
        return {progress, std::make_shared<const Collected>(std::move(walked.at))};
    }

    // Where the schedule would be: what is more of a phase than it has there does not count.
    std::int64_t along_schedule(const Collected& at) const {
        std::int64_t along = 0;
        for (std::size_t k = 0; k < phases_.size(); ++k) {
            along += std::min(at.of_phase[k], phases_[k].length);
        }
        return along;
    }
    std::int64_t slope_of(const Collected& at, const Piece& piece) const {
        std::int64_t slope = 0;
        for (std::size_t k = 0; k < phases_.size(); ++k) {
            if (at.of_phase[k] < phases_[k].length) slope += piece.worth[k];
        }
        return slope;
    }

    double excess(const std::vector<std::int64_t>& of_phase) const {
        double sum = -1;
        for (std::size_t k = 0; k < phases_.size(); ++k) {
            if (of_phase[k] <= 0) return std::numeric_limits<double>::infinity();
            sum += phases_[k].weight * stretch_ * phases_[k].collected /
                   static_cast<double>(of_phase[k]);
        }
        return sum;
    }
    bool good_enough(const std::vector<std::int64_t>& of_phase) const {
        if (phases_.size() == 1) return of_phase.front() >= target_;
        constexpr double of_whole_steps = 1e-5;  // by which phases may end early
        return excess(of_phase) <= law_.excess + of_whole_steps;
    }

    std::vector<ScheduleCell>::const_iterator cell_after(std::int64_t along) const {
        return std::ranges::upper_bound(cells_, along / progress_per_sample, {},
                                        &ScheduleCell::from);
    }
    const ScheduleCell& cell_at(std::int64_t along) const { return *(cell_after(along) - 1); }

    Piece piece_at(const Collected& at, const LearningStep& step) const {
        const std::int64_t along = along_schedule(at);
        Piece piece{worth_.of_step(cell_at(along), step)};
        if (const std::int64_t slope = slope_of(at, piece); slope > 0) {
            const auto next = cell_after(along);
            if (next != cells_.end()) {
                piece.steps = steps_to_cover(progress_of(next->from) - along, slope);
            }
        }
        for (std::size_t k = 0; k < phases_.size(); ++k) {
            const std::int64_t left = phases_[k].length - at.of_phase[k];
            if (left <= 0 || piece.worth[k] == 0) continue;
            piece.steps = std::min(piece.steps, steps_to_cover(left, piece.worth[k]));
        }
        return piece;
    }

    static void collect(Collected& at, const Piece& piece, std::int64_t steps) {
        for (std::size_t k = 0; k < at.of_phase.size(); ++k) {
            at.of_phase[k] += steps * piece.worth[k];
        }
    }

    // Steps of the piece after which all is good enough, at most so many; nothing if it is not.
    std::optional<std::int64_t> steps_to_good(const Collected& at, const Piece& piece,
                                              std::int64_t most) const {
        const auto good_after = [&](std::int64_t steps) {
            Collected then = at;
            collect(then, piece, steps);
            return good_enough(then.of_phase);
        };
        if (!good_after(most)) return std::nullopt;
        std::int64_t too_few = 0;
        while (most - too_few > 1) {
            const std::int64_t middle = too_few + (most - too_few) / 2;
            (good_after(middle) ? most : too_few) = middle;
        }
        return most;
    }

    // To the target at the farthest.
    Walked walk(const LearningState& from, std::int64_t most, const LearningStep& step) const {
        Walked walked{collected(from), 0, from.progress >= target_};
        while (walked.steps < most && !walked.done) {
            const Piece piece = piece_at(walked.at, step);
            std::int64_t steps = std::min(piece.steps, most - walked.steps);
            if (law_.until_samples) {
                const std::int64_t left =
                    steps_to_cover(target_ / progress_per_sample - walked.at.samples, step.batch);
                steps = std::min(steps, left);
                walked.done = steps == left;
            } else if (!piece.learns()) {
                break;
            }
            for (std::size_t k = 0; k < phases_.size(); ++k) {
                if (piece.worth[k] == 0) continue;
                steps = std::min(steps, (collected_most - walked.at.of_phase[k]) / piece.worth[k]);
            }
            if (steps == 0) break;
            if (!law_.until_samples) {
                const auto good = steps_to_good(walked.at, piece, steps);
                walked.done = good.has_value();
                steps = good.value_or(steps);
            } else {
                walked.at.samples += steps * step.batch;
            }
            collect(walked.at, piece, steps);
            walked.steps += steps;
        }
        return walked;
    }

    // What the schedule collects: N_k.
    void run_schedule() {
        Collected at(phases_.size());
        std::int64_t made = 0;
        std::int64_t end = 0;
        for (const PhaseOfSchedule& phase : phases_) {
            end += phase.length;
            const LearningStep step{law_.reference_batch, law_.reference_rate * phase.factor};
            const std::int64_t until = steps_to_cover(end, progress_of(law_.reference_batch));
            while (made < until) {
                const Piece piece = piece_at(at, step);
                const std::int64_t steps = std::min(piece.steps, until - made);
                collect(at, piece, steps);
                made += steps;
            }
        }
        for (std::size_t k = 0; k < phases_.size(); ++k) {
            phases_[k].collected = static_cast<double>(at.of_phase[k]);
        }
    }

    void stretch(double by) {
        stretch_ = by;
        const auto whole = static_cast<double>(progress_of(law_.samples));
        if (law_.until_samples) {
            target_ = progress_of(law_.samples);
        } else if (phases_.size() == 1) {
            const double wanted = whole * by / (1 + law_.excess);
            target_ = std::max<std::int64_t>(
                1, round_up(std::min(wanted, static_cast<double>(collected_most))));
        } else {
            target_ = std::max<std::int64_t>(1, round_up(whole * by));
        }
        std::int64_t before = 0;
        for (std::size_t k = 0; k + 1 < phases_.size(); ++k) before += phases_[k].length;
        if (!law_.until_samples) {
            phases_.back().length = std::max<std::int64_t>(1, target_ - before);
        }
    }

    NoiseScaleLaw law_;
    std::vector<ScheduleCell> cells_;
    std::vector<PhaseOfSchedule> phases_;
    StepWorth worth_;
    std::int64_t target_ = 1;
    double stretch_ = 1;  // of the way, in this run; drops stay where they are
};

}  // namespace

std::shared_ptr<const LearningModel> make_noise_scale_law(NoiseScaleLaw law) {
    constexpr std::int64_t samples_most = 1'000'000'000'000;  // so that progress can be counted
    INVARIANT(law.samples >= 1 && law.samples <= samples_most && law.reference_batch >= 1);
    INVARIANT(!law.noise.empty());
    INVARIANT(law.rule != RateRule::plan || law.reference_rate > 0);
    INVARIANT(law.reference_over_best > 0 && law.reference_over_best < 2);
    INVARIANT(law.excess > -1);
    return std::make_shared<NoiseScaleModel>(std::move(law));
}

}  // namespace ukemi::sim
