// published_learning.hpp — published and recorded training by batch, beside what the laws say.
//
// Every row has a role: `fitted` rows chose the law's constants, `predicted` ones did not. Those
// that are `chosen_after_seeing` did not either, but the form or the fitted rows were chosen with
// them in sight. Beside each prediction stands what somebody would guess who has the same rows and
// no law: only what is better than that speaks for the law. Readers take any files of the same
// form, so records that were kept back can be put in the place of those that were in sight. What
// was chosen with the data in sight is said in a table's note.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ukemi::sim {

enum class FitRole : std::uint8_t { fitted, predicted, chosen_after_seeing };

struct LearningRow {
    std::string name;  // "imagenet at 3200"
    double published = 0;
    double predicted = 0;
    FitRole role = FitRole::predicted;
    std::optional<double> naive = std::nullopt;  // where it was not fitted
    double error() const { return predicted / published - 1; }
};

struct LearningTable {
    std::string title;  // with the unit and the source
    std::string note;   // what was fitted, and what remains unexplained
    std::vector<LearningRow> rows;
    std::string naive = {};      // what the naive guesses are
    double worst_error() const;  // of the rows not fitted, without its sign; 0 if there is none
    double mean_error() const;   // of the same
    double mean_naive_error() const;
};

// On the line through two of these points, by batch, both axes logarithmic: the nearest on either
// side of `batch`, which itself does not count; beyond the ends the nearest two.
double on_log_line(std::map<double, double> points, double batch);
inline constexpr const char* log_line_name =
    "the line through the nearest two fitted batches, both axes logarithmic";

// Iterations of Pollux's recorded runs to their last progress, for each model under `folder` with
// runs at three batches at least (validation-BATCH.csv: progress, iteration): the noise-scale law
// fitted on the smallest and the largest batch, predicted between them. (Qiao et al., OSDI'21; the
// artifact's simulator traces.) Models with fewer batches are said in `left_out`.
std::vector<LearningTable> pollux_iterations(const std::filesystem::path& folder,
                                             std::vector<std::string>* left_out = nullptr);

// AdaScale's published iterations (Johnson et al., ICML'20, table 2), by the law of Pollux's
// recorded runs of the same task: nothing of the table is fitted.
std::vector<LearningTable> ada_scale_iterations(const std::filesystem::path& folder);

// Compute time of a step (step_time − sync_time, medians) by the batch of a GPU, from each
// scalability*.csv under `folder`: α + β·m (Pollux, OSDI'21, eq. 9; Sia, SOSP'23, has the same form
// for other clusters), each batch from all others, or from the nearest two where that misses the
// others less.
double time_from_others(std::map<double, double> points, double batch);
std::vector<LearningTable> step_compute_times(const std::filesystem::path& folder);

// Epochs to a target by batch in Zeus's summary_train.csv (You et al., NSDI'23): for each task the
// highest target that every run of every batch reaches, each batch predicted from all others, by
// E = E_min·(1 + B/B_crit) (least squares of relative errors), and by the two batches beside it:
// the law knows no batch that is too small. Tasks without such a target are said in `left_out`.
std::vector<LearningTable> zeus_epochs(const std::filesystem::path& file,
                                       std::vector<std::string>* left_out = nullptr);

// Seconds to the target on one Titan X by batch (Crossbow, VLDB'19 talk, slide 9), by two models.
std::vector<LearningTable> titan_x_times();

}  // namespace ukemi::sim
