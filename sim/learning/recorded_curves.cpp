#include "sim/learning/recorded_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"

namespace ukemi::sim {

namespace {

constexpr int level_count = 64;
constexpr double never = std::numeric_limits<double>::infinity();

const RecordedCurve* curve_of(const RecordedCurves& all, std::int64_t batch) {
    const auto found = std::ranges::find(all.curves, batch, &RecordedCurve::batch);
    return found == all.curves.end() ? nullptr : &*found;
}

// Samples after which the curve is first at this value, going up or down; `never` if it is not.
double samples_to(const RecordedCurve& curve, double value, bool rises) {
    const auto there = [&](double at) { return rises ? at >= value : at <= value; };
    if (there(curve.points.front().value)) return static_cast<double>(curve.points.front().samples);
    for (std::size_t right = 1; right < curve.points.size(); ++right) {
        const MetricPoint& a = curve.points[right - 1];
        const MetricPoint& b = curve.points[right];
        if (!there(b.value)) continue;
        const double part = (value - a.value) / (b.value - a.value);
        return static_cast<double>(a.samples) + part * static_cast<double>(b.samples - a.samples);
    }
    return never;
}

struct Level {
    std::int64_t progress = 0;  // where it begins
    double metric = 0;
    std::vector<double> samples;  // that each curve's batch takes to the next level
    double progress_to_next = 0;  // in samples of the reference batch
};

std::vector<Level> levels_of(const RecordedCurves& all) {
    const RecordedCurve& reference = *curve_of(all, all.reference_batch);
    const double first = reference.points.front().value;
    const bool rises = all.target >= first;
    std::vector<Level> levels;
    const auto value_at = [&](int level) {
        if (level == level_count) return all.target;  // to the bit: no curve need go beyond
        return first + (all.target - first) * level / level_count;
    };
    // From its first sample on, whatever it was like then: recordings often begin later.
    constexpr int beginning = -1;
    const auto samples_at = [&](const RecordedCurve& curve, int level) {
        return level == beginning ? 0 : samples_to(curve, value_at(level), rises);
    };
    int from = beginning;
    for (int to = 0; to <= level_count; ++to) {
        const double before = samples_at(reference, from);
        const double way = samples_at(reference, to) - before;
        if (way < 1 && to < level_count) continue;  // a jump: one level with what follows
        Level level;
        level.progress = round_nearest(before * progress_per_sample);
        level.metric = value_at(std::max(from, 0));
        level.progress_to_next = std::max(way, 1.0);
        for (const RecordedCurve& curve : all.curves) {
            const double end = samples_at(curve, to);
            level.samples.push_back(end == never ? never : end - samples_at(curve, from));
        }
        levels.push_back(std::move(level));
        from = to;
    }
    return levels;
}

class RecordedCurvesModel final : public ProgressLaw {
public:
    explicit RecordedCurvesModel(RecordedCurves all)
        : all_(std::move(all)), levels_(levels_of(all_)) {
        const Level& last = levels_.back();
        target_ = last.progress + round_up(last.progress_to_next * progress_per_sample);
    }

    std::int64_t target() const override { return target_; }

    // A large step leads through several levels, at the pace of each.
    std::int64_t worth(std::int64_t progress, const LearningStep& step) const override {
        double left = static_cast<double>(step.batch);
        std::int64_t at = progress;
        for (auto next = level_after(progress); at < target_; ++next) {
            const Level& level = *(next - 1);
            const std::int64_t end = end_of(next);
            const double samples = samples_for(level, step.batch) * stretch_;
            if (samples == never) break;
            const double whole = level.progress_to_next * progress_per_sample;
            const double needed = samples * static_cast<double>(end - at) / whole;
            if (needed > left) return at - progress + round_up(left * whole / samples);
            left -= needed;
            at = end;
        }
        return at - progress;
    }

    std::int64_t same_until(std::int64_t progress, const LearningStep& step) const override {
        const std::int64_t last = end_of(level_after(progress)) - worth(progress, step);
        return std::max(last, progress) + 1;
    }

    policies::GradientStatistics gradient(const LearningState&,
                                          const LearningStep&) const override {
        return {};
    }

    std::optional<double> metric(const LearningState& at) const override {
        const auto next = level_after(at.progress);
        const Level& level = *(next - 1);
        const std::int64_t end = end_of(next);
        const double goal = next == levels_.end() ? all_.target : next->metric;
        const double part = static_cast<double>(std::min(at.progress, end) - level.progress) /
                            static_cast<double>(end - level.progress);
        return level.metric + part * (goal - level.metric);
    }

    bool rate_of_plan() const override { return false; }

