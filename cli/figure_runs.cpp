// figure_runs.cpp — runs what a figure of a source asks for, as the commands themselves do.
#include "cli/figure_runs.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/comparison.hpp"
#include "analysis/describe_figures.hpp"
#include "analysis/reproduction/described_rows.hpp"
#include "analysis/reproduction/lived_rows.hpp"
#include "analysis/requests/expand.hpp"
#include "analysis/requests/prepared_runs.hpp"
#include "analysis/requests/recorded_markets.hpp"
#include "analysis/requests/shipped_scenarios.hpp"
#include "analysis/results.hpp"
#include "analysis/simulated_steps.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Patterns of recordings begin where `scenarios` lies.
std::string recordings(const std::string& pattern) {
    if (pattern.empty()) return {};
    return (analysis::shipped_folder().parent_path() / pattern).string();
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
    const json variants =
        simulated.contains("variants") ? simulated.at("variants") : json::array({simulated});
    for (const json& variant : variants) {
        for (json job : variant.at("jobs")) {
            if (variant.contains("vary")) job.update(variant.at("vary"));
            rows.push_back(analysis::figure_row(job));
        }
    }
    return rows;
}

std::vector<analysis::FigureRow> rows_within(const analysis::DescribedRun& run,
                                             const analysis::FigureRow& row,
                                             const records::Timeline& timeline) {
    if (run.rows == "changes") return analysis::change_rows(row, timeline, run.from_step);
    if (run.rows == "steps") return analysis::step_rows(row, timeline);
    if (run.rows == "course") {
        return analysis::course_rows(row, timeline, {run.every_samples, run.every});
    }
    return {row};
}

std::vector<analysis::FigureRow> replayed_rows(const analysis::DescribedRun& run,
                                               const std::vector<records::RunResult>& results) {
    const json document = json::parse(analysis::results_json(results, ""));
    std::vector<analysis::FigureRow> rows;
    for (std::size_t i = 0; i < results.size(); ++i) {
        analysis::FigureRow row = analysis::figure_row(document.at("runs").at(i));
        analysis::add_lived(row, results[i].timeline, run.from_step);
        const auto more = rows_within(run, row, results[i].timeline);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    if (!run.mean_of_runs) return rows;
    return analysis::mean_rows(rows, run.every_samples > 0 ? "samples" : "t_s");
}

analysis::RecordsRequest records_of(const std::string& pattern, const std::string& type) {
    analysis::RecordsRequest request;
    for (const fs::path& file : analysis::expand_glob(pattern, "traces")) {
        request.files.push_back(file.string());
    }
    request.instance_type = type;
    return request;
}

traces::MarketParameters market_beside(const analysis::DescribedRun& run) {
    if (run.fitted_to.empty()) return analysis::market_parameters_of(run.market, "market");
    analysis::FitRequest request;
    request.records = records_of(recordings(run.fitted_to), run.fitted_type);
    request.compared = false;
    return analysis::fit_records(request).fit.parameters;
}

// What `ukemi describe` draws, at whole hours.
std::vector<analysis::FigureRow> described_rows(const analysis::DescribedRun& run) {
    analysis::DescribedMarket market;
    market.title = run.traces;
    for (analysis::NamedRecord& one :
         analysis::read_records(records_of(recordings(run.traces), run.type))) {
        for (traces::TraceSeries& series : one.trace.series) {
            market.names.push_back(one.name);
            market.series.push_back(std::move(series));
        }
        std::ranges::move(one.trace.lifetimes, std::back_inserter(market.lifetimes));
    }
    return analysis::hourly_rows(analysis::market_figures(market, market_beside(run), std::nullopt),
                                 run.rows);
}

std::vector<analysis::FigureRow> experiment_rows(const analysis::DescribedRun& run) {
    const bool compares = run.command == "compare";
    analysis::RunRequest options;
    options.scenarios = {analysis::scenario_file(run.scenario)};
    options.traces = recordings(run.traces);
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
    return replayed_rows(run, results);
}

}  // namespace

std::vector<analysis::FigureDescription> described_figures() {
    const fs::path folder = analysis::shipped_folder() / "published";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) {
        throw InputError("reproduce", "",
                         "there is no folder \"scenarios/published\" around this program, nor "
                         "around this folder: run it in a checkout of ukemi");
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
        for (const std::string& pattern : {run.traces, run.fitted_to}) {
            if (pattern.empty()) continue;
            try {
                analysis::expand_glob(recordings(pattern), "traces");
            } catch (const InputError&) {
                return pattern;
            }
        }
    }
    return std::nullopt;
}

std::vector<analysis::FigureRow> rows_of_run(const analysis::DescribedRun& run) {
    if (run.command == "describe") return described_rows(run);
    return run.command == "simulate" ? simulated_rows(run) : experiment_rows(run);
}

}  // namespace ukemi::cli
