// critical_regime.hpp — Accordion's question: does the gradient change so much that it must arrive
// whole?
//
// Agarwal et al., «Accordion: Adaptive Gradient Communication via Critical Learning Regime
// Identification» (arXiv:2010.16248, Alg. 1): compare the norm of the gradient accumulated over a
// period with that of the period before; a relative change of at least η, up or down, is a critical
// regime, and so is the first period. The authors ask it for every layer, every 10 epochs, with η =
// 0.5. The same rule chooses a small batch in critical regimes.
//
// `accordion` and `accordion_batch` ask it for the whole model; a caller that has the norms of
// layers asks it once a period and layer.
#pragma once

#include <cmath>
#include <optional>

namespace ukemi::policies {

inline constexpr double accordion_threshold = 0.5;

class CriticalRegime {
public:
    explicit CriticalRegime(double threshold = accordion_threshold) : threshold_(threshold) {}

    // Whether the time after a period with this norm is critical. A norm that is no finite number
    // above zero counts as a change.
    bool after_period(double norm) {
        const bool usable = std::isfinite(norm) && norm > 0;
        const bool changed =
            !usable || !before_ || std::abs(*before_ - norm) / *before_ >= threshold_;
        if (usable) {
            before_ = norm;
        } else {
            before_.reset();
        }
        return changed;
    }

private:
    double threshold_;
    std::optional<double> before_;  // the norm of the period before
};

}  // namespace ukemi::policies
