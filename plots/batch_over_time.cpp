// batch_over_time.cpp — the batch that runs trained with, on a logarithmic axis.
#include "plots/run_lines.hpp"

namespace ukemi::plots {

FigureResult draw_batch_over_time(const FigureInput& input, const std::filesystem::path& folder,
                                  const FigureOptions& options) {
    std::vector<RunLine> lines;
    for (const LearningRun& run : input.learning) {
        lines.push_back({run.name, run.batch, run.batch_band});
    }
    RunLinesStyle style;
    style.figure = "batch_over_time";
    style.value = "batch (samples)";
    style.column = "batch";
    style.steps = true;
    style.log_scale = true;
    return draw_run_lines(lines, style, folder, options);
}

}  // namespace ukemi::plots
