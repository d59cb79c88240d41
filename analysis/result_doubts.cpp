#include "analysis/result_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "analysis/idle_variation.hpp"
#include "analysis/units.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace {

using Results = std::span<const records::RunResult>;

// The same about several markets is one line.
void add_about_markets(Results results, std::vector<std::string>& warnings) {
    std::vector<std::string> order;
    std::map<std::string, std::set<std::string>> traces;
    for (const records::RunResult& run : results) {
        for (const std::string& doubt : run.doubts) {
            if (!traces.contains(doubt)) order.push_back(doubt);
            traces[doubt].insert(run.trace);
        }
    }
    for (const std::string& doubt : order) {
        const std::set<std::string>& those = traces[doubt];
        const std::string more =
            those.size() < 2 ? "" : fmt::format(" and {} more", those.size() - 1);
        warnings.push_back(fmt::format("{}{}: {}", one_line(*those.begin()), more, doubt));
    }
}

struct PolicyRuns {
    std::size_t runs = 0;
    std::size_t finished = 0;
    std::size_t in_time = 0;
    std::int64_t losses = 0;
    std::int64_t saved = 0;
    Duration redone;
    std::string why_unfinished;  // of the first
};

// Those that are there again under another seed, bit for bit: tables do not count them.
std::vector<bool> repeated_among(Results results) {
    std::vector<bool> repeated(results.size(), false);
    for (const std::vector<std::size_t>& positions : variants_among(results)) {
        const RunClusters clusters = clusters_of(results, positions);
        for (std::size_t i = 0; i < positions.size(); ++i) {
            repeated[positions[i]] = !clusters.counts(i);
        }
    }
    return repeated;
}

void add_about_policies(Results results, std::vector<std::string>& warnings) {
    std::vector<std::string> order;
    std::map<std::string, PolicyRuns> policies;
    const std::vector<bool> repeated = repeated_among(results);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (repeated[i]) continue;
        const records::RunResult& run = results[i];
        if (!policies.contains(run.policy)) order.push_back(run.policy);
        PolicyRuns& sum = policies[run.policy];
        ++sum.runs;
        sum.finished += run.finished;
        sum.in_time += run.in_time();
        sum.losses += run.revocations;
        sum.saved += run.checkpoints;
        sum.redone += run.causes.time_of(records::Cause::redone);
        if (!run.finished && sum.why_unfinished.empty())
            sum.why_unfinished = run.unfinished_because;
    }
    const bool late = std::ranges::none_of(
        policies, [](const auto& policy) { return policy.second.in_time > 0; });
    const bool finished = std::ranges::any_of(
        policies, [](const auto& policy) { return policy.second.finished > 0; });
    if (late && finished) warnings.emplace_back("no run of any policy met its deadline");
    for (const std::string& policy : order) {
        const PolicyRuns& sum = policies[policy];
        const std::string name = one_line(policy);
        if (sum.finished == 0) {
            warnings.push_back(
                fmt::format("{}: no run finished ({}); what it paid is not what the work costs",
                            name, sum.why_unfinished));
        }
        if (sum.saved == 0 && sum.redone > Duration{}) {
            warnings.push_back(
                fmt::format("{}: saved nothing, and losses took work along ({:.1f} "
                            "instance-hours were done again)",
                            name, to_hours(sum.redone)));
        }
    }
}

// Nothing tells the policies apart.
void add_about_differences(Results results, std::vector<std::string>& warnings) {
    std::map<std::string, std::map<std::string, std::string>> outcomes;  // by policy and run
    for (const records::RunResult& run : results) {
        std::string which = fmt::format("{}\n{}\n{}", run.scenario, run.trace, run.seed);
        for (const records::VariedValue& one : run.varied) which += "\n" + one.value;
        outcomes[run.policy][which] +=
            fmt::format("{} {} {} {} {} {}\n", run.cost.raw(), run.duration.raw(), run.finished,
                        run.launches, run.transitions, run.checkpoints);
    }
    if (outcomes.size() < 2) return;
    const auto& first = outcomes.begin()->second;
    const bool alike =
        std::ranges::all_of(outcomes, [&](const auto& policy) { return policy.second == first; });
    if (!alike) return;
    warnings.push_back(
        fmt::format("all {} policies came out the same in every run: nothing here "
                    "tells them apart",
                    outcomes.size()));
}

}  // namespace

std::vector<std::string> warnings_about(Results results) {
    std::vector<std::string> warnings;
    add_about_markets(results, warnings);
    add_about_policies(results, warnings);
    add_about_differences(results, warnings);
    for (const std::string& pointer : keys_without_effect(results)) {
        warnings.push_back(
            fmt::format("--vary {}: every result is the same whatever its value; "
                        "does a policy, or another key, decide it?",
                        pointer));
    }
    return warnings;
}

void warn(std::span<const std::string> warnings, bool strict) {
    if (strict && !warnings.empty()) {
        const std::string more =
            warnings.size() < 2 ? "" : fmt::format(" (and {} more)", warnings.size() - 1);
        throw InputError("--strict", "", warnings.front() + more);
    }
    for (const std::string& one : warnings) fmt::print(stderr, "warning: {}\n", one);
}

}  // namespace ukemi::analysis
