// results.cpp — writes a results folder, all of it or nothing.
#include "analysis/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "analysis/pairs.hpp"
#include "analysis/policy_means.hpp"
#include "records/run_json.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;

namespace {

void write_run(OutputFolder& folder, const fs::path& own, const scenarios::FinishedRun& run) {
    folder.write(own / "timeline.csv",
                 records::to_csv(run.result.timeline, run.result.samples_total));
    if (!run.decisions.empty()) folder.write(own / "decisions.jsonl", run.decisions);
    for (const auto& [name, text] : run.files) folder.write(own / name, text);
    if (!run.events.empty()) folder.write(own / "events.jsonl", run.events);
}

void write_runs(OutputFolder& folder, std::span<const scenarios::FinishedRun> runs) {
    FolderNames variants;
    for (const scenarios::FinishedRun& run : runs) {
        if (run.decisions.empty() && run.events.empty() && run.result.timeline.empty()) continue;
        const records::RunResult& result = run.result;
        fs::path own = "runs";
        if (!result.varied.empty()) own /= variants.of(scenarios::variant_label(result.varied));
        own /= run_folder(result.policy, result.trace, result.seed, result.start);
        // Names that are equal once they are safe.
        while (fs::exists(folder.staging() / own)) own += "-";
        write_run(folder, own, run);
    }
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

std::string run_folder(std::string_view policy, std::string_view trace, std::uint64_t seed,
                       Duration start) {
    const std::string from =
        start == Duration{} ? "" : fmt::format("--at-{:.0f}s", to_seconds(start));
    return fmt::format("{}--{}{}--seed-{}", file_name_of(policy), file_name_of(trace), from, seed);
}

std::string results_json(std::span<const records::RunResult> runs, std::string_view baseline,
                         std::span<const std::string> warnings) {
    using nlohmann::ordered_json;
    ordered_json document = ordered_json::parse(records::runs_json(runs, warnings));
    document["policies"] = ordered_json::parse(policy_means_json(policy_means(runs)));
    if (!baseline.empty()) {
        document["pairs"] = ordered_json::parse(pairs_json(pairs_with(runs, baseline)));
    }
    return document.dump(1) + "\n";
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

plots::FigureResult write_results(OutputFolder& folder, const ReplayInputs& inputs,
                                  std::span<const scenarios::FinishedRun> runs,
                                  const plots::FigureOptions& options) {
    try {
        folder.write("run.json", run_json(inputs));
        std::vector<records::RunResult> results;
        for (const scenarios::FinishedRun& run : runs) results.push_back(run.result);
        folder.write("summary.csv", records::runs_csv(results));
        folder.write("runs.json", results_json(results, inputs.baseline, inputs.warnings));
        folder.write("policies.csv", policy_means_csv(policy_means(results)));
        if (!inputs.baseline.empty()) {
            folder.write("pairs.csv", pairs_csv(pairs_with(results, inputs.baseline)));
        }
        write_runs(folder, runs);
        const fs::path& staging = folder.staging();
        const plots::FigureResult figures =
            draw_results(read_results(staging), staging / "figures", options);
        folder.set_apart("figures");
        folder.commit();
        return folder.settled(figures);
    } catch (const std::system_error& error) {
        throw std::runtime_error(fmt::format("{}: the results cannot be written: {}",
                                             folder.path().string(), error.code().message()));
    }
}

}  // namespace ukemi::analysis
