// chakra_workload.cpp — ids become places, names of groups families.
#include "scenarios/reader/chakra_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/input_error.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {
namespace {

using sim::ExchangeKind;

[[noreturn]] void refuse(const RankTrace& trace, const ChakraNode& node,
                         const std::string& problem) {
    throw InputError(trace.file, "",
                     fmt::format("node {} (\"{}\") {}", node.id, node.name.substr(0, 60), problem));
}

class TraceProgram {
public:
    TraceProgram(const RankTrace& trace, std::int32_t ranks,
                 const std::map<std::string, std::uint32_t>& families,
                 std::span<const std::int32_t> sizes, const AstraSystem& system)
        : trace_(trace), ranks_(ranks), families_(families), sizes_(sizes), system_(system) {}

    std::vector<sim::WorkNode> nodes() const {
        std::unordered_map<std::uint64_t, std::uint32_t> places;  // order-free: only looked up
        for (const ChakraNode& node : trace_.nodes) {
            const auto place = static_cast<std::uint32_t>(places.size());
            if (!places.emplace(node.id, place).second) fail(node, "has an id that is there twice");
        }
        std::vector<sim::WorkNode> made;
        for (const ChakraNode& node : trace_.nodes) {
            sim::WorkNode& work = made.emplace_back(work_of(node));
            for (const std::uint64_t id : node.after) {
                const auto found = places.find(id);
                if (found == places.end()) {
                    fail(node, fmt::format("waits for node {}, which is not there", id));
                }
                work.after.push_back(found->second);
            }
        }
        expect_no_circle(made);
        return made;
    }

private:
    [[noreturn]] void fail(const ChakraNode& node, const std::string& problem) const {
        refuse(trace_, node, problem);
    }

    std::int32_t rank_of(const ChakraNode& node, std::int64_t rank) const {
        if (rank >= ranks_) {
            fail(node, fmt::format("names a rank: expected one of {}, found {}", ranks_, rank));
        }
        return static_cast<std::int32_t>(rank);
    }

    Duration recorded_time(const ChakraNode& node) const {
        constexpr std::uint64_t longest_us = 1'000'000'000'000;
        if (node.duration_us > longest_us) {
            fail(node,
                 fmt::format("lasts {} us: expected at most {}", node.duration_us, longest_us));
        }
        return nanoseconds(1000 * static_cast<std::int64_t>(node.duration_us));
    }

    Duration time_of(const ChakraNode& node) const {
        const Duration recorded = recorded_time(node);
        if (node.operations == 0 || (node.duration_us > 0 && !system_.roofline)) return recorded;
        if (system_.peak_flops <= 0) {
            fail(node, "counts its operations: expected a system file with peak-perf");
        }
        const double compute_s = static_cast<double>(node.operations) / system_.peak_flops;
        const double memory_s =
            system_.memory_bytes_per_s > 0
                ? static_cast<double>(node.tensor_bytes) / system_.memory_bytes_per_s
                : 0;
        return seconds(std::max(compute_s, memory_s));
    }

    void make_collective(const ChakraNode& node, sim::WorkNode& work) const {
        work.kind = sim::WorkKind::collective;
        if (!node.all_dimensions) fail(node, "is of some dimensions only: expected all");
        const auto family = families_.find(node.group);
        work.family = family == families_.end() ? 0 : family->second;
        const std::int64_t size = sizes_[work.family];
        work.bytes = bytes(node.bytes);
        switch (node.collective) {
            case ChakraCollective::barrier: work.bytes = {}; return;
            case ChakraCollective::all_reduce: return;
            case ChakraCollective::all_gather: work.exchange = ExchangeKind::all_gather; return;
            case ChakraCollective::all_to_all: work.exchange = ExchangeKind::all_to_all; return;
            case ChakraCollective::broadcast: work.exchange = ExchangeKind::broadcast; return;
            case ChakraCollective::reduce_scatter:
            case ChakraCollective::reduce_scatter_block:
                work.exchange = ExchangeKind::reduce_scatter;
                work.bytes = bytes(node.bytes / size);
                return;
            default:
                fail(node, fmt::format("expected an all-reduce, all-gather, reduce-scatter, "
                                       "all-to-all, broadcast or barrier, found a {}",
                                       name_of(node.collective)));
        }
    }

