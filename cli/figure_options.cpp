#include "cli/figure_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::cli {

namespace {

// "3.3in" in the first unit; a number without a unit is in the first one, too.
struct LengthUnit {
    std::string_view name;
    double in_first = 1;
};

double length_of(std::string_view text, std::span<const LengthUnit> units, double least,
                 double most, std::string_view option) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (unit.starts_with(' ')) unit.remove_prefix(1);
    const auto known = std::ranges::find(units, unit, &LengthUnit::name);
    const bool good = error == std::errc{} && (unit.empty() || known != units.end());
    if (good) value *= unit.empty() ? 1 : known->in_first;
    if (good && value >= least && value <= most) return value;
    throw InputError(option, "",
                     fmt::format("expected {:g} to {:g} {}, found {}", least, most,
                                 units.front().name, ukemi::quoted(text)));
}

constexpr std::pair<std::string_view, plots::LegendPlace> legend_places[] = {
    {"above", plots::LegendPlace::above},
    {"below", plots::LegendPlace::below},
    {"right", plots::LegendPlace::right},
    {"none", plots::LegendPlace::none}};

}  // namespace

void add_figure_options(CLI::App& command, FigureFlags& flags) {
    command.add_flag("--pdf", flags.pdf, "figures also as PDF");
    // A command that prints charts of characters has a width of those already.
    const bool taken = command.get_option_no_throw("--width") != nullptr;
    if (taken) flags.width_option = "--figure-width";
    command.add_option(std::string(flags.width_option), flags.width,
                       "of figures: 3.3in, 84mm (default: each its own)");
    command.add_option("--font-size", flags.font_size, "of figures, in points (default: 9.4)");
    command.add_option("--legend", flags.legend, "of figures: above, below, right or none")
        ->check(CLI::IsMember({"above", "below", "right", "none"}));
    command
        .add_option("--only", flags.only,
                    "draw this figure, panel or file only: cost_and_time, cost, timeline/price, "
                    "variation-2.svg (again: several)")
        ->allow_extra_args(false);
}

std::string_view given_figure_option(const FigureFlags& flags) {
    if (flags.pdf) return "--pdf";
    if (!flags.width.empty()) return flags.width_option;
    if (!flags.font_size.empty()) return "--font-size";
    if (!flags.legend.empty()) return "--legend";
    return flags.only.empty() ? "" : "--only";
}

plots::FigureOptions figure_options(const FigureFlags& flags) {
    constexpr LengthUnit inches[] = {{"in", 1}, {"cm", 1 / 2.54}, {"mm", 1 / 25.4}};
    constexpr LengthUnit points[] = {{"pt", 1}};
    plots::FigureOptions options;
    options.pdf = flags.pdf;
    if (!flags.width.empty()) {
        options.style.width_in = length_of(flags.width, inches, 2, 40, flags.width_option);
    }
    if (!flags.font_size.empty()) {
        options.style.font_pt = length_of(flags.font_size, points, 4, 40, "--font-size");
    }
    for (const auto& [name, place] : legend_places) {
        if (flags.legend == name) options.style.legend = place;
    }
    for (const std::string& name : flags.only) options.style.only.push_back(plots::only_name(name));
    return options;
}

}  // namespace ukemi::cli
