// schedule.cpp — the table of all-reduce schedules. To add one: write its file, add its two lines.
#include "kernels/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/invariant.hpp"

namespace ukemi::kernels {

Schedule make_binary_tree(std::int32_t ranks);
Schedule make_binary_tree_star(std::int32_t ranks, std::int32_t per_host);
Schedule make_clique(std::int32_t ranks);
Schedule make_double_binary_tree(std::int32_t ranks);
Schedule make_halving_doubling(std::int32_t ranks);
Schedule make_hierarchical(std::int32_t ranks, std::int32_t per_host);
Schedule make_multi_binary_tree_star(std::int32_t ranks, std::int32_t per_host);
Schedule make_parameter_server(std::int32_t ranks);
Schedule make_ring(std::int32_t ranks);
Schedule make_star(std::int32_t ranks);

namespace {

struct ScheduleEntry {
    policies::Collective algorithm;
    Schedule (*make)(std::int32_t ranks);
    Schedule (*make_on_hosts)(std::int32_t ranks, std::int32_t per_host) = nullptr;
};
constexpr std::array schedule_table = {
    ScheduleEntry{policies::Collective::binary_tree, make_binary_tree},
    ScheduleEntry{policies::Collective::binary_tree_star, nullptr, make_binary_tree_star},
    ScheduleEntry{policies::Collective::clique, make_clique},
    ScheduleEntry{policies::Collective::double_binary_tree, make_double_binary_tree},
    ScheduleEntry{policies::Collective::halving_doubling, make_halving_doubling},
    ScheduleEntry{policies::Collective::hierarchical, nullptr, make_hierarchical},
    ScheduleEntry{policies::Collective::multi_binary_tree_star, nullptr,
                  make_multi_binary_tree_star},
    ScheduleEntry{policies::Collective::parameter_server, make_parameter_server},
    ScheduleEntry{policies::Collective::ring, make_ring},
    ScheduleEntry{policies::Collective::star, make_star},
};

const ScheduleEntry* entry_of(policies::Collective algorithm, std::int32_t ranks) {
    algorithm = collective_meant(algorithm, ranks);
    for (const ScheduleEntry& entry : schedule_table) {
        if (entry.algorithm == algorithm) return &entry;
    }
    return nullptr;
}

}  // namespace

ChunkRange chunk_range(std::size_t count, std::int32_t chunks, std::int32_t first,
                       std::int32_t chunk_count) {
    INVARIANT(chunks > 0 && first >= 0 && chunk_count >= 0 && chunk_count <= chunks - first);
    const auto parts = static_cast<std::size_t>(chunks);
    // The first count mod chunks chunks have one element more.
    const auto start = [&](std::size_t chunk) {
        return count / parts * chunk + std::min(chunk, count % parts);
    };
    const auto begin = static_cast<std::size_t>(first);
    return {start(begin), start(begin + static_cast<std::size_t>(chunk_count))};
}

// Both move the least that is possible. Halving-doubling has fewer steps, but pays for the ranks
// beyond a power of two with a whole buffer each way.
policies::Collective collective_meant(policies::Collective algorithm, std::int32_t ranks) {
    if (algorithm != policies::Collective::automatic) return algorithm;
    const bool power_of_two = std::has_single_bit(static_cast<std::uint32_t>(ranks));
    return power_of_two ? policies::Collective::halving_doubling : policies::Collective::ring;
}

std::string schedule_refusal(policies::Collective algorithm, std::int32_t ranks,
                             std::int32_t per_host) {
    if (ranks < 1) return fmt::format("an all-reduce needs at least one rank, not {}", ranks);
    if (per_host < 0) return fmt::format("a host has at least one rank, not {}", per_host);
    const std::string_view name = policies::collective_names()[static_cast<std::size_t>(algorithm)];
    if (entry_of(algorithm, ranks) == nullptr) {
        return fmt::format("there is no schedule for the collective \"{}\"", name);
    }
    if (algorithm == policies::Collective::hierarchical && per_host > 0 && ranks % per_host != 0) {
        return fmt::format("the collective \"{}\" needs full hosts: {} ranks, {} on each", name,
                           ranks, per_host);
    }
    return {};
}

Schedule all_reduce_schedule(policies::Collective algorithm, std::int32_t ranks,
                             std::int32_t per_host) {
    INVARIANT(schedule_refusal(algorithm, ranks, per_host).empty());
    const ScheduleEntry& entry = *entry_of(algorithm, ranks);
    if (entry.make != nullptr) return entry.make(ranks);
    return entry.make_on_hosts(ranks, per_host == 0 ? ranks : per_host);
}

}  // namespace ukemi::kernels
