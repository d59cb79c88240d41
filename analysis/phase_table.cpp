// phase_table.cpp — what transitions cost by phase, under the table of policies.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "analysis/phase_means.hpp"
#include "analysis/table.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t label_width = 100;

std::string numbers(const PhaseNumbers& values, double factor) {
    std::string text;
    double sum = 0;
    for (std::size_t phase = 1; phase < values.size(); ++phase) {
        text += fmt::format(" {:>8.4g}", values[phase] * factor);
        sum += values[phase] * factor;
    }
    return text + fmt::format(" {:>8.4g}\n", sum);
}

}  // namespace

std::string phase_table(std::span<const records::RunResult> runs) {
    const std::vector<PhaseMeans> rows = phase_means(runs);
    if (rows.empty()) return {};
    std::string text = fmt::format("\n{:<37}", "transitions by phase, mean of a run");
    for (const std::string_view name :
         {"notice", "drain", "spawn", "rendez.", "transfer", "warm_up", "sum"}) {
        text += fmt::format(" {:>8}", name);
    }
    text += "\n";
    double longest_h = 0;
    for (const PhaseMeans& row : rows) {
        longest_h = std::max(longest_h,
                             std::accumulate(row.machine_h.begin() + 1, row.machine_h.end(), 0.0));
    }
    const TimeUnit unit = table_time_unit(longest_h);
    std::string variant;
    for (const PhaseMeans& row : rows) {
        if (row.variant != variant) {
            text += fmt::format("{}\n", shortened(row.variant, label_width));
        }
        variant = row.variant;
        text += fmt::format("{}: {:.4g} times\n", shortened(row.policy, label_width - 20),
                            row.transitions);
        text += fmt::format("{:>37}", "group stands still, s") + numbers(row.standstill_s, 1);
        text += fmt::format("{:>37}", fmt::format("machines kept busy, {}", unit.symbol)) +
                numbers(row.machine_h, unit.per_hour);
    }
    return text;
}

}  // namespace ukemi::analysis
