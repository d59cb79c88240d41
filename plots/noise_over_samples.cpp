// noise_over_samples.cpp — the gradient noise scale over training, on a logarithmic axis.
#include "plots/run_lines.hpp"

namespace ukemi::plots {

FigureResult draw_noise_over_samples(const FigureInput& input, const std::filesystem::path& folder,
                                     const FigureOptions& options) {
    std::vector<RunLine> lines;
    for (const LearningRun& run : input.learning) {
        lines.push_back({run.name, run.noise_by_samples, run.noise_by_samples_band});
    }
    RunLinesStyle style;
    style.figure = "noise_over_samples";
    style.value = "gradient noise scale (samples)";
    style.column = "noise_scale";
    style.axis = "samples used";
    style.axis_column = "samples";
    style.log_scale = true;
    return draw_run_lines(lines, style, folder, options);
}

}  // namespace ukemi::plots
