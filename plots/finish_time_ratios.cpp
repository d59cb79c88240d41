// finish_time_ratios.cpp — by how much sharing delays jobs: a line a scheduler.
#include "plots/varied_lines.hpp"

namespace ukemi::plots {

FigureResult draw_finish_time_ratios(const FigureInput& input, const std::filesystem::path& folder,
                                     const FigureOptions& options) {
    return draw_varied_lines("finish_time_ratios", input.finish_time_ratios, folder, options);
}

}  // namespace ukemi::plots
