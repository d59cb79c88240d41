// route_costs.hpp — what the way from any device to another costs, and the links it may begin with.
//
// Found in two levels, exactly. A machine's inside is searched once for all machines that are made
// alike. Outside are the devices of no machine, and those that a cable joins to another machine's
// device: the nodes. What a way costs between two nodes through a machine in between is an edge of
// theirs. So a search from a destination crosses a network's switches and no machine's devices, and
// serves all destinations behind the same switch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/cluster/route_search.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

class RouteCosts {
public:
    explicit RouteCosts(const Topology& topology);  // which outlives it, and stays as it is
    RouteCosts(const RouteCosts&) = delete;
    RouteCosts& operator=(const RouteCosts&) = delete;

    // Where ways end.
    struct Target {
        struct Gate {
            std::uint32_t node = 0;
            RouteCost left;  // from there into the machine
        };
        std::uint32_t device = 0;
        std::vector<Gate> gates;
        std::vector<Gate> asked;  // what was left behind the ports of machines on the way
    };
    struct Step {
        LinkId link{};
        std::uint32_t to = 0;
    };

    Target target(std::uint32_t device);
    RouteCost left(std::uint32_t from, Target& target);
    // The links out of a device with which a cheapest way may begin, ascending; `steps` is emptied.
    void best_steps(std::uint32_t from, Target& target, std::vector<Step>& steps);

private:
    struct Out {  // a link out of a device
        LinkId link{};
        std::uint32_t to = 0;
        RouteCost cost;
    };
    struct Port {  // how a machine is joined to a node
        std::uint32_t device = 0;
        std::uint32_t local = 0;  // number of the device in its machine
        std::uint32_t node = 0;   // may be the device itself, at no cost
        LinkId link{};            // else from the device to the node
        RouteCost cost;

        bool is_like(const Port& other) const {
            return local == other.local && node == other.node && cost == other.cost;
        }
    };
    struct Inside {  // of machines that are made alike
        const RouteWeb* web = nullptr;
        std::vector<std::optional<RouteSearch>> searches;  // by destination
    };
    static constexpr std::uint32_t none = UINT32_MAX;

    void number_nodes();
    void find_insides();
    bool is_inside_like(std::uint32_t machine, std::span<const std::uint32_t> devices,
                        std::span<const std::uint32_t> before) const;
    void find_ports();
    void join_nodes();
    bool is_crossed(const Port& port) const;
    bool joined_like_the_last(std::uint32_t machine) const;
    auto outs_of(std::uint32_t device) const;  // a range of Out, in the order of links
    RouteCost within(std::uint32_t machine, std::uint32_t from, std::uint32_t to);
    RouteCost left_outside(std::uint32_t node, const Target& target);
    RouteCost left_behind(const Port& port, Target& target);
    void keep_if_best(const Out& out, RouteCost left_here, Target& target,
                      std::vector<Step>& steps);

    const Topology& topology_;
    std::vector<std::uint32_t> machine_of_;        // by device; none
    std::vector<std::uint32_t> local_of_;          // by device
    std::vector<std::uint32_t> node_of_;           // by device; none
    std::vector<char> lets_through_;               // by device
    std::vector<std::vector<Out>> outs_to_nodes_;  // by node, of those of no machine
    std::vector<std::vector<Port>> ports_;         // by machine
    std::vector<std::uint32_t> inside_of_;         // by machine
    std::map<RouteWeb, std::uint32_t> known_insides_;
    std::vector<Inside> insides_;
    std::vector<std::vector<RouteWeb::Edge>> transits_;  // by node: through a machine
    RouteWeb outside_;
    std::map<std::uint32_t, RouteSearch> searches_;  // outside, by destination
};

}  // namespace ukemi::sim
