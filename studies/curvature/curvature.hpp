// curvature.hpp — the second order of the loss, as far as gradients show it: the curvature along
// the gradient, and the diagonal of the Gauss–Newton matrix.
//
// With the noise they give B_noise = tr(HΣ) ÷ GᵀHG (McCandlish et al., arXiv:1812.06162, eq. 2.8)
// and the step along the gradient that lowers the loss most, |G|² ÷ GᵀHG. Dear: a product
// is two gradients, a diagonal is classes × samples gradients. For monitors now and then, and for
// small models.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/model.hpp"

namespace ukemi::studies {

// The gradient of the mean loss at these weights, written to `gradient`.
template <class Scalar>
using GradientAt = std::function<void(std::span<const Scalar> weights, std::span<Scalar> gradient)>;

// H·direction by central differences of the gradient: (∇L(w + εd) − ∇L(w − εd)) ÷ 2ε, with ε such
// that |εd| is `reach`. Off by O(reach²) and by what rounding leaves, about (precision ÷ reach):
// good reaches are 10^-4 in double and 10^-2 in single precision. A direction of zeros gives zeros.
// A rectifier's kink within reach counts as curvature.
template <class Scalar>
std::vector<Scalar> hessian_times(const GradientAt<Scalar>& gradient_at,
                                  std::span<const Scalar> weights,
                                  std::span<const Scalar> direction, double reach);

struct GradientCurvature {
    double squared_norm = 0;  // |G|²
    double curvature = 0;     // GᵀHG; may be negative
    // |G|² ÷ GᵀHG: the learning rate that lowers the loss most along the gradient, to second order.
    // Only where the curvature is positive.
    double best_rate() const { return squared_norm / curvature; }
};
template <class Scalar>
GradientCurvature curvature_along_gradient(const GradientAt<Scalar>& gradient_at,
                                           std::span<const Scalar> weights, double reach);

// The diagonal of the Gauss–Newton matrix of the mean cross-entropy over these samples. For a
// softmax it is Σ_c p_c(x) (∂ℓ(x, c) ÷ ∂w)², the mean over samples x: the squared gradients for
// every label, weighted with what the model thinks of it (Schraudolph 2002; equal to the Fisher
// matrix, Martens, arXiv:1412.1193). `Network` is a Model or a DenseNetwork.
template <class Network, class Scalar>
std::vector<double> gauss_newton_diagonal(const Network& network, std::span<const Scalar> weights,
                                          const kernels::DataSet& data,
                                          std::span<const std::uint32_t> samples);

}  // namespace ukemi::studies
