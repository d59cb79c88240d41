// results.cpp — writes a results folder, all of it or nothing, and reads it back for its figures.
#include "cli/results.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "cli/build_info.hpp"
#include "cli/table.hpp"
#include "records/run_json.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view timeline_header =
    "t_s,phase,spot_held,on_demand_held,workers,spot_capacity,spot_usd_per_instance_hour,"
    "progress,spent_usd,spot_losses";

// A name that is safe as a file's: anything unusual becomes '-'.
std::string file_name_of(std::string_view text) {
    std::string name;
    for (const char c : text.substr(0, 100)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-';
        name += plain ? c : '-';
    }
    return name.empty() ? "unnamed" : name;
}

json inputs_json(const ReplayInputs& inputs) {
    json traces = json::array();
    for (const fs::path& trace : inputs.traces) traces.push_back(one_line(trace.string()));
    return {{"scenario", json::parse(inputs.scenario->resolved)},
            {"traces", traces},
            {"policies", inputs.policies},
            {"seeds", inputs.seeds}};
}

TimelineInput timeline_of(const fs::path& file, const std::string& name,
                          std::optional<double> deadline_h) {
    TimelineInput shown;
    shown.file_stem = "timeline-" + file_name_of(name);
    shown.title = name;
    shown.deadline_h = deadline_h;
    const std::string text = read_file(file);
    CsvScanner rows(text, file.string());
    const std::string learning_header = std::string(timeline_header) + ",loss,accuracy";
    const bool learns = text.starts_with(learning_header);
    rows.expect_header(learns ? learning_header : timeline_header);
    std::int64_t losses = 0;
    while (rows.next_row(learns ? 12 : 10)) {
        const double at_h = to_hours(rows.seconds(0));
        const auto add = [&](PlotPoints& points, double value) {
            if (points.empty() || points.back().second != value) points.emplace_back(at_h, value);
        };
        add(shown.spot_held, rows.count(2));
        add(shown.on_demand_held, rows.count(3));
        add(shown.capacity, rows.count(5));
        add(shown.price, to_dollars_per_hour(rows.price(6)));
        shown.progress.emplace_back(at_h, to_dollars_per_hour(rows.price(7)));
        const std::int64_t now = rows.whole(9, 0, 1'000'000'000, "a number of losses");
        if (now > losses) shown.revocations_h.push_back(at_h);
        losses = now;
        shown.end_h = at_h;
        const int held = std::max(rows.count(2) + rows.count(3), 1);
        shown.instances_max = std::max(shown.instances_max, held);
    }
    return shown;
}

void add_timelines(FigureInput& input, const fs::path& folder) {
    constexpr std::size_t timelines_max = 8;
    if (!fs::is_directory(folder / "runs")) return;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder / "runs")) {
        if (fs::exists(entry.path() / "timeline.csv")) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    if (files.size() > timelines_max) files.resize(timelines_max);
    for (const fs::path& file : files) {
        input.timelines.push_back(
            timeline_of(file / "timeline.csv", file.filename().string(), input.deadline_h));
    }
}

// Tells the user now what would fail after hours of runs: the nearest folder that is there must be
// one to write into.
void check_writable(fs::path folder) {
    while (!fs::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
    if (!fs::is_directory(folder)) {
        throw InputError(folder.string(), "", "expected a folder, found a file");
    }
    if (access(folder.c_str(), W_OK | X_OK) == 0) return;
    throw std::system_error(errno, std::generic_category(),
                            fmt::format("{}: cannot be written to", folder.string()));
}

}  // namespace

std::string run_folder(std::string_view policy, std::string_view trace, std::uint64_t seed) {
    return fmt::format("{}--{}--seed-{}", file_name_of(policy), file_name_of(trace), seed);
}

fs::path default_results_folder(const ReplayInputs& inputs) {
    const std::uint64_t hash = text_digest(inputs_json(inputs).dump());
    const std::string name = file_name_of(inputs.scenario->name);
    return fs::path("results") / fmt::format("{}-{:08x}", name, hash >> 32);
}

void check_results_folder(const fs::path& folder, bool force) {
    if (!fs::exists(folder)) {
        check_writable(fs::absolute(folder).parent_path());
        return;
    }
    const bool ours =
        fs::is_directory(folder) && (fs::exists(folder / "run.json") || fs::is_empty(folder));
    if (!ours) {
        throw InputError(folder.string(), "", "is there and is no results folder");
    }
    if (!force && !fs::is_empty(folder)) {
        throw InputError(folder.string(), "", "results are there already; --force replaces them");
    }
}

