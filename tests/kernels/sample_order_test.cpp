// sample_order_test.cpp — every sample once an epoch, on any worker.
#include "kernels/sample_order.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

std::vector<std::uint32_t> positions(SampleOrder& order, std::int64_t begin, std::int64_t count) {
    std::vector<std::uint32_t> samples(static_cast<std::size_t>(count));
    order.fill(begin, samples);
    return samples;
}

}  // namespace

TEST_CASE("sample order: an epoch is a permutation, another epoch another one", "[sample_order]") {
    SampleOrder order(1, 1000);
    auto first = positions(order, 0, 1000);
    auto second = positions(order, 1000, 1000);
    CHECK(first != second);
    CHECK(positions(order, 0, 1000) == first);  // back again
    CHECK(positions(order, 500, 1000) == [&] {
        std::vector<std::uint32_t> both(first.begin() + 500, first.end());
        both.insert(both.end(), second.begin(), second.begin() + 500);
        return both;
    }());
    SampleOrder other(2, 1000);
    CHECK(positions(other, 0, 1000) != first);
    std::ranges::sort(first);
    for (std::uint32_t i = 0; i < 1000; ++i) REQUIRE(first[i] == i);
}

TEST_CASE("sample order: stays what it was", "[sample_order][golden]") {
    SampleOrder order(7, 10);
    CHECK(positions(order, 0, 10) == std::vector<std::uint32_t>{0, 6, 9, 4, 7, 5, 1, 3, 8, 2});
    CHECK(positions(order, 30, 5) == std::vector<std::uint32_t>{4, 7, 6, 8, 1});
    SampleOrder one(7, 1);
    CHECK(positions(one, 5, 3) == std::vector<std::uint32_t>{0, 0, 0});
}

TEST_CASE("sample order: all places are equally likely", "[sample_order][property]") {
    // Sample 0 stands at each of 8 places in an eighth of 8000 epochs: 1000 ± 30.
    SampleOrder order(3, 8);
    std::vector<int> counts(8, 0);
    for (std::int64_t epoch = 0; epoch < 8000; ++epoch) {
        const auto samples = positions(order, epoch * 8, 8);
        ++counts[static_cast<std::size_t>(std::ranges::find(samples, 0U) - samples.begin())];
    }
    for (const int count : counts) CHECK(std::abs(count - 1000) < 150);
}

TEST_CASE("shares: nearly equal, contiguous, the first get one more", "[sample_order]") {
    // Or et al.: a global batch of 1024 on 5 workers.
    const std::vector<std::int64_t> expected{205, 205, 205, 205, 204};
    std::int64_t begin = 0;
    for (int rank = 0; rank < 5; ++rank) {
        const Share share = share_of(1024, rank, 5);
        CHECK(share.count == expected[static_cast<std::size_t>(rank)]);
        CHECK(share.begin == begin);
        begin += share.count;
    }
    CHECK(share_of(2, 2, 4).count == 0);
    CHECK(share_of(2, 3, 4).begin == 2);
}

TEST_CASE("sample order: any resizes use each sample once an epoch", "[sample_order][property]") {
    const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 20)));
    CAPTURE(seed);
    RandomStream random(seed, "resizes");
    const std::int64_t samples = random.integer(1, 500);
    constexpr std::int64_t epochs = 4;
    std::vector<std::vector<int>> used(static_cast<std::size_t>(epochs),
                                       std::vector<int>(static_cast<std::size_t>(samples), 0));
    std::vector<SampleOrder> ranks;  // each has its own, as processes do; new ones join
    std::int64_t position = 0;
    while (position < samples * epochs) {
        const auto size = static_cast<std::size_t>(random.integer(1, 9));
        ranks.resize(std::min(ranks.size(), size), SampleOrder(seed, samples));
        while (ranks.size() < size) ranks.emplace_back(seed, samples);
        const std::int64_t steps = random.integer(1, 5);
        const std::int64_t batch = random.integer(1, 90);
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::size_t rank = 0; rank < size; ++rank) {
                const Share share = share_of(batch, static_cast<int>(rank), static_cast<int>(size));
                const auto own = positions(ranks[rank], position + share.begin, share.count);
                for (std::int64_t i = 0; i < share.count; ++i) {
                    const std::int64_t place = position + share.begin + i;
                    if (place >= samples * epochs) continue;
                    ++used[static_cast<std::size_t>(place / samples)]
                          [own[static_cast<std::size_t>(i)]];
                }
            }
            position += batch;
        }
    }
    for (const auto& epoch : used) {
        CHECK(std::ranges::all_of(epoch, [](int count) { return count == 1; }));
    }
}
