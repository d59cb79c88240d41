// routes.cpp — paths walk down what is left to the destination.
#include "sim/cluster/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/route_costs.hpp"

namespace ukemi::sim {
namespace {

constexpr std::uint32_t never_out = std::numeric_limits<std::uint32_t>::max();

// SplitMix64's finaliser (Steele et al., OOPSLA 2014): every bit of the input reaches every bit.
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

}  // namespace

struct Routes::State {
    explicit State(const Topology& looked_at) : topology(looked_at), costs(looked_at) {}

    void expect_devices(DeviceId from, DeviceId to) const {
        const std::size_t devices = topology.devices().size();
        INVARIANT(ukemi::index_of(from) < devices && ukemi::index_of(to) < devices);
    }

    RouteCost left(DeviceId from, DeviceId to) {
        RouteCosts::Target target = costs.target(ukemi::index_of(to));
        return costs.left(ukemi::index_of(from), target);
    }

    RouteCost expect_way(DeviceId from, RouteCosts::Target& target) {
        const RouteCost cost = costs.left(ukemi::index_of(from), target);
        if (cost.is_far()) {
            throw InputError("topology", "",
                             fmt::format("no path from {} to {}", topology.full_name(from),
                                         topology.full_name(static_cast<DeviceId>(target.device))));
        }
        return cost;
    }

    // The machine, if each of these switches has a cable into it: each to a NIC of its own, as in
    // rails.
    MachineId entered_from(std::span<const RouteCosts::Step> switches, MachineId machine) const {
        if (machine == no_machine) return no_machine;
        for (const RouteCosts::Step& step : switches) {
            bool enters = false;
            for (const LinkId link : topology.links_from(static_cast<DeviceId>(step.to))) {
                enters = enters || topology.device(topology.link(link).to).machine == machine;
                if (enters) break;
            }
            if (!enters) return no_machine;
        }
        return machine;
    }

    // Where ways out of a machine, or into it, part inside it: the number of the GPU at this end
    // among those that are as near. Nothing elsewhere, or if no GPU is there.
    std::optional<std::uint64_t> turn_of_gpu(DeviceId from, DeviceId to,
                                             std::span<const RouteCosts::Step> best) {
        if (best.size() < 2) return std::nullopt;
        const auto near = static_cast<DeviceId>(best.front().to);
        MachineId machine = topology.device(near).machine;
        if (machine == no_machine) machine = entered_from(best, topology.device(to).machine);
        if (machine == no_machine) return std::nullopt;
        for (const RouteCosts::Step& step : best) {
            const MachineId other = topology.device(static_cast<DeviceId>(step.to)).machine;
            if (other != machine && other != no_machine) return std::nullopt;
        }
        const bool leaves = topology.device(from).machine == machine;
        if (leaves == (topology.device(to).machine == machine)) return std::nullopt;
        const DeviceId gpu = leaves ? from : to;
        if (topology.device(gpu).kind != DeviceKind::gpu) return std::nullopt;
        const std::pair key{ukemi::index_of(gpu), ukemi::index_of(near)};
        const auto known = turns.find(key);
        if (known != turns.end()) return known->second;
        const RouteCost own = left(near, gpu);
        std::uint64_t before = 0;
        for (const DeviceId each : topology.devices_of(DeviceKind::gpu, machine)) {
            if (each == gpu) break;
            before += left(near, each) == own ? 1 : 0;
        }
        turns.emplace(key, before);
        return before;
    }

    // How many links the best ways from there to the target have before the first of the network.
    std::uint32_t links_to_network(std::uint32_t at, RouteCosts::Target& target) {
        const std::pair key{at, target.device};
        const auto known = links_out.find(key);
        if (known != links_out.end()) return known->second;
        std::vector<RouteCosts::Step> best;
        costs.best_steps(at, target, best);
        std::uint32_t least = never_out;
        for (const RouteCosts::Step& step : best) {
            const bool leaves = topology.link(step.link).kind == LinkKind::network;
            const std::uint32_t from_there = leaves ? 0 : links_to_network(step.to, target);
            least = std::min(least, leaves ? 0 : std::min(from_there, never_out - 1) + 1);
        }
        links_out.emplace(key, least);
        return least;
    }

    // Of ways that are equally good, those that leave the machine at once: where rails join NICs of
    // one number, all messages then cross inside the machine that they come to, and no two of
    // different GPUs share a NIC of which each has one.
    void keep_nearest_out(std::uint32_t at, RouteCosts::Target& target,
                          std::vector<RouteCosts::Step>& best) {
        const MachineId machine = topology.device(static_cast<DeviceId>(at)).machine;
        if (best.size() < 2 || machine == no_machine) return;
        if (topology.device(static_cast<DeviceId>(target.device)).machine == machine) return;
        const std::uint32_t least = links_to_network(at, target);
        if (least == never_out) return;
        std::erase_if(best, [&](const RouteCosts::Step& step) {
            if (topology.link(step.link).kind == LinkKind::network) return least > 0;
            return least == 0 || links_to_network(step.to, target) + 1 > least;
        });
    }

