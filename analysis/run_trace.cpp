// run_trace.cpp — rows of a timeline as spans, instants and counters.
#include "analysis/run_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// A counter has one line or several, each a column of the timeline.
struct TraceCounter {
    std::string_view name;
    std::array<std::string_view, 2> columns;
    std::array<std::string_view, 2> lines;
};
constexpr TraceCounter counters[] = {
    {"machines held", {"spot_held", "on_demand_held"}, {"spot", "on demand"}},
    {"workers", {"workers", ""}, {"workers", ""}},
    {"spot capacity", {"spot_capacity", ""}, {"machines", ""}},
    {"spot price (USD/h)", {"spot_usd_per_instance_hour", ""}, {"USD/h", ""}},
    {"progress", {"progress", ""}, {"share", ""}},
    {"spent (USD)", {"spent_usd", ""}, {"USD", ""}},
    {"loss", {"loss", ""}, {"loss", ""}},
    {"batch", {"batch", ""}, {"samples", ""}},
    {"noise scale", {"noise_scale", ""}, {"samples", ""}}};

struct TraceRow {
    double at_us = 0;
    std::string doing;
    std::int64_t losses = 0;
    std::vector<std::optional<double>> values;  // of each column of each counter
};

std::optional<double> number_in(std::string_view field) {
    if (field.empty()) return std::nullopt;
    const double value = std::strtod(std::string(field).c_str(), nullptr);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<TraceRow> rows_in(const fs::path& file) {
    const std::string text = read_file(file);
    const std::string path = file.string();  // which the scanner only looks at
    traces::CsvScanner scanner(text, path);
    scanner.read_header();
    const std::size_t at = scanner.column("t_s");
    const std::size_t phase = scanner.column("phase");
    const std::size_t losses = scanner.column("spot_losses");
    const std::size_t part = scanner.column_if_present("transition_phase");
    std::vector<std::size_t> columns;
    for (const TraceCounter& counter : counters) {
        for (const std::string_view column : counter.columns) {
            columns.push_back(column.empty() ? traces::CsvScanner::no_column
                                             : scanner.column_if_present(column));
        }
    }
    std::vector<TraceRow> rows;
    while (scanner.next_row()) {
        TraceRow& row = rows.emplace_back();
        row.at_us = to_seconds(scanner.seconds(at)) * 1e6;
        row.doing = scanner.field(phase);
        const bool in_part = part != traces::CsvScanner::no_column && row.doing == "transition" &&
                             scanner.field(part) != "none";
        if (in_part) row.doing += fmt::format(": {}", scanner.field(part));
        row.losses = scanner.whole(losses, 0, 1'000'000'000, "a number of losses");
        for (const std::size_t column : columns) {
            row.values.push_back(column == traces::CsvScanner::no_column
                                     ? std::nullopt
                                     : number_in(scanner.field(column)));
        }
    }
    return rows;
}

// Every so many-th row, and the last.
void thin(std::vector<TraceRow>& rows, std::size_t most) {
    const std::size_t stride = (rows.size() + most - 1) / most;
    if (stride <= 1) return;
    std::vector<TraceRow> kept;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % stride == 0 || i + 1 == rows.size()) kept.push_back(std::move(rows[i]));
    }
    rows = std::move(kept);
}

class TracedProcess {
public:
    TracedProcess(json& events, std::size_t process, const std::string& name)
        : events_(events), process_(process) {
        events_.push_back(
            {{"ph", "M"}, {"name", "process_name"}, {"pid", process}, {"args", {{"name", name}}}});
        events_.push_back({{"ph", "M"},
                           {"name", "thread_name"},
                           {"pid", process},
                           {"tid", 1},
                           {"args", {{"name", "job"}}}});
    }

    void write(std::span<const TraceRow> rows) {
        std::size_t begin = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool ends = i + 1 == rows.size() || rows[i + 1].doing != rows[begin].doing;
            if (ends) {
                const double end = rows[std::min(i + 1, rows.size() - 1)].at_us;
                span(rows[begin].doing, rows[begin].at_us, end);
                begin = i + 1;
            }
            if (i > 0 && rows[i].losses > rows[i - 1].losses) {
                lost(rows[i].at_us, rows[i].losses - rows[i - 1].losses);
            }
            count(rows[i], i > 0 ? &rows[i - 1] : nullptr);
        }
    }

private:
    void span(const std::string& doing, double begin_us, double end_us) {
        if (end_us <= begin_us) return;
        events_.push_back({{"ph", "X"},
                           {"name", doing},
                           {"pid", process_},
                           {"tid", 1},
                           {"ts", begin_us},
                           {"dur", end_us - begin_us}});
    }
    void lost(double at_us, std::int64_t many) {
        events_.push_back({{"ph", "i"},
                           {"s", "t"},
                           {"name", fmt::format("{} lost", many)},
                           {"pid", process_},
                           {"tid", 1},
                           {"ts", at_us}});
    }
    // What has changed since the row before.
    void count(const TraceRow& row, const TraceRow* before) {
        std::size_t column = 0;
        for (const TraceCounter& counter : counters) {
            json lines = json::object();
            bool changed = before == nullptr;
            for (const std::string_view line : counter.lines) {
                const std::optional<double>& value = row.values[column];
                changed = changed || value != before->values[column];
                if (value) lines[std::string(line)] = *value;
                ++column;
            }
            if (!changed || lines.empty()) continue;
            events_.push_back({{"ph", "C"},
                               {"name", counter.name},
                               {"pid", process_},
                               {"ts", row.at_us},
                               {"args", std::move(lines)}});
        }
    }

    json& events_;
    std::size_t process_;
};

}  // namespace

std::vector<TracedRun> traced_runs(const fs::path& results) {
    const fs::path folder = results / "runs";
    std::vector<TracedRun> runs;
    std::error_code ignored;
    if (!fs::is_directory(results, ignored)) {
        throw InputError(results.string(), "", "there is no such folder");
    }
    if (fs::is_directory(folder, ignored)) {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.path().filename() != "timeline.csv") continue;
            const fs::path own = fs::relative(entry.path().parent_path(), folder);
            runs.push_back({fmt::format("{}: {}", results.string(), own.string()), entry.path()});
        }
    }
    if (runs.empty()) {
        throw InputError(results.string(), "",
                         "has no runs with a timeline: ukemi replay --out and ukemi train --out "
                         "write some");
    }
    std::ranges::sort(runs, {}, &TracedRun::name);
    return runs;
}

RunTrace trace_of_runs(std::span<const TracedRun> runs, std::size_t rows_max) {
    std::vector<std::vector<TraceRow>> all;
    RunTrace trace;
    for (const TracedRun& run : runs) {
        all.push_back(rows_in(run.timeline));
        trace.rows += all.back().size();
    }
    json events = json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto share = static_cast<double>(all[i].size()) / static_cast<double>(trace.rows);
        const auto own = static_cast<std::size_t>(share * static_cast<double>(rows_max));
        thin(all[i], std::max<std::size_t>(own, 2));
        trace.drawn += all[i].size();
        TracedProcess(events, i + 1, runs[i].name).write(all[i]);
    }
    trace.text = json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump() + "\n";
    return trace;
}

}  // namespace ukemi::analysis