    std::string uncertainty() const override {
        std::string text = fmt::format("seeds differ by {:.3g} % (spread)", 100 * all_.spread);
        if (all_.curves.size() == 1) return text + "; one recorded batch: others are guesses";
        text += "; between recorded batches straight in log(batch)";
        std::string errors;
        for (const LeftOutCurve& one : leave_out_each(all_)) {
            errors += fmt::format("{}{:+.1f} % at {}", errors.empty() ? "" : ", ",
                                  100 * (one.interpolated / one.recorded - 1), one.batch);
        }
        return text + (errors.empty()
                           ? ", which no inner curve checks"
                           : fmt::format(": samples off by {} when that one is left out", errors));
    }

    std::shared_ptr<const LearningModel> drawn(std::uint64_t seed) const override {
        auto model = std::make_shared<RecordedCurvesModel>(all_);
        RandomStream luck(seed, "learning");
        model->stretch_ = std::clamp(1 + all_.spread * luck.normal(0, 1), 0.1, 10.0);
        return model;
    }

private:
    std::vector<Level>::const_iterator level_after(std::int64_t progress) const {
        return std::ranges::upper_bound(levels_.begin() + 1, levels_.end(), progress, {},
                                        &Level::progress);
    }

    std::int64_t end_of(std::vector<Level>::const_iterator next) const {
        return next == levels_.end() ? target_ : next->progress;
    }

    double samples_for(const Level& level, std::int64_t batch) const {
        const auto right = std::ranges::lower_bound(all_.curves, batch, {}, &RecordedCurve::batch);
        if (right == all_.curves.end()) {
            const double times =
                static_cast<double>(batch) / static_cast<double>(all_.curves.back().batch);
            return level.samples.back() * times;
        }
        const auto index = static_cast<std::size_t>(right - all_.curves.begin());
        if (index == 0 || right->batch == batch) return level.samples[index];
        const double a = static_cast<double>(all_.curves[index - 1].batch);
        const double b = static_cast<double>(right->batch);
        const double part = exact::log(static_cast<double>(batch) / a) / exact::log(b / a);
        return (1 - part) * level.samples[index - 1] + part * level.samples[index];
    }

    RecordedCurves all_;
    std::vector<Level> levels_;
    std::int64_t target_ = 1;
    double stretch_ = 1;
};

}  // namespace

std::string curves_problem(const RecordedCurves& all) {
    for (std::size_t i = 0; i < all.curves.size(); ++i) {
        const RecordedCurve& curve = all.curves[i];
        if (curve.points.size() < 2) {
            return fmt::format("the curve of batch {} needs at least two points", curve.batch);
        }
        if (i > 0 && curve.batch <= all.curves[i - 1].batch) return "batches have to rise";
        for (std::size_t point = 1; point < curve.points.size(); ++point) {
            if (curve.points[point].samples <= curve.points[point - 1].samples) {
                return fmt::format("the samples of batch {} have to rise", curve.batch);
            }
        }
    }
    const RecordedCurve* reference = curve_of(all, all.reference_batch);
    if (reference == nullptr) return "there is no curve of the reference batch";
    const double first = reference->points.front().value;
    if (first == all.target) return "the target is where the reference batch begins";
    if (samples_to(*reference, all.target, all.target > first) == never) {
        return "the reference batch never gets to the target";
    }
    return {};
}

std::vector<LeftOutCurve> leave_out_each(const RecordedCurves& all) {
    std::vector<LeftOutCurve> left_out;
    const auto samples_at = [&](const RecordedCurves& curves, std::int64_t batch) {
        const RecordedCurvesModel model(curves);
        const LearningStep step{batch, 0};
        const auto steps = steps_to_target(model, model.start(), step);
        return steps ? static_cast<double>(*steps * batch) : never;
    };
    for (std::size_t i = 1; i + 1 < all.curves.size(); ++i) {
        RecordedCurves others = all;
        others.reference_batch = all.curves.front().batch;
        others.curves.erase(others.curves.begin() + static_cast<std::ptrdiff_t>(i));
        if (!curves_problem(others).empty()) continue;
        const std::int64_t batch = all.curves[i].batch;
        const LeftOutCurve one{batch, samples_at(all, batch), samples_at(others, batch)};
        if (one.recorded < never && one.interpolated < never) left_out.push_back(one);
    }
    return left_out;
}

std::shared_ptr<const ProgressLaw> make_recorded_curves(RecordedCurves curves) {
    INVARIANT(curves_problem(curves).empty());
    return std::make_shared<RecordedCurvesModel>(std::move(curves));
}

}  // namespace ukemi::sim
