// found_over_time.cpp — the best trial that each searcher had found, over time.
#include "plots/varied_lines.hpp"

namespace ukemi::plots {

FigureResult draw_found_over_time(const FigureInput& input, const std::filesystem::path& folder,
                                  const FigureOptions& options) {
    return draw_varied_lines("found_over_time", input.found, folder, options);
}

}  // namespace ukemi::plots
