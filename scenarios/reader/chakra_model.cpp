// chakra_model.cpp — one rank's nodes, played without what they send.
#include "scenarios/reader/chakra_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/input_error.hpp"
#include "scenarios/reader/chakra_workload.hpp"

namespace ukemi::scenarios {
namespace {

using Place = std::uint32_t;  // of a node in its trace

bool is_gradient(const ChakraNode& node) {
    return node.type == ChakraType::collective &&
           (node.collective == ChakraCollective::all_reduce ||
            node.collective == ChakraCollective::reduce_scatter ||
            node.collective == ChakraCollective::reduce_scatter_block);
}

// The instants at which nodes begin and end, with nothing sent.
class LoneRank {
public:
    explicit LoneRank(const std::vector<sim::WorkNode>& nodes)
        : nodes_(nodes), next_(nodes.size()), waits_(nodes.size()), come_(nodes.size()) {
        for (Place place = 0; place < nodes.size(); ++place) {
            waits_[place] = nodes[place].after.size();
            for (const Place before : nodes[place].after) next_[before].push_back(place);
        }
    }

    // When all is over.
    Instant play() {
        for (Place place = 0; place < nodes_.size(); ++place) {
            if (waits_[place] == 0) come_to(place, {});
        }
        Instant now;
        while (!ends_.empty()) {
            const End end = ends_.top();
            ends_.pop();
            now = end.at;
            Processor* const processor = processor_of(end.place);
            if (processor != nullptr) processor->busy = false;
            for (const Place after : next_[end.place]) {
                if (--waits_[after] == 0) come_to(after, now);
            }
            if (processor != nullptr) begin_next(*processor, now);
        }
        return now;
    }
    Instant came_to(std::size_t place) const { return come_[place]; }

private:
    struct Processor {
        std::priority_queue<Place, std::vector<Place>, std::greater<>> ready;
        bool busy = false;
    };
    struct End {
        Instant at;
        std::uint64_t order;  // in which those of one instant were begun, and end
        Place place;
        bool operator>(const End& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };

    // None for what is sent.
    Processor* processor_of(Place place) {
        const sim::WorkKind kind = nodes_[place].kind;
        if (kind == sim::WorkKind::compute) return &device_;
        return kind == sim::WorkKind::host ? &host_ : nullptr;
    }

    void come_to(Place place, Instant now) {
        come_[place] = now;
        Processor* const processor = processor_of(place);
        if (processor == nullptr) return ends_.push({now, begun_++, place});
        processor->ready.push(place);
        begin_next(*processor, now);
    }

    void begin_next(Processor& processor, Instant now) {
        if (processor.busy || processor.ready.empty()) return;
        const Place place = processor.ready.top();
        processor.ready.pop();
        processor.busy = true;
        ends_.push({now + nodes_[place].time, begun_++, place});
    }

    const std::vector<sim::WorkNode>& nodes_;
    std::vector<std::vector<Place>> next_;
    std::vector<std::size_t> waits_;
    std::vector<Instant> come_;
    Processor device_;
    Processor host_;
    std::uint64_t begun_ = 0;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

void refuse_other_traffic(std::span<const ChakraNode> nodes, std::string_view file) {
    for (const ChakraNode& node : nodes) {
        const bool message = node.type == ChakraType::send || node.type == ChakraType::receive;
        const bool other = node.type == ChakraType::collective && !is_gradient(node) &&
                           node.collective != ChakraCollective::all_gather &&
                           node.collective != ChakraCollective::barrier &&
                           node.collective != ChakraCollective::broadcast;
        if (!message && !other) continue;
        throw InputError(file, "",
                         fmt::format("node {} (\"{}\") sends {}: expected a trace of data "
                                     "parallelism (others are played as \"workload\")",
                                     node.id, node.name.substr(0, 60),
                                     message ? "a message" : "what replicas do not"));
    }
}

}  // namespace

ProfiledStep chakra_step(std::span<const ChakraNode> nodes, std::string_view file,
                         const AstraSystem& system, std::int64_t value_bytes) {
    refuse_other_traffic(nodes, file);
    const std::vector<sim::WorkNode> work = lone_rank_nodes(nodes, file, system);
    LoneRank rank(work);
    const double all_s = to_seconds(rank.play() - Instant{});
    std::vector<std::pair<Instant, std::size_t>> gradients;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (is_gradient(nodes[i]) && nodes[i].bytes > 0) gradients.emplace_back(rank.came_to(i), i);
    }
    if (gradients.empty()) {
        throw InputError(file, "",
                         "expected all-reduces or reduce-scatters of gradients, found "
                         "none");
    }
    std::ranges::stable_sort(gradients, {}, &std::pair<Instant, std::size_t>::first);
    const double last_s = to_seconds(gradients.back().first - Instant{});
    if (!(all_s > 0)) throw InputError(file, "", "expected nodes that take time, found none");
    ProfiledStep step{1, all_s, last_s / all_s, {}};
    for (const auto& [ready, place] : gradients) {
        const std::int64_t values = (nodes[place].bytes + value_bytes - 1) / value_bytes;
        // A backward pass of no time is over at once.
        const double share = last_s > 0 ? to_seconds(ready - Instant{}) / last_s : 1;
        step.gradients.push_back({values, share});
    }
    return step;
}

}  // namespace ukemi::scenarios
