// learned_over_time.cpp — how far runs have come on the way to their target, or their metric.
#include "plots/run_lines.hpp"

namespace ukemi::plots {

FigureResult draw_learned_over_time(const FigureInput& input, const std::filesystem::path& folder,
                                    const FigureOptions& options) {
    std::vector<RunLine> lines;
    bool metric = !input.learning.empty();
    for (const LearningRun& run : input.learning) metric = metric && !run.metric.empty();
    for (const LearningRun& run : input.learning) {
        lines.push_back({run.name, metric ? run.metric : run.learned,
                         metric ? run.metric_band : run.learned_band});
    }
    RunLinesStyle style;
    style.figure = "learned_over_time";
    style.value = metric ? "metric" : "learned (share of the way)";
    style.column = metric ? "metric" : "learned";
    return draw_run_lines(lines, style, folder, options);
}

}  // namespace ukemi::plots
