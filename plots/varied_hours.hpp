// varied_hours.hpp — lines over a number: hours in units that suit them.
#pragma once

#include "plots/figures.hpp"

namespace ukemi::plots {

// Places and quantities that are hours, each in the unit that suits the most of them, with the
// names of their axes and columns.
VariationInput in_time_units(VariationInput input);

}  // namespace ukemi::plots