    sim::WorkNode work_of(const ChakraNode& node) const {
        sim::WorkNode work;
        work.name = node.name;
        work.tag = node.tag;
        switch (node.type) {
            case ChakraType::collective: make_collective(node, work); break;
            case ChakraType::send:
                work.kind = sim::WorkKind::send;
                work.peer = rank_of(node, node.to);
                work.bytes = bytes(node.bytes);
                break;
            case ChakraType::receive:
                work.kind = sim::WorkKind::receive;
                work.peer = rank_of(node, node.from);
                break;
            case ChakraType::compute:
                if (node.on_cpu) work.kind = sim::WorkKind::host;
                work.time = time_of(node);
                break;
            default: work.kind = sim::WorkKind::host; work.time = recorded_time(node);
        }
        return work;
    }

    void expect_no_circle(const std::vector<sim::WorkNode>& made) const {
        std::vector<std::size_t> waits(made.size());
        std::vector<std::vector<std::size_t>> next(made.size());
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < made.size(); ++i) {
            waits[i] = made[i].after.size();
            for (const std::uint32_t before : made[i].after) next[before].push_back(i);
            if (waits[i] == 0) ready.push_back(i);
        }
        std::size_t done = 0;
        for (; done < ready.size(); ++done) {
            for (const std::size_t one : next[ready[done]]) {
                if (--waits[one] == 0) ready.push_back(one);
            }
        }
        if (done == made.size()) return;
        const auto stuck = std::ranges::find_if(waits, [](std::size_t left) { return left > 0; });
        fail(trace_.nodes[static_cast<std::size_t>(stuck - waits.begin())],
             "waits for itself: expected dependencies without a circle");
    }

    const RankTrace& trace_;
    std::int32_t ranks_;
    const std::map<std::string, std::uint32_t>& families_;
    std::span<const std::int32_t> sizes_;  // of groups, by family
    const AstraSystem& system_;
};

// Who sends to whom with one tag, and who takes it.
class Crossings {
public:
    Crossings(std::span<const RankTrace> traces, std::int32_t ranks) : traces_(traces) {
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            for (const ChakraNode& node : trace_of(rank).nodes) {
                if (node.type == ChakraType::send) {
                    crossings_[{rank, node.to, node.tag}].sent.push_back(&node);
                } else if (node.type == ChakraType::receive) {
                    crossings_[{node.from, rank, node.tag}].taken.push_back(&node);
                }
            }
        }
    }

    // As many are taken as are sent, and of the same sizes, where those who take them say them.
    void expect_pairs() const {
        for (const auto& [channel, crossing] : crossings_) {
            const std::size_t pairs = std::min(crossing.sent.size(), crossing.taken.size());
            if (crossing.sent.size() > pairs) {
                lacks(channel, *crossing.sent[pairs], true, crossing.taken.size());
            }
            if (crossing.taken.size() > pairs) {
                lacks(channel, *crossing.taken[pairs], false, crossing.sent.size());
            }
            expect_sizes(channel, crossing);
        }
    }

