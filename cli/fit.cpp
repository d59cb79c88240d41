// fit.cpp — `ukemi fit`: the market generator set to recorded series, written for scenarios.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "analysis/output_folder.hpp"
#include "analysis/requests/recorded_markets.hpp"
#include "analysis/result_doubts.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/fit_jobs.hpp"
#include "cli/fit_learning.hpp"
#include "cli/fitted_scenarios.hpp"
#include "traces/market_file.hpp"

namespace ukemi::cli {

namespace {

struct FitCommand {
    std::vector<std::string> files;
    std::string name = "fitted";
    std::string source;
    std::string out;
    std::string on_demand;
    std::string zone;
    std::string instance_type;
    std::string gap;
    std::string stretches;
    std::string learning;
    bool jobs = false;
    bool force = false;
};

void fit(const FitCommand& options) {
    if (!options.learning.empty()) {
        if (!options.files.empty()) {
            throw InputError("--learning", "", "goes without trace files: it has its own records");
        }
        print_published_learning(options.learning);
        if (!options.out.empty()) {
            write_fitted_scenarios(options.learning, options.out, options.force);
        }
        return;
    }
    if (options.jobs) {
        fit_jobs({options.files, options.name, options.out, options.force});
        return;
    }
    if (options.files.empty()) {
        throw InputError("TRACE", "", "missing: expected trace files, or --learning with a folder");
    }
    std::optional<analysis::OutputFile> out;
    if (!options.out.empty()) out.emplace(options.out, options.force);
    const analysis::RecordsRequest records{options.files, options.zone, options.instance_type,
                                           options.gap};
    const analysis::RecordedFit fitted =
        analysis::fit_records({records, options.name, options.source, options.on_demand,
                               options.stretches, out.has_value()});
    analysis::warn(fitted.warnings, false);
    const std::string text = traces::to_json(fitted.fit.parameters);
    if (!out) {
        fmt::print("{}", text);
        return;
    }
    out->write(text);
    for (const std::string& note : fitted.fit.notes) fmt::print("{}\n", note);
    fmt::print("{}wrote {}\n", fitted.comparison, one_line(options.out));
}

}  // namespace

void add_fit(CLI::App& app) {
    auto options = std::make_shared<FitCommand>();
    CLI::App* command = app.add_subcommand(
        "fit", "set the market generator to recorded series, and say how well it fits");
    command->add_option("TRACE", options->files, "trace files; zones of one market");
    CLI::Option* jobs = command->add_flag(
        "--jobs", options->jobs,
        "the files are workloads: which jobs came to a cluster when (forms: scenarios/README.md); "
        "fits the generator of jobs, for \"jobs\": {\"generate\": …}");
    command
        ->add_option("--learning", options->learning,
                     "folder of recorded training (pollux/, sia/, zeus/): print what the laws "
                     "of learning predict of it, and nothing else; with --out FOLDER "
                     "write them as scenarios")
        ->excludes(jobs);
    command->add_option("--out", options->out,
                        "JSON file for scenarios (none: print it); with --learning a folder");
    command->add_option("--name", options->name, "what the market is called");
    command->add_option("--source", options->source, "where the records come from")->excludes(jobs);
    command
        ->add_option("--on-demand", options->on_demand,
                     "on-demand price, such as \"0.65 USD/h\": spikes are above it")
        ->excludes(jobs);
    command
        ->add_option("--stretches", options->stretches,
                     "keep the record, and make markets of stretches of it, of this mean length "
                     "(1 d): run lengths and the zones of a region stay as they were")
        ->excludes(jobs);
    command->add_option("--zone", options->zone, "this zone only, of a file with several")
        ->excludes(jobs);
    command->add_option("--type", options->instance_type, "this instance type only")
        ->excludes(jobs);
    command->add_option("--gap", options->gap, "time between samples, for forms that lack it")
        ->excludes(jobs);
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { fit(*options); });
}

}  // namespace ukemi::cli
