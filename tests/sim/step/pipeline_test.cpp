// pipeline_test.cpp — bubbles and kept activations against their closed forms.
#include "sim/step/pipeline.hpp"

#include <catch2/catch.hpp>

#include "base/input_error.hpp"
#include "tests/sim/step/pipeline_reference.hpp"

namespace ukemi {

namespace {

const PassTimes two_and_four = {milliseconds(2), milliseconds(4), {}};

sim::PipelineSpec spec_of(sim::PipelineKind kind, std::int32_t workers, std::int32_t micro_batches,
                          std::int32_t chunks = 1) {
    return {kind, workers, micro_batches, chunks};
}

}  // namespace

TEST_CASE("pipeline: the bubble of GPipe and of 1F1B is (p - 1)/m", "[pipeline]") {
    const auto kind =
        GENERATE(sim::PipelineKind::gpipe, sim::PipelineKind::one_forward_one_backward);
    for (const std::int32_t p : {1, 2, 4, 7, 16}) {
        for (const std::int32_t m : {1, 2, 3, 8, 32, 64}) {
            CAPTURE(p, m);
            const PipelineStep step = pipeline_step(spec_of(kind, p, m), two_and_four);
            CHECK(step.length == (m + p - 1) * milliseconds(6));
            CHECK(step.bubble() == Approx(static_cast<double>(p - 1) / m));
            const bool all = kind == sim::PipelineKind::gpipe;
            for (std::int32_t worker = 0; worker < p; ++worker) {
                CHECK(step.most_kept[static_cast<std::size_t>(worker)] ==
                      (all ? m : std::min(m, p - worker)));
            }
        }
    }
}

TEST_CASE("pipeline: interleaved, the bubble is (p - 1)/(v m)", "[pipeline]") {
    for (const std::int32_t p : {2, 4, 8}) {
        for (const std::int32_t v : {1, 2, 3, 4}) {
            for (const std::int32_t groups : {1, 2, 5}) {
                const std::int32_t m = p * groups;
                CAPTURE(p, v, m);
                const auto step =
                    pipeline_step(spec_of(sim::PipelineKind::interleaved, p, m, v), two_and_four);
                CHECK(step.ideal == m * v * milliseconds(6));
                CHECK(step.bubble() == Approx(static_cast<double>(p - 1) / (v * m)));
            }
        }
    }
}

TEST_CASE("pipeline: ZB-H1's bubble is (p - 1) (F + B - W), and it keeps p micro-batches at most",
          "[pipeline]") {
    for (const PassTimes& times : {PassTimes{milliseconds(5), milliseconds(5), {}, milliseconds(5)},
                                   PassTimes{milliseconds(4), milliseconds(6), {}, milliseconds(3)},
                                   PassTimes{milliseconds(4), milliseconds(4), {}, {}}}) {
        for (const std::int32_t p : {1, 2, 4, 8}) {
            for (const std::int32_t m : {p, 2 * p, 5 * p}) {
                CAPTURE(p, m, times.weights.raw());
                const PipelineStep step =
                    pipeline_step(spec_of(sim::PipelineKind::zero_bubble, p, m), times);
                CHECK(step.length - step.ideal ==
                      (p - 1) * (times.forward + times.backward - times.weights));
                for (const std::int32_t kept : step.most_kept) CHECK(kept <= p);
            }
        }
    }
}

TEST_CASE("pipeline: transfers lengthen the way there and back", "[pipeline]") {
    // One micro-batch: p - 1 transfers each way, nothing to hide them.
    PassTimes times = two_and_four;
    times.transfer = milliseconds(1);
    CHECK(pipeline_step(spec_of(sim::PipelineKind::gpipe, 4, 1), times).length ==
          milliseconds(4 * 6 + 2 * 3));
}

TEST_CASE("pipeline: what cannot be is refused", "[pipeline]") {
    CHECK_THROWS_WITH(sim::check_pipeline(spec_of(sim::PipelineKind::interleaved, 4, 6, 2), "here"),
                      "here: interleaved needs a multiple of its 4 workers as micro-batches, "
                      "found 6");
    CHECK_THROWS_WITH(sim::check_pipeline(spec_of(sim::PipelineKind::gpipe, 4, 8, 2), "here"),
                      "here: only an interleaved pipeline has chunks, found 2");
    CHECK_THROWS_AS(sim::check_pipeline(spec_of(sim::PipelineKind::gpipe, 0, 8), "here"),
                    InputError);
    CHECK_THROWS_AS(
        sim::check_pipeline(spec_of(sim::PipelineKind::gpipe, 1 << 20, 1 << 20), "here"),
        InputError);
}

TEST_CASE("tensor parallelism: four all-reduces of the activations a layer", "[pipeline]") {
    // Megatron's 8.3 billion parameters: 72 layers of 3072, sequences of 1024, fp16.
    const auto traffic = sim::tensor_parallel_traffic(72, 8, 1024, 3072, 2);
    CHECK(traffic.all_reduces == 288);
    CHECK(traffic.each == bytes(50'331'648));
}

}  // namespace ukemi
