#include "sim/learning/recorded_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/statistics.hpp"
#include "sim/learning/fit.hpp"
#include "sim/learning/published_learning.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::sim {
namespace {

std::optional<double> number_in(std::string_view field) {
    double value = 0;
    const char* const end = field.data() + field.size();
    const auto [stopped, error] = std::from_chars(field.data(), end, value);
    if (error != std::errc{} || stopped != end || !std::isfinite(value)) return std::nullopt;
    return value;
}

double needed(const traces::CsvScanner& rows, std::size_t column,
              const std::filesystem::path& file) {
    if (const auto value = number_in(rows.field(column))) return *value;
    throw InputError(
        file.string(), "",
        fmt::format("expected a number in column \"{}\" of row {}, found {}", rows.header(column),
                    rows.rows(), ukemi::quoted(rows.field(column))));
}

// "name" of "name.csv" and "name.csv.gz"; empty for other files.
std::string stem_of_csv(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    for (const std::string_view end : {".csv", ".csv.gz"}) {
        if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
    }
    return {};
}

// BATCH of "validation-BATCH"; nothing for other names.
std::optional<std::int64_t> batch_of_name(const std::string& stem) {
    constexpr std::string_view begins = "validation-";
    if (!stem.starts_with(begins)) return std::nullopt;
    const auto batch = number_in(std::string_view(stem).substr(begins.size()));
    if (!batch || *batch < 1 || *batch > 1e9 || *batch != std::floor(*batch)) return std::nullopt;
    return static_cast<std::int64_t>(*batch);
}

RecordedRun read_run(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    traces::CsvScanner rows(text, file.string());
    rows.read_header();
    const std::size_t progress = rows.column("progress");
    const std::size_t steps = rows.column("iteration");
    const std::size_t squared = rows.column_if_present("grad_sqr");
    RecordedRun run;
    while (rows.next_row()) {
        RecordedStatistics row;
        row.progress_steps = needed(rows, progress, file);
        row.steps = needed(rows, steps, file);
        if (squared != traces::CsvScanner::no_column) {
            row.squared_norm = needed(rows, squared, file);
        }
        const RecordedStatistics before = run.rows.empty() ? RecordedStatistics{} : run.rows.back();
        if (!(row.progress_steps > before.progress_steps && row.steps > before.steps)) {
            throw InputError(
                file.string(), "",
                fmt::format("expected progress and iterations that rise, row {}", rows.rows()));
        }
        run.rows.push_back(row);
    }
    if (run.rows.empty()) throw InputError(file.string(), "", "expected rows, found none");
    return run;
}

}  // namespace

std::vector<std::filesystem::path> sorted_entries(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> entries;
    if (!std::filesystem::is_directory(folder)) return entries;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        entries.push_back(entry.path());
    }
    std::ranges::sort(entries);
    return entries;
}

RecordedRuns recorded_runs(const std::filesystem::path& folder) {
    RecordedRuns runs;
    for (const std::filesystem::path& file : sorted_entries(folder)) {
        const auto batch = batch_of_name(stem_of_csv(file));
        if (batch) runs[*batch] = read_run(file);
    }
    return runs;
}

NoiseScaleLaw law_of_runs(const RecordedRuns& runs) {
    INVARIANT(runs.size() >= 2);
    const auto& [reference, smallest] = *runs.begin();
    const auto& [batch, largest] = *runs.rbegin();
    std::vector<RecordedProgress> rows;
    for (const RecordedStatistics& row : largest.rows) {
        rows.push_back({row.progress_steps, row.steps, row.squared_norm});
    }
    NoiseScaleLaw law;
    law.samples =
        round_nearest(smallest.rows.back().progress_steps * static_cast<double>(reference));
    law.reference_batch = reference;
    law.noise_exponent = measured_noise_exponent;
    law.noise = noise_scale_from_run(rows, batch, reference, law.noise_exponent);
    return law;
}

