// nic_choice.cpp — the ports of each card, the cards of each rate, the nearest of each GPU.
#include "sim/cluster/nic_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace ukemi::sim {
namespace {

struct Ports {
    std::int64_t count = 0;
    std::int64_t mbit = 0;  // of all
};

// The equally fast ones that together move most.
Ports ports_used(const NicCard& card) {
    std::map<std::int64_t, Ports> by_speed;
    for (const std::int64_t mbit : card.port_mbit) {
        Ports& ports = by_speed[mbit];
        ++ports.count;
        ports.mbit += mbit;
    }
    Ports best;
    for (const auto& [speed, ports] : by_speed) {
        if (ports.mbit >= best.mbit) best = ports;
    }
    return best;
}

// Those of `among` that are the nearest of a GPU. A GPU that reaches all between sockets has none,
// but if no GPU has one, all are.
std::vector<bool> nearest(std::span<const NicCard> cards, const std::vector<bool>& among) {
    std::vector<bool> near(cards.size());
    const std::size_t gpus = cards.empty() ? 0 : cards.front().ways.size();
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
        NicWay best = NicWay::sockets;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            if (among[i]) best = std::min(best, cards[i].ways[gpu]);
        }
        if (best == NicWay::sockets) continue;
        for (std::size_t i = 0; i < cards.size(); ++i) {
            if (among[i] && cards[i].ways[gpu] == best) near[i] = true;
        }
    }
    return std::ranges::find(near, true) == near.end() ? among : near;
}

// What each card that is kept moves.
std::int64_t rate_kept(std::span<const NicCard> cards, std::span<const Ports> used) {
    struct Kind {
        std::int64_t mbit = 0;  // of all of it
        std::int64_t near_mbit = 0;
    };
    const std::vector<bool> near = nearest(cards, std::vector<bool>(cards.size(), true));
    std::map<std::int64_t, Kind> by_rate;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        Kind& kind = by_rate[used[i].mbit];
        kind.mbit += used[i].mbit;
        if (near[i]) kind.near_mbit += used[i].mbit;
    }
    std::tuple<std::int64_t, std::int64_t, std::int64_t> best;
    for (const auto& [rate, kind] : by_rate) {
        best = std::max(best, std::tuple(kind.mbit, kind.near_mbit, rate));
    }
    return std::get<2>(best);
}

}  // namespace

NicChoice chosen_nics(std::span<const NicCard> cards) {
    std::vector<Ports> used;
    for (const NicCard& card : cards) used.push_back(ports_used(card));
    NicChoice choice;
    choice.mbit = rate_kept(cards, used);
    for (const Ports& ports : used) choice.kept.push_back(ports.mbit == choice.mbit);
    choice.kept = nearest(cards, choice.kept);
    for (std::size_t i = 0; i < cards.size(); ++i) {
        choice.ports_left += std::ssize(cards[i].port_mbit) - (choice.kept[i] ? used[i].count : 0);
    }
    return choice;
}

std::string words_of_ports_left(std::int64_t ports) {
    if (ports == 0) return {};
    return fmt::format(", {} port{} of NICs left out", ports, ports == 1 ? "" : "s");
}

}  // namespace ukemi::sim
