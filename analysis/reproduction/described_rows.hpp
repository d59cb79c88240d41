// described_rows.hpp — what `ukemi describe` draws of a recorded market, and of the generated one
// beside it, as rows of a figure.
#pragma once

#include <string_view>
#include <vector>

#include "analysis/reproduction/reproduced_figure.hpp"

namespace ukemi::analysis {

// A row each whole hour, `from` "recorded" and `from` "generated". Of "hours": hour, 0 to 23, and
// loss_days, the share of the days that had a loss in it. Of "lifetimes", "time_to_loss" and
// "runs_with_any": hours and alive, the share that lasted longer; `from` "exponential" is what a
// constant rate with the recorded mean over that span would leave.
std::vector<FigureRow> hourly_rows(const plots::FigureInput& market, std::string_view kind);

}  // namespace ukemi::analysis
