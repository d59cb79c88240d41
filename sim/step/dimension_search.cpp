// dimension_search.cpp — sums over axes first, then the best few grids on the idle network.
#include "sim/step/dimension_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::sim {
namespace {

using kernels::AxisExchange;
using kernels::GridAxis;

constexpr std::int32_t direct_max = 16;    // ranks that send to each other at once
constexpr std::size_t orders_max = 64;     // of a number's prime factors that are tried
constexpr std::size_t kept_max = 32;       // grids of the smallest sums, then played …
constexpr std::size_t kept_of_few = 1024;  // of at most so many ranks: all there are of 16
constexpr std::int32_t few_ranks = 32;
constexpr std::int64_t transfers_most = 1 << 18;  // … until so many transfers were

// A round in which all lines of an axis send at once.
struct AxisRound {
    std::int64_t times = 1;
    double share = 1;  // of what a line adds up
    // Latency and seconds a byte of the paths that may be the slowest.
    std::vector<std::pair<double, double>> paths;
};

// What rounds of axes take on the links of a group.
class AxisTimes {
public:
    AxisTimes(const Topology& topology, Router router, std::int32_t ranks)
        : topology_(topology), router_(std::move(router)), ranks_(ranks) {}

    // Down and up the axis again, of so many bytes a line.
    Duration both_ways(const GridAxis& axis, double bytes) {
        double sum_s = 0;
        for (const AxisRound& round : rounds_of(axis)) {
            double slowest_s = 0;
            for (const auto& [latency_s, a_byte_s] : round.paths) {
                slowest_s = std::max(slowest_s, latency_s + round.share * bytes * a_byte_s);
            }
            sum_s += static_cast<double>(2 * round.times) * slowest_s;
        }
        return seconds(sum_s);
    }

private:
    const std::vector<AxisRound>& rounds_of(const GridAxis& axis) {
        const auto [found, is_new] =
            rounds_.try_emplace(std::tuple(axis.size, axis.stride, axis.exchange));
        if (!is_new) return found->second;
        const double part = 1.0 / axis.size;
        const bool halves = axis.exchange == AxisExchange::halving_doubling;
        for (std::int32_t half = 1; halves && half < axis.size; half *= 2) {
            found->second.push_back({1, half * part, paths_of(axis, half)});
        }
        const bool ring = axis.exchange == AxisExchange::ring;
        if (!halves) found->second.push_back({ring ? axis.size - 1 : 1, part, paths_of(axis, 0)});
        return found->second;
    }

    // Each place sends to the next one, to the one that differs by a half, or to all others.
    std::vector<std::pair<double, double>> paths_of(const GridAxis& axis, std::int32_t half) {
        std::vector<std::vector<Hop>> paths;
        std::vector<std::uint32_t> crossing(topology_.links().size());
        const std::int32_t targets = axis.exchange == AxisExchange::direct ? axis.size - 1 : 1;
        for (std::int32_t rank = 0; rank < ranks_; ++rank) {
            const std::int32_t place = rank / axis.stride % axis.size;
            for (std::int32_t ahead = 1; ahead <= targets; ++ahead) {
                const std::int32_t to = half > 0 ? place ^ half : (place + ahead) % axis.size;
                const auto path = router_(rank, rank + (to - place) * axis.stride);
                paths.emplace_back(path.begin(), path.end());
                for (const Hop& hop : path) ++crossing[index_of(hop.link)];
            }
        }
        std::vector<std::pair<double, double>> all;
        for (const auto& path : paths) {
            double latency_s = 0;
            double a_byte_s = 0;
            for (const Hop& hop : path) {
                const Link& link = topology_.link(hop.link);
                latency_s += to_seconds(link.latency);
                a_byte_s = std::max(a_byte_s, crossing[index_of(hop.link)] / link.bandwidth.raw());
            }
            all.emplace_back(latency_s, a_byte_s);
        }
        std::ranges::sort(all);
        all.erase(std::ranges::unique(all).begin(), all.end());
        return all;
    }

