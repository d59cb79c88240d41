// search.cpp — `ukemi search`: trials of a hyper-parameter search that share a cluster.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/requests/cluster_runs.hpp"
#include "analysis/search_results.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "cli/search_live.hpp"

namespace ukemi::cli {

namespace {

struct SearchOptions : analysis::ClusterRequest {
    OutputOptions output;
    LiveScheduleOptions live;
};

void search(SearchOptions options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    options.live_run = options.live.live;
    analysis::StepDocument document = analysis::cluster_document(options, "search");
    options.live.expect_live();
    options.live.settle(document);
    if (!options.live.live) expect_folder(output);
    const std::vector<scenarios::SearchScenario> variants =
        analysis::searches_of(options, document);
    if (options.live.live) {
        if (variants.size() > 1 || document.seeds.size() > 1 || document.full) {
            throw InputError("--live", "",
                             "runs one search of each searcher: expected no --vary, no --full and "
                             "one seed");
        }
        const std::uint64_t seed =
            document.seeds.empty() ? variants.front().seed : document.seeds.front();
        return search_live(variants.front(), seed, document, options.live, output, draw);
    }
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    const std::vector<analysis::SearchedRun> runs =
        analysis::run_searches(variants, document.seeds, document.full);
    plots::FigureResult figures;
    if (folder) figures = analysis::write_searches(*folder, document, variants, runs, draw);
    const scenarios::SearchScenario& first = variants.front();
    fmt::print("{}", output.json ? analysis::searches_json(first, runs, document.baseline)
                                 : analysis::searches_table(first, runs, document.baseline));
    if (csv.is_wanted()) csv.write(analysis::searched_trials_csv(runs));
    if (folder) say_results(output, folder->path(), figures);
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_search(CLI::App& app) {
    auto options = std::make_shared<SearchOptions>();
    CLI::App* command = app.add_subcommand(
        "search", "hyper-parameter searches whose trials share a cluster, in simulated time");
    command
        ->add_option("SCENARIO", options->scenario,
                     "a scenario with sections trial, space and searchers, or a folder of results "
                     "(or its run.json): runs them again")
        ->required();
    add_full_option(*command, options->full);
    add_cluster_options(*command, *options, "searcher");
    options->live.add_to(*command);
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write a row a trial to this file",
                        "folder for results: search.csv, trials.csv, pieces.csv, run.json, "
                        "figures"});
    command->callback([options] { search(*options); });
}

}  // namespace ukemi::cli
