// host_links.hpp — what a sum of gradients takes between hosts that are unequally far from each
// other.
//
// Latency and rate of each pair, and nothing that pairs share: what one host's card cannot carry at
// once is not in it. A ring's time is exact under that model, step by step (each host sends part
// after part to the next, as soon as it has it); a tree's is that of its longest way, up and down,
// since every host waits for all below it and passes on the whole message.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.hpp"
#include "policies/observation.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

struct HostLinks {
    Bytes message;                      // of a step: all gradients
    std::int32_t workers_per_host = 1;  // hosts are full, but for the last
    std::vector<LinkView> links;        // of every two hosts, sorted by both numbers

    bool known() const { return !links.empty(); }
    std::int32_t hosts_of(std::int32_t workers) const;  // of which something is known; at least one
    // Between the hosts of so many workers. Empty with one.
    std::vector<LinkView> between(std::int32_t workers) const;
    friend bool operator==(const HostLinks&, const HostLinks&) = default;
};

// Each two hosts once, in order; at least two hosts.
bool is_of_all_pairs(const std::vector<LinkView>& links);

// One way, of so many bytes; two days at most.
Duration time_over(const LinkView& link, Bytes message);

// Whether sums go over the Plan's tree: it is one of as many hosts as these workers are on.
bool goes_by_tree(const HostLinks& links, const Plan& plan, std::int32_t workers);

// What a sum takes; zero with one host. `tree`: the parent of each host (Plan::tree).
Duration ring_over_hosts(const HostLinks& links, std::int32_t workers);
Duration tree_over_hosts(const HostLinks& links, const std::vector<std::int32_t>& tree);
// No tree takes less: each host has an edge, and sums go up and down.
Duration least_over_hosts(const HostLinks& links, std::int32_t workers);

}  // namespace ukemi::policies
