// phase_means.hpp — what transitions cost by phase, as means of the runs of one policy and variant.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plots/figures.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

using PhaseNumbers = std::array<double, policies::transition_phase_count>;  // by TransitionPhase

struct PhaseMeans {
    std::string variant;
    std::string policy;
    double runs = 0;
    double transitions = 0;  // sums until means() is asked for
    PhaseNumbers standstill_s{};
    PhaseNumbers machine_h{};
};

class PhaseSums {
public:
    void add(std::string_view variant, std::string_view policy, double transitions,
             const PhaseNumbers& standstill_s, const PhaseNumbers& machine_h);
    std::vector<PhaseMeans> means() const;  // in the order in which each came first

private:
    std::vector<PhaseMeans> sums_;
};

// Of the runs in which phases are told apart.
std::vector<PhaseMeans> phase_means(std::span<const records::RunResult> runs);
// As a figure has them: what all rows have in common is in no name.
std::vector<plots::TransitionRow> transition_rows(std::span<const PhaseMeans> means);

}  // namespace ukemi::analysis
