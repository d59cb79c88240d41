// multi_ring.cpp — along the axes of a grid: reduce-scatter inwards, all-gather outwards.
//
// Rank r stands at r / stride mod size of an axis. Two axes of rings, GPUs in a node and nodes, are
// the hierarchical all-reduce (Jia et al., "Highly Scalable Deep Learning Training System with
// Mixed-Precision", 2018), a grid of any dimension is PowerAI DDL's (Cho et al., "PowerAI DDL",
// 2017, section 3) and the torus of Mikami et al. ("Massively Distributed SGD", 2018). Of rings
// Σ 2(n−1) steps; 2(N−1)/N of the buffer a rank.
#include <fmt/format.h>

#include <array>
#include <bit>

#include "base/invariant.hpp"
#include "kernels/grid_schedule.hpp"

namespace ukemi::kernels {
namespace {

// The rounds of one axis, after those of the axes before it.
class AxisRounds {
public:
    AxisRounds(Schedule& schedule, std::span<const GridAxis> axes, std::size_t level)
        : schedule_(schedule), before_(axes.first(level)), axis_(axes[level]) {
        part_ = schedule.ranks;
        for (std::size_t i = 0; i <= level; ++i) part_ /= axes[i].size;
    }

    void scatter() {
        if (axis_.exchange == AxisExchange::ring) return pass_on(TransferKind::reduce);
        if (axis_.exchange == AxisExchange::direct) return direct(TransferKind::reduce);
        for (std::int32_t half = axis_.size / 2; half > 0; half /= 2) {
            exchange(half, TransferKind::reduce);
        }
    }
    void gather() {
        if (axis_.exchange == AxisExchange::ring) return pass_on(TransferKind::copy);
        if (axis_.exchange == AxisExchange::direct) return direct(TransferKind::copy);
        for (std::int32_t half = 1; half < axis_.size; half *= 2) {
            exchange(half, TransferKind::copy);
        }
    }

private:
    std::int32_t place_of(std::int32_t rank) const { return rank / axis_.stride % axis_.size; }

    // What is left to a rank before its line begins.
    std::int32_t first_chunk(std::int32_t rank) const {
        std::int32_t first = 0;
        std::int32_t part = schedule_.ranks;
        for (const GridAxis& axis : before_) {
            part /= axis.size;
            const std::int32_t place = rank / axis.stride % axis.size;
            const bool ring = axis.exchange == AxisExchange::ring;  // leaves the next one's part
            first += (ring ? (place + 1) % axis.size : place) * part;
        }
        return first;
    }

    // `count` parts from `first` on, to the rank at another place of the same line.
    void send(std::int32_t rank, std::int32_t place, std::int32_t first, std::int32_t count,
              TransferKind kind) {
        const std::int32_t to = rank + (place - place_of(rank)) * axis_.stride;
        schedule_.transfers.push_back(
            {rank, to, first_chunk(rank) + first * part_, count * part_, step_, kind});
    }

    void pass_on(TransferKind kind) {
        const std::int32_t ahead = kind == TransferKind::reduce ? 0 : 1;
        for (std::int32_t round = 0; round < axis_.size - 1; ++round) {
            step_ = next_step();
            for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
                const std::int32_t place = place_of(rank);
                const std::int32_t sent = (place - round + ahead + axis_.size) % axis_.size;
                send(rank, (place + 1) % axis_.size, sent, 1, kind);
            }
        }
    }

    void exchange(std::int32_t half, TransferKind kind) {
        step_ = next_step();
        for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
            const std::int32_t place = place_of(rank);
            const std::int32_t other = place ^ half;
            const std::int32_t of = kind == TransferKind::reduce ? other : place;
            send(rank, other, of / half * half, half, kind);
        }
    }

    void direct(TransferKind kind) {
        step_ = next_step();
        for (std::int32_t rank = 0; rank < schedule_.ranks; ++rank) {
            const std::int32_t place = place_of(rank);
            for (std::int32_t ahead = 1; ahead < axis_.size; ++ahead) {
                const std::int32_t other = (place + ahead) % axis_.size;
                send(rank, other, kind == TransferKind::reduce ? other : place, 1, kind);
            }
        }
    }

    std::int32_t next_step() const {
        return schedule_.transfers.empty() ? 0 : schedule_.transfers.back().step + 1;
    }

    Schedule& schedule_;
    std::span<const GridAxis> before_;
    GridAxis axis_;
    std::int32_t part_ = 1;  // chunks of one of the parts into which it cuts
    std::int32_t step_ = 0;
};

}  // namespace

std::int32_t ranks_of(std::span<const GridAxis> axes) {
    std::int32_t ranks = 1;
    for (const GridAxis& axis : axes) {
        const bool halves = axis.exchange == AxisExchange::halving_doubling;
        INVARIANT(axis.size >= 1 && axis.stride >= 1);
        INVARIANT(!halves || std::has_single_bit(static_cast<std::uint32_t>(axis.size)));
        INVARIANT(!__builtin_mul_overflow(ranks, axis.size, &ranks));
    }
    return ranks;
}

Schedule grid_schedule(std::span<const GridAxis> axes) {
    const std::int32_t ranks = ranks_of(axes);
    Schedule schedule{words_of(axes), ranks, ranks, {}};
    for (std::size_t level = 0; level < axes.size(); ++level) {
        AxisRounds(schedule, axes, level).scatter();
    }
    for (std::size_t level = axes.size(); level-- > 0;) AxisRounds(schedule, axes, level).gather();
    return schedule;
}

std::string words_of(std::span<const GridAxis> axes) {
    std::string words;
    for (const GridAxis& axis : axes) {
        words += fmt::format("{}{} ({})", words.empty() ? "" : " x ", axis.size,
                             axis_exchange_names[static_cast<std::size_t>(axis.exchange)]);
    }
    return words;
}

Schedule multi_ring_schedule(std::span<const std::int32_t> sizes) {
    std::vector<GridAxis> axes;
    for (const std::int32_t size : sizes) axes.push_back({size, ranks_of(axes)});
    Schedule schedule = grid_schedule(axes);
    schedule.name = "multi_ring";
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
