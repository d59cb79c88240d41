// learner_time_test.cpp — learners that share a GPU: bounds, what a kernel leaves free, memory.
#include "sim/cluster/learner_time.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "sim/cluster/cost_curve.hpp"
#include "sim/cluster/kernel_time.hpp"
#include "sim/cluster/memory_need.hpp"
#include "sim/cluster/model_profile.hpp"

namespace ukemi {

TEST_CASE("learners: a round is a step of one, or the device without a gap", "[learners]") {
    const sim::LearnerStep step{0.010, 0.003};
    CHECK(sim::round_seconds(step, {1}) == 0.010);
    CHECK(sim::round_seconds(step, {3}) == 0.010);
    CHECK(sim::bound_of(step, {3}) == "launching");
    CHECK(sim::round_seconds(step, {4}) == Approx(0.012));
    CHECK(sim::bound_of(step, {4}) == "the device");
    CHECK(sim::round_seconds(step, {4, sim::LearnerSharing::in_turn}) == Approx(0.040));
    // Nobody is faster in a crowd than alone, whatever a curve says of the device.
    CHECK(sim::round_seconds({0.010, 0.020}, {2}) == Approx(0.020));
}

TEST_CASE("learners: a kernel of few blocks leaves multiprocessors to others", "[learners]") {
    const sim::GpuProfile& gpu = sim::gpu_named("a100_sxm4_80gb", "t");
    const sim::KernelClock clock(gpu, sim::Precision::fp16, sim::known_kernel_rates(gpu, "t"), "t");
    // One tile of 64 x 64 on one of 108 multiprocessors, so that its bytes in memory count; its
    // start is nobody else's.
    const sim::KernelSum one = clock.product({64, 64, 500});
    CHECK(one.shared_s == Approx(2.0 * (64 * 64 + 2 * 64 * 500) / (0.75 * 2039e9)));
    // As many as there are: all of it. One more: a second wave that is nearly free.
    const sim::KernelSum wave = clock.product({64 * 9, 64 * 12, 500});
    CHECK(wave.device_s == one.device_s);
    CHECK(wave.shared_s == Approx(wave.device_s - 2e-6).epsilon(1e-9));
    const sim::KernelSum more = clock.product({64 * 9, 64 * 13, 500});
    CHECK(more.shared_s < 0.62 * more.device_s);
    // What is bounded by memory has all of the memory.
    CHECK(clock.traffic(1e9).shared_s == Approx(clock.traffic(1e9).device_s - 2e-6));
    for (const std::int64_t rows : {1, 100, 5000}) {
        for (const std::int64_t depth : {64, 4096}) {
            const sim::KernelSum kernel = clock.product({rows, 1000, depth});
            CHECK(kernel.shared_s <= kernel.device_s);
            CHECK(kernel.shared_s > 0);
        }
    }
}

TEST_CASE("learners: what a step takes of the device, by the form of its curve", "[learners]") {
    const sim::CostCurve line = sim::CostCurve::affine(0.020, 0.001, "t");
    CHECK(line.device_seconds(16) == Approx(0.016));
    const sim::CostCurve table =
        sim::CostCurve::table({{16, 0.030}, {32, 0.031}, {64, 0.063}}, "t");
    CHECK(table.device_seconds(64) == Approx(0.063));  // 1 ms a sample: no longer than the step
    CHECK(table.device_seconds(16) == Approx(0.016));
    CHECK(table.has_device_seconds());
    CHECK_FALSE(sim::CostCurve::table({{16, 0.030}}, "t").has_device_seconds());
    const sim::ModelProfile model = sim::model_named("resnet50", "t");
    const sim::GpuProfile& gpu = sim::gpu_named("v100_sxm2_16gb", "t");
    const sim::CostCurve roofline =
        sim::CostCurve::roofline(model, gpu, sim::Precision::fp32, {0.74, 0.75, 0.382e-3}, "t");
    const double launched = 0.382e-3 * static_cast<double>(model.layers.size());
    CHECK(roofline.step_seconds(16) - roofline.device_seconds(16) == Approx(launched));
}

// Two of Gavel's equal jobs ran on one GPU, or ran out of its memory.
TEST_CASE("learners: two fit where two jobs of Gavel did", "[learners][published]") {
    struct Pair {
        const char* model;
        const char* gpu;
        std::int64_t batch;
        bool ran;
    };
    constexpr Pair pairs[] = {{"resnet50", "v100_sxm2_16gb", 64, true},
                              {"resnet50", "v100_sxm2_16gb", 128, false},
                              {"resnet50", "p100_pcie", 64, true},
                              {"resnet50", "p100_pcie", 128, false},
                              {"resnet50", "k80", 32, true},
                              {"resnet50", "k80", 64, false},
                              {"resnet18_cifar", "k80", 256, true},
                              {"resnet18_cifar", "p100_pcie", 256, true}};
    sim::MemoryRule rule = sim::MemoryRule::of(sim::Precision::fp32, sim::OptimiserKind::momentum);
    rule.learners = 2;
    for (const Pair& pair : pairs) {
        CAPTURE(pair.model, pair.gpu, pair.batch);
        const sim::ModelProfile model = sim::model_named(pair.model, "t");
        const sim::GpuProfile& gpu = sim::gpu_named(pair.gpu, "t");
        CHECK((pair.batch <= sim::batch_max(model, gpu, rule)) == pair.ran);
        if (pair.ran) continue;
        CHECK_THROWS_WITH(sim::check_memory(model, gpu, pair.batch, rule, "t"),
                          Catch::Contains("of each of 2 learners needs"));
    }
}

}  // namespace ukemi
