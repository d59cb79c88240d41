// legend.hpp — the keys of a figure, at one place of it, and the room that they take there.
//
// Lines and bars are drawn without keys; the legend has an entry for each, drawn with one panel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plots/figure_style.hpp"

namespace ukemi::plots {

struct LegendEntry {
    std::string text;   // as it is shown
    std::string title;  // to gnuplot: a quoted text, or an element of an array of the settings
    std::string look;   // "lines lt 1 lw 2 lc rgb '#0072b2'"
    std::string_view data = "NaN";
};
// What gnuplot wants to be given where a key is to have error bars.
inline constexpr std::string_view no_bars = "'+' using (NaN):(NaN):(NaN):(NaN)";
// Of a text that is the program's own.
LegendEntry own_entry(std::string_view text, std::string look, std::string_view data = "NaN");

class Legend {
public:
    // At most `width` wide unless it is on the right, where it is as wide as its texts.
    Legend(LegendPlace place, std::vector<LegendEntry> entries, double width);

    // Pixels that it takes from each side of the picture.
    double above() const { return place_ == LegendPlace::above ? height() : 0; }
    double below() const { return place_ == LegendPlace::below ? height() : 0; }
    double right() const { return place_ == LegendPlace::right ? column_ : 0; }
    double height() const;  // of the keys, wherever they are

    // Commands for the panel that draws it: where the keys stand in a picture of this size, with
    // so many pixels free above them.
    std::string settings(double width, double height, double free_above) const;
    // What follows the last plot of that panel, beginning with a comma; empty without a legend.
    std::string plots() const;

private:
    LegendPlace place_;
    std::vector<LegendEntry> entries_;
    double column_ = 0;  // width of one
    std::size_t rows_ = 0;
};

}  // namespace ukemi::plots
