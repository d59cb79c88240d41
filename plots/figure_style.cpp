#include "plots/figure_style.hpp"

#include <algorithm>
#include <cmath>

namespace ukemi::plots {

bool FigureStyle::shows(std::string_view figure, std::string_view panel,
                        std::string_view file) const {
    if (only.empty()) return true;
    return std::ranges::any_of(only, [&](std::string_view one) {
        const bool names_file =
            one.starts_with(figure) && one.substr(figure.size()).starts_with('-');
        if (names_file) return file.empty() || one == file;
        const std::size_t slash = one.find('/');
        if (slash == std::string_view::npos) return one == figure || one == panel;
        return one.substr(0, slash) == figure && one.substr(slash + 1) == panel;
    });
}

double FigureStyle::scale() const { return font_pt ? *font_pt / standard_font_pt : 1; }

int FigureStyle::width(int usual) const {
    const double pixels = width_in ? *width_in * pixels_per_inch : usual;
    return std::max(200, static_cast<int>(std::lround(pixels / scale())));
}

LegendPlace FigureStyle::place(LegendPlace usual) const {
    return legend == LegendPlace::usual ? usual : legend;
}

}  // namespace ukemi::plots
