// least_cost_dual.hpp — the Lagrangian dual of a problem of least cost: lower bounds for the whole,
// and for what is left from any place or rest at any node.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "scenarios/optimum/least_cost.hpp"

namespace ukemi::scenarios {

inline constexpr double endless = std::numeric_limits<double>::infinity();

// The cheapest way on from each place and rest at each node, work done being worth `worth` a unit.
struct Dual {
    double worth = 0;
    std::vector<double> resting;  // by node, rest
    std::vector<double> working;  // by node, place
    double value = 0;             // of the whole, the work still to be paid for
    double work = 0;              // that this way does
};

// `keep`: with the bounds from everywhere; else the value and the work alone.
Dual dual_at(const LeastCostProblem& problem, double worth, bool keep);

// Worths of work on the way to the one at which the dual is highest, which is the last; `at_least`
// is the dual's value there. Empty if no way does all of the work.
std::optional<std::vector<double>> best_worths(const LeastCostProblem& problem, double& at_least);

}  // namespace ukemi::scenarios
