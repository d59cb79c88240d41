// curvature.cpp — differences of gradients, and gradients for every label.
#include "studies/curvature/curvature.hpp"

#include <array>
#include <cmath>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "kernels/models/dense_network.hpp"

namespace ukemi::studies {
namespace {

template <class Scalar>
double product(std::span<const Scalar> a, std::span<const Scalar> b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return sum;
}

}  // namespace

template <class Scalar>
std::vector<Scalar> hessian_times(const GradientAt<Scalar>& gradient_at,
                                  std::span<const Scalar> weights,
                                  std::span<const Scalar> direction, double reach) {
    INVARIANT(direction.size() == weights.size() && reach > 0);
    const double length = std::sqrt(product(direction, direction));
    std::vector<Scalar> found(weights.size(), Scalar{0});
    if (!(length > 0)) return found;
    const double step = reach / length;
    std::vector<Scalar> moved(weights.size());
    std::vector<Scalar> below(weights.size());
    const auto gradient_moved = [&](double by, std::span<Scalar> gradient) {
        for (std::size_t i = 0; i < weights.size(); ++i) {
            moved[i] = static_cast<Scalar>(static_cast<double>(weights[i]) +
                                           by * static_cast<double>(direction[i]));
        }
        gradient_at(moved, gradient);
    };
    gradient_moved(step, found);
    gradient_moved(-step, below);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double difference = static_cast<double>(found[i]) - static_cast<double>(below[i]);
        found[i] = static_cast<Scalar>(difference / (2 * step));
    }
    return found;
}

template <class Scalar>
GradientCurvature curvature_along_gradient(const GradientAt<Scalar>& gradient_at,
                                           std::span<const Scalar> weights, double reach) {
    std::vector<Scalar> gradient(weights.size());
    gradient_at(weights, gradient);
    const std::span<const Scalar> direction(gradient);
    const std::vector<Scalar> turned = hessian_times(gradient_at, weights, direction, reach);
    return {product(direction, direction), product(direction, std::span<const Scalar>(turned))};
}

template <class Network, class Scalar>
std::vector<double> gauss_newton_diagonal(const Network& network, std::span<const Scalar> weights,
                                          const kernels::DataSet& data,
                                          std::span<const std::uint32_t> samples) {
    std::vector<double> diagonal(weights.size(), 0.0);
    if (samples.empty()) return diagonal;
    const auto workspace = network.make_workspace();
    std::vector<Scalar> gradient(weights.size());
    kernels::DataSet one{.count = 1,
                         .features = data.features,
                         .classes = data.classes,
                         .values = {},
                         .labels = std::vector<std::uint8_t>(1)};
    constexpr std::array<std::uint32_t, 1> first{0};
    for (const std::uint32_t sample : samples) {
        const auto values = data.sample(sample);
        one.values.assign(values.begin(), values.end());
        for (std::int32_t label = 0; label < data.classes; ++label) {
            one.labels[0] = static_cast<std::uint8_t>(label);
            std::fill(gradient.begin(), gradient.end(), Scalar{0});
            const kernels::BatchResult result =
                network.gradient(weights, one, first, gradient, *workspace, {});
            const double chance = exact::exp(-result.loss_sum);
            for (std::size_t i = 0; i < diagonal.size(); ++i) {
                const auto slope = static_cast<double>(gradient[i]);
                diagonal[i] += chance * slope * slope;
            }
        }
    }
    for (double& value : diagonal) value /= static_cast<double>(samples.size());
    return diagonal;
}

template std::vector<float> hessian_times(const GradientAt<float>&, std::span<const float>,
                                          std::span<const float>, double);
template std::vector<double> hessian_times(const GradientAt<double>&, std::span<const double>,
                                           std::span<const double>, double);
template GradientCurvature curvature_along_gradient(const GradientAt<float>&,
                                                    std::span<const float>, double);
template GradientCurvature curvature_along_gradient(const GradientAt<double>&,
                                                    std::span<const double>, double);
template std::vector<double> gauss_newton_diagonal(const kernels::Model&, std::span<const float>,
                                                   const kernels::DataSet&,
                                                   std::span<const std::uint32_t>);
template std::vector<double> gauss_newton_diagonal(const kernels::DenseNetwork<double>&,
                                                   std::span<const double>, const kernels::DataSet&,
                                                   std::span<const std::uint32_t>);

}  // namespace ukemi::studies
