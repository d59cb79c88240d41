// plot.cpp — `ukemi plot`: draws the figures of a results folder again.
#include <fmt/format.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/results.hpp"

namespace ukemi {

namespace {

struct Options {
    std::string folder;
    std::string out;
    bool pdf = false;
};

void plot(const Options& options) {
    const std::filesystem::path results = options.folder;
    const std::filesystem::path out =
        options.out.empty() ? results / "figures" : std::filesystem::path(options.out);
    FigureOptions figure_options;
    figure_options.pdf = options.pdf;
    const FigureResult figures = draw_results(read_results(results), out, figure_options);
    for (const auto& file : figures.files) fmt::print("{}\n", file.string());
    for (const std::string& note : figures.notes) fmt::print(stderr, "{}\n", note);
    if (figures.problem.empty()) return;
    fmt::print(stderr, "ukemi: {}\n", figures.problem);
    if (!figures.skipped) throw ExitWith{exit_machine_failed};
}

}  // namespace

void add_plot(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand("plot", "draw the figures of a results folder again");
    command->add_option("RESULTS", options->folder, "a folder that ukemi replay wrote")->required();
    command->add_option("--out", options->out, "where to (default: RESULTS/figures)");
    command->add_flag("--pdf", options->pdf, "also as PDF");
    command->callback([options] { plot(*options); });
}

}  // namespace ukemi
