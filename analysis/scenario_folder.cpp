// scenario_folder.cpp — writes run.json, the files and the figures, and puts them in place.
#include "analysis/scenario_folder.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/build_info.hpp"
#include "analysis/files_of_run.hpp"
#include "analysis/result_doubts.hpp"
#include "analysis/typed_command.hpp"
#include "base/plain_text.hpp"
#include "base/text_digest.hpp"

namespace ukemi::analysis {

namespace {

std::uint64_t digest_on(const FileText& text, std::uint64_t digest) {
    if (const auto* whole = std::get_if<std::string>(&text)) return text_digest(*whole, digest);
    std::get<TextPieces>(text)(
        [&](std::string_view piece) { digest = text_digest(piece, digest); });
    return digest;
}

}  // namespace

plots::FigureResult write_scenario_folder(OutputFolder& folder, const ScenarioFiles& what,
                                          const plots::FigureOptions& options) {
    using nlohmann::json;
    std::uint64_t hash = text_digest_begin;
    for (const std::size_t table : {0U, 1U}) hash = digest_on(what.files[table].second, hash);
    json about = {{"command", what.command},
                  {"scenario", json::parse(what.resolved)},
                  {"scenario_file", one_line(what.document.file.string())},
                  {"vary", json::array()},
                  {"results_hash", fmt::format("{:016x}", hash)},
                  {"ukemi",
                   {{"version", build_version()},
                    {"commit", build_commit()},
                    {"build", build_description()}}}};
    about["files"] = files_of_run();
    if (const auto changed = warnings_of_changed_files(); !changed.empty()) {
        warn(changed, false);
        about["warnings"] = changed;
    }
    if (!typed_command().empty()) about["typed"] = typed_command();
    for (const scenarios::VariedKey& key : what.document.varied) {
        about["vary"].push_back({{"pointer", key.pointer}, {"values", key.values}});
    }
    if (!what.document.varied_from.empty()) {
        about["varied_from"] = json::parse(what.document.varied_from);
    }
    if (!what.document.seeds.empty()) about["seeds"] = what.document.seeds;
    if (!what.document.baseline.empty()) about["baseline"] = what.document.baseline;
    if (what.document.full) about["full"] = true;
    if (const auto& live = what.document.live) {
        about["live"] = {{"paced", live->paced}};
        if (live->time_scale) about["live"]["time_scale"] = *live->time_scale;
    }
    folder.write("run.json", about.dump(2) + "\n");
    for (const auto& [name, text] : what.files) {
        std::visit([&, &file = name](const auto& all) { folder.write(file, all); }, text);
    }
    const std::filesystem::path& staging = folder.staging();
    const plots::FigureResult figures =
        plots::draw_all(what.figures(staging), staging / "figures", options);
    folder.set_apart("figures");
    folder.commit();
    return folder.settled(figures);
}

}  // namespace ukemi::analysis
