#include "plots/legend.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plots/gnuplot.hpp"

namespace ukemi::plots {
namespace {

constexpr double row_height = 19;
constexpr double sample_width = 46;  // and the space between columns
constexpr double margin = 6;
constexpr std::size_t rows_beside = 7;  // of several columns, which are no higher than a panel

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
    if (width < narrow_width && rows_ > rows_beside) rows_ = entries_.size();
}

double Legend::height() const {
    if (place_ == LegendPlace::none) return 0;
    return 2 * margin + row_height * static_cast<double>(rows_);
}

std::string Legend::settings(double width, double height, double free_above) const {
    if (place_ == LegendPlace::none) return "    unset key\n";
    const bool right = place_ == LegendPlace::right;
    const auto columns = static_cast<double>((entries_.size() + rows_ - 1) / rows_);
    const double beside = right ? width - column_ : std::max(0.0, (width - columns * column_) / 2);
    const double y = place_ == LegendPlace::below ? (this->height() - margin) / height
                                                  : 1 - (free_above + margin) / height;
    // Upright, gnuplot breaks a column that is higher than the panel; sideways it does not.
    const std::string order = columns > 1 ? fmt::format("vertical maxrows {}", rows_)
                                          : std::string("horizontal maxcols 1");
    return fmt::format(
        "    set key at screen {},screen {} left top {} Left reverse samplen 2.5 spacing 1.1\n",
        (beside + margin) / width, y, order);
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
