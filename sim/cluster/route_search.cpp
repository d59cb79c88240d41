// route_search.cpp — Dijkstra's search that can be taken up again.
#include "sim/cluster/route_search.hpp"

namespace ukemi::sim {

RouteWeb::RouteWeb(std::vector<char> lets_through, std::vector<Edge> edges)
    : lets_through_(std::move(lets_through)),
      edges_(edges.size()),
      first_(lets_through_.size() + 1, 0) {
    for (const Edge& edge : edges) ++first_[edge.from + 1];
    for (std::size_t place = 0; place < size(); ++place) first_[place + 1] += first_[place];
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& edge : edges) edges_[next[edge.from]++] = edge;
}

std::span<const RouteWeb::Edge> RouteWeb::from(std::uint32_t place) const {
    return std::span(edges_).subspan(first_[place], first_[place + 1] - first_[place]);
}

RouteSearch::RouteSearch(const RouteWeb& web, std::uint32_t to)
    : web_(&web), to_(to), costs_(web.size(), RouteCost::far()), final_(web.size(), false) {
    costs_[to] = {};
    queue_.emplace(RouteCost{}, to);
}

RouteCost RouteSearch::cost_from(std::uint32_t place) {
    while (!final_[place] && !queue_.empty()) {
        const auto [cost, at] = queue_.top();
        queue_.pop();
        if (final_[at]) continue;
        final_[at] = true;
        if (at != to_ && !web_->lets_through(at)) continue;
        for (const RouteWeb::Edge& edge : web_->from(at)) {
            const RouteCost further = cost + edge.cost;
            if (further >= costs_[edge.to]) continue;
            costs_[edge.to] = further;
            queue_.emplace(further, edge.to);
        }
    }
    return costs_[place];
}

}  // namespace ukemi::sim
