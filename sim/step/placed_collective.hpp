// placed_collective.hpp — an all-reduce over the workers of a job, placed on a cluster's links and
// ready to be started for any number of buckets; how exactly it is played.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "policies/plan.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/network/collective_runs.hpp"
#include "sim/network/tree_pipeline.hpp"
#include "sim/step/host_transport.hpp"
#include "sim/step/nccl_collective.hpp"
#include "sim/step/network_rule.hpp"

namespace ukemi::sim {

// A cluster's links in a network that can run; what crosses from which device to which.
class ClusterNetwork {
public:
    // The topology must outlive it. Networks of one topology may share what they know of its
    // routes; none: its own.
    explicit ClusterNetwork(const Topology& topology, const NetworkRule& rule = {},
                            std::shared_ptr<Routes> routes = nullptr);

    const Topology& topology() const { return topology_; }
    FlowNetwork& flows() {
        use_links();
        return flows_;
    }
    CollectiveRuns& runs() { return runs_; }
    // Nothing but the messages of one job will ever cross it, and its links stay as they are.
    void serve_one_job() { serves_one_job_ = true; }
    bool serves_one_job() const { return serves_one_job_; }
    Routes& routes() {
        if (routes_ == nullptr) routes_ = std::make_shared<Routes>(topology_);
        return *routes_;
    }
    const NetworkRule& rule() const { return rule_; }
    // What is drawn for a job's transfers.
    void seed_draws(std::uint64_t seed) { seed_ = seed; }
    std::shared_ptr<RandomStream> draws_of(std::string_view job);
    // From rank to rank of a job whose rank r runs on workers[r]. Throws InputError if there is no
    // path. The span of workers must outlive the router.
    Router router(std::span<const DeviceId> workers);
    // The same through the hosts: a connection for each two ranks, which all collectives share. Of
    // what passes half is added up; or as in these phases of an all-reduce, by a thread a rank.
    Router router(std::span<const DeviceId> workers, const HostTransport& hosts);
    Router router(std::span<const DeviceId> workers, const HostTransport& hosts,
                  const PhasedCollective& sums);

private:
    struct Adding {
        double share = 0.5;       // of what passes a connection
        bool one_thread = false;  // for all connections of the rank
        auto operator<=>(const Adding&) const = default;
    };
    std::span<const LinkId> between_hosts(DeviceId from, DeviceId to, const HostTransport& hosts,
                                          const Adding& adding);
    void use_links();  // the topology's are added when something first asks for them

    const Topology& topology_;
    bool has_links_ = false;
    bool serves_one_job_ = false;
    NetworkRule rule_;
    std::uint64_t seed_ = 0;
    std::map<std::string, std::shared_ptr<RandomStream>, std::less<>> draws_;  // by job
    FlowNetwork flows_;
    CollectiveRuns runs_;
    std::shared_ptr<Routes> routes_;
    std::map<std::tuple<DeviceId, DeviceId, HostTransport, Adding>, std::vector<LinkId>>
        connections_;
    std::map<std::tuple<DeviceId, HostTransport>, LinkId> adders_;  // threads
};

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
    // part of this one is over. Through the hosts: of this job.
    PlacedCollective(ClusterNetwork& network, const PhasedCollective& phases,
                     std::span<const DeviceId> workers, std::int64_t at_once = 1,
                     const HostTransport* hosts = nullptr, std::string_view job = {});

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
    };
    void place(ClusterNetwork& network, const PhasedCollective& phases, const Router& router,
               const Played& played, const GraphMaker& graph);
    void draw_jitter(ClusterNetwork& network, std::span<const DeviceId> workers,
                     const HostTransport& hosts, std::string_view job);

    std::string name_;
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
                                  std::span<const DeviceId> to);
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
