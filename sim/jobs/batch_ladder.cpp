// batch_ladder.cpp — divides batches, and times those of a ladder.
#include "sim/jobs/batch_ladder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exact_math.hpp"

namespace ukemi::sim {

DividedBatch divided_batch(const traces::Application& application, std::size_t type,
                           std::int64_t batch, std::int32_t gpus, bool accumulates_alone) {
    constexpr double slack = 1e-8;  // theirs, against quotients that are not quite whole
    const auto parts = [&](double of, double by) {
        return static_cast<std::int64_t>(std::ceil(of / by - slack));
    };
    const std::int64_t each = parts(static_cast<double>(batch), gpus);
    DividedBatch one;
    one.accumulated =
        parts(static_cast<double>(each), static_cast<double>(application.local_max(type))) - 1;
    if (gpus == 1 && (accumulates_alone || batch > application.first_batch)) {
        one.accumulated = std::max<std::int64_t>(1, one.accumulated);
    }
    const std::int64_t passes = one.accumulated + 1;
    one.local = std::min(parts(static_cast<double>(each), static_cast<double>(passes)),
                         application.batch_max / (gpus * passes));
    return one;
}

double step_time_s(const traces::ApplicationStep& step, std::int64_t accumulated) {
    return step.step_s + (step.step_s - step.sync_s) * static_cast<double>(accumulated);
}

double batch_gain(const traces::Application& application, std::int64_t batch, std::int64_t epoch) {
    const traces::MeasuredGradient seen = application.gradient(batch, epoch);
    const double scale = static_cast<double>(batch) / static_cast<double>(application.first_batch);
    return (seen.variance + seen.squared_norm) / (seen.variance / scale + seen.squared_norm);
}

std::vector<std::int32_t> gpus_by_machine(std::int32_t gpus, std::int32_t machines,
                                          std::int32_t gpus_per_machine) {
    std::vector<std::int32_t> by_machine;
    const bool packed = (gpus + gpus_per_machine - 1) / gpus_per_machine >= machines;
    for (std::int32_t left = gpus; left > 0;) {
        const auto machines_left = machines - static_cast<std::int32_t>(by_machine.size());
        const std::int32_t even =
            (left + std::max(1, machines_left) - 1) / std::max(1, machines_left);
        const std::int32_t some = packed ? std::min(gpus_per_machine, left) : even;
        by_machine.push_back(some);
        left -= some;
    }
    return by_machine;
}

BatchLadder::BatchLadder(const traces::Application& application) : application_(application) {
    const double factor = exact::log(static_cast<double>(application.batch_max) /
                                     static_cast<double>(application.first_batch)) /
                          static_cast<double>(rungs - 1);
    for (std::size_t i = 0; i < rungs; ++i) {
        const double larger = exact::exp(factor * static_cast<double>(i));
        batches_[i] =
            std::min(application.batch_max,
                     round_nearest(static_cast<double>(application.first_batch) * larger));
    }
}

const std::array<double, BatchLadder::rungs>& BatchLadder::times_s(
    std::size_t type, std::span<const std::int32_t> by_machine) {
    const std::pair key{type, std::vector(by_machine.begin(), by_machine.end())};
    const auto known = times_s_.find(key);
    if (known != times_s_.end()) return known->second;
    std::int32_t gpus = 0;
    for (const std::int32_t one : by_machine) gpus += one;
    std::array<double, rungs> times{};
    for (std::size_t i = 0; i < rungs; ++i) {
        const DividedBatch shape = divided_batch(application_, type, batches_[i], gpus, false);
        times[i] =
            shape.local < application_.local_min
                ? std::numeric_limits<double>::infinity()
                : step_time_s(application_.step(type, by_machine, shape.local), shape.accumulated);
    }
    return times_s_[key] = times;
}

}  // namespace ukemi::sim
