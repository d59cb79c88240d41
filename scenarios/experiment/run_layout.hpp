// run_layout.hpp — the runs of an experiment in their order, and the groups of them that are one
// piece of parallel work.
//
// The order is that of (case, trace, window, policy, seed). A group has all policies of one window
// under some seeds: under one where the market is generated anew with each. Groups are reckoned
// from their numbers, so that a million runs need no list; they depend on nothing but the runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "scenarios/experiment/starts.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::scenarios {

// One scenario of several, with what runs in it: neither list is empty.
struct ExperimentCase {
    const Scenario* scenario = nullptr;
    std::vector<PolicyList> policies;
    std::vector<std::uint64_t> seeds;
};

// A run of an experiment, before it is made.
struct PlannedRun {
    std::size_t number = 0;  // in the order of the runs
    std::size_t group = 0;   // of runs that are made one after the other
    std::size_t case_number = 0;
    std::size_t trace = 0;  // of the setup's; 0 where it has none
    std::size_t window_number = 0;
    TraceWindow window;
    const ExperimentCase* of = nullptr;
    const PolicyList* policies = nullptr;
    std::uint64_t seed = 0;
};

class RunLayout {
public:
    // All runs of a case on one trace.
    struct Part {
        const ExperimentCase* of = nullptr;
        std::size_t case_number = 0;
        std::size_t trace = 0;
        bool market_of_seed = false;  // every seed has a market of its own
        std::vector<TraceWindow> windows;
    };
    // In the order of cases and traces.
    explicit RunLayout(std::vector<Part> parts);

    std::size_t run_count() const { return runs_; }
    std::size_t group_count() const { return groups_; }
    // The first run of a part, of its first window, policy and seed.
    std::size_t first_run(std::size_t part) const { return placed_[part].run_begin; }

    // The runs of a group, a policy's together, until the visitor returns false.
    void visit(std::size_t group, const std::function<bool(const PlannedRun& run)>& visitor) const;

private:
    struct Placed : Part {
        std::size_t run_begin = 0;
        std::size_t group_begin = 0;
        std::size_t seeds_in_group = 1;
    };

    std::vector<Placed> placed_;
    std::size_t runs_ = 0;
    std::size_t groups_ = 0;
};

}  // namespace ukemi::scenarios
