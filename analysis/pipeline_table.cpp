// pipeline_table.cpp — what became of pipelines, under the table of policies.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/table.hpp"
#include "base/plain_text.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t pipeline_name_width = 44;

struct PipelineMeans {  // sums, until they are divided
    std::string name;   // of the policy, and of the variant
    double runs = 0;
    double meetings = 0;
    double takeovers = 0;
    double fatal_failures = 0;
    double samples_per_s = 0;  // from the first group to the last step
    double usd_per_h = 0;      // of the whole run
};

void add(PipelineMeans& sums, const records::RunResult& run) {
    ++sums.runs;
    sums.meetings += static_cast<double>(run.pipelines->meetings);
    sums.takeovers += static_cast<double>(run.pipelines->takeovers);
    sums.fatal_failures += static_cast<double>(run.pipelines->fatal_failures);
    if (run.trained) {
        const Duration trained = run.trained->second - run.trained->first;
        sums.samples_per_s += static_cast<double>(run.samples_done) / to_seconds(trained);
    }
    if (run.duration > Duration{}) sums.usd_per_h += to_dollars(run.cost) / to_hours(run.duration);
}

}  // namespace

std::string pipeline_table(std::span<const records::RunResult> runs) {
    std::vector<PipelineMeans> rows;
    for (const records::RunResult& run : runs) {
        if (!run.pipelines) continue;
        const std::string variant = scenarios::variant_label(run.varied);
        const std::string name = variant.empty() ? run.policy : variant + ": " + run.policy;
        auto row = std::ranges::find(rows, name, &PipelineMeans::name);
        if (row == rows.end()) row = rows.insert(rows.end(), {name});
        add(*row, run);
    }
    if (rows.empty()) return {};
    std::string text = fmt::format("\n{:<{}} {:>8} {:>9} {:>8} {:>10} {:>14}\n",
                                   "pipelines, mean of a run", pipeline_name_width, "meetings",
                                   "takeovers", "fatal", "samples/s", "per USD/h");
    for (const PipelineMeans& row : rows) {
        const double rate = row.samples_per_s / row.runs;
        const double value = row.usd_per_h > 0 ? row.samples_per_s / row.usd_per_h : 0;
        text += fmt::format("{:<{}} {:>8.4g} {:>9.4g} {:>8.4g} {:>10.4g} {:>14.4g}\n",
                            shortened(row.name, pipeline_name_width), pipeline_name_width,
                            row.meetings / row.runs, row.takeovers / row.runs,
                            row.fatal_failures / row.runs, rate, value);
    }
    return text;
}

}  // namespace ukemi::analysis
