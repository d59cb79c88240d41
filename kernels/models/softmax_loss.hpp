// softmax_loss.hpp — cross-entropy of one sample's class scores, and its derivative in their place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/exact_math.hpp"
#include "kernels/model.hpp"

namespace ukemi::kernels {

// The derivative of the loss by each score: its probability, minus 1 for the right class. Computed
// in double whatever the scalar: it costs little beside the products. `powers` is scratch.
template <class Scalar>
void softmax_loss(std::span<Scalar> score, std::size_t label, std::vector<double>& powers,
                  BatchResult& result) {
    powers.resize(score.size());
    const auto best =
        static_cast<std::size_t>(std::max_element(score.begin(), score.end()) - score.begin());
    const Scalar highest = score[best];
    double sum = 0;
    for (std::size_t k = 0; k < powers.size(); ++k) {
        powers[k] = exact::exp(static_cast<double>(score[k] - highest));
        sum += powers[k];
    }
    result.loss_sum += exact::log(sum) - static_cast<double>(score[label] - highest);
    result.correct += best == label ? 1 : 0;
    for (std::size_t k = 0; k < powers.size(); ++k) {
        score[k] = static_cast<Scalar>(powers[k] / sum - (k == label ? 1 : 0));
    }
}

}  // namespace ukemi::kernels
