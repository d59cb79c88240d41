// multi_ring.cpp — rings along the axes of a grid: reduce-scatter inwards, all-gather outwards.
//
// Rank r stands at r mod n0, r / n0 mod n1, …. Along the first axis rings reduce-scatter the
// buffer; those along the next one do the same with the part that is left to them, and so on; then
// all-gathers lead back. Two axes of GPUs in a node and nodes are the hierarchical all-reduce (Jia
// et al., "Highly Scalable Deep Learning Training System with Mixed-Precision", 2018), a grid of
// any dimension is PowerAI DDL's (Cho et al., "PowerAI DDL", 2017, section 3) and the torus of
// Mikami et al. ("Massively Distributed SGD", 2018). Σ 2(n−1) steps, 2(N−1)/N of the buffer a rank.
#include <array>

#include "base/invariant.hpp"
#include "kernels/schedule.hpp"

namespace ukemi::kernels {
namespace {

struct Axis {
    std::int32_t size = 1;
    std::int32_t stride = 1;
    std::int32_t part = 1;  // chunks of one of the parts into which its ring cuts
};

// What is left to a rank before its ring along axes[level] begins.
std::int32_t first_chunk(std::span<const Axis> axes, std::size_t level, std::int32_t rank) {
    std::int32_t first = 0;
    for (std::size_t i = 0; i < level; ++i) {
        const std::int32_t place = rank / axes[i].stride % axes[i].size;
        first += (place + 1) % axes[i].size * axes[i].part;  // as a ring leaves it
    }
    return first;
}

}  // namespace

Schedule multi_ring_schedule(std::span<const std::int32_t> sizes) {
    std::int32_t ranks = 1;
    std::vector<Axis> axes;
    for (const std::int32_t size : sizes) {
        INVARIANT(size >= 1);
        axes.push_back({size, ranks, 1});
        INVARIANT(!__builtin_mul_overflow(ranks, size, &ranks));
    }
    for (Axis& axis : axes) axis.part = ranks / axis.stride / axis.size;
    Schedule schedule{"multi_ring", ranks, ranks, {}};
    std::int32_t step = 0;
    const auto along = [&](std::size_t level, bool adds) {
        const Axis& axis = axes[level];
        for (std::int32_t round = 0; round < axis.size - 1; ++round, ++step) {
            for (std::int32_t rank = 0; rank < ranks; ++rank) {
                const std::int32_t place = rank / axis.stride % axis.size;
                const std::int32_t next = rank + ((place + 1) % axis.size - place) * axis.stride;
                const std::int32_t sent = (place - round + (adds ? 0 : 1) + axis.size) % axis.size;
                schedule.transfers.push_back(
                    {rank, next, first_chunk(axes, level, rank) + sent * axis.part, axis.part, step,
                     adds ? TransferKind::reduce : TransferKind::copy});
            }
        }
    };
    for (std::size_t level = 0; level < axes.size(); ++level) along(level, true);
    for (std::size_t level = axes.size(); level-- > 0;) along(level, false);
    return schedule;
}

// Along the ranks of a host, then over the hosts.
Schedule make_hierarchical(std::int32_t ranks, std::int32_t per_host) {
    const std::array axes = {per_host, ranks / per_host};
    INVARIANT(axes[0] * axes[1] == ranks);
    Schedule schedule = multi_ring_schedule(axes);
    schedule.name = "hierarchical";
    return schedule;
}

}  // namespace ukemi::kernels
