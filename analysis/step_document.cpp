#include "analysis/step_document.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/files_of_run.hpp"
#include "base/input_error.hpp"
#include "base/input_files.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// What a run.json says; any other document stays as it is.
void take_run(StepDocument& document, const fs::path& file, std::string_view command) {
    const json about = json::parse(document.text, nullptr, false);
    if (!about.is_object() || !about.contains("scenario") || !about.contains("ukemi")) {
        return;
    }
    const json written = about.value("command", json());
    if (written != command) {
        const bool of_own = written == "simulate" || written == "schedule" || written == "search";
        throw InputError(file.string(), "",
                         of_own ? fmt::format("is of ukemi {0}: ukemi {0} runs it again",
                                              written.get<std::string>())
                                : "is of runs on a market: ukemi replay or compare runs it again");
    }
    try {
        expect_files(about, file);
        // Files that the scenario names lie beside it, wherever its results are.
        document.file = about.at("scenario_file").get<std::string>();
        for (const json& key : about.at("vary")) {
            document.varied.push_back({key.at("pointer").get<std::string>(),
                                       key.at("values").get<std::vector<std::string>>()});
        }
        // Of the first variant's own scenario, with all defaults, the others cannot be made.
        if (!document.varied.empty() && !about.contains("varied_from")) {
            throw InputError(file.string(), "",
                             "is of an older ukemi, which did not keep what variants are made of: "
                             "run the scenario with --vary");
        }
        document.text = about.at(document.varied.empty() ? "scenario" : "varied_from").dump();
        document.seeds = about.value("seeds", document.seeds);
        document.baseline = about.value("baseline", "");
        document.full = about.value("full", false);
        if (about.contains("live")) {
            const json& live = about.at("live");
            document.live = {live.at("paced").get<bool>(), std::nullopt};
            if (live.contains("time_scale"))
                document.live->time_scale = live.at("time_scale").get<double>();
        }
    } catch (const json::exception& error) {
        throw InputError(file.string(), "", fmt::format("damaged: {}", one_line(error.what())));
    }
}

}  // namespace

StepDocument read_step_document(const fs::path& file, std::string_view command) {
    StepDocument document{file, read_file(file)};
    take_run(document, file, command);
    InputFiles::end_of_documents();
    return document;
}

void vary(StepDocument& document, std::span<const std::string> keys,
          std::span<const ConfigOverride> overrides) {
    if (!keys.empty()) document.varied.clear();
    for (const std::string& key : keys) {
        document.varied.push_back(scenarios::parse_varied_key(key));
    }
    if (document.varied.empty()) return;
    document.varied_from =
        ConfigReader::from_text(document.text, document.file.string(), overrides).object_text();
}

}  // namespace ukemi::analysis
