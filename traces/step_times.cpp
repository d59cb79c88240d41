// step_times.cpp — looks measured steps up, and interpolates between them.
#include "traces/step_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::traces {

namespace {

// The smallest of all rotations: which of a ring's machines comes first changes nothing.
std::string rotated(std::span<const std::int32_t> gpus_by_machine) {
    std::vector<std::int32_t> turned(gpus_by_machine.begin(), gpus_by_machine.end());
    std::vector<std::int32_t> least = turned;
    for (std::size_t i = 1; i < turned.size(); ++i) {
        std::ranges::rotate(turned, turned.begin() + 1);
        least = std::min(least, turned);
    }
    return fmt::format("{}", fmt::join(least, " "));
}

// Σ of rows a·x = b in the sense of least squares, with a little weight on small coefficients, so
// that columns of zeros are no division by zero. By elimination with pivots on the diagonal, which
// a positive definite matrix allows.
template <std::size_t n>
class LeastSquares {
public:
    void add(const std::array<double, n>& a, double b) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) matrix_[i][j] += a[i] * a[j];
            right_[i] += a[i] * b;
        }
    }
    std::array<double, n> solve() {
        std::array<double, n> scale{};
        for (std::size_t i = 0; i < n; ++i) {
            scale[i] = matrix_[i][i] > 0 ? 1 / std::sqrt(matrix_[i][i]) : 0;
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) matrix_[i][j] *= scale[i] * scale[j];
            right_[i] *= scale[i];
            matrix_[i][i] += 1e-6;
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = i + 1; j < n; ++j) {
                const double by = matrix_[j][i] / matrix_[i][i];
                for (std::size_t k = i; k < n; ++k) matrix_[j][k] -= by * matrix_[i][k];
                right_[j] -= by * right_[i];
            }
        }
        std::array<double, n> x{};
        for (std::size_t i = n; i-- > 0;) {
            x[i] = right_[i];
            for (std::size_t k = i + 1; k < n; ++k) x[i] -= matrix_[i][k] * x[k];
            x[i] /= matrix_[i][i];
        }
        for (std::size_t i = 0; i < n; ++i) x[i] *= scale[i];
        return x;
    }

private:
    std::array<std::array<double, n>, n> matrix_{};
    std::array<double, n> right_{};
};

// A straight-line model can be wrong in sign where nothing was measured.
constexpr double least_s = 1e-5;

}  // namespace

StepTimes::Shape StepTimes::shape_of(std::size_t machines, std::int64_t gpus, std::int64_t batch) {
    Shape shape{
        static_cast<double>(machines), static_cast<double>(gpus), static_cast<double>(batch), {}};
    shape.logarithms = {exact::log(shape.machines), exact::log(shape.gpus),
                        exact::log(shape.batch)};
    return shape;
}

StepTimes::Shape StepTimes::shape_of(std::span<const std::int32_t> gpus_by_machine,
                                     std::int64_t batch) {
    const std::int64_t gpus =
        std::accumulate(gpus_by_machine.begin(), gpus_by_machine.end(), std::int64_t{0});
    return shape_of(gpus_by_machine.size(), gpus, batch);
}

std::array<double, StepTimes::sync_terms> StepTimes::terms_of(const Shape& shape) {
    const bool several = shape.gpus > 1;
    const bool apart = shape.machines > 1;
    return {1,
            several ? 1.0 : 0.0,
            several ? shape.gpus - 1 : 0.0,
            apart ? 1.0 : 0.0,
            apart ? shape.machines - 1 : 0.0,
            several ? shape.batch : 0.0};
}

double StepTimes::compute_of(const Shape& shape) const {
    return std::max(least_s, compute_[0] + compute_[1] * shape.batch);
}

double StepTimes::sync_of(const Shape& shape) const {
    const auto terms = terms_of(shape);
    double sum = 0;
    for (std::size_t i = 0; i < sync_terms; ++i) sum += sync_[i] * terms[i];
    return std::max(least_s, sum);
}

void StepTimes::add(std::span<const std::int32_t> gpus_by_machine, std::int64_t batch_per_gpu,
                    const ApplicationStep& step) {
    const auto [at, is_new] = measured_.insert({{rotated(gpus_by_machine), batch_per_gpu}, step});
    if (is_new) rows_.push_back({shape_of(gpus_by_machine, batch_per_gpu), step, 1, 1});
}

void StepTimes::add_spread(std::int32_t gpus, std::int32_t machines, std::int64_t batch_per_gpu,
                           const ApplicationStep& step) {
    rows_.push_back(
        {shape_of(static_cast<std::size_t>(machines), gpus, batch_per_gpu), step, 1, 1});
}

const ApplicationStep* StepTimes::find(std::span<const std::int32_t> gpus_by_machine,
                                       std::int64_t batch_per_gpu) const {
    const auto found = measured_.find({rotated(gpus_by_machine), batch_per_gpu});
    return found == measured_.end() ? nullptr : &found->second;
}

void StepTimes::fit() {
    INVARIANT(!rows_.empty());
    LeastSquares<compute_terms> compute;
    LeastSquares<sync_terms> sync;
    for (const Row& row : rows_) {
        const double compute_s = std::max(least_s, row.step.step_s - row.step.sync_s);
        compute.add({1 / compute_s, row.shape.batch / compute_s}, 1);
        // Relative errors; what is short counts less, since steps hardly notice it.
        const double sync_weight = 1 / std::max(row.step.sync_s, 0.02 * row.step.step_s);
        auto terms = terms_of(row.shape);
        for (double& term : terms) term *= sync_weight;
        sync.add(terms, row.step.sync_s * sync_weight);
    }
    compute_ = compute.solve();
    sync_ = sync.solve();
    for (Row& row : rows_) {
        const double compute_s = std::max(least_s, row.step.step_s - row.step.sync_s);
        row.compute_ratio = compute_s / compute_of(row.shape);
        row.sync_ratio = std::max(least_s, row.step.sync_s) / sync_of(row.shape);
    }
}

ApplicationStep StepTimes::interpolated(std::span<const std::int32_t> gpus_by_machine,
                                        std::int64_t batch_per_gpu) const {
    const Shape shape = shape_of(gpus_by_machine, batch_per_gpu);
    constexpr std::array<double, 3> importance = {4, 4, 1};  // of machines, GPUs, batch
    double weights = 0;
    double compute = 0;
    double sync = 0;
    for (const Row& row : rows_) {
        double distance = 0;
        for (std::size_t i = 0; i < importance.size(); ++i) {
            const double apart = shape.logarithms[i] - row.shape.logarithms[i];
            distance += importance[i] * apart * apart;
        }
        const double near = 1 / ((distance + 1e-9) * (distance + 1e-9));
        weights += near;
        compute += near * row.compute_ratio;
        sync += near * row.sync_ratio;
    }
    ApplicationStep step;
    step.sync_s = sync_of(shape) * sync / weights;
    step.step_s = compute_of(shape) * compute / weights + step.sync_s;
    return step;
}

}  // namespace ukemi::traces
