// figures.cpp — the figures of figure_table.def, and when there is input for each.
#include "plots/figures.hpp"

#include <algorithm>
#include <set>

namespace ukemi::plots {
namespace {

bool has_runs(const FigureInput& input) { return !input.runs.empty(); }
bool has_timelines(const FigureInput& input) { return !input.timelines.empty(); }

bool has_markets(const FigureInput& input) { return !input.markets.empty(); }
bool has_survivals(const FigureInput& input) { return !input.survivals.empty(); }
bool has_topology(const FigureInput& input) { return input.topology.has_value(); }
bool has_hours(const FigureInput& input) { return !input.hourly_losses.empty(); }
bool has_learning(const FigureInput& input) { return !input.learning.empty(); }

bool has_variations(const FigureInput& input) { return !input.variations.empty(); }
bool has_found(const FigureInput& input) { return !input.found.empty(); }
bool has_queues(const FigureInput& input) { return !input.queues.empty(); }
bool has_machine_uses(const FigureInput& input) { return !input.machine_uses.empty(); }
bool has_scaling(const FigureInput& input) { return input.scaling.has_value(); }
bool has_job_hours(const FigureInput& input) { return !input.job_hours.empty(); }
bool has_step_parts(const FigureInput& input) { return input.step_parts.has_value(); }
bool has_transitions(const FigureInput& input) { return !input.transitions.empty(); }

bool has_metric_by_samples(const FigureInput& input) {
    return std::ranges::any_of(
        input.learning, [](const LearningRun& run) { return !run.metric_by_samples.empty(); });
}
bool has_noise(const FigureInput& input) {
    return std::ranges::any_of(
        input.learning, [](const LearningRun& run) { return !run.noise_by_samples.empty(); });
}

bool has_deadlines(const FigureInput& input) {
    std::set<double> deadlines;
    for (const RunPoint& run : input.runs) {
        if (run.deadline_h) deadlines.insert(*run.deadline_h);
    }
    return deadlines.size() > 1;
}

#define FIGURE(name, has_input, panels, summary) {#name, summary, panels, has_input, draw_##name},
constexpr Figure figures[] = {
#include "plots/figure_table.def"
};
#undef FIGURE

}  // namespace

std::span<const Figure> all_figures() { return figures; }

bool is_shown(const Figure& figure, const FigureStyle& style) {
    if (style.shows(figure.name, "")) return true;
    std::string_view panels = figure.panels;
    while (!panels.empty()) {
        const std::string_view panel = panels.substr(0, panels.find(' '));
        if (style.shows(figure.name, panel)) return true;
        panels.remove_prefix(std::min(panels.size(), panel.size() + 1));
    }
    return false;
}

void add_result(FigureResult& all, const FigureResult& one) {
    all.files.insert(all.files.end(), one.files.begin(), one.files.end());
    all.skipped = all.skipped || one.skipped;
    all.notes.insert(all.notes.end(), one.notes.begin(), one.notes.end());
    if (one.problem.empty() || all.problem.find(one.problem) != std::string::npos) return;
    if (!all.problem.empty()) all.problem += "; ";
    all.problem += one.problem;
}

FigureResult draw_all(const FigureInput& input, const std::filesystem::path& folder,
                      const FigureOptions& options) {
    FigureResult all;
    for (const Figure& figure : figures) {
        if (!is_shown(figure, options.style) || !figure.has_input(input)) continue;
        add_result(all, figure.draw(input, folder, options));
    }
    return all;
}

}  // namespace ukemi::plots
