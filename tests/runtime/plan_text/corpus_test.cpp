// corpus_test.cpp — what the fuzzer of Plans begins with is read; what must not be counted is not.
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/read_file.hpp"
#include "tests/runtime/plan_text/use_plan_text.hpp"

namespace ukemi::runtime {

TEST_CASE("plan text: each file of the fuzzer's corpus is read and written again", "[plan_text]") {
    const auto folder = std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/runtime/plan_text/corpus";
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        const std::string text = read_file(entry.path());
        CHECK(use_plan_text(text));
        CHECK_FALSE(use_plan_text(text + "}"));
        ++count;
    }
    CHECK(count >= 4);
}

TEST_CASE("plan text: more samples than can be counted are refused before they are multiplied",
          "[plan_text]") {
    // 4 times this is 8 beyond 2^64.
    const policies::Plan plan = plan_from_text(R"({"batch_per_learner": 4611686018427387906,
                                         "learners_per_gpu": 4, "accumulation": 1,
                                         "checkpoint_interval_ns": 1, "workers_max": 1})");
    CHECK(kernels::training_refusal(plan, 1) == "a step has more samples than can be counted");
    CHECK(
        kernels::training_refusal(plan_from_text(R"({"batch_per_learner": -3, "learners_per_gpu": 1,
                                              "accumulation": 1})"),
                                  1) == "a step has from 1 to 2147483648 samples, not -3");
}

}  // namespace ukemi::runtime
