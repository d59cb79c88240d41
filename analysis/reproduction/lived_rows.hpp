// lived_rows.hpp — what a run's timeline says that its result does not, as rows of a figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/reproduction/reproduced_figure.hpp"
#include "base/quantity.hpp"
#include "records/timeline.hpp"

namespace ukemi::analysis {

// Adds to a run's row: first_step_s, when training began; and from there on trained_s, how long it
// took; trained_worker_s, the time of workers in it; settled_s, when the group had its last size,
// since the end of `from_step` steps that the timeline tells apart. A run that never trained has
// none of them.
void add_lived(FigureRow& run, const records::Timeline& timeline, std::int64_t from_step);

// A row each time the group that trains has another size, and one at the end: t_s since the end of
// `from_step` steps, from 0 on, and workers; besides what the run's own row has.
std::vector<FigureRow> change_rows(const FigureRow& run, const records::Timeline& timeline,
                                   std::int64_t from_step);

// A row a step that the timeline tells apart: step, from 0; own_step_s, how long it took; and
// steps_per_s, of which it is one.
std::vector<FigureRow> step_rows(const FigureRow& run, const records::Timeline& timeline);

// Where the rows of a course stand: one of the two is above zero.
struct CoursePlaces {
    std::int64_t every_samples = 0;
    Duration every;
};

// A row at each multiple of so many samples, or of so much time since the first step: t_s, samples,
// workers, spot_losses and spent_usd; batch, accuracy, learned and noise_scale where the timeline
// has them. What grows is read in between two rows of the timeline; workers and batch are those of
// the row before.
std::vector<FigureRow> course_rows(const FigureRow& run, const records::Timeline& timeline,
                                   const CoursePlaces& places);

// One row for all that have the same value in `place` and the same policy: the means of their
// numbers, where all of them have those. Places that not every run reaches are left out.
std::vector<FigureRow> mean_rows(const std::vector<FigureRow>& rows, const std::string& place);

}  // namespace ukemi::analysis
