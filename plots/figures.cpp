// figures.cpp — the table of figures. One line each.
#include "plots/figures.hpp"

namespace ukemi {
namespace {

constexpr Figure figures[] = {
    {"cost_and_time", "per policy: dollars and hours over all runs, and deadlines missed",
     draw_cost_and_time},
    {"cost_by_cause", "per policy: what the dollars bought, from useful work to waste",
     draw_cost_by_cause},
    {"timeline", "one run: instances, prices, revocations and progress over time", draw_timeline},
};

}  // namespace

std::span<const Figure> all_figures() { return figures; }

FigureResult draw_all(const FigureInput& input, const std::filesystem::path& folder,
                      const FigureOptions& options) {
    FigureResult all;
    for (const Figure& figure : figures) {
        const bool over_time = figure.draw == draw_timeline;
        if (over_time ? input.timelines.empty() : input.runs.empty()) continue;
        const FigureResult one = figure.draw(input, folder, options);
        all.files.insert(all.files.end(), one.files.begin(), one.files.end());
        all.skipped = all.skipped || one.skipped;
        if (one.problem.empty() || all.problem.find(one.problem) != std::string::npos) continue;
        if (!all.problem.empty()) all.problem += "; ";
        all.problem += one.problem;
    }
    return all;
}

}  // namespace ukemi
