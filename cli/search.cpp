// search.cpp — `ukemi search`: trials of a hyper-parameter search that share a cluster.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/requests/expand.hpp"
#include "analysis/search_results.hpp"
#include "cli/command.hpp"
#include "cli/run_options.hpp"
#include "cli/search_live.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::cli {

namespace {

struct SearchOptions {
    std::string scenario;
    std::string seeds;
    bool full = false;
    analysis::VariationRequest variation;
    OutputOptions output;
    LiveScheduleOptions live;
};

std::vector<scenarios::SearchScenario> searches_in(const SearchOptions& options,
                                                   analysis::StepDocument& document) {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : options.variation.settings) {
        overrides.push_back(parse_override(setting));
    }
    if (!options.variation.varied.empty()) document.varied.clear();
    for (const std::string& argument : options.variation.varied) {
        document.varied.push_back(scenarios::parse_varied_key(argument));
    }
    std::vector<scenarios::SearchScenario> all;
    scenarios::for_each_variant(overrides, document.varied, [&](auto set, auto varied) {
        all.push_back(scenarios::search_scenario_from_text(document.text, document.file, set));
        all.back().varied.assign(varied.begin(), varied.end());
    });
    return all;
}

void search(const SearchOptions& options) {
    const OutputOptions& output = options.output;
    const plots::FigureOptions draw = figure_options(output.figures);
    analysis::StepDocument document = analysis::read_step_document(options.scenario, "search");
    options.live.expect_live();
    if (!options.live.live) expect_folder(output);
    const std::vector<scenarios::SearchScenario> variants = searches_in(options, document);
    std::vector<std::uint64_t> seeds = {variants.front().seed};
    if (!options.seeds.empty()) seeds = analysis::parse_seeds(options.seeds, "--seeds");
    if (options.live.live) {
        if (variants.size() * seeds.size() > 1 || options.full) {
            throw InputError("--live", "",
                             "runs one search of each searcher: expected no --vary, no --full and "
                             "one seed");
        }
        return search_live(variants.front(), seeds.front(), document, options.live, output, draw);
    }
    std::optional<analysis::OutputFolder> folder;
    if (!output.out.empty()) folder.emplace(output.out, output.force);
    CsvFile csv(output);
    const std::vector<analysis::SearchedRun> runs =
        analysis::run_searches(variants, seeds, options.full);
    plots::FigureResult figures;
    if (folder) figures = analysis::write_searches(*folder, document, variants, runs, draw);
    fmt::print("{}", output.json ? analysis::searches_json(variants.front(), runs)
                                 : analysis::searches_table(variants.front(), runs));
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
    command->add_option("--seeds", options->seeds, "1..10 or 1,2,7 (default: the scenario's)");
    command->add_flag("--full", options->full,
                      "train every trial to its end, too, and say whether the winner is the same");
    add_variation_options(*command, options->variation);
    options->live.add_to(*command);
    add_output_options(*command, options->output,
                       {"print JSON instead of the table", "write a row a trial to this file",
                        "folder for results: search.csv, trials.csv, pieces.csv, run.json, "
                        "figures"});
    command->callback([options] { search(*options); });
}

}  // namespace ukemi::cli
