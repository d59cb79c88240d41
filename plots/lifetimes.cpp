// lifetimes.cpp — how long instances, and runs with any, last.
#include "plots/survival_curves.hpp"

namespace ukemi::plots {

FigureResult draw_lifetimes(const FigureInput& input, const std::filesystem::path& folder,
                            const FigureOptions& options) {
    return draw_survival_curves("lifetimes", input.survivals, folder, options);
}

}  // namespace ukemi::plots
