// nccl_ranks.cpp — of which collective a table is, of how many ranks, on how many nodes.
//
// Its lines may say it: but logs are shortened, and lines left out. The bandwidths say it, too:
// busbw ÷ algbw is 2(n−1)/n of an all-reduce and (n−1)/n of what gathers or scatters (nccl-tests,
// doc/PERFORMANCE.md), so above 1 it is an all-reduce.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "traces/nccl_columns.hpp"

namespace ukemi::traces::nccl {

namespace {

constexpr int ranks_max = 1 << 20;

bool gathers(std::string_view collective) {
    static constexpr std::array<std::string_view, 6> names{
        "all_gather", "reduce_scatter", "alltoall", "gather", "scatter", "hypercube"};
    return std::ranges::find(names, collective) != names.end();
}

double factor_of(std::string_view collective, int ranks) {
    const double others = (ranks - 1.0) / ranks;
    if (collective == "all_reduce") return 2 * others;
    if (collective == "broadcast" || collective == "reduce" || collective == "sendrecv") return 1;
    return others;
}

struct BandwidthRatio {
    double value = 0;     // busbw ÷ algbw of the largest; 0: no row has both
    double rounding = 0;  // how far off two decimals let it be
    double low = 0;       // what all rows allow; above `high` if they do not agree
    double high = 4;
};

double rounding_of(double bandwidth) { return bandwidth < 1000 ? 0.005 : 0.05; }

// algbw is bytes ÷ time, of which more digits may be printed: at least three.
void narrow(BandwidthRatio& ratio, const CollectiveTime& half, double by_time) {
    const double busbw = half.busbw_gbytes_s;
    const double algbw = half.algbw_gbytes_s;
    const double off = rounding_of(busbw);
    ratio.low = std::max(ratio.low, (busbw - off) / (by_time * 1.001));
    ratio.high = std::min(ratio.high, (busbw + off) / (by_time * 0.999));
    if (algbw <= rounding_of(algbw)) return;
    ratio.low = std::max(ratio.low, (busbw - off) / (algbw + rounding_of(algbw)));
    ratio.high = std::min(ratio.high, (busbw + off) / (algbw - rounding_of(algbw)));
}

BandwidthRatio bandwidth_ratio(const CollectiveTable& table) {
    double best = 0;
    BandwidthRatio ratio;
    for (const CollectiveRow& row : table.rows) {
        for (const auto& half : {row.out_of_place, row.in_place}) {
            if (!half || half->busbw_gbytes_s <= 0 || half->time_us <= 0 || row.bytes == 0) {
                continue;
            }
            const double algbw = static_cast<double>(row.bytes) / half->time_us / 1e3;
            if (is_consistent(row, *half)) narrow(ratio, *half, algbw);
            if (algbw <= best) continue;
            best = algbw;
            ratio.value = half->busbw_gbytes_s / algbw;
            ratio.rounding = 0.005 / algbw;
        }
    }
    return best >= 0.1 ? ratio : BandwidthRatio{};  // of smaller ones busbw says too little
}

struct RankRange {
    int low = 0;  // 0: the bandwidths say nothing
    int high = 0;

