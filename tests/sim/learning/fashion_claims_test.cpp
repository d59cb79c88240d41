// fashion_claims_test.cpp — claims about batches, averaging and codecs on images of clothes
// (Fashion-MNIST, Debian's dataset-fashion-mnist) with true gradients: two seeds and a margin each.
// Figures in comments were measured here.
//
// A perceptron of 784-16-10 units, 960 images to train with, 240 to test; no momentum.
#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "tests/sim/learning/small_tasks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

// The images, or nothing and a warning.
const DataSet* clothes() {
    static const auto load = []() -> std::optional<DataSet> {
        try {
            return load_data({.kind = "idx", .samples = 1200});
        } catch (const InputError&) {
            return std::nullopt;
        }
    };
    static const std::optional<DataSet> data = load();
    if (!data) WARN("skipped: dataset-fashion-mnist is not installed");
    return data ? &*data : nullptr;
}

std::shared_ptr<const RealTask> fashion_task(const SynchronisationSettings& settings) {
    return task_of(*clothes(), {.model = {"mlp", {16}}, .synchronisation = settings});
}

}  // namespace

// After 1 and 12 epochs: 8.1 → 34 and 12.7 → 51 samples; accuracy 0.79 and 0.75.
TEST_CASE("claim: on Fashion-MNIST the noise scale grows during training",
          "[learning][claim][fashion]") {
    if (clothes() == nullptr) return;
    const auto task = fashion_task({});
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        CAPTURE(seed);
        const LearningStep step{32, 0.1, 4, 1};
        const double early = trained(*task, step, 0.2, seed).state.noise.noise_scale().value();
        const auto late = trained(*task, step, 12, seed);
        UNSCOPED_INFO(early << " after six steps, " << late.state.noise.noise_scale().value());
        CHECK(late.state.noise.noise_scale().value() > 2 * early);
        CHECK(late.accuracy > 0.72);
    }
}

// Loss after 6 epochs: whole gradients 0.62 and 0.60; 1 % of them 1.07 and 1.26, with
// error feedback 0.60 and 0.62.
TEST_CASE("claim: on Fashion-MNIST error feedback rescues top-k", "[learning][claim][fashion]") {
    if (clothes() == nullptr) return;
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        CAPTURE(seed);
        const auto loss = [&](Codec codec, bool error_feedback) {
            SynchronisationSettings settings;
            settings.error_feedback = error_feedback;
            LearningStep step{32, 0.1, 2, 1};
            step.codec = codec;
            return trained(*fashion_task(settings), step, 6, seed).loss;
        };
        const double whole = loss(Codec::none, false);
        const double lossy = loss(Codec::top_k, false);  // 1 % of the elements
        const double fed_back = loss(Codec::top_k, true);
        CHECK(lossy > 1.4 * whole);
        CHECK(fed_back < 1.15 * whole);
    }
}
