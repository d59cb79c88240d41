// host_schedule.cpp — ranks in the order of their hosts, and back.
#include "kernels/host_schedule.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/invariant.hpp"
#include "kernels/schedules/forest.hpp"

namespace ukemi::kernels {
namespace {

Schedule tree_of_hosts(std::span<const std::int32_t> hosts, std::span<const std::int32_t> tree) {
    std::vector<std::int32_t> first(tree.size(), -1);  // the first rank of each host
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        std::int32_t& of_host = first[static_cast<std::size_t>(hosts[rank])];
        if (of_host < 0) of_host = static_cast<std::int32_t>(rank);
    }
    TreeParents parents;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto host = static_cast<std::size_t>(hosts[rank]);
        if (first[host] != static_cast<std::int32_t>(rank)) {
            parents.push_back(first[host]);
        } else {
            parents.push_back(host == 0 ? -1 : first[static_cast<std::size_t>(tree[host])]);
        }
    }
    return forest_schedule("tree_of_hosts", {parents});
}

}  // namespace

Schedule schedule_on_hosts(policies::Collective algorithm, std::int32_t ranks,
                           std::span<const std::int32_t> hosts,
                           std::span<const std::int32_t> tree) {
    std::map<std::int32_t, std::int32_t> ranks_on;
    for (const std::int32_t host : hosts) ++ranks_on[host];
    if (ranks_on.size() < 2) return all_reduce_schedule(algorithm, ranks);
    INVARIANT(hosts.size() == static_cast<std::size_t>(ranks));
    if (tree.size() == ranks_on.size()) return tree_of_hosts(hosts, tree);
    const std::int32_t first = ranks_on.begin()->second;
    const bool even =
        std::ranges::all_of(ranks_on, [&](const auto& each) { return each.second == first; });
    const bool one_each = even && first == 1;
    if (algorithm == policies::Collective::automatic && !one_each) {
        algorithm = even ? policies::Collective::hierarchical : policies::Collective::ring;
    }
    std::vector<std::int32_t> order(hosts.size());  // the rank at each place
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(
        order, {}, [&](std::int32_t rank) { return hosts[static_cast<std::size_t>(rank)]; });
    Schedule schedule = all_reduce_schedule(algorithm, ranks, even ? first : 0);
    INVARIANT(schedule.servers == 0);
    for (Transfer& transfer : schedule.transfers) {
        transfer.from = order[static_cast<std::size_t>(transfer.from)];
        transfer.to = order[static_cast<std::size_t>(transfer.to)];
    }
    return schedule;
}

}  // namespace ukemi::kernels