    const Topology& topology_;
    Router router_;
    std::int32_t ranks_;
    std::map<std::tuple<std::int32_t, std::int32_t, AxisExchange>, std::vector<AxisRound>> rounds_;
};

// ---- Which factors ------------------------------------------------------------------------------

std::vector<std::int32_t> primes_of(std::int32_t number) {
    std::vector<std::int32_t> primes;
    for (std::int32_t prime = 2; number > 1; ++prime) {
        if (std::int64_t{prime} * prime > number) prime = number;
        for (; number % prime == 0; number /= prime) primes.push_back(prime);
    }
    return primes;
}

// Of each level, within the one before.
std::vector<std::int32_t> by_levels(std::span<const GroupLevel> levels) {
    std::vector<std::int32_t> factors;
    std::int32_t inside = 1;
    for (const GroupLevel& level : levels) {
        const auto primes = primes_of(level.block / std::exchange(inside, level.block));
        factors.insert(factors.end(), primes.begin(), primes.end());
    }
    return factors;
}

// From the first rank outwards, all orders in which the group may be cut.
std::vector<std::vector<std::int32_t>> factor_orders(std::span<const GroupLevel> levels) {
    std::vector<std::vector<std::int32_t>> orders;
    std::vector<std::int32_t> primes = primes_of(levels.back().block);
    do {
        orders.push_back(primes);
        if (orders.size() > orders_max) return {by_levels(levels)};
    } while (std::ranges::next_permutation(primes).found);
    return orders;
}

// ---- The smallest sums --------------------------------------------------------------------------

struct SummedGrid {
    std::vector<GridAxis> axes;
    Duration sum;
};

// Ties: fewer axes, then those that come first.
bool goes_before(const SummedGrid& a, const SummedGrid& b) {
    const auto key = [](const GridAxis& axis) {
        return std::tuple(axis.stride, axis.size, axis.exchange);
    };
    if (a.sum != b.sum) return a.sum < b.sum;
    if (a.axes.size() != b.axes.size()) return a.axes.size() < b.axes.size();
    return std::ranges::lexicographical_compare(a.axes, b.axes, {}, key, key);
}

void keep_best(std::vector<SummedGrid>& grids, std::int32_t ranks) {
    const std::size_t most = ranks <= few_ranks ? kept_of_few : kept_max;
    std::ranges::sort(grids, goes_before);
    const auto same = [](const SummedGrid& a, const SummedGrid& b) { return a.axes == b.axes; };
    grids.erase(std::ranges::unique(grids, same).begin(), grids.end());
    if (grids.size() > most) grids.resize(most);
}

// What is left to do depends on which factors have been reduced, not on how: for each set of
// factors its best ways are kept.
class BestGrids {
public:
    BestGrids(AxisTimes& times, std::span<const std::int32_t> factors, Bytes message)
        : times_(times), factors_(factors), message_(message) {
        INVARIANT(factors.size() <= factors_max);
        for (const std::int32_t factor : factors) ranks_ *= factor;
    }

    std::vector<SummedGrid> found() {
        best_.resize(std::size_t{1} << factors_.size());
        best_[0].push_back({});
        for (std::size_t done = 0; done + 1 < best_.size(); ++done) {
            keep_best(best_[done], ranks_);
            std::int32_t stride = 1;
            for (std::size_t first = 0; first < factors_.size(); stride *= factors_[first++]) {
                extend(done, first, stride);
            }
            best_[done] = {};
        }
        keep_best(best_.back(), ranks_);
        return std::move(best_.back());
    }

private:
    static constexpr std::size_t factors_max = 16;

    // By the axes that begin with a factor.
    void extend(std::size_t done, std::size_t first, std::int32_t stride) {
        std::size_t next = done;
        GridAxis axis{1, stride, AxisExchange::ring};
        for (std::size_t last = first; last < factors_.size() && (done >> last & 1) == 0; ++last) {
            axis.size *= factors_[last];
            next |= std::size_t{1} << last;
            if (done == 0 && next + 1 == best_.size()) return;  // flat
            add(done, next, axis);
            if (axis.size == 2) continue;  // both others are the same
            if (std::has_single_bit(static_cast<std::uint32_t>(axis.size))) {
                add(done, next, {axis.size, stride, AxisExchange::halving_doubling});
            }
            if (axis.size <= direct_max) add(done, next, {axis.size, stride, AxisExchange::direct});
        }
    }

    void add(std::size_t done, std::size_t next, const GridAxis& axis) {
        double bytes = static_cast<double>(message_.raw());
        for (std::size_t i = 0; i < factors_.size(); ++i) {
            if ((done >> i & 1) != 0) bytes /= factors_[i];
        }
        const Duration time = times_.both_ways(axis, bytes);
        for (const SummedGrid& way : best_[done]) {
            best_[next].push_back(way);
            best_[next].back().axes.push_back(axis);
            best_[next].back().sum += time;
        }
    }

