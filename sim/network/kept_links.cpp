// kept_links.cpp — links that somebody keeps for himself, and what disturbs them, in FlowNetwork.
#include "base/invariant.hpp"
#include "sim/network/flow_network.hpp"

namespace ukemi::sim {

bool FlowNetwork::are_quiet(std::span<const LinkId> links) {
    asked_about_.resize(link_count());
    bool quiet = true;
    for (const LinkId link : links) {
        const std::uint32_t index = index_of_link(link);
        asked_about_[index] = true;
        quiet =
            quiet && !shares_.is_crossed(link) && (kept_count_ == 0 || keep_of_[index] == nobody);
    }
    if (quiet && flow_count_ > 0) {
        for (const Flow& flow : flows_) {
            if (flow.state != State::latent) continue;
            for (const Hop& hop : shares_.hops(flow.route)) {
                quiet = quiet && !asked_about_[index_of_link(hop.link)];
            }
        }
    }
    for (const LinkId link : links) asked_about_[index_of_link(link)] = false;
    return quiet;
}

void FlowNetwork::keep_links(std::span<const LinkId> links, std::uint32_t keep) {
    keep_of_.resize(link_count(), nobody);
    for (const LinkId link : links) {
        std::uint32_t& kept = keep_of_[index_of_link(link)];
        INVARIANT(kept == nobody && keep != nobody);
        kept = keep;
    }
    kept_count_ += links.size();
}

void FlowNetwork::let_go(std::span<const LinkId> links) {
    for (const LinkId link : links) keep_of_[index_of_link(link)] = nobody;
    kept_count_ -= links.size();
}

// By a flow with this tag.
void FlowNetwork::disturb(LinkId link, std::uint64_t tag) {
    const std::uint32_t keep = keep_of_[index_of_link(link)];
    if (keep != nobody && keep != tag >> 32) disturbances_.push_back({keep, true});
}

void FlowNetwork::changed(LinkId link) {
    ++bandwidth_changes_;
    if (kept_count_ == 0 || keep_of_[index_of_link(link)] == nobody) return;
    disturbances_.push_back({keep_of_[index_of_link(link)], false});
}

std::vector<FlowNetwork::FlowNow> FlowNetwork::flows_now() {
    std::vector<FlowNow> all;
    for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
        const Flow& flow = flows_[slot];
        if (flow.state == State::free || flow.state == State::alarm) continue;
        if (flow.state == State::stream) continue;
        const FlowId id{slot, flow.number};
        all.push_back({flow.tag, latency_left(id), bytes_left(id)});
    }
    return all;
}

}  // namespace ukemi::sim
