// collective_choice.cpp — plays one bucket of each algorithm on an idle network.
#include "sim/step/collective_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/invariant.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::sim {
namespace {

// parameter_server moves what a clique does.
constexpr policies::Collective candidates[] = {
    policies::Collective::ring,
    policies::Collective::halving_doubling,
    policies::Collective::hierarchical,
    policies::Collective::binary_tree,
    policies::Collective::double_binary_tree,
    policies::Collective::binary_tree_star,
    policies::Collective::star,
    policies::Collective::clique,
    policies::Collective::multi_binary_tree_star,
};
// Of n ranks a clique has n times n flows, which took 7 s for 128 of them.
constexpr std::size_t star_ranks_max = 64;

bool worth_a_try(policies::Collective algorithm, std::size_t ranks) {
    switch (algorithm) {
        case policies::Collective::star:
        case policies::Collective::clique:
        case policies::Collective::multi_binary_tree_star: return ranks <= star_ranks_max;
        default: return true;
    }
}

}  // namespace

Bytes mean_message(std::span<const GradientBucket> buckets) {
    INVARIANT(!buckets.empty());
    Bytes all;
    for (const GradientBucket& bucket : buckets) all += bucket.bytes;
    const auto count = static_cast<std::int64_t>(buckets.size());
    return bytes((all.raw() + count - 1) / count);
}

std::vector<PricedCollective> price_collectives(const Topology& topology,
                                                std::span<const DeviceId> workers,
                                                std::int32_t per_host,
                                                std::span<const GradientBucket> buckets,
                                                std::string_view where) {
    const auto count = static_cast<std::int64_t>(buckets.size());
    const Bytes mean = mean_message(buckets);
    std::vector<PricedCollective> priced;
    const auto routes = std::make_shared<Routes>(topology);
    for (const policies::Collective algorithm : candidates) {
        const auto ranks = static_cast<std::int32_t>(workers.size());
        if (!worth_a_try(algorithm, workers.size())) continue;
        if (!refusal_of(algorithm, ranks, per_host).empty()) continue;
        ClusterNetwork network(topology, {}, routes);
        const PlacedCollective placed(network, algorithm, workers, per_host, where);
        placed.start(network, mean, Instant{});
        const auto end = network.runs().run_until(Instant::never());
        INVARIANT(end.has_value());
        priced.push_back({algorithm, placed.name(), count * end->at.since_start()});
    }
    std::ranges::stable_sort(priced, {}, &PricedCollective::time);
    return priced;
}

std::string reason_for(std::span<const PricedCollective> priced) {
    constexpr std::size_t named_max = 3;
    std::string text;
    for (std::size_t i = 0; i < std::min(priced.size(), named_max); ++i) {
        text += fmt::format("{}{} {:.4g} ms",
                            i == 0   ? ""
                            : i == 1 ? " alone; "
                                     : ", ",
                            priced[i].name, to_seconds(priced[i].time) * 1e3);
    }
    return text;
}

}  // namespace ukemi::sim