    AxisTimes& times_;
    std::span<const std::int32_t> factors_;
    Bytes message_;
    std::int32_t ranks_ = 1;
    std::vector<std::vector<SummedGrid>> best_;  // by the set of factors that have been reduced
};

// ---- Played -------------------------------------------------------------------------------------

// "2 sockets (ring)", "8 groups of 4 machines (direct)"; a line may go on through blocks around it.
std::string words_of(std::span<const GroupLevel> levels, std::span<const GridAxis> axes) {
    std::string words;
    for (const GridAxis& axis : axes) {
        std::string units;
        std::int32_t inside = 1;
        for (const GroupLevel& level : levels) {
            const std::int32_t block = std::exchange(inside, level.block);
            if (axis.stride % block != 0) continue;
            units = axis.stride == block
                        ? level.units
                        : fmt::format("groups of {} {}", axis.stride / block, level.units);
        }
        words += fmt::format("{}{} {} ({})", words.empty() ? "" : " x ", axis.size, units,
                             kernels::axis_exchange_names[static_cast<std::size_t>(axis.exchange)]);
    }
    return words;
}

// One after the other on the idle network, the fastest first.
std::vector<PricedGrid> played(ClusterNetwork& network, std::span<const DeviceId> workers,
                               std::span<const GroupLevel> levels,
                               std::span<const SummedGrid> grids, Bytes message) {
    std::vector<PricedGrid> priced;
    std::int64_t transfers = 0;
    Instant now;
    for (const SummedGrid& grid : grids) {
        transfers += transfer_count(phased_grid(grid.axes));
        if (!priced.empty() && transfers > transfers_most) break;
        const PlacedCollective placed(network, grid.axes, workers);
        placed.start(network, message, now);
        const auto end = network.runs().run_until(Instant::never());
        INVARIANT(end.has_value());
        priced.push_back({grid.axes, words_of(levels, grid.axes), end->at - now});
        now = end->at + nanoseconds(1);  // no fraction of one is left
    }
    std::ranges::stable_sort(priced, {}, &PricedGrid::time);
    return priced;
}

std::string in_milliseconds(std::string_view words, Duration time) {
    return fmt::format("{} {:.4g} ms", words, to_seconds(time) * 1e3);
}

}  // namespace

SearchedDimensions search_dimensions(const Topology& topology, std::span<const DeviceId> workers,
                                     std::int32_t per_host, Bytes message, std::string_view where) {
    const auto ranks = static_cast<std::int32_t>(workers.size());
    INVARIANT(ranks >= 2);
    if (ranks > searched_ranks_max) {
        throw InputError(where, "",
                         fmt::format("dimension_search is for at most {} workers, found {}",
                                     searched_ranks_max, ranks));
    }
    SearchedDimensions searched;
    searched.message = message;
    const GradientBucket bucket{"message", message};
    searched.named = price_collectives(topology, workers, per_host, std::span(&bucket, 1), where);
    // It is a grid of two axes.
    std::erase_if(searched.named, [](const PricedCollective& one) {
        return one.algorithm == policies::Collective::hierarchical;
    });
    ClusterNetwork network(topology);
    const std::vector<GroupLevel> levels = group_levels(topology, network.routes(), workers);
    AxisTimes times(topology, network.router(workers), ranks);
    std::vector<SummedGrid> grids;
    for (const std::vector<std::int32_t>& factors : factor_orders(levels)) {
        std::vector<SummedGrid> more = BestGrids(times, factors, message).found();
        std::ranges::move(more, std::back_inserter(grids));
    }
    keep_best(grids, ranks);
    searched.grids = played(network, workers, levels, grids, message);
    return searched;
}

std::string words_of(const SearchedDimensions& searched) {
    constexpr std::size_t named_max = 3;
    const double megabytes = static_cast<double>(searched.message.raw()) / 1e6;
    const PricedCollective& flat = searched.named.front();
    std::string text;
    if (searched.grid_wins()) {
        text = in_milliseconds(searched.grids.front().words, searched.grids.front().time);
    } else {
        text =
            fmt::format("no dimensions are faster than {}", in_milliseconds(flat.name, flat.time));
    }
    text += fmt::format(" alone, of {:.4g} MB; ", megabytes);
    const std::size_t first = searched.grid_wins() ? 1 : 0;
    for (std::size_t i = first; i < std::min(searched.grids.size(), first + named_max); ++i) {
        text += in_milliseconds(searched.grids[i].words, searched.grids[i].time) + "; ";
    }
    if (searched.grid_wins())
        text += "by name, and no grid, " + in_milliseconds(flat.name, flat.time) + "; ";
    return text + fmt::format("{} grids played", searched.grids.size());
}

void choose_dimensions(StepJob& job, const SearchedDimensions& searched) {
    job.collective = searched.named.front().algorithm;
    job.axes.clear();
    if (searched.grid_wins()) job.axes = searched.grids.front().axes;
}

void search_again(StepJob& job, const Topology& topology) {
    const std::vector<DeviceId> group =
        job.layout ? job.layout->adders_of(job.workers, 0, 0) : job.workers;
    job.axes.clear();
    if (job.searched_message == Bytes{} || group.size() < 2) return;
    choose_dimensions(job, search_dimensions(topology, group, workers_per_machine(topology, group),
                                             job.searched_message, job.name));
}

}  // namespace ukemi::sim
