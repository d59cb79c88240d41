// figure_runs.cpp — runs what a figure of a source asks for, as the commands themselves do.
#include "cli/figure_runs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/comparison.hpp"
#include "analysis/reproduction/lived_rows.hpp"
#include "analysis/requests/expand.hpp"
#include "analysis/requests/prepared_runs.hpp"
#include "analysis/requests/shipped_scenarios.hpp"
#include "analysis/results.hpp"
#include "analysis/simulated_steps.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Patterns of recordings begin where `scenarios` lies.
std::string recordings(const analysis::DescribedRun& run) {
    if (run.traces.empty()) return {};
    return (analysis::shipped_folder().parent_path() / run.traces).string();
}

std::vector<analysis::FigureRow> simulated_rows(const analysis::DescribedRun& run) {
    analysis::StepDocument document =
        analysis::read_step_document(analysis::scenario_file(run.scenario));
    std::vector<ConfigOverride> overrides;
    for (const std::string& one : run.settings) overrides.push_back(parse_override(one));
    document.varied.clear();
    const json simulated = json::parse(analysis::simulated_json(
        analysis::simulate_steps(analysis::step_variants(document, overrides, run.varied), 0)));
    std::vector<analysis::FigureRow> rows;
    for (const json& variant : simulated.at("variants")) {
        for (json job : variant.at("jobs")) {
            if (variant.contains("vary")) job.update(variant.at("vary"));
            rows.push_back(analysis::figure_row(job));
        }
    }
    return rows;
}

std::vector<analysis::FigureRow> experiment_rows(const analysis::DescribedRun& run) {
    const bool compares = run.command == "compare";
    analysis::RunRequest options;
    options.scenarios = {analysis::scenario_file(run.scenario)};
    options.traces = recordings(run);
    options.policies = run.policies;
    options.variation = {run.settings, run.varied};
    options.seeds = run.seeds;
    options.starts = run.starts;
    analysis::PreparedRuns runs = analysis::prepare_runs(options, !compares);
    runs.setup.details = compares ? scenarios::Details::none : scenarios::Details::all;
    runs.setup.options.timeline = !compares;
    std::vector<records::RunResult> results;
    for (scenarios::FinishedRun& one : scenarios::run_experiment(runs.cases, runs.setup)) {
        results.push_back(std::move(one.result));
    }
    std::vector<analysis::FigureRow> rows;
    if (compares) {
        const json document =
            json::parse(analysis::comparison_json(analysis::candidates_of(results)));
        for (const json& row : document.at("candidates")) {
            rows.push_back(analysis::figure_row(row));
        }
        return rows;
    }
    const json document = json::parse(analysis::results_json(results, ""));
    for (std::size_t i = 0; i < results.size(); ++i) {
        analysis::FigureRow row = analysis::figure_row(document.at("runs").at(i));
        const records::Timeline& timeline = results[i].timeline;
        analysis::add_lived(row, timeline);
        const auto more = run.rows == "changes" ? analysis::change_rows(row, timeline)
                          : run.rows == "steps" ? analysis::step_rows(row, timeline)
                                                : std::vector{row};
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

}  // namespace

std::vector<analysis::FigureDescription> described_figures() {
    const fs::path folder = analysis::shipped_folder() / "published";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
        throw InputError("reproduce", "",
                         "there is no folder \"scenarios/published\" around this program, nor "
                         "around this folder");
    }
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == figure_ending) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    std::vector<analysis::FigureDescription> figures;
    for (const fs::path& file : files) {
        figures.push_back(analysis::read_figure_description(file));
    }
    return figures;
}

std::optional<std::string> absent_recordings(const analysis::FigureDescription& figure) {
    for (const analysis::DescribedRun& run : figure.runs) {
        if (run.traces.empty()) continue;
        try {
            analysis::expand_glob(recordings(run), "traces");
        } catch (const InputError&) {
            return run.traces;
        }
    }
    return std::nullopt;
}

std::vector<analysis::FigureRow> rows_of_run(const analysis::DescribedRun& run) {
    return run.command == "simulate" ? simulated_rows(run) : experiment_rows(run);
}

}  // namespace ukemi::cli
