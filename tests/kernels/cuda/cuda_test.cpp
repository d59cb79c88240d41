// cuda_test.cpp — every kernel against its CPU reference, at sizes around every border; skipped,
// and said to be, where no GPU answers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/handles.hpp"

using namespace ukemi::kernels::cuda;

namespace {

// Around a block, four of them, a tile of top-k and the largest grid; primes.
const std::vector<std::size_t> sizes {
    0, 1, 2, 3, 4, 5, 7, 31, 63, 64, 65, 100, 255, 256, 257, 1009, 1023, 1024, 1025, 4095, 4096,
        4097, 65'537, 99'991,
#if !defined(UKEMI_CUDA_ON_HOST)  // which takes long
        2'162'687, 2'162'688,
#endif
        2'162'689
};

bool gpu_answers() {
    const std::string missing = gpu_unusable();
    if (!missing.empty()) WARN("skipped: no GPU answers: " << missing);
    return missing.empty();
}

void check_all(const std::vector<float>& gradient) {
    const Stream stream = make_stream();
    for (const CaseEntry& entry : all_cases()) {
        CAPTURE(entry.name, gradient.size());
        CHECK(entry.make(gradient)->mismatch(stream.get()) == "");
    }
}

}  // namespace

TEST_CASE("cuda: every kernel means what its CPU reference says, at every size", "[gpu]") {
    if (!gpu_answers()) return;
    for (const std::size_t size : sizes) check_all(made_gradient("test", size));
}

TEST_CASE("cuda: equal magnitudes, zeros and what is no number are treated alike", "[gpu]") {
    if (!gpu_answers()) return;
    for (const float value : {0.0F, -0.0F, 1.0F, -2.5F, 1e-39F}) {
        check_all(std::vector<float>(9001, value));
    }
    std::vector<float> strange = made_gradient("strange", 9001);
    for (std::size_t i = 0; i < strange.size(); i += 97) {
        strange[i] = std::numeric_limits<float>::quiet_NaN();
    }
    const Stream stream = make_stream();
    for (const CaseEntry& entry : all_cases()) {
        CAPTURE(entry.name);
        if (entry.name != "top_k 1 %" && entry.name != "fp16 there and back") continue;
        CHECK(entry.make(strange)->mismatch(stream.get()) == "");
    }
    // Fewer than are kept have the highest digit, side by side: their count decides how many
    // others follow.
    std::vector<float> peaks = made_gradient("peaks", 9001);
    for (std::size_t i = 100; i < 150; ++i) peaks[i] = 1e4F + static_cast<float>(i);
    const auto top_k = std::ranges::find(all_cases(), "top_k 1 %", &CaseEntry::name);
    REQUIRE(top_k != all_cases().end());
    CHECK(top_k->make(peaks)->mismatch(stream.get()) == "");
}

TEST_CASE("cuda cases: inputs depend on their name alone, and hold what is hard", "[cuda_cases]") {
    const std::vector<float> values = made_gradient("a", 4096);
    CHECK(values == made_gradient("a", 4096));
    CHECK(values != made_gradient("b", 4096));
    const std::vector<float> fewer = made_gradient("a", 100);
    CHECK(std::equal(fewer.begin(), fewer.end(), values.begin()));
    std::size_t zeros = 0;
    std::size_t small = 0;
    for (const float value : values) {
        REQUIRE(std::isfinite(value));
        zeros += value == 0 ? 1 : 0;
        small += value != 0 && std::abs(value) < 1e-6F ? 1 : 0;
    }
    CHECK(zeros > 20);
    CHECK(small > 5);
}

TEST_CASE("cuda cases: differences are found and named", "[cuda_cases]") {
    const float none = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> expected{1, 0, none};
    CHECK(difference_of_bits("x", expected, expected) == "");
    CHECK(difference_of_bits("x", std::vector<float>{1, -0.0F, none}, expected) ==
          "x[1] is -0x0p+0, expected 0x0p+0");
    CHECK(difference_of_bits("x", std::vector<float>{1}, expected) == "x: 1 numbers, expected 3");
    const std::vector<float> right{3, -4, 0, 0};  // of norm 5: 2.5 an element
    CHECK(difference_beyond("x", std::vector<float>{3, -4, 0.024F, 0}, right, 0.01) == "");
    CHECK(difference_beyond("x", std::vector<float>{3, -4, 0.026F, 0}, right, 0.01) ==
          "x[2] is 0.026, expected 0 to 0.01");
    CHECK(difference_beyond("x", std::vector<float>{none, -4, 0, 0}, right, 0.01) != "");
}
