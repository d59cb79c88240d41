// codec_test.cpp — codecs: exact sizes, the same bits everywhere, and what rides an all-reduce.
#include "kernels/codec.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>

#include "base/input_error.hpp"
#include "tests/kernels/codec_ranks.hpp"
#include "tests/kernels/rank_values.hpp"
#include "tests/support/in_process.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;

namespace {

std::int64_t bytes_of(std::string_view name, double level, TensorShape shape, int ranks) {
    return codec_layout(name, level, shape, ranks).message_bytes();
}

std::string complaint(std::string_view name, const CodecSettings& settings) {
    try {
        make_codec(name, settings, {{4, 4}, 0, 0, 1});
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

const std::vector<TensorShape> shapes{{0, 1}, {1, 1}, {3, 1},  {4, 1},  {5, 1},   {7, 1},
                                      {8, 1}, {9, 1}, {4, 30}, {40, 9}, {127, 8}, {1009, 1}};

}  // namespace

TEST_CASE("codec: bytes a worker sends, as published", "[codec][golden]") {
    // The table in the project's notes on compressors: per tensor of n elements.
    constexpr std::int64_t n = 1000;
    const TensorShape shape{40, 25};
    CHECK(bytes_of("none", 0, shape, 4) == 4 * n);
    CHECK(bytes_of("fp16", 0, shape, 4) == 2 * n);
    CHECK(bytes_of("qsgd", 64, shape, 4) == n + 4);
    CHECK(bytes_of("qsgd_shared", 16, shape, 4) == n + 4);      // 4 × 16 ≤ 127
    CHECK(bytes_of("qsgd_shared", 64, shape, 4) == 2 * n + 4);  // 256: two bytes
    CHECK(bytes_of("qsgd_shared", 9000, shape, 4) == 4 * n + 4);
    CHECK(bytes_of("terngrad", 0, shape, 4) == n / 4 + 4);
    CHECK(bytes_of("terngrad_shared", 0, shape, 127) == n + 4);
    CHECK(bytes_of("terngrad_shared", 0, shape, 128) == 2 * n + 4);
    CHECK(bytes_of("sign", 0, shape, 4) == n / 8);
    CHECK(bytes_of("sign_reduced", 0, shape, 4) == n);
    CHECK(bytes_of("scaled_sign", 0, shape, 4) == n / 8 + 4);
    CHECK(bytes_of("top_k", 0.01, shape, 4) == 8 * 10);
    CHECK(bytes_of("top_k_agreed", 0.01, shape, 4) == 8 * 10);
    CHECK(bytes_of("random_k", 0.01, shape, 4) == 4 * 10);
    CHECK(bytes_of("power_sgd", 2, shape, 4) == 4 * 2 * (40 + 25));
    CHECK(bytes_of("atomo", 3, shape, 4) == 4 * 3 * (40 + 25 + 1));
    // Vectors, and matrices that would not get smaller, go as they are.
    CHECK(bytes_of("power_sgd", 2, {n, 1}, 4) == 4 * n);
    CHECK(bytes_of("power_sgd", 2, {4, 4}, 4) == 4 * 16);
    CHECK(bytes_of("atomo", 20, shape, 4) == 4 * n);
}

TEST_CASE("codec: which ride an all-reduce", "[codec]") {
    std::set<std::string_view> gathering;
    for (const CodecEntry& entry : all_codecs()) {
        if (!codec_layout(entry.name, 0, {64, 64}, 4).reduces()) gathering.insert(entry.name);
    }
    CHECK(gathering ==
          std::set<std::string_view>{"qsgd", "terngrad", "sign", "scaled_sign", "top_k", "atomo"});
}

TEST_CASE("codec: the table is complete and covers what a Plan may name", "[codec]") {
    std::set<std::string_view> names;
    std::set<Codec> kinds;
    for (const CodecEntry& entry : all_codecs()) {
        CAPTURE(entry.name);
        CHECK(names.insert(entry.name).second);
        CHECK(kinds.insert(entry.kind).second);
        CHECK(codec_names()[static_cast<std::size_t>(entry.kind)] == entry.name);
        CHECK_FALSE(entry.source.empty());
        CHECK(entry.level.empty() == (entry.level_max == 0));
        CHECK(find_codec(entry.name) == &entry);
    }
    CHECK(kinds.size() == codec_names().size());
    for (const std::string_view name : codec_names()) CHECK(find_codec(name) != nullptr);
}

TEST_CASE("codec: bad settings are refused by path", "[codec]") {
    CHECK(complaint("qsdg", {}) == "codec: at /name: no codec \"qsdg\" (did you mean \"qsgd\"?)");
    CHECK(complaint("qsgd", {.level = 128}) ==
          "codec: at /level: expected a whole number (levels) from 1 to 127, found 128");
    CHECK(complaint("power_sgd", {.level = 1.5}) ==
          "codec: at /level: expected a whole number (rank) from 1 to 4096, found 1.5");
    CHECK(complaint("top_k", {.level = std::nan("")}).starts_with("codec: at /level: expected a"));
    CHECK(complaint("fp16", {.level = 2}) == "codec: at /level: fp16 has no level: leave it out");
    CHECK(complaint("terngrad", {.error_feedback = true})
              .starts_with("codec: at /error_feedback: terngrad may be off by more than"));
    CHECK(complaint("top_k", {.error_feedback = true}) == "accepted");
}

TEST_CASE("codec: every rank decodes the same bits, whatever the shape", "[codec][property]") {
    for (const CodecEntry& entry : all_codecs()) {
        for (const TensorShape& shape : shapes) {
            for (const int ranks : {1, 2, 5}) {
                CAPTURE(entry.name, shape.rows, shape.columns, ranks);
                CodecRanks all(entry.name, {.seed = 3}, shape, ranks);
                const auto gradients = rank_gradients(7, ranks, shape.elements());
                all.step(0, gradients);
                const std::vector<float> mean = all.step(1, gradients);
                for (const auto& codec : all.codecs) {
                    std::vector<float> own(mean.size());
                    codec->decode(own);
                    CHECK(equal_bits(own, mean));
                }
                CHECK(std::ranges::all_of(mean, [](float x) { return std::isfinite(x); }));
                const std::vector<float> none(mean.size(), 0.0F);
                const auto zeros = std::vector(static_cast<std::size_t>(ranks), none);
                const bool votes = entry.kind == Codec::sign || entry.kind == Codec::sign_reduced;
                if (!votes) CHECK(all.step(2, zeros) == none);
            }
        }
    }
}

TEST_CASE("codec: bits do not depend on threads or on the order of tensors", "[codec][property]") {
    constexpr std::size_t tensors = 12;
    const TensorShape shape{33, 21};
    for (const CodecEntry& entry : all_codecs()) {
        CAPTURE(entry.name);
        const auto run = [&](std::size_t threads) {
            std::vector<std::vector<float>> means(tensors);
            const auto work = [&](std::size_t thread) {
                for (std::size_t t = tensors; t-- > 0;) {  // from the last, each its own
                    if (t % threads != thread) continue;
                    const auto number = static_cast<std::int64_t>(t);
                    CodecRanks ranks(entry.name, {.seed = 11}, shape, 3, number);
                    const auto gradients = rank_gradients(t, 3, shape.elements());
                    for (std::int64_t step = 0; step < 3; ++step) {
                        means[t] = ranks.step(step, gradients);
                    }
                }
            };
            std::vector<std::thread> workers;
            for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(work, i);
            for (std::thread& worker : workers) worker.join();
            return means;
        };
        const auto one = run(1);
        CHECK(run(2) == one);
        CHECK(run(5) == one);
        CHECK(one[0] != one[1]);
    }
}

TEST_CASE(
    "codec: on an all-reduce, encoding and then summing is the same as averaging what each "
    "rank sent",
    "[codec][property]") {
    const TensorShape shape{30, 24};
    constexpr int ranks = 4;
    for (const std::string_view name :
         {"none", "fp16", "qsgd_shared", "terngrad_shared", "top_k_agreed", "random_k"}) {
        CAPTURE(name);
        CodecRanks all(name, {.seed = 5}, shape, ranks);
        const auto gradients = rank_gradients(2, ranks, shape.elements());
        const std::vector<float> mean = all.step(3, gradients);
        std::vector<std::vector<float>> sent;
        for (std::size_t rank = 0; rank < ranks; ++rank) sent.push_back(all.contribution(rank));
        const double off = squared_distance(mean, mean_of(sent)) / squared_norm_of(mean);
        CHECK(off < (name == "fp16" ? 1e-6 : 1e-13));
    }
    // PowerSGD is linear too: it does to the mean gradient what one rank alone would do.
    CodecRanks all("power_sgd", {.level = 2, .seed = 5}, shape, ranks);
    CodecRanks alone("power_sgd", {.level = 2, .seed = 5}, shape, 1);
    for (std::int64_t step = 0; step < 4; ++step) {
        const auto gradients = rank_gradients(static_cast<std::uint64_t>(step), ranks, 720);
        const auto exact = mean_of(gradients);
        const std::vector<float> mean = all.step(step, gradients);
        const std::vector<float> same =
            alone.step(step, {std::vector<float>(exact.begin(), exact.end())});
        CHECK(squared_distance(mean, same) < 1e-10 * squared_norm_of(mean));
    }
}

TEST_CASE("codec: sums of numbers may take any schedule", "[codec]") {
    // What the codecs of single-precision sums hand in is summed by a real ring.
    const TensorShape shape{24, 20};
    constexpr int ranks = 4;
    const auto gradients = rank_gradients(6, ranks, shape.elements());
    const Schedule ring = all_reduce_schedule(Collective::ring, ranks);
    for (const std::string_view name : {"none", "random_k"}) {
        CodecRanks all(name, {.level = name == "none" ? 0 : 0.1, .seed = 5}, shape, ranks);
        CodecRanks by_ring(name, {.level = name == "none" ? 0 : 0.1, .seed = 5}, shape, ranks);
        const WireRound round = all.layout.rounds.at(0);
        std::vector<std::vector<float>> messages(ranks);
        std::vector<std::span<float>> spans;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            messages[rank].resize(static_cast<std::size_t>(round.count));
            spans.emplace_back(messages[rank]);
            by_ring.codecs[rank]->encode(0, 0, gradients[rank],
                                         std::as_writable_bytes(spans[rank]));
        }
        run_schedule(ring, spans);
        std::vector<float> mean(gradients[0].size());
        by_ring.codecs[0]->combined(0, std::as_bytes(spans[0]));
        by_ring.codecs[0]->decode(mean);
        const std::vector<float> expected = all.step(0, gradients);
        CHECK(squared_distance(mean, expected) < 1e-12 * squared_norm_of(expected));
    }
}

TEST_CASE("codec: the majority votes, and a tie is no direction", "[codec][golden]") {
    const std::vector<std::vector<float>> gradients{{1, -1, 0, 2, -5, 1, 1, 1, -1},
                                                    {3, -2, -1, -2, 0, 1, 1, 1, -1}};
    const std::vector<float> expected{1, -1, 0, 0, 0, 1, 1, 1, -1};
    for (const std::string_view name : {"sign", "sign_reduced"}) {
        CodecRanks all(name, {}, {9, 1}, 2);
        CHECK(all.step(0, gradients) == expected);
    }
    CodecRanks scaled("scaled_sign", {}, {3, 1}, 2);  // mean magnitudes 2 and 4
    CHECK(scaled.step(0, {{1, -2, 3}, {4, 4, -4}}) == std::vector<float>{3, 1, -1});
}

TEST_CASE("codec: top-k keeps the largest, the first of equal ones", "[codec][golden]") {
    const std::vector<std::vector<float>> gradients{{5, -1, 1, 0, -6, 1}, {0, 8, 0, 2, 0, 0}};
    CodecRanks local("top_k", {.level = 0.5}, {6, 1}, 2);
    CHECK(local.step(0, gradients) == std::vector<float>{2.5F, 3.5F, 0, 1, -3, 0});
    CHECK(local.contribution(0) == std::vector<float>{5, -1, 0, 0, -6, 0});
    CodecRanks agreed("top_k_agreed", {.level = 0.5}, {6, 1}, 2);
    CHECK(agreed.step(0, gradients) == std::vector<float>{2.5F, 3.5F, 0, 0, -3, 0});
    CHECK(agreed.step(1, gradients) == std::vector<float>{2.5F, 3.5F, 0, 1, 0, 0});  // rank 1's
}

TEST_CASE("codec: what is no number is not hidden", "[codec]") {
    const TensorShape shape{24, 20};
    for (const std::string_view name : {"none", "fp16", "qsgd", "qsgd_shared", "terngrad",
                                        "terngrad_shared", "scaled_sign", "power_sgd", "atomo"}) {
        for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
            for (const std::size_t rank : {0U, 1U}) {
                CAPTURE(name, bad, rank);
                CodecRanks ranks(name, {.seed = 1}, shape, 2);
                auto gradients = rank_gradients(3, 2, shape.elements());
                ranks.step(0, gradients);
                gradients[rank][77] = bad;
                const std::vector<float> mean = ranks.step(1, gradients);
                CHECK_FALSE(std::ranges::all_of(mean, [](float x) { return std::isfinite(x); }));
            }
        }
    }
}

TEST_CASE("codec: gradients too small for single numbers stay finite", "[codec]") {
    const TensorShape shape{24, 20};
    for (const CodecEntry& entry : all_codecs()) {
        CAPTURE(entry.name);
        CodecRanks ranks(entry.name, {.seed = 1}, shape, 2);
        const std::vector<std::vector<float>> gradients(
            2, std::vector<float>(static_cast<std::size_t>(shape.elements()), 1e-39F));
        for (std::int64_t step = 0; step < 3; ++step) {
            const std::vector<float> mean = ranks.step(step, gradients);
            CHECK(std::ranges::all_of(mean, [](float x) { return std::isfinite(x); }));
        }
    }
}
