// regret.hpp — what runs paid beside the optimum of their markets.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "records/run_result.hpp"

namespace ukemi::analysis {

struct OptimumMean {
    double usd = 0;
    bool exact = false;  // each of them
};

// Adds up runs and their optima.
class RegretSum {
public:
    void add(const records::RunResult& run);
    // Of those that were in time: how much more they paid together than their optima together, in
    // %. Empty if there are none, or the optima are zero.
    std::optional<double> percent() const;
    // How many those are.
    std::size_t runs_in_time() const { return in_time_; }
    // Over the markets of all runs. Empty if there is a run without one.
    std::optional<OptimumMean> optimum() const;

private:
    double paid_usd_ = 0;
    double optimum_of_paid_usd_ = 0;
    double optimum_usd_ = 0;
    std::size_t runs_ = 0;
    std::size_t in_time_ = 0;  // with an optimum
    bool known_ = true;
    bool exact_ = true;
};

std::optional<OptimumMean> optimum_mean(std::span<const records::RunResult> runs);

// What tables show where there is nothing to show.
inline constexpr std::string_view nothing_to_show = "\u2013";
// So many digits that count, and all before the point up to 10^9: 1.53, 16245, not 1.62e+04.
std::string rounded(double value, int digits);
std::string regret_text(std::optional<double> percent);  // "7.3"
std::string_view optimum_name(const OptimumMean& mean);  // of its line in a table

}  // namespace ukemi::analysis
