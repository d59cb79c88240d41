// host_schedule.cpp — ranks in the order of their hosts, and back.
#include "kernels/host_schedule.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi::kernels {

Schedule schedule_on_hosts(policies::Collective algorithm, std::int32_t ranks,
                           std::span<const std::int32_t> hosts) {
    std::map<std::int32_t, std::int32_t> ranks_on;
    for (const std::int32_t host : hosts) ++ranks_on[host];
    if (ranks_on.size() < 2) return all_reduce_schedule(algorithm, ranks);
    INVARIANT(hosts.size() == static_cast<std::size_t>(ranks));
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
