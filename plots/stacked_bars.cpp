#include "plots/stacked_bars.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plots/legend.hpp"
#include "plots/panels.hpp"

namespace ukemi::plots {
namespace {

// From where to where a bar goes in its row, which is one high; greater is lower.
struct BarHeight {
    double from = -0.3;
    double to = 0.3;
};
constexpr BarHeight upper_bar{-0.36, 0.1};
constexpr BarHeight thin_bar{0.17, 0.36};

std::string look_of_part(const BarPart& part) {
    return fmt::format("lw 0.5 lc rgb '{}' fs {} border lc rgb '{}'", part.fill.colour,
                       part.fill.style, colour::black);
}

std::vector<LegendEntry> entries_of(const BarPanel& panel) {
    std::vector<LegendEntry> entries;
    for (const std::vector<BarPart>* parts : {&panel.parts, &panel.other_parts}) {
        for (const BarPart& part : *parts) {
            const bool again =
                parts == &panel.other_parts &&
                std::ranges::find(panel.parts, part.title, &BarPart::title) != panel.parts.end();
            if (again) continue;
            entries.push_back(own_entry(part.title, "boxes " + look_of_part(part)));
        }
    }
    return entries;
}

// Up to where the axis goes, so that all texts have room in a panel of so many pixels.
double bars_end(std::span<const BarEnd> ends, double pixels) {
    double longest = 0;
    double longest_text = 0;
    for (const BarEnd& end : ends) {
        longest = std::max(longest, end.value);
        longest_text = std::max(longest_text, label_width(end.text) + 12);
    }
    return (longest > 0 ? longest : 1) / (1 - std::min(0.6, longest_text / pixels));
}

// What the parts add up to, in the words of gnuplot.
std::string sum_of(std::span<const BarPart> parts, double factor) {
    if (parts.empty()) return "0";
    const std::size_t first = parts.front().column;
    const std::size_t last = parts.back().column;
    if (last == first + parts.size() - 1) {
        return fmt::format("{}*(sum [c={}:{}] column(c))", factor, first, last);
    }
    std::string columns;
    for (const BarPart& part : parts) {
        columns += fmt::format("{}${}", columns.empty() ? "" : "+", part.column);
    }
    return fmt::format("{}*({})", factor, columns);
}

void add_bars(std::vector<std::string>& bars, const std::string& file,
              std::span<const BarPart> parts, const BarHeight& height, double factor) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const BarPart& part = parts[i];
        bars.push_back(fmt::format(
            "'{}' skip 1 using (${} > 0 ? 0 : NaN):1:({}):({}):($1{:+}):($1{:+}) with boxxyerror "
            "{} notitle",
            file, part.column, sum_of(parts.first(i), factor), sum_of(parts.first(i + 1), factor),
            height.from, height.to, look_of_part(part)));
    }
}

// The texts at the ends, the axis, and the plot.
std::string drawing_of(const std::string& file, const BarPanel& panel, double pixels) {
    const bool two = !panel.other_parts.empty();
    const BarHeight height = two ? upper_bar : BarHeight{};
    std::string text = fmt::format("    set xlabel '{}'\n", panel.axis);
    for (std::size_t i = 0; i < panel.ends.size(); ++i) {
        text += fmt::format("    set label {} {} at {},{} left boxed offset 0.8,0\n", i + 1,
                            gnuplot_string(panel.ends[i].text), panel.ends[i].value,
                            static_cast<double>(i) + (height.from + height.to) / 2);
    }
    const double end = bars_end(panel.ends, pixels);
    text += fmt::format("    set xrange [0:{}]\n    set xtics {}\n", end,
                        tic_step(end, tics_on(pixels)));
    std::vector<std::string> bars;
    add_bars(bars, file, panel.parts, height, panel.factor);
    add_bars(bars, file, panel.other_parts, thin_bar, panel.factor);
    return text + fmt::format("    plot {}", fmt::join(bars, ", \\\n        "));
}

}  // namespace

FigureSource bars_figure(const std::string& name, std::string table, const RowLayout& layout,
                         std::span<const BarPanel> panels, const FigureStyle& style) {
    const Legend legend(style.place(LegendPlace::above), entries_of(panels.front()),
                        layout.width - 20);
    Panels places;
    places.width = layout.width;
    places.left = layout.left;
    places.high = layout.high;
    places.count = panels.size();
    places.make_room(legend);
    const std::string file = name + ".csv";
    FigureSource figure;
    figure.name = name;
    figure.width = layout.width;
    figure.height = places.height();
    figure.data = {{file, std::move(table)}};
    figure.settings = layout.settings +
                      "set border 3 lw 0.8\nset style textbox opaque noborder margins 0.2,0.2\n"
                      "set grid x lt 1 lw 0.6 lc rgb '#dddddd'\n"
                      "set xtics nomirror out format '%g'\n";
    figure.drawing =
        "    set multiplot\n" + legend.settings(figure.width, figure.height, places.above);
    for (std::size_t i = 0; i < panels.size(); ++i) {
        figure.drawing += places.margins(i);
        if (i == 0 || places.stacked()) figure.drawing += layout.names;
        figure.drawing += drawing_of(file, panels[i], places.wide());
        if (i == 0) figure.drawing += legend.plots();
        figure.drawing += "\n    unset label\n    unset key\n";
    }
    figure.drawing += "    unset multiplot\n";
    return figure;
}

}  // namespace ukemi::plots
