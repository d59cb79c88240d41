// placed_collective.hpp — an all-reduce over the workers of a job, placed on a cluster's links and
// ready to be started for any number of buckets; how exactly it is played.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/plan.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/network/collective_runs.hpp"
#include "sim/network/tree_pipeline.hpp"
#include "sim/step/cluster_network.hpp"
#include "sim/step/host_transport.hpp"
#include "sim/step/nccl_collective.hpp"

namespace ukemi::sim {

// An algorithm on the workers of a job. `ring` is as many rings at once as NVLink gives in a
// machine (rings.hpp), through all machines; without such rings, one in the order of ranks. A
// double binary tree is always exact, cut as finely as suits the size (tree_pipeline.hpp).
class PlacedCollective {
public:
    // `per_host` ranks on each machine, in order; 0: not as many on each. InputError(WHERE …) if it
    // cannot run on so many ranks, or needs as many on each machine, is too large to be played, or
    // has no path. Workers: two or more. `at_once`: how many like it may be in the air together.
    // `hosts`: it goes through host memory, and a ring in the order of ranks; none: from GPU to
    // GPU.
    PlacedCollective(ClusterNetwork& network, policies::Collective algorithm,
                     std::span<const DeviceId> workers, std::int32_t per_host,
                     std::string_view where, std::int64_t at_once = 1,
                     const HostTransport* hosts = nullptr);

    // As long as NCCL's takes. InputError as of nccl_place().
    PlacedCollective(ClusterNetwork& network, NcclCollective collective,
                     std::span<const DeviceId> workers, std::string_view where,
                     bool ring_only = false);
    // An all-reduce of NCCL's with which nothing shares a link: it needs no network.
    explicit PlacedCollective(NcclPlace place);

    // Along the axes of a grid of all workers.
    PlacedCollective(ClusterNetwork& network, std::span<const kernels::GridAxis> axes,
                     std::span<const DeviceId> workers, std::int64_t at_once = 1);

    // Any exchange of workers.size() ranks, each of which goes on to its next round when its own
    // part of this one is over. Through the hosts: of this job; what `sums`, an all-reduce, sends
    // of it is added up as there.
    PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                     std::span<const DeviceId> workers, std::int64_t at_once = 1,
                     const HostTransport* hosts = nullptr, std::string_view job = {},
                     const PhasedCollective& sums = {});

    // From GPU to GPU. NCCL's messages begin with a launch, as its collectives do.
    PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                     std::span<const DeviceId> workers, SentBy sent_by, std::int64_t at_once = 1);

    // How long it takes, if it needs no network; else a run is started.
    std::optional<Duration> takes(Bytes bytes) const;
    RunId start(ClusterNetwork& network, Bytes bytes, Instant at) const;
    const std::string& name() const { return name_; }
    bool is_nccl() const { return nccl_ != nullptr || alone_ != nullptr; }
    std::span<const LinkId> links() const { return links_; }  // that it crosses, ascending

private:
    friend struct PlacedTransfer;
    PlacedCollective() = default;
    using GraphMaker = std::function<std::shared_ptr<const TransferGraph>()>;
    struct Played {
        std::int64_t at_once = 1;
        bool by_transfer = false;  // whatever the rule says
        bool near_fluid = true;    // on an idle network
    };
    void place(ClusterNetwork& network, const PhasedCollective& phases, const Router& router,
               const Played& played, const GraphMaker& graph);
    void draw_jitter(ClusterNetwork& network, std::span<const DeviceId> workers,
                     const HostTransport& hosts, std::string_view job);

    std::string name_;
    Duration starts_;                        // before its bytes
    std::shared_ptr<const FluidPlan> plan_;  // fluid, or a ring
    RingPlay play_ = RingPlay::fluid;        // of the plan
    std::int32_t window_ = 0;                // of a ring
    std::shared_ptr<TreePipeline> pipeline_;
    std::shared_ptr<PlacedGraph> graph_;
    std::shared_ptr<const NcclRun> nccl_;  // as long as NCCL's takes
    std::shared_ptr<const NcclPlace> alone_;
    std::vector<LinkId> links_;
};

// A message from each worker to the one of the same number there, all at once.
struct PlacedTransfer {
    PlacedCollective sends;  // over when their bytes have left: then the next may follow
    Duration latency;        // from then until the last arrives

    // Both have as many.
    static PlacedTransfer between(ClusterNetwork& network, std::span<const DeviceId> from,
                                  std::span<const DeviceId> to, SentBy sent_by);
};

// Whether it is made of what happens inside machines and between them.
bool goes_by_machine(policies::Collective algorithm);
// Why so many workers cannot sum so, or empty; `per_host` are on each machine, 0: not as many.
std::string refusal_of(policies::Collective algorithm, std::int32_t ranks, std::int32_t per_host);

// The rings of a ring all-reduce over these workers, as one phase; empty if NVLink gives none: not
// the same machines with as many workers each, or one machine's first workers are not joined.
std::optional<PhasedCollective> nvlink_rings(const Topology& topology,
                                             std::span<const DeviceId> workers,
                                             std::int32_t per_host);

// How many workers each machine holds, if it is the same on all of them and they stand together in
// the order of ranks; else 0.
std::int32_t workers_per_machine(const Topology& topology, std::span<const DeviceId> workers);

}  // namespace ukemi::sim
