// fit_jobs.cpp — reads a workload, fits its generator, and says how well that fits.
#include "cli/fit_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/output_folder.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "traces/workload_model.hpp"

namespace ukemi::cli {

namespace {

constexpr std::size_t jobs_least = 200;
constexpr Duration time_least = days(2);

std::vector<traces::WorkloadRow> read_fittable(std::span<const std::string> files) {
    const std::vector<std::filesystem::path> paths(files.begin(), files.end());
    std::vector<traces::WorkloadRow> rows =
        traces::read_workloads(paths, traces::WorkloadZero::midnight);
    const std::string& file = files.front();
    const auto unknown = [](const traces::WorkloadRow& row) { return row.service <= Duration{}; };
    if (std::ranges::any_of(rows, unknown)) {
        throw InputError(file, "", "expected jobs that say how long they ran, not applications");
    }
    const Duration time = rows.empty() ? Duration{} : rows.back().arrival - rows.front().arrival;
    if (rows.size() < jobs_least || time < time_least) {
        throw InputError(
            file, "",
            fmt::format("expected at least {} jobs over {}, found {} over {}", jobs_least,
                        format_duration(time_least), rows.size(), format_duration(time)));
    }
    return rows;
}

std::string check_table(const traces::WorkloadCheck& check) {
    std::string text = fmt::format(
        "Fitted to the first 70 % of the time ({} jobs), beside the rest ({} jobs): largest\n"
        "difference of distribution functions (Kolmogorov and Smirnov), ten draws in the mean\n\n"
        "{:<30}{:>8}{:>8}\n",
        check.fitted_jobs, check.kept_jobs, "", "fitted", "naive");
    for (const traces::WorkloadDistance& one : check.distances) {
        text += fmt::format("{:<30}{:>8.3f}{:>8.3f}\n", one.quantity, one.fitted, one.naive);
    }
    return text +
           "\nnaive: Poisson arrivals at the mean rate, exponential times of the mean, the mean "
           "number of GPUs\n";
}

}  // namespace

void fit_jobs(const FitJobsRequest& request) {
    if (request.files.empty()) {
        throw InputError("TRACE", "", "missing: expected files of a workload after --jobs");
    }
    std::optional<analysis::OutputFile> out;
    if (!request.out.empty()) out.emplace(request.out, request.force);
    const std::vector<traces::WorkloadRow> rows = read_fittable(request.files);
    const std::string text = traces::to_json(traces::fit_workload(rows, request.name));
    if (!out) {
        fmt::print("{}", text);
        return;
    }
    const std::string table = check_table(traces::check_workload_fit(rows));
    out->write(text);
    fmt::print("{}wrote {}: all {} jobs\n", table, one_line(request.out), rows.size());
}

}  // namespace ukemi::cli
