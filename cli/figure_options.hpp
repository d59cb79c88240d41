// figure_options.hpp — how figures are drawn, as every command that draws them takes it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "plots/figures.hpp"

namespace ukemi::cli {

struct FigureFlags {
    bool pdf = false;
    std::string width;
    std::string_view width_option = "--width";  // as the command calls it
    std::string font_size;
    std::string legend;
    std::vector<std::string> only;
};

// Adds --pdf, --width, --font-size, --legend and --only.
void add_figure_options(CLI::App& command, FigureFlags& flags);

// The name of an option that was given, or nothing: for commands that may draw no figure.
std::string_view given_figure_option(const FigureFlags& flags);

// InputError for a width, a size or a name that no figure has.
plots::FigureOptions figure_options(const FigureFlags& flags);

}  // namespace ukemi::cli