FigureResult write_results(const fs::path& folder, const ReplayInputs& inputs,
                           std::span<const FinishedRun> runs, bool pdf) {
    const fs::path clean = fs::path(folder.string()).lexically_normal();
    const fs::path target = clean.has_filename() ? clean : clean.parent_path();
    const fs::path partial =
        target.parent_path() / fmt::format(".{}.partial-{}", target.filename().string(), getpid());
    try {
        fs::remove_all(partial);
        fs::create_directories(partial);
        json run_json = inputs_json(inputs);
        run_json["scenario_file"] = one_line(inputs.scenario->file.string());
        run_json["ukemi"] = {{"version", build_version()},
                             {"commit", build_commit()},
                             {"build", build_description()}};
        if (!inputs.live.empty()) run_json["live"] = json::parse(inputs.live);
        write_file_atomically(partial / "run.json", run_json.dump(2) + "\n");
        std::vector<RunResult> results;
        for (const FinishedRun& run : runs) results.push_back(run.result);
        write_file_atomically(partial / "summary.csv", runs_csv(results));
        write_file_atomically(partial / "runs.json", runs_json(results));
        for (const FinishedRun& run : runs) {
            if (run.decisions.empty() && run.events.empty() && run.result.timeline.empty()) {
                continue;
            }
            fs::path own =
                partial / "runs" / run_folder(run.result.policy, run.result.trace, run.result.seed);
            while (fs::exists(own)) own += "-";  // names that are equal once they are safe
            fs::create_directories(own);
            write_file_atomically(own / "timeline.csv",
                                  to_csv(run.result.timeline, run.result.samples_total));
            if (!run.decisions.empty()) {
                write_file_atomically(own / "decisions.jsonl", run.decisions);
            }
            for (const auto& [name, text] : run.files) write_file_atomically(own / name, text);
            if (!run.events.empty()) write_file_atomically(own / "events.jsonl", run.events);
        }
        FigureOptions options;
        options.pdf = pdf;
        FigureResult figures = draw_all(read_results(partial), partial / "figures", options);
        if (fs::exists(target)) fs::remove_all(target);
        if (target.has_parent_path()) fs::create_directories(target.parent_path());
        fs::rename(partial, target);
        for (fs::path& file : figures.files) file = target / fs::relative(file, partial);
        return figures;
    } catch (const std::system_error& error) {
        std::error_code ignored;
        fs::remove_all(partial, ignored);
        throw std::runtime_error(fmt::format("{}: the results cannot be written: {}",
                                             target.string(), error.code().message()));
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(partial, ignored);
        throw;
    }
}

FigureInput read_results(const fs::path& folder) {
    const fs::path runs_file = folder / "runs.json";
    const fs::path run_file = folder / "run.json";
    if (!fs::exists(runs_file) || !fs::exists(run_file)) {
        throw InputError(folder.string(), "",
                         "is no results folder: runs.json or run.json is missing");
    }
    try {
        const json about = json::parse(read_file(run_file));
        const json& job = about.at("scenario").at("job");
        std::optional<double> deadline_h;
        if (job.contains("deadline")) {
            const auto text = job.at("deadline").get<std::string>();
            deadline_h = to_hours(parse_duration(text, run_file.string()));
        }
        FigureInput input;
        input.deadline_h = deadline_h;
        static_assert(cause_count == cost_causes.size());
        const json document = json::parse(read_file(runs_file));
        for (const json& run : document.at("runs")) {
            RunPoint point;
            point.policy = short_label(run.at("policy").get<std::string>());
            point.trace = run.at("trace").get<std::string>();
            point.seed = run.at("seed").get<std::uint64_t>();
            point.cost_usd = run.at("cost_usd").get<double>();
            point.duration_h = run.at("duration_s").get<double>() / 3600;
            point.deadline_met = run.at("deadline_met").get<bool>();
            for (std::size_t cause = 0; cause < cause_count; ++cause) {
                const std::string key = std::string(cost_causes[cause]) + "_usd";
                point.usd_by_cause[cause] = run.at(key).get<double>();
            }
            input.runs.push_back(std::move(point));
        }
        add_timelines(input, folder);
        return input;
    } catch (const json::exception& error) {
        throw InputError(folder.string(), "", fmt::format("damaged: {}", error.what()));
    }
}

}  // namespace ukemi
