#include "plots/legend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr double row_height = 19;
constexpr double sample_width = 46;  // and the space between columns
constexpr double margin = 6;

}  // namespace

LegendEntry own_entry(std::string_view text, std::string look, std::string_view data) {
    return {std::string(text), gnuplot_string(text), std::move(look), data};
}

Legend::Legend(LegendPlace place, std::vector<LegendEntry> entries, double width)
    : place_(entries.empty() ? LegendPlace::none : place), entries_(std::move(entries)) {
    for (const LegendEntry& entry : entries_) {
        column_ = std::max(column_, label_width(entry.text) + sample_width);
    }
    const std::size_t fit =
        place_ == LegendPlace::right
            ? 1
            : std::max<std::size_t>(1, static_cast<std::size_t>(width / std::max(column_, 1.0)));
    rows_ = (entries_.size() + fit - 1) / fit;
}

double Legend::height() const {
    if (place_ == LegendPlace::none) return 0;
    return 2 * margin + row_height * static_cast<double>(rows_);
}

std::string Legend::settings(double width, double height, double free_above) const {
    if (place_ == LegendPlace::none) return "    unset key\n";
    const bool right = place_ == LegendPlace::right;
    const double x = right ? 1 - (column_ - margin) / width : 0.5;
    const double y = place_ == LegendPlace::below ? (this->height() - margin) / height
                                                  : 1 - (free_above + margin) / height;
    return fmt::format(
        "    set key at screen {},screen {} {} top vertical maxrows {} Left reverse samplen 2.5 "
        "spacing 1.1\n",
        x, y, right ? "left" : "center", rows_);
}

std::string Legend::plots() const {
    if (place_ == LegendPlace::none) return {};
    std::string text;
    for (const LegendEntry& entry : entries_) {
        text +=
            fmt::format(", \\\n        {} with {} title {}", entry.data, entry.look, entry.title);
    }
    return text;
}

}  // namespace ukemi::plots
