// step_fit_test.cpp — fits of step times to what a job has seen, beside the law that made it.
#include <catch2/catch.hpp>
#include <cmath>

#include "base/rng.hpp"
#include "sim/jobs/step_fit.hpp"

namespace ukemi {

namespace {

struct Law {
    double pass_fixed, pass_each, between_fixed, between_each, within_fixed, within_each, gamma;
    double pass_s(double local) const { return pass_fixed + pass_each * local; }
    double step_s(std::int32_t machines, std::int32_t gpus, double local) const {
        const double further = std::max(gpus - 2, 0);
        const double exchange = machines > 1 ? between_fixed + between_each * further
                                : gpus > 1   ? within_fixed + within_each * further
                                             : 0;
        return std::pow(std::pow(pass_s(local), gamma) + std::pow(exchange, gamma), 1 / gamma);
    }
};

sim::SeenStep seen(const Law& law, std::int32_t machines, std::int32_t gpus, std::int64_t local) {
    const auto samples = static_cast<double>(local);
    return {machines, gpus, local, law.pass_s(samples), law.step_s(machines, gpus, samples)};
}

double predicted_s(const sim::StepFit& fit, std::int32_t machines, std::int32_t gpus,
                   double local) {
    return fit.step_s(fit.pass_s(local), fit.exchange(machines, gpus), 0);
}

}  // namespace

TEST_CASE("step fit: one step of one GPU says nothing of exchanges, and halves the pass",
          "[jobs]") {
    sim::StepFit fit;
    fit.saw({1, 1, 100, 0.2, 0.2});
    CHECK(fit.pass_s(100) == Approx(0.2).epsilon(1e-3));
    CHECK(fit.pass_s(200) == Approx(0.3).epsilon(1e-3));  // half of it is fixed
    CHECK(predicted_s(fit, 1, 4, 100) == Approx(0.2).epsilon(1e-3));
    CHECK(predicted_s(fit, 4, 16, 100) == Approx(0.2).epsilon(1e-3));
    CHECK(fit.step_s(0.2, {0, -1e3}, 3) == Approx(0.8).epsilon(1e-3));
}

TEST_CASE("step fit: between machines it is hoped for a tenth more than within", "[jobs]") {
    sim::StepFit fit;
    fit.saw({1, 1, 100, 0.2, 0.2});
    fit.saw({1, 2, 100, 0.2, 0.25});
    CHECK(predicted_s(fit, 1, 2, 100) == Approx(0.25).epsilon(0.01));
    CHECK(fit.exchange(2, 2).time_s == Approx(1.1 * fit.exchange(1, 2).time_s).epsilon(1e-6));
}

TEST_CASE("step fit: steps of a law of its own form come out within 2 %", "[jobs][property]") {
    double worst = 0;
    double worst_naive = 0;  // it takes elsewhere what it took last
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        RandomStream random(seed, "test/step_fit");
        const auto between = [&](double least, double most) {
            return least + (most - least) * random.uniform();
        };
        const Law law = {between(0.01, 0.2),  between(1e-4, 5e-3), between(0.05, 0.4),
                         between(1e-4, 2e-3), between(0.01, 0.1),  between(1e-4, 2e-3),
                         between(1, 2)};
        sim::StepFit fit;
        double last_s = 0;
        for (const auto& [machines, gpus] : {std::pair{1, 1}, {1, 2}, {1, 4}, {2, 8}, {4, 16}}) {
            for (const std::int64_t local : {16, 64, 256}) {
                const sim::SeenStep step = seen(law, machines, gpus, local);
                last_s = step.step_s;
                fit.saw(step);
            }
        }
        CAPTURE(seed);
        for (const auto& [machines, gpus] : {std::pair{1, 3}, {3, 12}, {6, 24}}) {
            const double true_s = law.step_s(machines, gpus, 128);
            worst = std::max(worst, std::abs(predicted_s(fit, machines, gpus, 128) / true_s - 1));
            worst_naive = std::max(worst_naive, std::abs(last_s / true_s - 1));
        }
    }
    CAPTURE(worst, worst_naive);
    CHECK(worst < 0.02);
    CHECK(worst_naive > 0.5);
}

}  // namespace ukemi