    // One number alone is known.
    int ranks() const { return low == high ? low : 0; }
};

RankRange ranks_by(const BandwidthRatio& ratio, std::string_view collective) {
    const bool reduces = collective == "all_reduce";
    if (!reduces && !gathers(collective) && collective != "unknown") return {};
    const double share = reduces ? 0.5 : 1;  // of it n ranks have (n − 1)/n
    const double low = ratio.low * share;
    const double high = ratio.high * share;
    if (ratio.value <= 0 || low > high || low <= 0 || high >= 1) return {};
    const double least = std::max(std::ceil(1 / (1 - low) - 1e-6), 2.0);
    const double most = std::floor(1 / (1 - high) + 1e-6);
    if (least > most || most > ranks_max) return {};
    return {static_cast<int>(least), static_cast<int>(most)};
}

// Whether the ranks fill nodes of `each` in their order, as far as lines tell.
bool fits(std::span<const CollectiveRank> places, int each, bool by_device) {
    std::map<int, std::string_view> host_of;
    std::map<std::string_view, int> node_of;
    for (const CollectiveRank& place : places) {
        const int node = place.rank / each;
        if (by_device && place.device >= 0 && place.rank % each != place.device) return false;
        if (place.host.empty()) continue;
        if (host_of.try_emplace(node, place.host).first->second != place.host) return false;
        if (node_of.try_emplace(place.host, node).first->second != node) return false;
    }
    return true;
}

// GPUs of each node, where the lines that are there allow one number alone; otherwise 0. Devices
// count where they have several numbers: a process that sees one GPU only calls it device 0.
int ranks_of_node(std::span<const CollectiveRank> places, int ranks) {
    const bool by_device =
        std::ranges::any_of(places, [](const CollectiveRank& place) { return place.device > 0; });
    int found = 0;
    const auto consider = [&](int each) {
        if (!fits(places, each, by_device)) return true;
        const bool is_first = found == 0;
        found = each;
        return is_first;
    };
    for (int part = 1; part * part <= ranks; ++part) {
        if (ranks % part != 0) continue;
        if (!consider(part)) return 0;
        if (part != ranks / part && !consider(ranks / part)) return 0;
    }
    return found;
}

int distinct_hosts(const CollectiveTable& table) {
    std::set<std::string_view> hosts;
    for (const CollectiveRank& place : table.places) {
        if (!place.host.empty()) hosts.insert(place.host);
    }
    return static_cast<int>(hosts.size());
}

constexpr const char* rank_line = "\"#  Rank\"";

// Of the lines that are there, what the bandwidths say comes first; of a log without such lines,
// what the user says.
void settle_ranks(CollectiveTable& table, const RankRange& range) {
    const int lines = static_cast<int>(table.places.size());
    const int highest = lines > 0 ? table.places.back().rank + 1 : 0;
    if (lines == 0) {
        if (table.ranks > 0 || range.ranks() == 0) return;
        table.ranks = range.ranks();
        table.notes.push_back(fmt::format("{} ranks, by its bandwidths", table.ranks));
        return;
    }
    table.ranks = highest;
    const bool says_other = range.low > highest || (range.low > 0 && range.high < highest);
    if (says_other) {
        table.ranks = range.ranks();
        table.notes.push_back(
            table.ranks > 0
                ? fmt::format("{} ranks, by its bandwidths; {} lines of {} up to rank {} are there",
                              table.ranks, rank_line, lines, highest - 1)
                : fmt::format("{} to {} ranks, by its bandwidths; {} lines of {} up to rank {} are "
                              "there: unknown how many",
                              range.low, range.high, rank_line, lines, highest - 1));
    } else if (lines < highest) {
        table.notes.push_back(fmt::format("{} lines of {} of {} ranks are there{}", rank_line,
                                          lines, highest,
                                          range.ranks() > 0 ? "" : ", by the highest"));
    }
}

void settle_nodes(CollectiveTable& table) {
    const int lines = static_cast<int>(table.places.size());
    const int highest = lines > 0 ? table.places.back().rank + 1 : 0;
    table.nodes = 0;
    if (table.ranks == 0) return;
    if (lines == 0) {
        // One process is on one node.
        if (table.ranks == table.ranks_of_process) table.nodes = 1;
        return;
    }
    const bool is_whole = lines == highest && highest == table.ranks;
    if (is_whole) table.nodes = distinct_hosts(table);
    if (table.nodes > 0) return;
    if (highest <= table.ranks) {
        const int each = ranks_of_node(table.places, table.ranks);
        if (each > 0) {
            table.nodes = table.ranks / each;
            table.notes.push_back(fmt::format("{} node{} of {}, by the hosts and devices of these",
                                              table.nodes, table.nodes == 1 ? "" : "s", each));
            return;
        }
    }
    table.notes.push_back(
        fmt::format("unknown on how many nodes, {} or more", std::max(distinct_hosts(table), 1)));
}

void settle_collective(CollectiveTable& table, const BandwidthRatio& ratio) {
    const int highest = table.places.empty() ? table.ranks : table.places.back().rank + 1;
    const bool is_above = ratio.value > 0 && ratio.low > 1 && ratio.low <= ratio.high;
    const bool is_near = highest > 1 && std::abs(ratio.value - factor_of("all_reduce", highest)) <
                                            0.01 + ratio.rounding;
    const bool is_sum = table.rootless_sum && (is_above || is_near);
    table.collective = is_sum ? "all_reduce" : "unknown";
    table.notes.push_back(is_sum ? "an all_reduce, by its bandwidths"
                                 : "nothing says which collective this is");
}

}  // namespace

// Times are printed with three digits at least, bandwidths with two decimals.
bool is_consistent(const CollectiveRow& row, const CollectiveTime& half) {
    if (half.time_us <= 0) return true;
    const double algbw = static_cast<double>(row.bytes) / half.time_us / 1e3;
    return std::abs(algbw - half.algbw_gbytes_s) <= 0.011 + 0.01 * algbw;
}

void settle(CollectiveTable& table, const std::filesystem::path& file,
            const NcclReadOptions& options) {
    if (table.collective.empty()) table.collective = options.collective;
    if (table.collective.empty()) table.collective = collective_in(file.filename().string());
    if (table.ranks == 0 && table.places.empty()) table.ranks = options.ranks;
    const BandwidthRatio ratio = bandwidth_ratio(table);
    if (table.collective.empty()) settle_collective(table, ratio);
    settle_ranks(table, ranks_by(ratio, table.collective));
    if (table.form == table_form) settle_nodes(table);
    if (table.ranks < 2 || ratio.value <= 0 || table.collective == "unknown") return;
    const double factor = factor_of(table.collective, table.ranks);
    if (std::abs(ratio.value - factor) > 0.02 + ratio.rounding) {
        table.notes.push_back(fmt::format("busbw is {:.3f} algbw, and {:.3f} for {} of {} ranks",
                                          ratio.value, factor, table.collective, table.ranks));
    }
}

}  // namespace ukemi::traces::nccl
