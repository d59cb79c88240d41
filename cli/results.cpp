// results.cpp — writes a results folder, all of it or nothing.
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
#include "records/run_json.hpp"

namespace ukemi {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json inputs_json(const ReplayInputs& inputs) {
    json traces = json::array();
    for (const fs::path& trace : inputs.traces) traces.push_back(one_line(trace.string()));
    json about = {{"scenario", json::parse(inputs.scenario->resolved)},
                  {"traces", traces},
                  {"policies", inputs.policies},
                  {"seeds", inputs.seeds}};
    if (inputs.zones) about["zones"] = true;
    for (const VariedKey& key : inputs.varied) {
        about["vary"].push_back({{"pointer", key.pointer}, {"values", key.values}});
    }
    return about;
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

std::string file_name_of(std::string_view text) {
    std::string name;
    for (const char c : text.substr(0, 100)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '_' || c == '-';
        name += plain ? c : '-';
    }
    return name.empty() ? "unnamed" : name;
}

std::string run_folder(std::string_view policy, std::string_view trace, std::uint64_t seed) {
    return fmt::format("{}--{}--seed-{}", file_name_of(policy), file_name_of(trace), seed);
}

const std::string& FolderNames::of(const std::string& label) {
    const auto [place, is_new] = names_.try_emplace(label);
    if (is_new) {
        const std::size_t letter = label.find_first_not_of('/');
        std::string name = file_name_of(label.substr(std::min(letter, label.size())));
        while (!used_.insert(name).second) name += '-';
        place->second = name;
    }
    return place->second;
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
        FolderNames variants;
        for (const FinishedRun& run : runs) {
            if (run.decisions.empty() && run.events.empty() && run.result.timeline.empty()) {
                continue;
            }
            const RunResult& result = run.result;
            fs::path own = partial / "runs";
            if (!result.varied.empty()) own /= variants.of(variant_label(result.varied));
            own /= run_folder(result.policy, result.trace, result.seed);
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
        FigureResult figures = draw_results(read_results(partial), partial / "figures", options);
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

}  // namespace ukemi
