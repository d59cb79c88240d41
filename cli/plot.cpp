// plot.cpp — `ukemi plot`: draws the figures of a results folder again.
#include <fmt/format.h>

#include <memory>

#include "analysis/results.hpp"
#include "analysis/schedule_results.hpp"
#include "analysis/search_results.hpp"
#include "analysis/simulated_steps.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"
#include "cli/figure_options.hpp"

namespace ukemi::cli {

namespace {

struct PlotOptions {
    std::string folder;
    std::string out;
    FigureFlags figures;
    bool force = false;
};

void plot(const PlotOptions& options) {
    const plots::FigureOptions draw = figure_options(options.figures);
    const std::filesystem::path results = options.folder;
    const plots::FigureInput input =
        analysis::is_simulated(results)   ? analysis::read_simulated(results)
        : analysis::is_scheduled(results) ? analysis::read_scheduled(results)
        : analysis::is_searched(results)  ? analysis::read_searched(results)
                                          : analysis::read_results(results);
    // The figures of results are there to be drawn again; any other folder is somebody's.
    const bool own = options.out.empty();
    analysis::OutputFolder out(own ? results / "figures" : std::filesystem::path(options.out),
                               own || options.force);
    plots::FigureResult figures = analysis::draw_results(input, out.staging(), draw);
    if (figures.files.empty() && figures.problem.empty()) {
        throw InputError(options.folder, "", "has nothing that these options leave to draw");
    }
    out.commit();
    figures = out.settled(figures);
    for (const auto& file : figures.files) fmt::print("{}\n", one_line(file.string()));
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_plot(CLI::App& app) {
    auto options = std::make_shared<PlotOptions>();
    CLI::App* command = app.add_subcommand("plot", "draw the figures of a results folder again");
    command
        ->add_option("RESULTS", options->folder,
                     "a folder that ukemi replay, simulate, schedule or search wrote")
        ->required();
    command->add_option("--out", options->out, "where to (default: RESULTS/figures)");
    add_figure_options(*command, options->figures);
    command->add_flag("--force", options->force, "replace what is at --out already");
    command->callback([options] { plot(*options); });
}

}  // namespace ukemi::cli
