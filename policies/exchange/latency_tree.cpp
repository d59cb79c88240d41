// latency_tree.cpp — the collective over the tree of hosts between which messages travel fastest.
//
// KungFu's adaptive topology (Mai et al., OSDI'20): the minimum spanning tree of the latencies that
// peers have measured (latency_tree_rule.hpp). Peers here are hosts, whose workers are a star each.
// Measured latencies wander, and a change of the Plan stops the group for a moment; so another tree
// is taken only where it is shorter by a share.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/exchange/latency_tree_rule.hpp"
#include "policies/host_links.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class LatencyTree final : public Policy {
public:
    LatencyTree(Bytes message, double gain, std::int64_t measure_every)
        : message_(message), gain_(gain), measure_every_(measure_every) {}
    std::string_view name() const override { return "latency_tree"; }
    KnobSet knobs() const override { return {Knob::collective}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return measure_every_; }
    bool looks_at_links() const override { return true; }

    Decision before_train(const PolicyView& view) override {
        Decision decision;
        if (view.plan.tree.empty()) return decision;
        decision.tree.emplace();
        decision.reason = "no links are measured yet";
        return decision;
    }
    Decision after_step(const PolicyView& view) override {
        const std::vector<LinkView>& links = view.seen.links;
        if (!is_of_all_pairs(links)) return {};
        const auto hosts = static_cast<std::size_t>(links.back().other) + 1;
        std::vector<Duration> times(hosts * hosts);
        for (const LinkView& link : links) {
            const auto host = static_cast<std::size_t>(link.host);
            const auto other = static_cast<std::size_t>(link.other);
            times[host * hosts + other] = times[other * hosts + host] = time_over(link, message_);
        }
        const std::vector<std::size_t> parents = minimum_latency_tree(times, hosts);
        const std::vector<std::int32_t> tree(parents.begin(), parents.end());
        if (tree == view.plan.tree) return {};
        if (view.plan.tree.size() == hosts) {
            const double present = length_of(view.plan.tree, times);
            if (length_of(tree, times) > (1 - gain_) * present) return {};
        }
        Decision decision;
        decision.tree = tree;
        decision.reason = "the shortest tree over the hosts";
        return decision;
    }

private:
    static double length_of(const std::vector<std::int32_t>& tree,
                            const std::vector<Duration>& times) {
        double sum = 0;
        for (std::size_t host = 1; host < tree.size(); ++host) {
            sum += to_seconds(times[host * tree.size() + static_cast<std::size_t>(tree[host])]);
        }
        return sum;
    }

    Bytes message_;
    double gain_;
    std::int64_t measure_every_;
};

}  // namespace

std::unique_ptr<Policy> make_latency_tree(ConfigReader& parameters) {
    const Bytes message = parameters.has("message") ? parameters.bytes("message") : Bytes();
    const double gain = parameters.number("gain", 0, 1, 0.1);
    const std::int64_t every = parameters.integer("measure_every_steps", 1, 1'000'000, 10);
    return std::make_unique<LatencyTree>(message, gain, every);
}

}  // namespace ukemi::policies