std::vector<LearningTable> pollux_iterations(const std::filesystem::path& folder,
                                             std::vector<std::string>* left_out) {
    std::vector<LearningTable> tables;
    for (const std::filesystem::path& model : sorted_entries(folder)) {
        if (!std::filesystem::is_directory(model)) continue;
        const RecordedRuns runs = recorded_runs(model);
        if (runs.size() < 3) {
            if (left_out != nullptr && !runs.empty()) {
                left_out->push_back(
                    fmt::format("{}: it has {} of the three batches that are needed",
                                model.string(), runs.size()));
            }
            continue;
        }
        const std::int64_t reference = runs.begin()->first;
        const std::int64_t largest = runs.rbegin()->first;
        NoiseScaleLaw law = law_of_runs(runs);
        const std::string name = model.filename().string();
        const bool seen = name == "imagenet" || name == "cifar10";  // when the exponent was chosen
        LearningTable table;
        table.title = fmt::format("Pollux, {}: iterations to the end of each recorded run", name);
        table.note = fmt::format(
            "the noise scale fitted on {} and {}; it goes with the temperature to the power of "
            "-{}, "
            "which was chosen with imagenet and cifar10 in sight",
            reference, largest, measured_noise_exponent);
        const auto steps_at = [&](std::int64_t batch) {
            return std::pair(static_cast<double>(batch), runs.at(batch).rows.back().steps);
        };
        for (const auto& [batch, run] : runs) {
            // Each run ends a little after the same progress.
            const RecordedStatistics& end = run.rows.back();
            law.samples = round_nearest(end.progress_steps * static_cast<double>(reference));
            const auto steps = steps_to_target(*make_noise_scale_law(law), 0, {batch, 0});
            if (!steps) continue;
            LearningRow& row =
                table.rows.emplace_back(LearningRow{fmt::format("{} at {}", name, batch), end.steps,
                                                    static_cast<double>(*steps), FitRole::fitted});
            if (batch == reference || batch == largest) continue;
            row.role = seen ? FitRole::chosen_after_seeing : FitRole::predicted;
            row.naive =
                on_log_line({steps_at(reference), steps_at(largest)}, static_cast<double>(batch));
        }
        table.naive = log_line_name;
        tables.push_back(std::move(table));
    }
    return tables;
}

std::map<double, double> compute_medians(const std::filesystem::path& file) {
    const std::string text = read_text_file(file);
    traces::CsvScanner rows(text, file.string());
    rows.read_header();
    const std::size_t batch = rows.column("local_bsz");
    const std::size_t step = rows.column("step_time");
    const std::size_t sync = rows.column("sync_time");
    std::map<double, std::vector<double>> times;
    while (rows.next_row()) {
        const double compute = needed(rows, step, file) - needed(rows, sync, file);
        if (compute > 0) times[needed(rows, batch, file)].push_back(compute);
    }
    std::map<double, double> medians;
    for (const auto& [size, values] : times) medians[size] = median(values);
    return medians;
}

// The time at a batch from those at all others: of the line through them and the line through the
// nearest two, both axes logarithmic, the one that misses the others less, each left out in turn.
double time_from_others(std::map<double, double> points, double batch) {
    points.erase(batch);
    double line_off = 0;
    double nearest_off = 0;
    if (points.size() > 2) {
        for (const auto& [other, time_s] : points) {
            line_off += std::abs(relative_line(points, other).at(other) / time_s - 1);
            nearest_off += std::abs(on_log_line(points, other) / time_s - 1);
        }
    }
    return line_off <= nearest_off ? relative_line(points).at(batch) : on_log_line(points, batch);
}

std::vector<LearningTable> step_compute_times(const std::filesystem::path& folder) {
    std::vector<LearningTable> tables;
    for (const std::filesystem::path& model : sorted_entries(folder)) {
        for (const std::filesystem::path& file : sorted_entries(model)) {
            const std::string stem = stem_of_csv(file);
            if (!stem.starts_with("scalability")) continue;
            const std::map<double, double> medians = compute_medians(file);
            if (medians.size() < 3) continue;
            const BatchLine all = relative_line(medians);
            LearningTable table;
            table.title =
                fmt::format("{}, {}: compute time of a step, s", model.filename().string(), stem);
            table.note = fmt::format(
                "each batch from all others: from the line through them (of all: {:.4g} + {:.4g} a "
                "sample, least relative errors squared) or through the nearest two, whichever "
                "misses these less",
                all.at_zero, all.slope);
            for (const auto& [batch, time_s] : medians) {
                table.rows.push_back({fmt::format("{:.0f} a GPU", batch), time_s,
                                      time_from_others(medians, batch),
                                      FitRole::chosen_after_seeing, on_log_line(medians, batch)});
            }
            table.naive = "the line through the nearest two others, both axes logarithmic";
            tables.push_back(std::move(table));
        }
    }
    return tables;
}

