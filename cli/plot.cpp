// plot.cpp — `ukemi plot`: draws the figures of a results folder again.
#include <fmt/format.h>

#include <memory>

#include "analysis/results.hpp"
#include "base/plain_text.hpp"
#include "cli/command.hpp"

namespace ukemi::cli {

namespace {

struct PlotOptions {
    std::string folder;
    std::string out;
    bool pdf = false;
    bool force = false;
};

void plot(const PlotOptions& options) {
    const std::filesystem::path results = options.folder;
    const plots::FigureInput input = analysis::read_results(results);
    // The figures of results are there to be drawn again; any other folder is somebody's.
    const bool own = options.out.empty();
    analysis::OutputFolder out(own ? results / "figures" : std::filesystem::path(options.out),
                               own || options.force);
    plots::FigureOptions figure_options;
    figure_options.pdf = options.pdf;
    plots::FigureResult figures = analysis::draw_results(input, out.staging(), figure_options);
    out.commit();
    figures = out.settled(figures);
    for (const auto& file : figures.files) fmt::print("{}\n", one_line(file.string()));
    if (!analysis::say_figures(figures)) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_plot(CLI::App& app) {
    auto options = std::make_shared<PlotOptions>();
    CLI::App* command = app.add_subcommand("plot", "draw the figures of a results folder again");
    command->add_option("RESULTS", options->folder, "a folder that ukemi replay wrote")->required();
    command->add_option("--out", options->out, "where to (default: RESULTS/figures)");
    command->add_flag("--pdf", options->pdf, "also as PDF");
    command->add_flag("--force", options->force, "replace what is at --out already");
    command->callback([options] { plot(*options); });
}

}  // namespace ukemi::cli
