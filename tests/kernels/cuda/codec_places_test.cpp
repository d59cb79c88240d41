// codec_places_test.cpp — codecs' kernels where numbers lie at odd addresses, as a tensor within a
// gradient may, for several ranks, and with scales of every size: the bits of the rules that the
// CPU follows.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "kernels/codecs/power_sgd.hpp"
#include "kernels/cuda/cases.hpp"
#include "kernels/cuda/cuda_backend.hpp"
#include "kernels/cuda/fp16.hpp"
#include "kernels/cuda/handles.hpp"
#include "kernels/cuda/power_sgd.hpp"
#include "kernels/cuda/qsgd.hpp"
#include "kernels/cuda/random_k.hpp"
#include "kernels/cuda/top_k.hpp"
#include "kernels/element_rules.hpp"
#include "kernels/half.hpp"

using namespace ukemi::kernels;
using namespace ukemi::kernels::cuda;

namespace {

constexpr DrawKey key{.low = 17, .high = 4};
constexpr std::uint64_t step = 9;
// Around whole tiles, and what is left of them.
constexpr std::array<std::size_t, 7> placed_sizes{1, 6, 4095, 4096, 4100, 8192, 12'295};

bool places_have_gpu() {
    const std::string missing = gpu_unusable();
    if (!missing.empty()) WARN("skipped: no GPU answers: " << missing);
    return missing.empty();
}

// Numbers on the device that begin `offset` numbers after an address that all can be read from.
// What lies before and behind them is `around`, and has to stay.
template <class Number>
class Placed {
public:
    Placed(const std::vector<Number>& values, std::size_t offset, Number around)
        : offset_(offset), around_(around), buffer_(with_edges(values, offset, around)) {}
    Number* data() const { return buffer_.data() + offset_; }
    std::vector<Number> read() const {
        const std::vector<Number> all = buffer_.read();
        const auto end = all.end() - edge;
        for (std::size_t i = 0; i < offset_; ++i) CHECK(all[i] == around_);
        for (auto at = end; at != all.end(); ++at) CHECK(*at == around_);
        return {all.begin() + static_cast<std::ptrdiff_t>(offset_), end};
    }

private:
    static constexpr std::ptrdiff_t edge = 5;
    static std::vector<Number> with_edges(const std::vector<Number>& values, std::size_t offset,
                                          Number around) {
        std::vector<Number> all(offset, around);
        all.insert(all.end(), values.begin(), values.end());
        all.insert(all.end(), edge, around);
        return all;
    }
    std::size_t offset_;
    Number around_;
    Buffer<Number> buffer_;
};

std::vector<std::int8_t> quantised_by_rule(const std::vector<float>& values, float scale,
                                           std::int32_t levels) {
    std::vector<std::int8_t> expected(values.size());
    for_each_draw(key, step, values.size(), [&](std::size_t i, std::uint32_t word) {
        expected[i] =
            static_cast<std::int8_t>(quantised(values[i], scale, levels, uniform_of(word)));
    });
    return expected;
}

void check_halves(std::size_t count, std::size_t offset, std::size_t other) {
    const Stream stream = make_stream();
    const std::vector<float> values = made_gradient("halves", count);
    const Placed<float> from(values, offset, -7);
    const Placed<std::uint16_t> halves(std::vector<std::uint16_t>(count), other, 77);
    const Placed<float> back(std::vector<float>(count), offset, -7);
    check(launch_to_half(from.data(), count, halves.data(), stream.get()));
    check(launch_from_half(halves.data(), count, 3, back.data(), stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    std::vector<float> expected;
    for (const float value : values) expected.push_back(from_half(to_half(value)) / 3);
    CHECK(difference_of_bits("values", back.read(), expected) == "");
    halves.read();
}

void check_levels(std::size_t count, std::size_t offset, std::size_t other) {
    const Stream stream = make_stream();
    const std::vector<float> values = made_gradient("levels", count);
    const Buffer<float> scale(std::vector<float>{0.25F});
    const Placed<float> from(values, offset, -7);
    const Placed<std::int8_t> levels(std::vector<std::int8_t>(count), other, 77);
    check(launch_quantise(from.data(), count, scale.data(), 64, key, step, levels.data(),
                          stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    CHECK(levels.read() == quantised_by_rule(values, 0.25F, 64));
}

void check_mean(std::size_t count, std::size_t ranks, std::size_t offset, std::size_t other) {
    const Stream stream = make_stream();
    std::vector<std::int8_t> levels(ranks * count);
    for (std::size_t i = 0; i < levels.size(); ++i) {
        levels[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 255) - 127);
    }
    std::vector<float> scales;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        scales.push_back(0.3F + static_cast<float>(rank));
    }
    const Placed<std::int8_t> from(levels, other, 77);
    const Buffer<float> device_scales(scales);
    const Placed<float> mean(std::vector<float>(count), offset, -7);
    check(launch_mean_of_levels(from.data(), device_scales.data(), ranks, count, 127, mean.data(),
                                stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    std::vector<float> expected(count);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            const float unit = scales[rank] / 127.0F / static_cast<float>(ranks);
            expected[i] += unit * static_cast<float>(levels[rank * count + i]);
        }
    }
    CHECK(difference_of_bits("mean", mean.read(), expected) == "");
}

void check_random_k(std::size_t count, std::size_t kept, std::size_t offset) {
    const Stream stream = make_stream();
    const std::vector<float> values = made_gradient("random_k", count);
    const RandomKPlaces places{.elements = count, .kept = kept, .key = key, .step = step};
    const Placed<float> from(values, offset, -7);
    const Placed<float> own(std::vector<float>(kept), offset, -7);
    const Placed<float> mean(std::vector<float>(count, 5.0F), offset, -7);
    check(launch_random_k_gather(places, true, from.data(), own.data(), stream.get()));
    check(launch_random_k_spread(places, own.data(), 3, mean.data(), stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    std::vector<float> gathered(kept);
    std::vector<float> expected(count, 0.0F);
    for_each_draw(key, step, kept, [&](std::size_t k, std::uint32_t word) {
        const auto [begin, end] =
            stratum_of(static_cast<std::int64_t>(k), static_cast<std::int64_t>(kept),
                       static_cast<std::int64_t>(count));
        const auto place = static_cast<std::size_t>(pick_of(word, begin, end - begin));
        gathered[k] = static_cast<float>(end - begin) * values[place];
        expected[place] = gathered[k] / 3;
    });
    CHECK(difference_of_bits("kept", own.read(), gathered) == "");
    CHECK(difference_of_bits("mean", mean.read(), expected) == "");
}

void check_products(const MatrixSize& size, std::size_t offset) {
    const Stream stream = make_stream();
    const std::size_t rank = size.rank;
    const std::vector<float> matrix = made_gradient("matrix", size.rows * size.columns);
    const std::vector<float> right = made_gradient("right", size.columns * rank);
    std::vector<float> left(size.rows * rank);
    const Placed<float> device_matrix(matrix, offset, -7);
    const Placed<float> device_right(right, offset, -7);
    const Placed<float> device_left(left, offset, -7);
    const Placed<float> workspace(std::vector<float>(power_sgd_workspace(size)), offset, -7);
    check(launch_times(size, device_matrix.data(), device_right.data(), device_left.data(),
                       stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    times(matrix, right, size.columns, rank, left);
    CHECK(difference_beyond("P", device_left.read(), left, 1e-4) == "");
    std::vector<float> other(right.size());
    const Placed<float> left_as_there(left, offset, -7);
    check(launch_transposed_times(size, device_matrix.data(), left_as_there.data(),
                                  workspace.data(), device_right.data(), stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    transposed_times(matrix, left, size.columns, rank, other);
    CHECK(difference_beyond("Q", device_right.read(), other, 1e-4) == "");
    workspace.read();
    const Placed<float> right_as_there(other, offset, -7);
    check(launch_outer(size, left_as_there.data(), right_as_there.data(), device_matrix.data(),
                       stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    std::vector<float> mean(matrix.size());
    outer(left, other, rank, mean);
    CHECK(difference_of_bits("mean", device_matrix.read(), mean) == "");
}

void check_orthonormal(std::vector<float> columns, std::size_t rank, std::size_t offset) {
    const Stream stream = make_stream();
    const Placed<float> placed(columns, offset, -7);
    check(launch_orthonormalise(columns.size() / rank, rank, placed.data(), stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    orthonormalise(columns, rank);
    CHECK(difference_beyond("columns", placed.read(), columns, 1e-4) == "");
}

std::uint32_t magnitude_of_bits(float value) {
    return std::isnan(value) ? 0 : std::bit_cast<std::uint32_t>(std::abs(value));
}

void check_top_k(const std::vector<float>& values, std::size_t kept, std::size_t offset) {
    const Stream stream = make_stream();
    const Placed<float> from(values, offset, -7);
    const Placed<std::uint32_t> workspace(
        std::vector<std::uint32_t>(top_k_workspace(values.size())), offset, 77);
    const Placed<std::int32_t> places(std::vector<std::int32_t>(kept), offset, -7);
    const Placed<float> own(std::vector<float>(kept), offset, -7);
    check(launch_top_k(from.data(), values.size(), kept, workspace.data(), places.data(),
                       own.data(), stream.get()));
    check(cudaStreamSynchronize(stream.get()));
    workspace.read();
    std::vector<std::int32_t> expected(values.size());
    std::iota(expected.begin(), expected.end(), 0);
    const auto bits = [&](std::int32_t place) {
        return magnitude_of_bits(values[static_cast<std::size_t>(place)]);
    };
    std::ranges::stable_sort(expected, std::ranges::greater{}, bits);
    expected.resize(kept);
    std::ranges::sort(expected);
    CHECK(places.read() == expected);
    std::vector<float> expected_values;
    for (const std::int32_t place : expected) {
        expected_values.push_back(values[static_cast<std::size_t>(place)]);
    }
    CHECK(difference_of_bits("values", own.read(), expected_values) == "");
}

}  // namespace

TEST_CASE("cuda: codecs take numbers at any address", "[gpu]") {
    if (!places_have_gpu()) return;
    for (const std::size_t count : placed_sizes) {
        for (const std::size_t offset : {0, 1, 2, 4}) {
            for (const std::size_t other : {0, 1, 4}) {
                CAPTURE(count, offset, other);
                check_halves(count, offset, other);
                check_levels(count, offset, other);
                for (const std::size_t ranks : {1, 3}) check_mean(count, ranks, offset, other);
            }
            // A stratum longer than a tile, strata across tiles, of one or two elements, of one.
            for (const std::size_t kept :
                 {std::size_t{1}, (count + 99) / 100, (2 * count + 2) / 3, count}) {
                CAPTURE(count, offset, kept);
                check_random_k(count, kept, offset);
            }
        }
    }
}

TEST_CASE("cuda: the largest are found at any address, for any share", "[gpu]") {
    if (!places_have_gpu()) return;
    // Around the slots and values of a tile, and of a block of tiles; with a sample of one in two.
    for (const std::size_t count : {1, 255, 257, 2047, 2049, 16'385, 40'000, 131'073}) {
        std::vector<float> values = made_gradient("largest", count);
        for (std::size_t i = 0; i < count; i += 501) {
            values[i] = std::numeric_limits<float>::quiet_NaN();
        }
        if (count > 300) values[300] = -std::numeric_limits<float>::infinity();
        for (const std::size_t offset : {0, 1}) {
            for (const std::size_t kept :
                 {std::size_t{1}, (count + 99) / 100, (count + 7) / 8, (count + 1) / 2, count}) {
                CAPTURE(count, offset, kept);
                check_top_k(values, kept, offset);
            }
        }
    }
}

TEST_CASE("cuda: the largest are found where a sample misleads, and side by side", "[gpu]") {
    if (!places_have_gpu()) return;
    constexpr std::size_t count = 200'000;
    const std::uint32_t stride = top_k_sample_stride(count);
    REQUIRE(stride > 1);
    REQUIRE(top_k_sample_place(top_k_samples - 1, stride) < count);
    // As many are large as the sample is to show of them, all where it looks: fewer than are kept.
    std::vector<float> misleading = made_gradient("misleading", count);
    for (std::uint32_t sample = 0; sample < 1500; ++sample) {
        misleading[top_k_sample_place(40 * sample, stride)] = 50 + static_cast<float>(sample % 7);
    }
    check_top_k(misleading, 2000, 0);
    // All where it does not look.
    std::vector<float> unseen(count, 0.0F);
    for (std::uint32_t sample = 0; sample < 3000; ++sample) {
        const std::size_t place = top_k_sample_place(20 * sample, stride);
        unseen[place + 1 < count ? place + 1 : 0] = -3;
        unseen[place] = 0;
    }
    check_top_k(unseen, 2000, 0);
    // More in one tile than it has slots for, few in all others.
    std::vector<float> dense = made_gradient("dense", count);
    for (std::size_t i = 70'000; i < 71'900; ++i) dense[i] = 9 + static_cast<float>(i % 97);
    for (const std::size_t kept : {1000, 1900, 2000}) check_top_k(dense, kept, 1);
    // As many as there are slots, one less and one more.
    for (const std::size_t large : {255, 256, 257}) {
        std::vector<float> full(100'000, 0.0F);
        std::fill_n(full.begin() + 4096, large, 9.0F);
        check_top_k(full, large, 0);
    }
    check_top_k(std::vector<float>(count, -0.5F), 2000, 0);
    check_top_k(std::vector<float>(count, 0.0F), 2000, 0);
}

TEST_CASE("cuda: products of every rank, at any address", "[gpu]") {
    if (!places_have_gpu()) return;
    for (std::size_t rank = 1; rank <= power_sgd_rank_max; ++rank) {
        for (const std::size_t offset : {0, 1, 4}) {
            // One column; whole reads of a warp and one more; rows of one part, and of several.
            for (const auto& [rows, columns] : std::vector<std::pair<std::size_t, std::size_t>>{
                     {9, 1}, {1, 9}, {33, 128}, {31, 260}, {300, 257}, {261, 1028}}) {
                CAPTURE(rank, offset, rows, columns);
                check_products({.rows = rows, .columns = columns, .rank = rank}, offset);
            }
        }
    }
    CHECK(launch_orthonormalise(8, power_sgd_rank_max + 1, nullptr, nullptr) ==
          cudaErrorInvalidValue);
}

TEST_CASE("cuda: columns of every rank become orthonormal, however long", "[gpu]") {
    if (!places_have_gpu()) return;
    for (std::size_t rank = 1; rank <= power_sgd_rank_max; ++rank) {
        // What registers hold ends at 64 ÷ rank rows of 512 threads.
        const std::size_t held = 64 / rank * 512;
        for (const std::size_t rows :
             {rank, std::size_t{700}, held - 1, held, held + 1, 3 * held}) {
            for (const std::size_t offset : {0, 1}) {
                CAPTURE(rank, offset, rows);
                std::vector<float> columns = made_gradient("columns", rows * rank);
                check_orthonormal(columns, rank, offset);
                // The last column depends on the first: it becomes zero, and so do columns of
                // zeros.
                for (std::size_t row = 0; row < rows; ++row) {
                    columns[row * rank + rank - 1] = 2 * columns[row * rank];
                }
                check_orthonormal(columns, rank, offset);
            }
        }
        check_orthonormal(std::vector<float>(700 * rank, 0.0F), rank, 0);
    }
}

TEST_CASE("cuda: levels have the CPU's bits for scales and values of any size", "[gpu]") {
    if (!places_have_gpu()) return;
    const Stream stream = make_stream();
    constexpr std::size_t count = 8192;
    std::vector<float> scales{0,
                              -1,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::denorm_min()};
    for (int exponent = -140; exponent < 128; exponent += 5) {
        scales.push_back(std::ldexp(1.37F, exponent));
    }
    for (const float exact : {0x1p-58F, 0x1p100F, 1.0F}) {
        scales.push_back(exact);
        scales.push_back(std::nextafter(exact, 0.0F));
        scales.push_back(std::nextafter(exact, 2 * exact));
    }
    for (const float scale : scales) {
        // Half of them near the scale, the others with any bits.
        std::vector<float> values(count);
        for_each_draw(key, 1, count, [&](std::size_t i, std::uint32_t word) {
            values[i] =
                i % 2 == 0 ? std::bit_cast<float>(word) : scale * (uniform_of(word) * 2.1F - 1.05F);
        });
        const Buffer<float> from(values);
        const Buffer<float> device_scale(std::vector<float>{scale});
        const Buffer<std::int8_t> levels(count);
        for (const std::int32_t most : {1, 64, 127}) {
            CAPTURE(scale, most);
            check(launch_quantise(from.data(), count, device_scale.data(), most, key, step,
                                  levels.data(), stream.get()));
            check(cudaStreamSynchronize(stream.get()));
            CHECK(levels.read() == quantised_by_rule(values, scale, most));
        }
    }
}
