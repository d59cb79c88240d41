// real_gradients.hpp — learning with true gradients while time stays simulated.
//
// The virtual workers of a simulated job train a real model on real samples: noise scale,
// averaging, staleness and lossy codecs have their true effect, and the engine keeps the time.
// Progress is an integer: with a target accuracy the most test samples that were ever classified
// rightly, without one the samples used. A run's seed draws its first weights, its order of samples
// and whatever its rule and codec draw; a lost checkpoint brings the weights back and not only the
// number.
//
// Equal bits on a given binary whatever the number of threads; between compilers rounding differs,
// so the event hash of such a scenario, which the weights are part of, belongs to a binary.
#pragma once

#include "sim/learning/real/group.hpp"

namespace ukemi::sim {

struct RealGradients {
    std::shared_ptr<const RealTask> task;
    std::optional<double> target;     // test accuracy; nothing: `samples` are the work
    std::int64_t samples = 1;         // that are used at most; beyond them nothing is learned
    std::int64_t evaluate_every = 1;  // samples: the test accuracy is known at these steps only
};

// Splits the last `test_share` of a fixed permutation off `data`, or of the samples as they stand;
// both parts have samples.
enum class TestSamples : std::uint8_t { drawn, last };
std::pair<kernels::DataSet, kernels::DataSet> split_data(const kernels::DataSet& data,
                                                         double test_share,
                                                         TestSamples which = TestSamples::drawn);
std::int64_t test_samples_in(std::int64_t samples, double test_share);

std::shared_ptr<const LearningModel> make_real_gradients(RealGradients settings);
// What a state of such a model holds; the reference lives as long as the state's memory.
const GroupState& group_of(const LearningState& state);

}  // namespace ukemi::sim
