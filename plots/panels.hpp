// panels.hpp — panels of one height: side by side where the picture is wide enough, else below each
// other; above them a title and perhaps a legend, which may stand below or on the right as well.
#pragma once

#include <string>
#include <vector>

#include "plots/legend.hpp"

namespace ukemi::plots {

struct Panels {
    int width = 0;
    double left = 0;  // pixels; of each panel where they are stacked
    double right = 12;
    double above = 8;   // without the legend
    double below = 58;  // tics and the axis' name, of each panel where they are stacked
    double gap = 24;    // between panels side by side
    // On the right of each panel, for what stands there; of panels that are not named, none.
    std::vector<double> beside = {};
    double high = 0;  // one panel
    std::size_t count = 1;
    double wide_min = 300;  // of a panel that stands beside another
    double legend_above = 0;
    double legend_below = 0;

    void make_room(const Legend& legend);
    bool stacked() const;
    int height() const;  // of the picture
    std::string margins(std::size_t panel) const;
    double wide() const;  // of one panel, in pixels

private:
    double beside_of(std::size_t panel) const;
    double wide_side_by_side() const;
};

}  // namespace ukemi::plots
