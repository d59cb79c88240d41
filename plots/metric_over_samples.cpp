// metric_over_samples.cpp — what runs have learned by the samples that they have used.
#include "plots/run_lines.hpp"

namespace ukemi::plots {

FigureResult draw_metric_over_samples(const FigureInput& input, const std::filesystem::path& folder,
                                      const FigureOptions& options) {
    std::vector<RunLine> lines;
    for (const LearningRun& run : input.learning) {
        lines.push_back({run.name, run.metric_by_samples, run.metric_by_samples_band});
    }
    RunLinesStyle style;
    style.figure = "metric_over_samples";
    style.value = "metric";
    style.column = "metric";
    style.axis = "samples used";
    style.axis_column = "samples";

    return draw_run_lines(lines, style, folder, options);
}

}  // namespace ukemi::plots
