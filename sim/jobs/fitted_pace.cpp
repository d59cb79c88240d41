// fitted_pace.cpp — the batch with the largest goodput by the fit.
#include "sim/jobs/fitted_pace.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"

namespace ukemi::sim {

void FittedPace::saw(const SeenStep& step, const traces::MeasuredGradient& gradient) {
    const bool is_new = steps_.saw(step);
    const bool is_same =
        gradient.squared_norm == gradient_.squared_norm && gradient.variance == gradient_.variance;
    if (!is_new && is_same) return;
    gradient_ = gradient;
    known_.clear();
}

const FittedPace::Best& FittedPace::best(std::int32_t machines, std::int32_t gpus) const {
    const auto [at, is_new] = known_.try_emplace({machines, gpus});
    if (is_new) at->second = found(machines, gpus);
    return at->second;
}

double FittedPace::pace(std::int32_t machines, std::int32_t gpus, std::int64_t batch) const {
    if (steps_.empty()) return gpus;
    const DividedBatch shape = divided_batch(application_, type_, batch, gpus, false);
    return 1 / steps_.step_s(steps_.pass_s(static_cast<double>(shape.local)),
                             steps_.exchange(machines, gpus), shape.accumulated);
}

FittedPace::Best FittedPace::found(std::int32_t machines, std::int32_t gpus) const {
    constexpr int batches = 50;
    constexpr double slack = 1e-8;  // theirs, against quotients that are not quite whole
    const auto first = static_cast<double>(application_.first_batch);
    const auto most = static_cast<double>(application_.batch_max);
    const auto local_min = static_cast<double>(application_.local_min);
    const auto local_max = static_cast<double>(application_.local_max(type_));
    const double least = std::max(first, local_min * gpus);
    if (steps_.empty()) {
        return {divided_batch(application_, type_, static_cast<std::int64_t>(least), gpus, false),
                static_cast<double>(gpus)};
    }
    if (least > most) return {};
    const double factor = exact::exp(exact::log(most / least) / (batches - 1));
    const StepFit::Exchange exchange = steps_.exchange(machines, gpus);
    Best best;
    double batch = least;
    double local_before = 0;
    double accumulated_before = -1;
    for (int i = 0; i < batches; ++i, batch = i == batches - 1 ? most : batch * factor) {
        const double each = batch / gpus;
        double accumulated = std::ceil(each / local_max - slack) - 1;
        if (gpus == 1 && each > first + slack) accumulated = std::max(1.0, accumulated);
        const double local = std::ceil(each / (accumulated + 1) - slack);
        if (local < local_min || local > local_max) continue;
        const bool is_like_before = local == local_before && accumulated == accumulated_before;
        local_before = local;
        accumulated_before = accumulated;
        if (is_like_before) continue;
        const auto passes = static_cast<std::int64_t>(accumulated);
        const double scale = gpus * local * (accumulated + 1) / first;
        const double slowest = gradient_.variance / scale + gradient_.squared_norm;
        const double gain =
            slowest > 0 ? (gradient_.variance + gradient_.squared_norm) / slowest : 1;
        const double pace = gain / steps_.step_s(steps_.pass_s(local), exchange, passes);
        if (pace <= best.pace) continue;
        const std::int64_t count = gpus * (passes + 1);
        best = {
            {std::min(static_cast<std::int64_t>(local), application_.batch_max / count), passes},
            pace};
    }
    return best;
}

}  // namespace ukemi::sim
