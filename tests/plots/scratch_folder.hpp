// scratch_folder.hpp — a folder to draw into, and whether anything can be drawn.
#pragma once

#include <cstdlib>

#include "tests/scratch_folder.hpp"

namespace ukemi {

// Whether pictures can be drawn here; tests that need them say that they skip.
inline bool gnuplot_is_here() {
    static const bool here = std::system("gnuplot --version >/dev/null 2>&1") == 0;
    return here;
}

}  // namespace ukemi
