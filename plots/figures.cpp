// figures.cpp — the figures of figure_table.def, and when there is input for each.
#include "plots/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

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
bool has_completions(const FigureInput& input) { return !input.completions.empty(); }
bool has_finish_time_ratios(const FigureInput& input) { return !input.finish_time_ratios.empty(); }
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

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        words.push_back(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(text.size(), words.back().size() + 1));
    }
    return words;
}

constexpr std::array<std::string_view, 4> figure_endings{".svg", ".png", ".pdf", ".gp"};

// "r/figures/timeline-greedy.svg": "timeline-greedy"
std::string_view without_ending(std::string_view name) {
    for (const std::string_view ending : figure_endings) {
        if (!name.ends_with(ending)) continue;
        name.remove_suffix(ending.size());
        return name.substr(name.find_last_of('/') + 1);
    }
    return name;
}

std::optional<std::string> shown_name(std::string_view name) {
    const std::string_view stem = without_ending(name);
    for (const Figure& figure : figures) {
        for (const std::string_view panel : words_of(figure.panels)) {
            if (name == panel || name == fmt::format("{}/{}", figure.name, panel)) {
                return std::string(name);
            }
        }
    }
    const bool good = stem.find('/') == stem.npos && figure_of_file(stem) != nullptr;
    return good ? std::optional(std::string(stem)) : std::nullopt;
}

std::string figure_names() {
    std::string names;
    for (const Figure& figure : figures) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", figure.name);
        if (figure.panels.empty()) continue;
        std::string panels(figure.panels);
        for (std::size_t at = 0; (at = panels.find(' ', at)) != panels.npos; at += 2) {
            panels.replace(at, 1, ", ");
        }
        names += fmt::format(" ({})", panels);
    }
    return names;
}

}  // namespace

std::span<const Figure> all_figures() { return figures; }

const Figure* figure_of_file(std::string_view stem) {
    const std::string_view name = stem.substr(0, stem.find('-'));
    const auto found = std::ranges::find(figures, name, &Figure::name);
    return found == std::end(figures) ? nullptr : &*found;
}

bool is_shown(const Figure& figure, const FigureStyle& style, std::string_view stem) {
    if (style.shows(figure.name, "", stem)) return true;
    return std::ranges::any_of(words_of(figure.panels), [&](std::string_view panel) {
        return style.shows(figure.name, panel, stem);
    });
}

std::string only_name(std::string_view name) {
    if (const auto known = shown_name(name)) return *known;
    std::vector<std::string_view> names;
    for (const Figure& figure : figures) names.push_back(figure.name);
    throw InputError("--only", "",
                     fmt::format("no figure, panel or file of a figure {}{}; figures, with their "
                                 "panels: {}",
                                 ukemi::quoted(name), did_you_mean(name, names), figure_names()));
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
