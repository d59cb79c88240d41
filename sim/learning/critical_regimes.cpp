// critical_regimes.cpp — two counts: samples, and those that were critical and not well cared for.
#include "sim/learning/critical_regimes.hpp"

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::sim {

namespace {

struct CarelessSamples final : LearningMemory {
    explicit CarelessSamples(std::int64_t so_many) : critical(so_many) {}
    std::int64_t critical;
};

double value_at(const std::vector<MetricPoint>& curve, std::int64_t samples) {
    if (curve.empty()) return 0;
    const auto right = std::ranges::upper_bound(curve, samples, {}, &MetricPoint::samples);
    if (right == curve.begin()) return curve.front().value;
    const MetricPoint& left = *(right - 1);
    if (right == curve.end()) return left.value;
    return left.value + (right->value - left.value) * static_cast<double>(samples - left.samples) /
                            static_cast<double>(right->samples - left.samples);
}

class CriticalRegimesModel final : public LearningModel {
public:
    explicit CriticalRegimesModel(CriticalRegimes all) : all_(std::move(all)) {}

    std::int64_t target() const override { return all_.samples; }

    LearningState after(const LearningState& from, std::int64_t steps,
                        const LearningStep& step) const override {
        const std::int64_t left = all_.samples - from.progress;
        const std::int64_t until =
            steps >= steps_to_cover(std::max<std::int64_t>(left, 1), step.batch)
                ? std::max(all_.samples, from.progress)
                : from.progress + steps * step.batch;
        std::int64_t careless = careless_in(from);
        if (is_careless(step)) careless += critical_between(from.progress, until);
        return {until, std::make_shared<const CarelessSamples>(careless)};
    }
    LookAhead look_ahead(const LearningState& from, const LearningStep& step,
                         std::int64_t most) const override {
        const std::int64_t steps = steps_to_cover(all_.samples - from.progress, step.batch);
        return steps <= most ? LookAhead{steps, true} : LookAhead{most, false};
    }
    std::int64_t samples_left(const LearningState& at, const LearningStep&) const override {
        return std::max<std::int64_t>(all_.samples - at.progress, 0);
    }
    policies::GradientStatistics gradient(const LearningState& at,
                                          const LearningStep&) const override {
        policies::GradientStatistics seen;
        seen.squared_norm = value_at(all_.squared_norm, at.progress);
        return seen;
    }
    std::optional<double> metric(const LearningState& at) const override {
        if (at.progress < all_.samples) return std::nullopt;
        const double share = static_cast<double>(careless_in(at)) /
                             static_cast<double>(critical_between(0, all_.samples));
        return all_.careful - (all_.careful - all_.careless) * share;
    }
    std::optional<std::uint64_t> digest(const LearningState& at) const override {
        return static_cast<std::uint64_t>(careless_in(at));
    }
    bool rate_of_plan() const override { return false; }
    std::string uncertainty() const override {
        return "of what compressing costs nothing counts outside the critical stretches: an "
               "account "
               "of others, not a measurement";
    }
    std::shared_ptr<const LearningModel> drawn(std::uint64_t) const override {
        return std::make_shared<CriticalRegimesModel>(*this);
    }

private:
    static std::int64_t careless_in(const LearningState& state) {
        if (state.memory == nullptr) return 0;
        return static_cast<const CarelessSamples&>(*state.memory).critical;
    }
    bool is_careless(const LearningStep& step) const {
        if (all_.careful_batch > 0 && step.batch > all_.careful_batch) return true;
        const policies::CodecChoice& careful = all_.careful_codec;
        if (careful.codec == policies::Codec::none || step.codec == policies::Codec::none)
            return false;
        return careful != policies::CodecChoice{step.codec, step.codec_level};
    }
    std::int64_t critical_between(std::int64_t from, std::int64_t until) const {
        std::int64_t sum = 0;
        for (const CriticalStretch& one : all_.critical) {
            const std::int64_t begin = std::max(from, one.from);
            const std::int64_t end = std::min({until, one.until, all_.samples});
            sum += std::max<std::int64_t>(end - begin, 0);
        }
        return sum;
    }

    CriticalRegimes all_;
};

}  // namespace

std::shared_ptr<const LearningModel> make_critical_regimes(CriticalRegimes regimes) {
    INVARIANT(regimes.samples >= 1 && !regimes.critical.empty());
    INVARIANT(regimes.critical.front().from < regimes.samples);
    return std::make_shared<CriticalRegimesModel>(std::move(regimes));
}

}  // namespace ukemi::sim
