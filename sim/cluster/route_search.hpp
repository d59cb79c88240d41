// route_search.hpp — the least cost from the places of a web to one of them, as far as it is asked.
//
// Dijkstra's search from the destination, which goes on where the last question ended. A place that
// lets nothing through may begin or end a way, never lie in the middle of it.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace ukemi::sim {

// What a way costs: fewest network links first, then the least latency, then the fewest links.
struct RouteCost {
    std::uint32_t network_hops = 0;
    std::int64_t latency_ns = 0;
    std::uint32_t hops = 0;

    friend auto operator<=>(const RouteCost&, const RouteCost&) = default;
    friend RouteCost operator+(const RouteCost& a, const RouteCost& b) {
        if (a.is_far() || b.is_far()) return far();
        return {a.network_hops + b.network_hops, a.latency_ns + b.latency_ns, a.hops + b.hops};
    }
    bool is_far() const { return hops == std::numeric_limits<std::uint32_t>::max(); }
    static constexpr RouteCost far() {  // where no way leads
        return {std::numeric_limits<std::uint32_t>::max(), std::numeric_limits<std::int64_t>::max(),
                std::numeric_limits<std::uint32_t>::max()};
    }
};

// Places and what joins two of them, at the same cost in both directions.
class RouteWeb {
public:
    struct Edge {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        RouteCost cost;

        friend auto operator<=>(const Edge&, const Edge&) = default;
    };

    RouteWeb() = default;
    // Each edge once in each direction.
    RouteWeb(std::vector<char> lets_through, std::vector<Edge> edges);

    std::size_t size() const { return lets_through_.size(); }
    bool lets_through(std::uint32_t place) const { return lets_through_[place] != 0; }
    std::span<const Edge> from(std::uint32_t place) const;  // in the order in which they were given

    friend auto operator<=>(const RouteWeb&, const RouteWeb&) = default;

private:
    std::vector<char> lets_through_;
    std::vector<Edge> edges_;  // by where they begin
    std::vector<std::size_t> first_;
};

class RouteSearch {
public:
    RouteSearch(const RouteWeb& web, std::uint32_t to);  // which must outlive it

    RouteCost cost_from(std::uint32_t place);

private:
    using Reached = std::pair<RouteCost, std::uint32_t>;

    const RouteWeb* web_;
    std::uint32_t to_;
    std::vector<RouteCost> costs_;
    std::vector<bool> final_;
    std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue_;
};

}  // namespace ukemi::sim
