// cluster_network.hpp — the links of a cluster as a network in which collectives run, and the ways
// from rank to rank: from GPU to GPU, or through the hosts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"
#include "sim/network/collective_runs.hpp"
#include "sim/step/host_transport.hpp"
#include "sim/step/network_rule.hpp"

namespace ukemi::sim {

// What NCCL sends fills a link when it carries what NCCL reaches there (NcclReach). Its messages
// leave a machine by the receiver's rail; its rings are laid so that they need not change it. Other
// rings over NVLink change rails there, too, rather than through a machine's PCIe and CPUs.
enum class SentBy : std::uint8_t { anyone, nvlink_rings, nccl_rings, nccl };

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
    // path. `flow`, of Routes. The span of workers must outlive the router.
    Router router(std::span<const DeviceId> workers, SentBy sent_by = SentBy::anyone,
                  std::uint64_t flow = 0);
    // The same through the hosts: a connection for each two ranks, which all collectives share. Of
    // what passes half is added up; of what these phases of an all-reduce send, as they say, by a
    // thread a rank.
    Router router(std::span<const DeviceId> workers, const HostTransport& hosts);
    Router router(std::span<const DeviceId> workers, const HostTransport& hosts,
                  const PhasedCollective& sums);

private:
    struct Adding {
        double share = 0.5;       // of what passes a connection
        bool one_thread = false;  // for all connections of the rank
        auto operator<=>(const Adding&) const = default;
    };
    std::span<const Hop> between_hosts(DeviceId from, DeviceId to, const HostTransport& hosts,
                                       const Adding& adding);
    // The GPU beside which messages leave a machine.
    DeviceId relay_of(DeviceId from, DeviceId to, SentBy sent_by);
    // The GPU of this number in the sender's machine, if NVLink leads there; else the sender.
    DeviceId peer_by_nvlink(DeviceId from, std::uint32_t number);
    bool is_on_rails(MachineId machine);
    DeviceId nic_at_end(std::span<const LinkId> route) const;
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
    std::map<std::tuple<DeviceId, DeviceId, HostTransport, Adding>, std::vector<Hop>> connections_;
    std::map<std::tuple<DeviceId, HostTransport>, LinkId> adders_;  // threads
    std::map<std::pair<DeviceId, std::uint32_t>, DeviceId> peers_;  // by NVLink
    std::map<MachineId, bool> on_rails_;
};

}  // namespace ukemi::sim
