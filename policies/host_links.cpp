#include "policies/host_links.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/invariant.hpp"
#include "policies/step_time.hpp"

namespace ukemi::policies {

namespace {

// Sorted by both numbers, they are where these say.
const LinkView& link_of(const HostLinks& links, std::size_t a, std::size_t b) {
    const auto all = static_cast<std::size_t>(links.links.back().other) + 1;  // hosts
    const auto [host, other] = std::minmax(a, b);
    const LinkView& link = links.links[host * (2 * all - host - 1) / 2 + other - host - 1];
    INVARIANT(static_cast<std::size_t>(link.host) == host &&
              static_cast<std::size_t>(link.other) == other);
    return link;
}

}  // namespace

std::int32_t HostLinks::hosts_of(std::int32_t workers) const {
    if (links.empty()) return 1;
    return std::min((std::max(workers, 1) - 1) / workers_per_host, links.back().other) + 1;
}

std::vector<LinkView> HostLinks::between(std::int32_t workers) const {
    std::vector<LinkView> those;
    const std::int32_t hosts = hosts_of(workers);
    std::ranges::copy_if(links, std::back_inserter(those),
                         [&](const LinkView& link) { return link.other < hosts; });
    return those;
}

bool goes_by_tree(const HostLinks& links, const Plan& plan, std::int32_t workers) {
    const auto hosts = static_cast<std::size_t>(links.hosts_of(workers));
    return hosts > 1 && plan.tree.size() == hosts;
}

bool is_of_all_pairs(const std::vector<LinkView>& links) {
    if (links.empty()) return false;
    const std::int64_t hosts = std::int64_t{links.back().other} + 1;
    if (hosts < 2 || hosts * (hosts - 1) / 2 != std::ssize(links)) return false;
    std::int32_t host = 0;
    std::int32_t other = 0;
    for (const LinkView& link : links) {
        if (++other == hosts) other = ++host + 1;
        if (link.host != host || link.other != other) return false;
    }
    return true;
}

Duration time_over(const LinkView& link, Bytes message) {
    const double bytes = static_cast<double>(message.raw());
    const double sending_s = bytes > 0 ? bytes / std::max(link.bytes_per_second, 1e-3) : 0;
    const double latency_s = to_seconds(link.round_trip) / 2;
    return seconds(std::min(latency_s + sending_s, to_seconds(step_part_longest)));
}

// A host sends part k once it has sent part k - 1, and has got what it adds to or passes on.
Duration ring_over_hosts(const HostLinks& links, std::int32_t workers) {
    const auto hosts = static_cast<std::size_t>(links.hosts_of(workers));
    if (hosts < 2) return {};
    const Bytes part = Bytes::of(links.message.raw() / static_cast<std::int64_t>(hosts));
    std::vector<Duration> edges;  // from each host to the next
    for (std::size_t host = 0; host < hosts; ++host) {
        edges.push_back(time_over(link_of(links, host, (host + 1) % hosts), part));
    }
    std::vector<Duration> sent(hosts);  // when the part of this round is there, by who sent it
    for (std::size_t round = 0; round < 2 * (hosts - 1); ++round) {
        std::vector<Duration> next(hosts);
        for (std::size_t host = 0; host < hosts; ++host) {
            const Duration got = sent[(host + hosts - 1) % hosts];
            next[host] = std::max(sent[host], got) + edges[host];
        }
        sent = std::move(next);
    }
    return *std::ranges::max_element(sent);
}

Duration tree_over_hosts(const HostLinks& links, const std::vector<std::int32_t>& tree) {
    Duration longest;
    for (std::size_t host = 1; host < tree.size(); ++host) {
        Duration way;
        std::size_t hops = 0;
        for (std::size_t at = host; at != 0 && hops < tree.size(); ++hops) {
            const auto parent = static_cast<std::size_t>(tree[at]);
            way += time_over(link_of(links, at, parent), links.message);
            at = parent;
        }
        longest = std::max(longest, way);
    }
    return longest + longest;
}

Duration least_over_hosts(const HostLinks& links, std::int32_t workers) {
    const auto hosts = static_cast<std::size_t>(links.hosts_of(workers));
    Duration longest;
    for (std::size_t host = 0; host < hosts; ++host) {
        std::optional<Duration> shortest;
        for (std::size_t other = 0; other < hosts; ++other) {
            if (other == host) continue;
            const Duration way = time_over(link_of(links, host, other), links.message);
            shortest = std::min(shortest.value_or(way), way);
        }
        longest = std::max(longest, shortest.value_or(Duration{}));
    }
    return longest + longest;
}

}  // namespace ukemi::policies
