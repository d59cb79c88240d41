#include "sim/learning/step_worth.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/exact_math.hpp"

namespace ukemi::sim {

double noise_at_its_gain(double noise, double exponent, double batch, double reference) {
    if (noise <= 0 || exponent == 0) return noise;
    constexpr int rounds = 48;  // each halves what is wrong, at least
    double efficiency = 1;
    double at_it = noise;
    for (int round = 0; round < rounds; ++round) {
        at_it = noise * exact::pow(efficiency, -exponent);
        efficiency = 0.5 * (efficiency + (at_it + reference) / (at_it + batch));
    }
    return at_it;
}

StepWorth::StepWorth(const NoiseScaleLaw& law, std::vector<double> factors)
    : of_plan_(law.rule == RateRule::plan),
      batch_(static_cast<double>(law.reference_batch)),
      rate_(law.reference_rate),
      rate_over_best_(law.reference_over_best),
      limit_(rate_ > 0 ? law.rate_limit / rate_ : 0),
      exponent_(law.noise_exponent),
      factors_(std::move(factors)) {}

double StepWorth::temperature(const LearningStep& step) const {
    return step.learning_rate / rate_ * batch_ / static_cast<double>(step.batch);
}

double StepWorth::noise_scale(const ScheduleCell& cell, const LearningStep& step) const {
    if (exponent_ == 0) return cell.noise_scale;
    const auto batch = static_cast<double>(step.batch);
    if (!of_plan_) return noise_at_its_gain(cell.noise_scale, exponent_, batch, batch_);
    const double colder = temperature(step) / cell.factor;
    return colder > 0 ? cell.noise_scale * exact::pow(colder, -exponent_) : cell.noise_scale;
}

double StepWorth::hot(double temperature) const {
    if (temperature <= 1) return 1;
    return std::max(0.0, (2 - rate_over_best_ * temperature) / (2 - rate_over_best_));
}

double StepWorth::steady(double rate) const {
    if (limit_ == 0 || rate <= limit_) return rate;
    const double below = limit_ / rate;
    return rate * below * below * below;
}

std::vector<std::int64_t> StepWorth::of_step(const ScheduleCell& cell,
                                             const LearningStep& step) const {
    const auto batch = static_cast<double>(step.batch);
    const double noise = noise_scale(cell, step);
    const double useful = batch * (noise + batch_) / (noise + batch);  // B times e
    const auto progress = [](double samples) {
        return round_up(samples * static_cast<double>(progress_per_sample));
    };
    std::vector<std::int64_t> worth(factors_.size());
    if (!of_plan_) {
        worth.front() = progress(useful);
        return worth;
    }
    if (!(step.learning_rate > 0)) return worth;
    const double heat = temperature(step);
    worth.front() = progress(batch_ * steady(step.learning_rate / rate_) * hot(heat));
    for (std::size_t k = 1; k < worth.size(); ++k) {
        const double over = heat * batch / (useful * factors_[k]);
        const double cold = over < 1 ? std::sqrt(std::sqrt(over)) : 1;
        worth[k] = progress(useful * hot(over) * cold);
    }
    return worth;
}

}  // namespace ukemi::sim
