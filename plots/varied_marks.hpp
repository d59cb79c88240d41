// varied_marks.hpp — the lines, points and bars of lines over a number, and their keys.
//
// A line has a look of its own. What was published stands around its points: as large as these are
// small, hollow, and of the same shape, so that grey tells whose it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "plots/figures.hpp"
#include "plots/legend.hpp"
#include "plots/policy_looks.hpp"

namespace ukemi::plots {

struct LineLooks {
    std::vector<std::string> policies;  // in the order of their first lines
    std::vector<PolicyLook> looks;

    std::size_t of(const std::string& policy) const {
        return static_cast<std::size_t>(std::ranges::find(policies, policy) - policies.begin());
    }
};

LineLooks looks_of_lines(const VariationInput& input);

bool any_ideal(const VariationInput& input);
bool any_published(const VariationInput& input);

std::vector<LegendEntry> entries_of(const VariationInput& input, const LineLooks& all,
                                    std::size_t label_max);

// The lines of one panel; columns of the table: line, the number, three to five a quantity, missed.
std::string plot_of(const VariationInput& input, const std::string& file, const LineLooks& all,
                    std::size_t column, std::size_t quantity);

}  // namespace ukemi::plots
