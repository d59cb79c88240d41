#include "analysis/regret.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ukemi::analysis {

void RegretSum::add(const records::RunResult& run) {
    ++runs_;
    known_ = known_ && run.optimum;
    exact_ = exact_ && run.optimum_kind == "exact";
    if (!run.optimum) return;
    optimum_usd_ += to_dollars(*run.optimum);
    if (!run.in_time()) return;
    ++in_time_;
    paid_usd_ += to_dollars(run.cost);
    optimum_of_paid_usd_ += to_dollars(*run.optimum);
}

std::optional<double> RegretSum::percent() const {
    if (!(optimum_of_paid_usd_ > 0)) return std::nullopt;
    return 100 * (paid_usd_ / optimum_of_paid_usd_ - 1);
}

std::optional<OptimumMean> RegretSum::optimum() const {
    if (runs_ == 0 || !known_) return std::nullopt;
    return OptimumMean{optimum_usd_ / static_cast<double>(runs_), exact_};
}

std::optional<OptimumMean> optimum_mean(std::span<const records::RunResult> runs) {
    RegretSum sum;
    for (const records::RunResult& run : runs) sum.add(run);
    return sum.optimum();
}

std::string rounded(double value, int digits) {
    constexpr double written_out_most = 1e9;
    const double size = std::abs(value);
    if (size >= std::pow(10, digits) && size < written_out_most)
        return fmt::format("{:.0f}", value);
    return fmt::format("{:.{}g}", value, digits);
}

std::string regret_text(std::optional<double> percent) {
    if (!percent) return std::string(nothing_to_show);
    if (*percent >= 99'999) return fmt::format("{:.0e}", *percent);
    return fmt::format("{:.{}f}", *percent, *percent < 9'999 ? 1 : 0);
}

std::string_view optimum_name(const OptimumMean& mean) {
    return mean.exact ? "optimum" : "optimum (lower bound)";
}

}  // namespace ukemi::analysis
