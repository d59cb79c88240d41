// latency_tree_rule.cpp — Prim's algorithm on a dense matrix, in peers² steps.
#include "policies/exchange/latency_tree_rule.hpp"

#include "base/invariant.hpp"

namespace ukemi::policies {

std::vector<std::size_t> minimum_latency_tree(std::span<const Duration> latencies,
                                              std::size_t peers) {
    INVARIANT(peers > 0 && latencies.size() / peers == peers && latencies.size() % peers == 0);
    const auto both_ways = [&](std::size_t a, std::size_t b) {  // twice the mean
        return latencies[a * peers + b] + latencies[b * peers + a];
    };
    std::vector<std::size_t> parent(peers, 0);
    std::vector<Duration> distance(peers, Duration::max());  // from the tree
    std::vector<bool> in_tree(peers, false);
    std::size_t newest = 0;
    in_tree[0] = true;
    for (std::size_t joined = 1; joined < peers; ++joined) {
        std::size_t next = 0;  // none yet
        for (std::size_t peer = 1; peer < peers; ++peer) {
            if (in_tree[peer]) continue;
            const Duration from_newest = both_ways(newest, peer);
            if (from_newest < distance[peer]) {
                distance[peer] = from_newest;
                parent[peer] = newest;
            }
            if (next == 0 || distance[peer] < distance[next]) next = peer;
        }
        in_tree[next] = true;
        newest = next;
    }
    return parent;
}

}  // namespace ukemi::policies
