// phase_table.cpp — what transitions cost by phase, under the table of policies.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/plain_text.hpp"
#include "cli/table.hpp"
#include "scenarios/variants.hpp"

namespace ukemi {

namespace {

constexpr std::size_t table_width = 100;

struct PhaseRow {
    const RunResult* first = nullptr;  // of the runs that it stands for
    double runs = 0;
    double transitions = 0;
    std::array<double, transition_phase_count> standstill_s{};
    std::array<double, transition_phase_count> instance_h{};
};

std::vector<PhaseRow> rows_of(std::span<const RunResult> runs) {
    std::vector<PhaseRow> rows;
    for (const RunResult& run : runs) {
        if (!run.phases) continue;
        auto row = std::ranges::find_if(rows, [&](const PhaseRow& one) {
            return one.first->policy == run.policy && one.first->varied == run.varied;
        });
        if (row == rows.end()) {
            rows.emplace_back();
            row = rows.end() - 1;
            row->first = &run;
        }
        ++row->runs;
        row->transitions += static_cast<double>(run.transitions);
        for (std::size_t phase = 0; phase < transition_phase_count; ++phase) {
            row->standstill_s[phase] += to_seconds((*run.phases)[phase].standstill);
            row->instance_h[phase] += to_hours((*run.phases)[phase].instance_time);
        }
    }
    return rows;
}

std::string numbers(const std::array<double, transition_phase_count>& values, double runs) {
    std::string text;
    double sum = 0;
    for (std::size_t phase = 1; phase < values.size(); ++phase) {
        text += fmt::format(" {:>8.4g}", values[phase] / runs);
        sum += values[phase] / runs;
    }
    return text + fmt::format(" {:>8.4g}\n", sum);
}

}  // namespace

std::string phase_table(std::span<const RunResult> runs) {
    const std::vector<PhaseRow> rows = rows_of(runs);
    if (rows.empty()) return {};
    std::string text = fmt::format("\n{:<37}", "transitions by phase, mean of a run");
    for (const std::string_view name :
         {"notice", "drain", "spawn", "rendez.", "transfer", "warm_up", "sum"}) {
        text += fmt::format(" {:>8}", name);
    }
    text += "\n";
    std::string variant;
    for (const PhaseRow& row : rows) {
        const std::string label = variant_label(row.first->varied);
        if (label != variant) text += fmt::format("{}\n", shortened(label, table_width));
        variant = label;
        const std::string name = short_label(row.first->policy);
        text += fmt::format("{}: {:.4g} times\n", shortened(name, table_width - 20),
                            row.transitions / row.runs);
        text += fmt::format("{:>37}", "group stands still, s");
        text += numbers(row.standstill_s, row.runs);
        text += fmt::format("{:>37}", "machines kept busy, h");
        text += numbers(row.instance_h, row.runs);
    }
    return text;
}

}  // namespace ukemi
