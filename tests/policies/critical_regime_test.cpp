// critical_regime_test.cpp — Accordion's rule, by hand.
#include "policies/batch/critical_regime.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("critical regime: the first period, and a change of half the norm",
          "[critical_regime][golden]") {
    // Alg. 1 with η = 0.5: |‖Δ_old‖ − ‖Δ_new‖| ÷ ‖Δ_old‖ ≥ η.
    CriticalRegime regime;
    CHECK(regime.after_period(10));
    CHECK_FALSE(regime.after_period(6));
    CHECK(regime.after_period(3));
    CHECK_FALSE(regime.after_period(4));
    CHECK(regime.after_period(6));
    CHECK_FALSE(regime.after_period(6));
}

TEST_CASE("critical regime: a norm that is none counts as a change, now and next",
          "[critical_regime]") {
    CriticalRegime regime(0.25);
    CHECK(regime.after_period(4));
    CHECK_FALSE(regime.after_period(4.5));
    for (const double none : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
        CHECK(regime.after_period(none));
        CHECK(regime.after_period(4));
        CHECK_FALSE(regime.after_period(4));
    }
}
