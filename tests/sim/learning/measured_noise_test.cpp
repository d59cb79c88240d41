// measured_noise_test.cpp — the noise scale that a simulated job measures, in its first epochs.
#include <catch2/catch.hpp>
#include <vector>

#include "tests/handwritten_digits.hpp"
#include "tests/sim/learning/small_tasks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::sim;

namespace {

// What each step alone says of the noise, and the noise scale after the last, at this smoothing.
struct Measured {
    std::vector<NoiseSample> samples;
    double noise_scale = 0;
};
Measured measured(const DataSet& data, double smoothing, std::uint64_t seed, int steps) {
    auto task = std::make_shared<RealTask>();
    std::tie(task->training, task->test) = split_data(data, 0.2);
    task->model = make_model({"mlp", {32}}, task->training);
    task->noise_smoothing = smoothing;
    GroupStep group(*task, seed);
    GroupState state = first_state(*task, seed);
    Measured found;
    for (int step = 0; step < steps; ++step) {
        step_on(state, group, {32, 0.1, 2, 1});
        found.samples.push_back({state.noise.squared_norm, state.noise.covariance_trace});
    }
    found.noise_scale = state.noise.noise_scale().value();
    return found;
}

}  // namespace

// The weights of the steps by their age alone. An average that begins at its first step leaves that
// step 64 % of the whole here: the gradient is steep then, and the noise scale seems small.
TEST_CASE("measured noise: after 45 steps on the digits it is of all steps, not of the first",
          "[learning][gradient_noise]") {
    const DataSet data = handwritten_digits();
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        CAPTURE(seed);
        const std::vector<NoiseSample> each = measured(data, 0, seed, 45).samples;
        const double smoothing = 0.99;
        double norm = 0;
        double trace = 0;
        double first_norm = each.front().squared_norm;
        double first_trace = each.front().covariance_trace;
        for (std::size_t step = 0; step < each.size(); ++step) {
            norm = smoothing * norm + each[step].squared_norm;
            trace = smoothing * trace + each[step].covariance_trace;
            if (step == 0) continue;
            first_norm = smoothing * first_norm + (1 - smoothing) * each[step].squared_norm;
            first_trace = smoothing * first_trace + (1 - smoothing) * each[step].covariance_trace;
        }
        const double found = measured(data, smoothing, seed, 45).noise_scale;
        UNSCOPED_INFO(first_trace / first_norm << " without the correction, " << found << " with");
        CHECK(found == Approx(trace / norm));
        CHECK(found > 1.1 * first_trace / first_norm);
    }
}
