// cuda_backend_test.cpp — a worker's steps with gradients and learners on a GPU against those on
// the CPU; where no GPU answers, that it is refused.
#include <array>
#include <catch2/catch.hpp>

#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/training_step.hpp"
#include "tests/support/in_process.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::kernels::cuda;

namespace {

// They grow beyond what was made at first. Less where a host stands in for the GPU.
#if defined(UKEMI_CUDA_ON_HOST)
constexpr std::array<std::int64_t, 4> batches{1, 4, 17, 4};
#else
constexpr std::array<std::int64_t, 4> batches{1, 16, 150, 16};
#endif

DataSet images() {
    return load_data({.kind = "synthetic",
                      .images = {},
                      .labels = {},
                      .samples = 600,
                      .features = 28 * 28,
                      .classes = 10,
                      .seed = 6});
}

struct Trained {
    std::vector<float> weights;
    std::vector<double> losses;
};

// A worker alone, as its process would.
Trained trained(const ComputeBackend& backend, const ModelSpec& spec, const DataSet& data,
                Plan plan) {
    const auto model = backend.model(spec, data, 0);
    LearnerGroup learners(data, backend.learners(spec, *model, data, 0));
    OptimiserSettings optimiser;
    optimiser.momentum = 0.9;
    optimiser.averaging_rate = 0.25;
    Replica replica(model->initial_weights(1), optimiser);
    auto peers = in_process_communicators(1, std::chrono::milliseconds(20'000));
    TrainingStep training(*model, data, *peers.front(), {.seed = 3}, &learners);
    Trained told;
    std::int64_t position = 0;
    for (const std::int64_t batch : batches) {
        plan.batch_per_learner = batch;
        const StepResult result = training.run(
            replica, plan, 77, static_cast<std::int64_t>(told.losses.size()), position, 0);
        REQUIRE(result.outcome == Outcome::ok);
        told.losses.push_back(result.report.loss);
        position += result.report.samples;
    }
    told.weights.assign(replica.weights().begin(), replica.weights().end());
    return told;
}

void check_alike(const ModelSpec& spec, const Plan& plan) {
    const DataSet data = images();
    const Trained right = trained(cpu_backend(), spec, data, plan);
    const Trained found = trained(cuda_backend(), spec, data, plan);
    CAPTURE(spec.kind, plan.learners_per_gpu);
    CHECK(difference_beyond("weights", found.weights, right.weights, 1e-2) == "");
    for (std::size_t step = 0; step < right.losses.size(); ++step) {
        CHECK(found.losses[step] == Approx(right.losses[step]).epsilon(1e-2));
    }
}

Plan plan_of(Synchronisation synchronisation, std::int32_t learners) {
    Plan plan;
    plan.version = PlanVersion{1};
    plan.learning_rate = 0.01;
    plan.synchronisation = synchronisation;
    plan.learners_per_gpu = learners;
    return plan;
}

}  // namespace

TEST_CASE("cuda backend: it refuses in one line where no GPU answers", "[gpu]") {
    const std::string missing = gpu_missing();
    const std::string refusal = cuda_backend().refusal();
    CHECK(cuda_backend().name() == "cuda");
    if (missing.empty() && !gpu_unusable().empty()) {
        CHECK_THAT(refusal, Catch::StartsWith(gpu_unusable() + "; this build has CUDA"));
        return;
    }
    if (missing.empty()) {
        CHECK(refusal == "");
        CHECK_THAT(cuda_backend().device(), Catch::Contains("CUDA runtime"));
        return;
    }
    CHECK_THAT(refusal, Catch::StartsWith("no GPU answers (" + missing + "); this build has CUDA"));
    CHECK(refusal.find('\n') == std::string::npos);
}

TEST_CASE("cuda backend: steps of a worker are those of the CPU", "[gpu]") {
    const std::string missing = gpu_unusable();
    if (!missing.empty()) {
        WARN("skipped: no GPU answers: " << missing);
        return;
    }
    for (const ModelSpec& spec :
         {ModelSpec{.kind = "mlp", .hidden = {50}}, ModelSpec{.kind = "lenet5", .hidden = {}}}) {
        check_alike(spec, plan_of(Synchronisation::s_sgd, 1));
#if defined(UKEMI_CUDA_ON_HOST)
        if (spec.kind == "lenet5") continue;  // the rest depends on no model
#endif
        Plan accumulated = plan_of(Synchronisation::s_sgd, 1);
        accumulated.accumulation = 3;
        check_alike(spec, accumulated);
        check_alike(spec, plan_of(Synchronisation::synchronous_averaging, 1));
        check_alike(spec, plan_of(Synchronisation::synchronous_averaging, 3));
    }
}