    // Says which device it is, whatever else the network has.
    std::uint64_t own_of(DeviceId id) const {
        const Device& device = topology.device(id);
        if (device.machine != no_machine) {
            const std::uint64_t within =
                std::uint64_t{static_cast<std::uint8_t>(device.kind)} << 24 | device.index;
            return std::uint64_t{ukemi::index_of(device.machine)} << 32 | within;
        }
        std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
        for (const char letter : device.name) {
            hash = (hash ^ static_cast<std::uint8_t>(letter)) * 0x100000001b3U;
        }
        return hash;
    }

    std::vector<LinkId> walk(DeviceId from, DeviceId to, std::uint64_t flow) {
        RouteCosts::Target target = costs.target(ukemi::index_of(to));
        std::uint32_t at = ukemi::index_of(from);
        expect_way(from, target);
        const std::uint64_t seed = mixed(mixed(mixed(own_of(from)) ^ own_of(to)) ^ mixed(flow));
        std::vector<LinkId> path;
        std::vector<RouteCosts::Step> best;
        std::uint64_t ways = 1;  // among which turns have chosen in the machine that the path is in
        while (at != target.device) {
            costs.best_steps(at, target, best);
            keep_nearest_out(at, target, best);
            INVARIANT(!best.empty());
            const auto turn = turn_of_gpu(from, to, best);
            std::uint64_t choice = 0;
            if (turn) {
                choice = (*turn + flow) / ways;
            } else if (best.size() > 1) {
                choice = mixed(seed ^ own_of(static_cast<DeviceId>(at)));
            }
            const RouteCosts::Step& chosen = best[choice % best.size()];
            path.push_back(chosen.link);
            at = chosen.to;
            const bool stays = topology.link(chosen.link).kind != LinkKind::network;
            ways = stays ? ways * (turn ? best.size() : 1) : 1;
        }
        return path;
    }

    const Topology& topology;
    RouteCosts costs;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> turns;  // by GPU and first way
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> links_out;  // by both ends
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::vector<LinkId>> paths;
};

Routes::Routes(const Topology& topology) : state_(std::make_unique<State>(topology)) {}
Routes::~Routes() = default;
Routes::Routes(Routes&&) noexcept = default;
Routes& Routes::operator=(Routes&&) noexcept = default;

std::span<const LinkId> Routes::route(DeviceId from, DeviceId to, std::uint64_t flow) {
    state_->expect_devices(from, to);
    if (from == to) return {};
    const std::tuple key{ukemi::index_of(from), ukemi::index_of(to), flow};
    const auto found = state_->paths.find(key);
    if (found != state_->paths.end()) return found->second;
    return state_->paths.emplace(key, state_->walk(from, to, flow)).first->second;
}

bool Routes::connected(DeviceId from, DeviceId to) {
    state_->expect_devices(from, to);
    return !state_->left(from, to).is_far();
}

Duration Routes::latency(DeviceId from, DeviceId to) {
    state_->expect_devices(from, to);
    if (from == to) return {};
    RouteCosts::Target target = state_->costs.target(ukemi::index_of(to));
    return nanoseconds(state_->expect_way(from, target).latency_ns);
}

BytesPerSecond Routes::bandwidth(DeviceId from, DeviceId to, std::uint64_t flow) {
    BytesPerSecond least = BytesPerSecond::max();
    for (const LinkId link : route(from, to, flow)) {
        least = std::min(least, state_->topology.link(link).bandwidth);
    }
    return least;
}

std::optional<DeviceId> nic_towards(const Topology& topology, Routes& routes, DeviceId from,
                                    DeviceId to) {
    for (const LinkId id : routes.route(from, to)) {
        const Link& link = topology.link(id);
        if (link.kind == LinkKind::network) return link.from;
    }
    return std::nullopt;
}

void check_connected(const Topology& topology) {
    const std::vector<DeviceId> workers = topology.workers();
    if (workers.size() < 2) return;
    Routes routes(topology);
    // A thoroughfare that everybody reaches joins them all: every cable has both directions.
    for (const Link& link : topology.links()) {
        if (link.from != workers.front()) continue;
        if (topology.device(link.to).kind == DeviceKind::gpu) continue;
        const auto reaches = [&](DeviceId worker) { return routes.connected(worker, link.to); };
        if (std::all_of(workers.begin(), workers.end(), reaches)) return;
    }
    for (std::size_t j = 0; j < workers.size(); ++j) {
        for (std::size_t i = j + 1; i < workers.size(); ++i) {
            if (routes.connected(workers[i], workers[j])) continue;
            throw InputError("topology", "",
                             fmt::format("no path from {} to {}", topology.full_name(workers[i]),
                                         topology.full_name(workers[j])));
        }
    }
}

}  // namespace ukemi::sim
