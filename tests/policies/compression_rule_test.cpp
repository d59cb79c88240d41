// compression_rule_test.cpp — whether to compress, and every reason not to.
#include "policies/exchange/compression_rule.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

using namespace ukemi;
using namespace ukemi::policies;

namespace {

CompressionOption option(Codec codec, double level, int encode_ms, int communication_ms,
                         double error) {
    return {codec, level, milliseconds(encode_ms), milliseconds(communication_ms), error};
}

// 100 ms of compute, 60 of which can hide communication; 160 ms of it without compression.
const CompressedStep compressed_step{milliseconds(100), milliseconds(60)};
const std::vector<CompressionOption> options{
    option(Codec::none, 0, 0, 160, 0),        option(Codec::fp16, 0, 5, 80, 0.001),
    option(Codec::power_sgd, 4, 30, 20, 0.3), option(Codec::power_sgd, 2, 18, 10, 0.45),
    option(Codec::top_k, 0.01, 120, 40, 0.6), option(Codec::random_k, 0.01, 2, 5, 0.99),
};

}  // namespace

TEST_CASE("compression rule: the shortest step within the error bound", "[compression][golden]") {
    // Steps: 200, 125, 130, 118, 220, 102 ms.
    CHECK(step_with(compressed_step, options[0]) == milliseconds(200));
    const auto choice = [&](double error_max) {
        return choose_compression(compressed_step, options, {.relative_error_max = error_max});
    };
    CHECK(choice(0.5).verdict == CompressionVerdict::pays);
    CHECK(choice(0.5).option == 3);  // how much: rank 2 and not 4
    CHECK(choice(0.5).step == milliseconds(118));
    CHECK(choice(0.5).uncompressed == milliseconds(200));
    CHECK(choice(1.0).option == 5);
    CHECK(choice(0.4).option == 1);
    CHECK(choice(0.0001).option == 0);
    CHECK(choice(0.0001).verdict == CompressionVerdict::too_lossy);
}

TEST_CASE("compression rule: hidden communication is left alone", "[compression]") {
    std::vector<CompressionOption> hidden = options;
    hidden[0].communication = milliseconds(60);
    const CompressionChoice choice = choose_compression(compressed_step, hidden, {});
    CHECK(choice.verdict == CompressionVerdict::hidden);
    CHECK(choice.option == 0);
    CHECK(choice.step == milliseconds(100));
}

TEST_CASE("compression rule: it may hurt, and then there is none", "[compression]") {
    // A fast network: 70 ms of communication, 10 of them exposed.
    std::vector<CompressionOption> fast = options;
    fast[0].communication = milliseconds(70);
    fast.erase(fast.begin() + 5);
    fast[1].encode = milliseconds(9);  // saves 1 ms of 110: noise
    fast[1].communication = milliseconds(35);
    const CompressionChoice choice = choose_compression(compressed_step, fast, {});
    CHECK(choice.verdict == CompressionVerdict::hurts);
    CHECK(choice.option == 0);
    CHECK(choice.step == milliseconds(110));
    CHECK(choose_compression(compressed_step, fast, {.relative_error_max = 1, .gain_min = 0})
              .option == 1);
    CHECK(choose_compression(compressed_step, std::span(options).first(1), {}).verdict ==
          CompressionVerdict::hurts);  // nothing to choose from
}

TEST_CASE("compression rule: equals go to the first, errors that are no numbers to nobody",
          "[compression]") {
    std::vector<CompressionOption> same{options[0], options[2], options[2]};
    CHECK(choose_compression(compressed_step, same, {}).option == 1);
    same[1].relative_error = std::numeric_limits<double>::quiet_NaN();
    CHECK(choose_compression(compressed_step, same, {}).option == 2);
    same.pop_back();
    CHECK(choose_compression(compressed_step, same, {}).verdict == CompressionVerdict::too_lossy);
}
