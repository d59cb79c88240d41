// without_gnuplot.hpp — figures of which only the data and the script are looked at.
#pragma once

#include "plots/figures.hpp"

namespace ukemi {

inline plots::FigureOptions without_gnuplot() {
    return {.pdf = false, .gnuplot = "no-such-gnuplot"};
}

}  // namespace ukemi
