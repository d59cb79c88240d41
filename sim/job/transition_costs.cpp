#include "sim/job/transition_costs.hpp"

#include <algorithm>

#include "sim/network/flow_network.hpp"

namespace ukemi::sim {

// What one sends to many shares its uplink, what one receives from many its downlink; links that
// carry alike are as fast as each other, so one flow of each kind tells the time of all.
Duration state_transfer_time(const StateTransfer& transfer, std::int32_t holders,
                             std::int32_t joiners) {
    const bool moves = transfer.size > Bytes{} && transfer.bandwidth.raw() > 0;
    if (!moves || holders < 1 || joiners < 1) return {};
    const std::int32_t senders = transfer.from_all ? holders : 1;
    FlowNetwork network;
    const LinkId uplink = network.add_link({transfer.bandwidth, transfer.latency});
    const LinkId downlink = network.add_link({transfer.bandwidth, Duration{}});
    const auto up = static_cast<std::uint32_t>(joiners) * Hop::whole;
    const auto down = static_cast<std::uint32_t>(senders) * Hop::whole;
    const std::array<Hop, 2> hops{Hop{uplink, up}, Hop{downlink, down}};
    const RouteId route = network.add_route(hops, transfer.latency);
    network.start(route, static_cast<double>(transfer.size.raw()) / senders, 0);
    while (network.step(Instant::never())) {
        if (!network.happenings().empty()) break;
    }
    return network.now().since_start();
}

TransitionCosts undivided_costs(const policies::JobProfile& profile) {
    TransitionCosts costs;
    costs.phases_known = false;
    for (ChangeCosts& change : costs.changes) change.rendezvous = {{1, profile.resize}};
    costs.changes[static_cast<std::size_t>(GroupChange::start)].rendezvous = {{1, profile.restart}};
    return costs;
}

CostOrigin origin_of(const TransitionCosts& costs, GroupChange change,
                     policies::TransitionPhase phase) {
    const ChangeCosts& own = costs.of(change);
    switch (phase) {
        case policies::TransitionPhase::spawn: return own.spawn_from;
        case policies::TransitionPhase::rendezvous: return own.rendezvous_from;
        case policies::TransitionPhase::warm_up: return own.warm_up_from;
        case policies::TransitionPhase::transfer:
            return change == GroupChange::grow ? costs.transfer_from : CostOrigin::none;
        case policies::TransitionPhase::none:
        case policies::TransitionPhase::notice:
        case policies::TransitionPhase::drain: break;
    }
    return CostOrigin::none;
}

records::PhaseTimes phase_times(const TransitionCosts& costs, GroupChange change,
                                std::int32_t workers, std::int32_t holders) {
    const ChangeCosts& own = costs.of(change);
    records::PhaseTimes times{};
    const auto set = [&](policies::TransitionPhase phase, Duration time) {
        times[static_cast<std::size_t>(phase)] = time;
    };
    set(policies::TransitionPhase::spawn, policies::time_for_size(own.spawn, workers));
    set(policies::TransitionPhase::rendezvous, policies::time_for_size(own.rendezvous, workers));
    if (change == GroupChange::grow) {
        set(policies::TransitionPhase::transfer,
            state_transfer_time(costs.transfer, holders, workers - holders));
    }
    set(policies::TransitionPhase::warm_up, policies::time_for_size(own.warm_up, workers));
    return times;
}

}  // namespace ukemi::sim