namespace {

using EpochsOfRuns = std::map<std::int64_t, std::vector<std::optional<double>>>;  // by batch

bool all_arrive(const EpochsOfRuns& batches) {
    return std::ranges::all_of(batches, [](const auto& batch) {
        return std::ranges::all_of(batch.second, [](const auto& run) { return run.has_value(); });
    });
}

std::map<std::int64_t, double> means_of(const EpochsOfRuns& batches) {
    std::map<std::int64_t, double> means;
    for (const auto& [batch, runs] : batches) {
        double sum = 0;
        for (const auto& run : runs) sum += *run;
        means[batch] = sum / static_cast<double>(runs.size());
    }
    return means;
}

// The mean of all other batches: epochs that do not depend on the batch.
double mean_of_others(const std::map<std::int64_t, double>& means, std::int64_t without) {
    double sum = 0;
    for (const auto& [batch, epochs] : means) sum += batch == without ? 0 : epochs;
    return sum / static_cast<double>(means.size() - 1);
}
constexpr const char* mean_of_others_name = "the mean of the other batches";

LearningTable neighbours_table(const std::string& title,
                               const std::map<std::int64_t, double>& means) {
    LearningTable table;
    table.title = title + ", by the batches beside";
    table.note =
        "nothing fitted: each batch on the line between the nearest two others, both axes "
        "logarithmic; the first and the last lie beyond them";
    std::map<double, double> points;
    for (const auto& [batch, epochs] : means) points[static_cast<double>(batch)] = epochs;
    for (const auto& [batch, epochs] : means) {
        table.rows.push_back({fmt::format("batch {}", batch), epochs,
                              on_log_line(points, static_cast<double>(batch)), FitRole::predicted,
                              mean_of_others(means, batch)});
    }
    table.naive = mean_of_others_name;
    return table;
}

LearningTable law_table(const std::string& title, const std::map<std::int64_t, double>& means) {
    LearningTable table;
    table.title = title;
    const std::map<double, double> points(means.begin(), means.end());
    const BatchLine all = relative_line(points);
    // A slope that is no more than rounding is none.
    const bool rises = all.slope * static_cast<double>(means.rbegin()->first) > 1e-6 * all.at_zero;
    table.note = rises ? fmt::format(
                             "each batch from a fit on all others (on all: {:.2f} epochs "
                             "at least, B_crit {:.0f})",
                             all.at_zero, all.at_zero / all.slope)
                       : "each batch from a fit on all others; epochs do not grow with the batch "
                         "here, so the law is a constant";
    for (const auto& [batch, epochs] : means) {
        const BatchLine others = relative_line(points, static_cast<double>(batch));
        table.rows.push_back({fmt::format("batch {}", batch), epochs,
                              others.at(static_cast<double>(batch)), FitRole::predicted,
                              mean_of_others(means, batch)});
    }
    table.naive = mean_of_others_name;
    return table;
}

}  // namespace

std::vector<LearningTable> zeus_epochs(const std::filesystem::path& file,
                                       std::vector<std::string>* left_out) {
    const std::string text = read_text_file(file);
    traces::CsvScanner rows(text, file.string());
    rows.read_header();
    const std::size_t batch = rows.column("batch_size");
    const std::size_t target = rows.column("target_metric");
    const std::size_t epoch = rows.column("target_epoch");
    const std::array<std::size_t, 3> names{rows.column("dataset"), rows.column("network"),
                                           rows.column("optimizer")};
    std::map<std::string, std::map<double, EpochsOfRuns>> tasks;
    while (rows.next_row()) {
        const std::string task = fmt::format("{} on {} ({})", rows.field(names[1]),
                                             rows.field(names[0]), rows.field(names[2]));
        const double size = needed(rows, batch, file);
        if (!(size >= 1 && size <= 1e9)) continue;
        tasks[task][needed(rows, target, file)][static_cast<std::int64_t>(size)].push_back(
            number_in(rows.field(epoch)));
    }
    std::vector<LearningTable> tables;
    for (const auto& [task, targets] : tasks) {
        // The hardest is the one that takes longest: some metrics fall.
        std::pair<double, std::map<std::int64_t, double>> hardest;
        double longest = 0;
        for (const auto& [value, batches] : targets) {
            if (batches.size() < 4 || !all_arrive(batches)) continue;
            const auto means = means_of(batches);
            double sum = 0;
            for (const auto& [_, epochs] : means) sum += epochs;
            if (sum <= longest) continue;
            longest = sum;
            hardest = {value, means};
        }
        if (hardest.second.empty()) {
            if (left_out != nullptr) {
                left_out->push_back(fmt::format(
                    "{}: no target that all runs of four batches or more get to", task));
            }
            continue;
        }
        const std::string title = fmt::format("Zeus, {}: epochs to {:g}", task, hardest.first);
        tables.push_back(law_table(title, hardest.second));
        tables.push_back(neighbours_table(title, hardest.second));
    }
    return tables;
}

}  // namespace ukemi::sim
