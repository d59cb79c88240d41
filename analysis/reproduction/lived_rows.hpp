// lived_rows.hpp — what a run's timeline says that its result does not, as rows of a figure.
#pragma once

#include <vector>

#include "analysis/reproduction/reproduced_figure.hpp"
#include "records/timeline.hpp"

namespace ukemi::analysis {

// Adds to a run's row: first_step_s, when training began; and from there on trained_s, how long it
// took; trained_worker_s, the time of workers in it; settled_s, when the group had its last size.
// A run that never trained has none of them.
void add_lived(FigureRow& run, const records::Timeline& timeline);

// A row each time the group that trains has another size, and one at the end: t_s since the first
// step, and workers; besides what the run's own row has.
std::vector<FigureRow> change_rows(const FigureRow& run, const records::Timeline& timeline);

// A row a step that the timeline tells apart: step, from 0; own_step_s, how long it took; and
// steps_per_s, of which it is one.
std::vector<FigureRow> step_rows(const FigureRow& run, const records::Timeline& timeline);

}  // namespace ukemi::analysis
