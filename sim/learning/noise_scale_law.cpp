#include "sim/learning/noise_scale_law.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "sim/learning/bends.hpp"

namespace ukemi::sim {

namespace {

constexpr int cells_per_segment = 64;

struct Cell {               // the curve is level in it
    std::int64_t from = 0;  // in samples
    double noise_scale = 0;
    double squared_norm = 0;
    double best_rate = 1;  // of the reference batch, relative to the first
};

NoiseScalePoint on_curve(const std::vector<NoiseScalePoint>& curve, double samples) {
    const auto after = std::ranges::upper_bound(
        curve, samples, {},
        [](const NoiseScalePoint& point) { return static_cast<double>(point.samples); });
    if (after == curve.begin()) return curve.front();
    const NoiseScalePoint& left = *(after - 1);
    if (after == curve.end()) return left;
    const double part = (samples - static_cast<double>(left.samples)) /
                        static_cast<double>(after->samples - left.samples);
    return {left.samples, left.noise_scale + part * (after->noise_scale - left.noise_scale),
            left.squared_norm + part * (after->squared_norm - left.squared_norm)};
}

// Where cells begin: at every point and drop, and evenly between two of them.
std::vector<std::int64_t> cell_borders(const NoiseScaleLaw& law) {
    std::set<std::int64_t> corners{0, law.samples};
    for (const NoiseScalePoint& point : law.noise) corners.insert(point.samples);
    for (const RateDrop& drop : law.drops) corners.insert(drop.samples);
    std::set<std::int64_t> borders;
    for (auto left = corners.begin(), right = std::next(left); right != corners.end();
         left = right++) {
        const Int128 length = *right - *left;
        for (int cell = 0; cell < cells_per_segment; ++cell) {
            borders.insert(*left + static_cast<std::int64_t>(length * cell / cells_per_segment));
        }
    }
    return {borders.begin(), borders.end()};
}

std::vector<Cell> cells_of(const NoiseScaleLaw& law) {
    std::vector<Cell> cells;
    const std::vector<std::int64_t> borders = cell_borders(law);
    for (std::size_t index = 0; index < borders.size(); ++index) {
        const std::int64_t end = index + 1 < borders.size() ? borders[index + 1] : law.samples;
        const double middle = 0.5 * (static_cast<double>(borders[index]) +
                                     static_cast<double>(std::max(end, borders[index])));
        const NoiseScalePoint noise = on_curve(law.noise, middle);
        Cell cell{borders[index], noise.noise_scale, noise.squared_norm, 1};
        for (const RateDrop& drop : law.drops) {
            if (drop.samples > cell.from) continue;
            cell.best_rate *= drop.factor;
            cell.noise_scale *= drop.noise_factor;
        }
        cells.push_back(cell);
    }
    return cells;
}

class NoiseScaleModel final : public CorneredLaw {
public:
    explicit NoiseScaleModel(NoiseScaleLaw law)
        : law_(std::move(law)), cells_(cells_of(law_)), target_(progress_of(law_.samples)) {}

    std::int64_t target() const override { return target_; }

    std::int64_t worth(std::int64_t progress, const LearningStep& step) const override {
        const Cell& cell = cell_at(progress);
        const double batch = static_cast<double>(step.batch);
        const double reference = static_cast<double>(law_.reference_batch);
        const double noise = cell.noise_scale;
        const double efficiency = (noise + reference) / (noise + batch);
        const double share =
            rate_share(law_.reference_over_best * rate_over_gain(progress, cell, step)) /
            rate_share(law_.reference_over_best);
        const double worth = batch * efficiency * share * large_batch_share(step.batch);
        return round_up(worth * static_cast<double>(progress_per_sample));
    }

    std::int64_t same_until(std::int64_t progress) const override {
        const auto next = cell_after(progress);
        std::int64_t until = next == cells_.end() ? target_ : progress_of(next->from);
        if (ramps()) until = std::min(until, (progress / ramp_piece() + 1) * ramp_piece());
        return std::max(until, progress + 1);
    }

    // The metric has corners of its own.
    std::int64_t straight_until(std::int64_t progress) const override {
        const auto corner_of = [&](const MetricPoint& point) {
            return round_up(static_cast<double>(progress_of(point.samples)) * stretch_);
        };
        const auto next = std::ranges::upper_bound(law_.metric, progress, {}, corner_of);
        return next == law_.metric.end() ? target_ : corner_of(*next);
    }

