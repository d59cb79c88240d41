// variation.cpp — cost and time, or a step, against whatever number was varied.
#include "plots/varied_lines.hpp"

namespace ukemi::plots {

FigureResult draw_variation(const FigureInput& input, const std::filesystem::path& folder,
                            const FigureOptions& options) {
    return draw_varied_lines("variation", input.variations, folder, options);
}

}  // namespace ukemi::plots
