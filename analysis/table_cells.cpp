#include "analysis/table_cells.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ukemi::analysis {

std::string fitted(double value, int decimals, std::size_t width) {
    for (; decimals >= 0; --decimals) {
        std::string text = fmt::format("{:.{}f}", value, decimals);
        if (text.size() <= width) return text;
    }
    return fmt::format("{:.0e}", value);
}

std::string fitted_usd(double usd, std::size_t width) {
    const double size = std::abs(usd);
    constexpr double few = 0.0995;
    if (size == 0 || !(size < few)) return fitted(usd, 2, width);
    const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
    const std::string text = fitted(usd, decimals, width);
    const bool says_nothing = text.find_first_of("123456789") == std::string::npos;
    return says_nothing ? fmt::format("{:.0e}", usd) : text;
}

std::string fitted_usd_change(double usd, std::size_t width) {
    return std::signbit(usd) ? fitted_usd(usd, width) : "+" + fitted_usd(usd, width - 1);
}

}  // namespace ukemi::analysis
