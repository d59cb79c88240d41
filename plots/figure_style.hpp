// figure_style.hpp — how every figure looks: its width, its letters, its legend, which panels.
//
// Figures are laid out in pixels of which a letter of the standard size has 13. A picture of a
// given width has fewer of them where letters are larger, so that nothing in a figure asks for the
// size of its letters: it asks how wide it is, and puts side by side what fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::plots {

enum class LegendPlace : std::uint8_t { usual, above, below, right, none };

struct FigureStyle {
    std::optional<double> width_in;
    std::optional<double> font_pt;
    LegendPlace legend = LegendPlace::usual;
    // Names of figures, of panels, of both as "figure/panel", or of one file of a figure:
    // "figure-2". Empty: all.
    std::vector<std::string> only;

    // A panel in one of the figure's files; without that, in any.
    bool shows(std::string_view figure, std::string_view panel, std::string_view file = {}) const;
    double scale() const;        // of the letters
    int width(int usual) const;  // in pixels of the layout, at least 200
    LegendPlace place(LegendPlace usual) const;
};

inline constexpr double pixels_per_inch = 100;  // at the standard size of letters
inline constexpr double standard_font_pt = 9.4;

// What there is no room for beside something else, in pixels of the layout.
inline constexpr int narrow_width = 640;

}  // namespace ukemi::plots
