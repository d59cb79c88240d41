// checkpoint_interval_test.cpp — Young and Daly beside the optimum that they approximate.
//
// The exact optimum is found here by golden section, in doubles and libm: nothing in it reaches a
// run. The three cases are worked examples of the formulas; the optima are known to a second.
#include "policies/checkpoint/checkpoint_interval.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Expected run time per useful second when failures are exponential and a restart costs R:
// M·e^{R/M}·(e^{(τ+δ)/M} − 1)/τ (Daly 2006, eq. 20). Both rules approximate its minimum.
double expected_slowdown(Duration interval, Duration checkpoint, Duration restart,
                         Duration mean_time_between_failures) {
    const double mean_s = to_seconds(mean_time_between_failures);
    const double cycle_s = to_seconds(interval + checkpoint);
    return mean_s * std::exp(to_seconds(restart) / mean_s) * (std::exp(cycle_s / mean_s) - 1) /
           to_seconds(interval);
}

struct Case {
    double checkpoint_s;
    double mean_s;
    double young_s;
    double daly_s;
    double best_s;
};

constexpr Case cases[] = {
    {60, 3600, 657, 617.9, 618}, {300, 3600, 1470, 1276.5, 1277}, {600, 1200, 1200, 833, 838}};

// Where a function with one minimum in [low, high] has it.
template <class Function>
double minimum_of(Function function, double low, double high) {
    const double golden = (std::sqrt(5.0) - 1) / 2;
    while (high - low > 1e-4) {
        const double left = high - golden * (high - low);
        const double right = low + golden * (high - low);
        (function(left) < function(right) ? high : low) =
            function(left) < function(right) ? right : left;
    }
    return (low + high) / 2;
}

}  // namespace

TEST_CASE("checkpoint interval: Young, Daly and the exact optimum in three cases",
          "[checkpoint_interval]") {
    const Case given = GENERATE(from_range(std::begin(cases), std::end(cases)));
    const Duration checkpoint = seconds(given.checkpoint_s);
    const Duration mean = seconds(given.mean_s);
    const double young_s = to_seconds(young_interval(checkpoint, mean));
    const double daly_s = to_seconds(daly_interval(checkpoint, mean));
    const auto slowdown = [&](double interval_s) {
        return expected_slowdown(seconds(interval_s), checkpoint, Duration{}, mean);
    };
    const double best_s = minimum_of(slowdown, 1, 4 * given.mean_s);
    INFO("checkpoint " << given.checkpoint_s << " s, mean between failures " << given.mean_s
                       << " s: Young " << young_s << " s, Daly " << daly_s << " s, optimum "
                       << best_s << " s; slowdown " << slowdown(young_s) << ", " << slowdown(daly_s)
                       << ", " << slowdown(best_s));
    CHECK(young_s == Approx(given.young_s).margin(0.5));
    CHECK(daly_s == Approx(given.daly_s).margin(0.5));
    CHECK(best_s == Approx(given.best_s).margin(0.5));
    CHECK(slowdown(daly_s) <= slowdown(best_s) * 1.01);
    CHECK(slowdown(daly_s) <= slowdown(young_s));
}

TEST_CASE("checkpoint interval: Young's is the root of 2δM", "[checkpoint_interval]") {
    // √(2 · 50 · 3600) = 600.
    CHECK(young_interval(whole_seconds(50), hours(1)) == whole_seconds(600));
}

TEST_CASE("checkpoint interval: Daly's is M once saving costs twice that",
          "[checkpoint_interval]") {
    CHECK(daly_interval(minutes(2), minutes(1)) == minutes(1));
    CHECK(daly_interval(minutes(20), minutes(1)) == minutes(1));
    // Just below: √(2δM)·(1 + 1/3 + 1/9) − δ = 2M·13/9 − 2M = 8/9 M.
    CHECK(to_seconds(daly_interval(minutes(2) - nanoseconds(1), minutes(1))) ==
          Approx(60 * 8.0 / 9));
}

TEST_CASE("checkpoint interval: the expected slowdown by hand", "[checkpoint_interval]") {
    // M = 1000 s, τ + δ = M, R = 0: M (e − 1)/τ with τ = 900 s; a restart of M costs a factor e.
    const Duration mean = whole_seconds(1000);
    const double free_restart =
        expected_slowdown(whole_seconds(900), whole_seconds(100), Duration{}, mean);
    CHECK(free_restart == Approx((std::exp(1.0) - 1) / 0.9).epsilon(1e-12));
    CHECK(expected_slowdown(whole_seconds(900), whole_seconds(100), mean, mean) ==
          Approx(free_restart * std::exp(1.0)).epsilon(1e-12));
}
