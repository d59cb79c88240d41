// atomo.hpp — with which chances ATOMO keeps singular values.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ukemi::kernels {

// p_i = min(1, c σ_i) with Σ p_i = budget, for σ descending and not negative: of all chances that
// keep `budget` atoms in the mean those of least variance. All of the positive ones are certain if
// there are no more than that.
std::vector<double> atomo_chances(std::span<const double> sigma, std::size_t budget);

}  // namespace ukemi::kernels
