// completion_times.cpp — the share of jobs that take longer, over time: a curve a scheduler.
#include "plots/survival_curves.hpp"

namespace ukemi::plots {

FigureResult draw_completion_times(const FigureInput& input, const std::filesystem::path& folder,
                                   const FigureOptions& options) {
    return draw_survival_curves("completion_times", input.completions, folder, options);
}

}  // namespace ukemi::plots
