// collective_choice.hpp — the cheapest all-reduce for a job's buckets, and why.
//
// Every algorithm that can run on the workers is priced alone on the idle network: the time of one
// bucket of the mean size, times their number. Ties go to the one that comes first. Left out are a
// star, several of them and a clique of more than 64 workers, which take long to play.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "policies/plan.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/step/buckets.hpp"

namespace ukemi::sim {

struct PricedCollective {
    policies::Collective algorithm{};
    std::string name;
    Duration time;  // of all buckets one after another
};

// The bytes of a bucket in the mean, rounded up. Buckets: one or more.
Bytes mean_message(std::span<const GradientBucket> buckets);

// Cheapest first. Workers: two or more. InputError if there is no path.
std::vector<PricedCollective> price_collectives(const Topology& topology,
                                                std::span<const DeviceId> workers,
                                                std::int32_t per_host,
                                                std::span<const GradientBucket> buckets,
                                                std::string_view where);

// "ring: 41.2 ms alone; halving_doubling 55.1 ms, …"
std::string reason_for(std::span<const PricedCollective> priced);

}  // namespace ukemi::sim
