// nccl_collective.hpp — a collective that takes as long as NCCL's would on these workers, and
// longer where others use the same links.
//
// On an idle network it takes nccl_seconds(). What it moves is one flow, coupled over the edges of
// NCCL's rings: as many rings inside a machine as NVLink gives, between machines one for each NIC,
// from NICs to those of the same places. Each link is as full of it as its share of the line rate
// says, so that two on one link are as slow as what it reaches.
// It moves what NCCL's algorithm sends over each edge, no faster than NCCL does alone: only a link
// that gives it less makes that take longer. Before, while it starts, nothing is on the links.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/nccl/nccl_times.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/network/collective_runs.hpp"
#include "sim/step/buckets.hpp"

namespace ukemi::sim {

class ClusterNetwork;

class NcclRun {
public:
    // Workers and errors as of nccl_place().
    NcclRun(ClusterNetwork& network, NcclCollective collective, std::span<const DeviceId> workers,
            std::string_view where, bool ring_only = false);

    // Bytes of the buffer of an all-reduce; of gathers and scatters, of one rank's part.
    RunId start(ClusterNetwork& network, Bytes bytes, Instant at) const;
    std::span<const LinkId> links() const { return links_; }  // ascending
    const NcclPlace& place() const { return place_; }

private:
    NcclPlace place_;
    NcclCollective collective_;
    std::shared_ptr<const FluidPlan> plan_;
    std::vector<LinkId> links_;
    double latency_s_ = 0;  // of its edges, which the flow waits
    double rate_ = 0;       // of an edge on an idle network, bytes a second
};

// What it picks for these messages: "ring/LL128 for 3 messages up to 2.1 MB, ring/Simple for 5 up
// to 26.2 MB". Their bytes are as of NcclRun::start().
std::string words_of(const NcclPlace& place, NcclCollective collective,
                     std::span<const GradientBucket> messages);

}  // namespace ukemi::sim
