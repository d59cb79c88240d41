// pipeline_test.cpp — bubbles and kept activations against their closed forms.
#include "sim/step/pipeline.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <utility>

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

// DeepSeek-V3's report, table 2: B is there the whole backward pass.
TEST_CASE("pipeline: DualPipe's bubble is (p/2 - 1) (F&B + B - 3W), and it keeps p + 1 at most",
          "[pipeline]") {
    const Duration one = milliseconds(5);
    for (const Duration pair : {3 * one, milliseconds(12), 2 * one}) {
        for (const std::int32_t p : {2, 4, 8, 16}) {
            for (const std::int32_t m : {2 * p, 3 * p, 5 * p}) {
                CAPTURE(p, m, pair.raw());
                const auto spec = spec_of(sim::PipelineKind::dual_pipe, p, m);
                const PipelineStep step = pipeline_step(spec, {one, one, {}, one, pair});
                // What a worker in the middle computes, who has the most pairs.
                std::int64_t pairs = 0;
                for (const sim::PipelinePass& pass : sim::pipeline_passes(spec, p / 2)) {
                    pairs += pass.beside_next ? 1 : 0;
                }
                const Duration own = step.ideal - pairs * (3 * one - pair);
                CHECK(step.length - own == (p / 2 - 1) * (pair + 2 * one - 3 * one));
                for (const std::int32_t kept : step.most_kept) CHECK(kept <= p + 1);
            }
        }
    }
}

TEST_CASE("pipeline: DualPipe's workers compute every micro-batch once each way", "[pipeline]") {
    for (const std::int32_t p : {2, 4, 6, 10}) {
        const auto spec = spec_of(sim::PipelineKind::dual_pipe, p, 3 * p + p % 4);
        for (std::int32_t worker = 0; worker < p; ++worker) {
            CAPTURE(p, worker);
            // Forward, inputs and weights, of each of two stages and half of the micro-batches.
            std::map<std::pair<std::int32_t, std::int32_t>, std::array<int, 3>> count;
            for (const sim::PipelinePass& pass : sim::pipeline_passes(spec, worker)) {
                CHECK(spec.worker_of(pass.stage) == worker);
                auto& parts = count[{pass.stage, pass.micro_batch}];
                if (pass.forward) CHECK(++parts[0] == 1);
                if (!pass.forward && !pass.weights) CHECK(++parts[1] == parts[0]);
                if (!pass.forward && !pass.inputs) CHECK(++parts[2] == parts[1]);
            }
            CHECK(count.size() == static_cast<std::size_t>(spec.micro_batches));
            for (const auto& [which, parts] : count) CHECK(parts == std::array{1, 1, 1});
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
    for (const auto& [p, m] : {std::pair{3, 12}, {4, 9}, {4, 6}, {1, 4}}) {
        CHECK_THROWS_WITH(sim::check_pipeline(spec_of(sim::PipelineKind::dual_pipe, p, m), "here"),
                          Catch::Contains("here: dual_pipe needs an even number of workers"));
    }
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
