// scaling.cpp — throughput and efficiency against workers, beside as many that never wait.
#include "plots/varied_lines.hpp"

namespace ukemi::plots {

FigureResult draw_scaling(const FigureInput& input, const std::filesystem::path& folder,
                          const FigureOptions& options) {
    if (!input.scaling) return {{}, "scaling: there is nothing to draw"};
    return draw_varied_lines("scaling", {&*input.scaling, 1}, folder, options);
}

}  // namespace ukemi::plots