    policies::GradientStatistics gradient(const LearningState& at,
                                          const LearningStep&) const override {
        const Cell& cell = cell_at(at.progress);
        return {cell.squared_norm, cell.squared_norm * cell.noise_scale, cell.noise_scale};
    }

    std::optional<double> metric(const LearningState& at) const override {
        if (law_.metric.empty()) return std::nullopt;
        const std::int64_t samples = round_nearest(static_cast<double>(at.progress) / stretch_ /
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

    bool rate_of_plan() const override { return law_.rule == RateRule::plan; }

    std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const override {
        auto model = std::make_shared<NoiseScaleModel>(law_);
        RandomStream luck(seed, "learning");
        model->stretch_ = std::clamp(1 + law_.spread * luck.normal(0, 1), 0.1, 10.0);
        model->target_ = round_up(static_cast<double>(progress_of(law_.samples)) * model->stretch_);
        return model;
    }

private:
    static std::int64_t progress_of(std::int64_t samples) { return samples * progress_per_sample; }

    std::vector<Cell>::const_iterator cell_after(std::int64_t progress) const {
        return std::ranges::upper_bound(cells_, progress / progress_per_sample, {}, &Cell::from);
    }
    const Cell& cell_at(std::int64_t progress) const { return *(cell_after(progress) - 1); }

    // A warm-up raises the rate in 64 pieces, or more where it is longer for larger batches.
    bool ramps() const {
        const bool warms_up = law_.rule == RateRule::linear || law_.rule == RateRule::square_root ||
                              law_.rule == RateRule::legw;
        return warms_up && law_.warm_up_samples > 0;
    }
    std::int64_t ramp_piece() const {
        return progress_of(law_.warm_up_samples) / cells_per_segment;
    }
    double warmed_up(std::int64_t progress, double stretched) const {
        if (!ramps()) return 1;
        const std::int64_t piece = ramp_piece();
        const double at = static_cast<double>(progress / piece * piece + piece / 2);
        return std::min(1.0,
                        at / (static_cast<double>(progress_of(law_.warm_up_samples)) * stretched));
    }

    // The learning rate that is used, in units of what the reference gains with this batch here.
    double rate_over_gain(std::int64_t progress, const Cell& cell, const LearningStep& step) const {
        const double batch = static_cast<double>(step.batch);
        const double reference = static_cast<double>(law_.reference_batch);
        const double gain = (1 + cell.noise_scale / reference) / (1 + cell.noise_scale / batch);
        const double times = batch / reference;
        const auto ramped = [&](double rate, double stretched) {
            return (1 + (rate - 1) * warmed_up(progress, stretched)) / gain;
        };
        switch (law_.rule) {
            case RateRule::ada_scale: return 1;
            case RateRule::fixed: return 1 / gain;
            case RateRule::linear: return ramped(times, 1);
            case RateRule::square_root: return ramped(std::sqrt(times), 1);
            case RateRule::legw: return ramped(std::sqrt(times), std::max(times, 1.0));
            case RateRule::plan:
                return step.learning_rate / (law_.reference_rate * cell.best_rate * gain);
        }
        INVARIANT(false);
        return 0;
    }

    static double rate_share(double rate) { return rate > 0 && rate < 2 ? rate * (2 - rate) : 0; }

    double large_batch_share(std::int64_t batch) const {
        if (law_.large_batch_from == 0 || batch <= law_.large_batch_from) return 1;
        return exact::pow(static_cast<double>(law_.large_batch_from) / static_cast<double>(batch),
                          law_.large_batch_exponent);
    }

    NoiseScaleLaw law_;
    std::vector<Cell> cells_;
    std::int64_t target_;
    double stretch_ = 1;  // of the way, in this run; drops stay where they are
};

}  // namespace

std::shared_ptr<const ProgressLaw> make_noise_scale_law(NoiseScaleLaw law) {
    constexpr std::int64_t samples_most = 1'000'000'000'000;  // so that progress can be counted
    INVARIANT(law.samples >= 1 && law.samples <= samples_most && law.reference_batch >= 1);
    INVARIANT(!law.noise.empty());
    INVARIANT(law.rule != RateRule::plan || law.reference_rate > 0);
    INVARIANT(law.reference_over_best > 0 && law.reference_over_best < 2);
    return std::make_shared<NoiseScaleModel>(std::move(law));
}

}  // namespace ukemi::sim
