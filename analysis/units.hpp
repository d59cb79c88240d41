// units.hpp — which runs are independent of each other: the units that intervals are over.
//
// Runs are nested: a record (a zone that was recorded, or one generated market) has traces, a trace
// windows, a window seeds. Intervals are over the outermost of these of which there are several,
// because all below has it in common: over records where there are two or more, else over windows
// (or over the stretches that overlapping windows begin in), else over seeds. What seeds cannot
// change counts once: where a policy's runs are the same bit for bit under each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "records/run_result.hpp"

namespace ukemi::analysis {

// What a run may differ in from others of its variant.
struct RunUnit {
    std::string record;
    std::string trace;
    double start_s = 0;
    std::int64_t stretch = 0;
    std::uint64_t seed = 0;
    std::string policy;
    std::string event_hash;  // empty: nobody knows
};
RunUnit unit_of(const records::RunResult& run);

// What tables say where no runs are independent of each other.
inline constexpr std::string_view no_interval_words =
    "no interval: what the runs are of is not independent";

enum class Varying : std::uint8_t { nothing, seeds, windows, stretches, records };

struct RunClusters {
    Varying varying = Varying::nothing;
    std::size_t count = 0;             // over all policies
    std::vector<std::size_t> cluster;  // of each unit, in the order given
    std::vector<bool> repeated;        // the same as a run before it, but for the seed: counts not
    std::size_t repeats = 0;
    std::size_t windows = 0;  // of all traces
    std::size_t traces = 0;

    bool counts(std::size_t unit) const { return !repeated[unit]; }
    std::string_view name() const;  // of one cluster, in files: "record", "stretch"; or empty
    // In tables: "6 zones (72 windows)", "18 windows of one trace"; empty below two.
    std::string words() const;
};
// Of the runs of one variant of one scenario.
RunClusters clusters_of(std::span<const RunUnit> units);

// The positions of the runs of each variant of each scenario, in the order of the first of each.
std::vector<std::vector<std::size_t>> variants_among(std::span<const records::RunResult> runs);
// Of the runs at these positions.
RunClusters clusters_of(std::span<const records::RunResult> runs,
                        std::span<const std::size_t> positions);

// A policy in one variant of one scenario.
struct PolicyInVariant {
    std::string scenario;
    std::string variant;  // "/job/batch=64", or empty
    std::vector<records::VariedValue> varied;
    std::string policy;
    std::size_t repeated = 0;  // runs that are there again under another seed, nowhere else counted
    std::string clusters_name;   // what intervals are over, one of them: "record"
    std::string clusters_words;  // "6 zones"
};

struct PolicyGroup {
    struct Member {
        const records::RunResult* run;
        std::size_t cluster;
    };
    PolicyInVariant which;
    std::vector<Member> members;  // that count
};

// In the order of the runs, a variant's policies together.
std::vector<PolicyGroup> policy_groups(std::span<const records::RunResult> runs);

}  // namespace ukemi::analysis
