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
    double high = 0;    // one panel
    std::size_t count = 1;
    double wide_min = 300;  // of a panel that stands beside another
    double legend_above = 0;
    double legend_below = 0;

    void make_room(const Legend& legend);
    bool stacked() const;
    int height() const;  // of the picture
    std::string margins(std::size_t panel) const;
    // Of the room that panels have, in pixels.
    double wide() const;
};

}  // namespace ukemi::plots
