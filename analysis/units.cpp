#include "analysis/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

using WindowKey = std::tuple<std::string_view, std::string_view, double>;  // record, trace, start
WindowKey window_of(const RunUnit& unit) { return {unit.record, unit.trace, unit.start_s}; }

// Policies whose runs have one hash in each window, and several seeds in some.
std::set<std::string_view> policies_that_repeat(std::span<const RunUnit> units) {
    std::map<std::string_view, std::map<WindowKey, std::set<std::string_view>>> hashes;
    std::map<std::string_view, std::size_t> runs;
    for (const RunUnit& unit : units) {
        hashes[unit.policy][window_of(unit)].insert(unit.event_hash);
        ++runs[unit.policy];
    }
    std::set<std::string_view> repeat;
    for (const auto& [policy, windows] : hashes) {
        bool one_each = runs[policy] > windows.size();
        for (const auto& [window, found] : windows) {
            one_each = one_each && found.size() == 1 && !found.begin()->empty();
        }
        if (one_each) repeat.insert(policy);
    }
    return repeat;
}

// Gives equal keys equal numbers, in the order in which they come.
template <class Key>
class Numbers {
public:
    std::size_t of(const Key& key) {
        return numbers_.try_emplace(key, numbers_.size()).first->second;
    }
    std::size_t size() const { return numbers_.size(); }

private:
    std::map<Key, std::size_t> numbers_;
};

template <class KeyOf>
std::size_t number(std::span<const RunUnit> units, KeyOf key_of,
                   std::vector<std::size_t>& numbers) {
    Numbers<decltype(key_of(units.front()))> all;
    for (std::size_t i = 0; i < units.size(); ++i) numbers[i] = all.of(key_of(units[i]));
    return all.size();
}

}  // namespace

RunUnit unit_of(const records::RunResult& run) {
    // A live run has no record of a market.
    return {run.record.empty() ? run.trace : run.record,
            run.trace,
            to_seconds(run.start),
            run.stretch,
            run.seed,
            run.policy,
            run.event_hash};
}

std::string_view RunClusters::name() const {
    switch (varying) {
        case Varying::records: return "record";
        case Varying::stretches: return "stretch";
        case Varying::windows: return "window";
        case Varying::seeds: return "seed";
        case Varying::nothing: break;
    }
    return "";
}

std::string RunClusters::words() const {
    if (count < 2) return {};
    switch (varying) {
        case Varying::records: {
            const std::string_view noun = count < traces    ? "zones"
                                          : count == traces ? "traces"
                                                            : "generated markets";
            if (windows == count) return fmt::format("{} {}", count, noun);
            return fmt::format("{} {} ({} windows)", count, noun, windows);
        }
        case Varying::stretches:
            return fmt::format("{} stretches of one {} ({} windows, which overlap)", count,
                               traces > 1 ? "zone" : "trace", windows);
        case Varying::windows:
            return fmt::format("{} windows of one {}", count, traces > 1 ? "zone" : "trace");
        case Varying::seeds: return fmt::format("{} seeds", count);
        case Varying::nothing: break;
    }
    return {};
}

RunClusters clusters_of(std::span<const RunUnit> units) {
    RunClusters clusters;
    clusters.cluster.assign(units.size(), 0);
    clusters.repeated.assign(units.size(), false);
    if (units.empty()) return clusters;

    const std::set<std::string_view> repeat = policies_that_repeat(units);
    std::set<std::pair<std::string_view, WindowKey>> seen;
    std::set<std::uint64_t> seeds;
    for (std::size_t i = 0; i < units.size(); ++i) {
        const RunUnit& unit = units[i];
        const bool once = repeat.contains(unit.policy);
        clusters.repeated[i] = once && !seen.emplace(unit.policy, window_of(unit)).second;
        clusters.repeats += clusters.repeated[i] ? 1 : 0;
        if (!once) seeds.insert(unit.seed);
    }
    std::vector<std::size_t>& numbers = clusters.cluster;
    const auto record = [](const RunUnit& unit) { return std::string_view(unit.record); };
    const auto trace = [](const RunUnit& unit) { return std::string_view(unit.trace); };
    const auto stretch = [](const RunUnit& unit) {
        return std::pair(std::string_view(unit.trace), unit.stretch);
    };
    clusters.traces = number(units, trace, numbers);
    clusters.windows = number(units, window_of, numbers);
    clusters.count = number(units, record, numbers);
    if (clusters.count > 1) {
        clusters.varying = Varying::records;
    } else if (clusters.windows > 1) {
        clusters.count = number(units, stretch, numbers);
        clusters.varying =
            clusters.count == clusters.windows ? Varying::windows : Varying::stretches;
    } else if (seeds.size() > 1) {
        clusters.varying = Varying::seeds;
        clusters.count = seeds.size();
        number(
            units, [](const RunUnit& unit) { return unit.seed; }, numbers);
    }
    return clusters;
}

std::vector<std::vector<std::size_t>> variants_among(std::span<const records::RunResult> runs) {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto same = std::ranges::find_if(groups, [&](const auto& group) {
            const records::RunResult& first = runs[group.front()];
            return first.varied == runs[i].varied && first.scenario == runs[i].scenario;
        });
        if (same != groups.end()) {
            same->push_back(i);
        } else {
            groups.push_back({i});
        }
    }
    return groups;
}

RunClusters clusters_of(std::span<const records::RunResult> runs,
                        std::span<const std::size_t> positions) {
    std::vector<RunUnit> units;
    for (const std::size_t position : positions) units.push_back(unit_of(runs[position]));
    return clusters_of(units);
}

std::vector<PolicyGroup> policy_groups(std::span<const records::RunResult> runs) {
    std::vector<PolicyGroup> groups;
    for (const auto& positions : variants_among(runs)) {
        const RunClusters clusters = clusters_of(runs, positions);
        const std::size_t first = groups.size();
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const records::RunResult& run = runs[positions[i]];
            auto group = std::find_if(
                groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
                [&](const PolicyGroup& one) { return one.which.policy == run.policy; });
            if (group == groups.end()) {
                groups.push_back({{run.scenario, scenarios::variant_label(run.varied), run.varied,
                                   run.policy, 0, std::string(clusters.name()), clusters.words()},
                                  {}});
                group = groups.end() - 1;
            }
            if (clusters.counts(i)) {
                group->members.push_back({&run, clusters.cluster[i]});
            } else {
                ++group->which.repeated;
            }
        }
    }
    return groups;
}

}  // namespace ukemi::analysis