private:
    using Channel = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // from, to, tag
    struct Crossing {
        std::vector<const ChakraNode*> sent;
        std::vector<const ChakraNode*> taken;
    };

    const RankTrace& trace_of(std::int64_t rank) const {
        return traces_.size() == 1 ? traces_.front() : traces_[static_cast<std::size_t>(rank)];
    }

    [[noreturn]] void lacks(const Channel& channel, const ChakraNode& node, bool is_sent,
                            std::size_t there) const {
        const auto& [from, to, tag] = channel;
        const std::int64_t self = is_sent ? from : to;
        const std::int64_t other = is_sent ? to : from;
        refuse(trace_of(self), node,
               fmt::format("of rank {} {} rank {} with the tag {}: expected a {} node there for "
                           "each, found {}",
                           self, is_sent ? "sends to" : "receives from", other, tag,
                           is_sent ? "COMM_RECV" : "COMM_SEND", there));
    }

    void expect_sizes(const Channel& channel, const Crossing& crossing) const {
        const auto& [from, to, tag] = channel;
        std::map<std::int64_t, std::size_t> sizes;  // of messages that are left
        for (const ChakraNode* const node : crossing.sent) ++sizes[node->bytes];
        for (const ChakraNode* const node : crossing.taken) {
            if (node->bytes == 0) continue;  // it does not say it
            const auto found = sizes.find(node->bytes);
            if (found != sizes.end() && found->second > 0) {
                --found->second;
                continue;
            }
            const auto left =
                std::ranges::find_if(sizes, [](const auto& size) { return size.second > 0; });
            refuse(trace_of(to), *node,
                   fmt::format("of rank {} receives {} bytes from rank {} with the tag {}: "
                               "expected {}, as many as it sends",
                               to, node->bytes, from, tag, left->first));
        }
    }

    std::span<const RankTrace> traces_;
    std::map<Channel, Crossing> crossings_;
};

}  // namespace

std::vector<sim::WorkNode> lone_rank_nodes(std::span<const ChakraNode> nodes, std::string_view file,
                                           const AstraSystem& system) {
    const RankTrace trace{std::string(file), {nodes.begin(), nodes.end()}};
    const std::vector<std::int32_t> alone = {1};
    return TraceProgram(trace, 1, {}, alone, system).nodes();
}

sim::Workload chakra_workload(std::span<const RankTrace> traces, std::int32_t ranks,
                              const std::optional<CommGroups>& groups, const AstraSystem& system) {
    sim::Workload workload;
    std::map<std::string, std::uint32_t> families;
    std::vector<std::int32_t> sizes = {ranks};
    workload.families.emplace_back(static_cast<std::size_t>(ranks), 0);
    if (groups) {
        for (const auto& [name, members] : *groups) {
            families[name] = static_cast<std::uint32_t>(workload.families.size());
            sizes.push_back(static_cast<std::int32_t>(members.size()));
            auto& family = workload.families.emplace_back(static_cast<std::size_t>(ranks), -1);
            for (const std::int32_t rank : members) family[static_cast<std::size_t>(rank)] = 0;
        }
    }
    std::string only;  // the one name without `groups`
    for (std::size_t i = 0; i < traces.size(); ++i) {
        const auto has_all = [&](const std::string& name) {  // who play this trace
            const auto found = families.find(name);
            if (found == families.end()) return false;
            const std::vector<std::int32_t>& family = workload.families[found->second];
            if (traces.size() > 1) return family[i] == 0;
            return std::ranges::all_of(family, [](std::int32_t group) { return group == 0; });
        };
        for (const ChakraNode& node : traces[i].nodes) {
            if (node.type != ChakraType::collective || node.group.empty()) continue;
            if (groups ? has_all(node.group) : only.empty() || only == node.group) {
                only = node.group;
                continue;
            }
            throw InputError(traces[i].file, "",
                             fmt::format("node {} is of the group \"{}\": expected one of "
                                         "\"comm_groups\" that has rank {}",
                                         node.id, node.group.substr(0, 60), i));
        }
        workload.programs.push_back(
            TraceProgram(traces[i], ranks, families, sizes, system).nodes());
    }
    std::int64_t nodes = 0;
    for (const RankTrace& trace : traces) nodes += static_cast<std::int64_t>(trace.nodes.size());
    if (traces.size() == 1) nodes *= ranks;
    if (nodes <= messages_most) Crossings(traces, ranks).expect_pairs();  // else it is refused
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        workload.program_of.push_back(traces.size() == 1 ? 0U : static_cast<std::uint32_t>(rank));
    }
    workload.source = "Chakra";
    return workload;
}

}  // namespace ukemi::scenarios
