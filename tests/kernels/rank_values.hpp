// rank_values.hpp — what the tests of collectives put in, and how they judge what comes out.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/rank_program.hpp"
#include "tests/support/in_process.hpp"

namespace ukemi {

inline constexpr std::array tested_algorithms = {
    policies::Collective::ring,         policies::Collective::star,
    policies::Collective::binary_tree,  policies::Collective::halving_doubling,
    policies::Collective::hierarchical, policies::Collective::double_binary_tree,
    policies::Collective::clique};

// Around the borders of chunks, and a prime.
inline std::vector<std::size_t> tested_sizes(int ranks) {
    const auto chunks = static_cast<std::size_t>(ranks);
    return {0, 1, chunks - 1, chunks, chunks + 1, 1009};
}

// Sevenths between -75,000 and 75,000: their float sums depend on the order.
inline std::vector<float> rank_values(int rank, std::size_t count) {
    std::vector<float> values(count);
    auto bits = static_cast<std::uint32_t>(rank) * 40'503U;
    for (float& value : values) {
        bits += 2'654'435'761U;  // 2^32 over the golden ratio: spreads well
        value = (static_cast<float>(bits >> 12) - 524'288.0F) / 7.0F;
    }
    return values;
}

// More than two segments for a rank that sends the whole buffer.
inline constexpr std::size_t several_segments = 2 * kernels::segment_bytes_max / sizeof(float) + 3;

inline bool equal_bits(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
    }
    return true;
}

// The exact sum, up to what single precision loses in ranks − 1 additions of such numbers.
inline bool is_sum(std::span<const float> values, int ranks) {
    std::vector<double> sum(values.size());
    for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> own = rank_values(rank, values.size());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(own[i]);
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
        const double off = sum[i] - static_cast<double>(values[i]);
        if (!(off < 0.1 * ranks && off > -0.1 * ranks)) return false;
    }
    return true;
}

// What every rank ends with, by the interpreter.
inline std::vector<std::vector<float>> summed_in_process(const kernels::Schedule& schedule,
                                                         std::size_t count) {
    std::vector<std::vector<float>> values;
    for (int rank = 0; rank < schedule.ranks; ++rank) values.push_back(rank_values(rank, count));
    const std::vector<std::span<float>> spans(values.begin(), values.end());
    test::run_schedule(schedule, spans);
    return values;
}

inline std::byte test_byte(int rank, std::size_t i) {
    return static_cast<std::byte>(static_cast<std::size_t>(rank) * 131 + i * 7 + i / 251);
}

inline std::vector<std::byte> test_bytes(int rank, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = test_byte(rank, i);
    return bytes;
}

// all_gather, broadcast from every root and exchange in pairs; `aborted` if bytes are wrong.
inline kernels::Outcome other_collectives_work(kernels::Communicator& peers, std::size_t count) {
    const auto [epoch, rank, size] = peers.membership();
    const std::vector<std::byte> own = test_bytes(rank, count);
    std::vector<std::byte> all(count * static_cast<std::size_t>(size));
    if (const kernels::Outcome outcome = peers.all_gather("words", own, all);
        outcome != kernels::Outcome::ok) {
        return outcome;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] != test_byte(static_cast<int>(i / count), i % count))
            return kernels::Outcome::aborted;
    }
    for (int root = 0; root < size; ++root) {
        std::vector<std::byte> bytes = test_bytes(rank, count);
        if (const kernels::Outcome outcome = peers.broadcast("weights", bytes, root);
            outcome != kernels::Outcome::ok) {
            return outcome;
        }
        if (bytes != test_bytes(root, count)) return kernels::Outcome::aborted;
    }
    // Ranks 0 and 1, 2 and 3, …; the last one of an odd number with itself.
    const int peer = (rank ^ 1) < size ? rank ^ 1 : rank;
    std::vector<std::byte> in(count);
    const kernels::Outcome outcome = peers.exchange("model", peer, own, in);
    if (outcome == kernels::Outcome::ok && in != test_bytes(peer, count))
        return kernels::Outcome::aborted;
    return outcome;
}

}  // namespace ukemi
