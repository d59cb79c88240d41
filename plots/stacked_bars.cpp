#include "plots/stacked_bars.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ukemi::plots {
namespace {

std::string look_of_part(const BarPart& part) {
    return fmt::format("lc rgb '{}' fs {} border lc rgb '{}'", part.fill.colour, part.fill.style,
                       colour::black);
}

}  // namespace

std::vector<LegendEntry> bar_entries(std::span<const BarPart> parts) {
    std::vector<LegendEntry> entries;
    for (const BarPart& part : parts) {
        entries.push_back(own_entry(part.title, "boxes " + look_of_part(part)));
    }
    return entries;
}

double bars_end(std::span<const BarEnd> ends, double pixels) {
    double longest = 0;
    double longest_text = 0;
    for (const BarEnd& end : ends) {
        longest = std::max(longest, end.value);
        longest_text = std::max(longest_text, label_width(end.text) + 12);
    }
    return (longest > 0 ? longest : 1) / (1 - std::min(0.6, longest_text / pixels));
}

std::string stacked_bars(const std::string& file, std::span<const BarPart> parts,
                         std::span<const BarEnd> ends, double pixels, double factor) {
    std::string text;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        text += fmt::format("    set label {} {} at {},{} left boxed offset 0.8,0\n", i + 1,
                            gnuplot_string(ends[i].text), ends[i].value, i);
    }
    const double end = bars_end(ends, pixels);
    text += fmt::format("    set xrange [0:{}]\n    set xtics {}\n", end,
                        tic_step(end, tics_on(pixels)));
    std::vector<std::string> bars;
    const std::size_t first = parts.front().column;
    for (const BarPart& part : parts) {
        const auto upto = [&](std::size_t column) {
            return fmt::format("{}*(sum [c={}:{}] column(c))", factor, first, column);
        };
        bars.push_back(fmt::format(
            "'{}' skip 1 using (${} > 0 ? 0 : NaN):1:({}):({}):($1-0.3):($1+0.3) with boxxyerror "
            "{} notitle",
            file, part.column, part.column == first ? "0" : upto(part.column - 1),
            upto(part.column), look_of_part(part)));
    }
    return text + fmt::format("    plot {}", fmt::join(bars, ", \\\n        "));
}

}  // namespace ukemi::plots
