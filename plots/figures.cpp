// figures.cpp — the table of figures. One line each.
#include "plots/figures.hpp"

#include <algorithm>
#include <set>

namespace ukemi {
namespace {

bool has_runs(const FigureInput& input) { return !input.runs.empty(); }
bool has_timelines(const FigureInput& input) { return !input.timelines.empty(); }

bool has_markets(const FigureInput& input) { return !input.markets.empty(); }
bool has_survivals(const FigureInput& input) { return !input.survivals.empty(); }
bool has_topology(const FigureInput& input) { return input.topology.has_value(); }
bool has_hours(const FigureInput& input) { return !input.hourly_losses.empty(); }
bool has_learning(const FigureInput& input) { return !input.learning.empty(); }

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

constexpr Figure figures[] = {
    {"cost_and_time", "per policy: dollars and hours over all runs, and deadlines missed", has_runs,
     draw_cost_and_time},
    {"cost_by_cause", "per policy: what the dollars bought, from useful work to waste", has_runs,
     draw_cost_by_cause},
    {"timeline", "one run: instances, prices, revocations and progress over time", has_timelines,
     draw_timeline},
    {"cost_against_deadline", "per policy and trace: what more time saves (--vary /job/deadline)",
     has_deadlines, draw_cost_against_deadline},
    {"market_over_time", "instances and prices of each zone over time (ukemi describe --out)",
     has_markets, draw_market_over_time},
    {"lifetimes", "how long instances, and runs with any, last: recorded and generated",
     has_survivals, draw_lifetimes},
    {"losses_by_hour", "losses in each hour of the day: recorded and generated", has_hours,
     draw_losses_by_hour},
    {"topology", "a machine or a cluster: its devices and the cables between them", has_topology,
     draw_topology},
    {"learned_over_time", "per run: the way to the target, or the metric (ukemi compare --out)",
     has_learning, draw_learned_over_time},
    {"batch_over_time", "per run: the batch it trained with (ukemi compare --out)", has_learning,
     draw_batch_over_time},
    {"metric_over_samples", "per run: the metric by the samples used (ukemi compare --out)",
     has_metric_by_samples, draw_metric_over_samples},
    {"noise_over_samples", "per run: the gradient noise scale over training (ukemi compare --out)",
     has_noise, draw_noise_over_samples},
    {"transition_phases", "per system or policy: what changes of the group cost, phase by phase",
     has_transitions, draw_transition_phases},
};

}  // namespace

std::span<const Figure> all_figures() { return figures; }

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
        if (figure.has_input(input)) add_result(all, figure.draw(input, folder, options));
    }
    return all;
}

}  // namespace ukemi
