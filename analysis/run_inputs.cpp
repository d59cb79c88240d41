#include "analysis/run_inputs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analysis/build_info.hpp"
#include "analysis/files_of_run.hpp"
#include "analysis/results.hpp"
#include "analysis/typed_command.hpp"
#include "base/input_error.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json document_json(const ReplayDocument& document) {
    json about = {{"scenario", json::parse(document.scenario->resolved)},
                  {"policies", document.policies},
                  {"seeds", document.seeds}};
    if (!document.varied_from.empty()) about["varied_from"] = json::parse(document.varied_from);
    return about;
}

json inputs_json(const ReplayInputs& inputs) {
    json about = document_json(inputs);
    about["traces"] = json::array();
    for (const fs::path& trace : inputs.traces) about["traces"].push_back(one_line(trace.string()));
    if (inputs.zones) about["zones"] = true;
    if (inputs.starts != "1") about["starts"] = inputs.starts;
    if (!inputs.baseline.empty()) about["baseline"] = inputs.baseline;
    if (inputs.predicted) {
        json& predicted = about["predicted"];
        predicted["costs"] = one_line(inputs.predicted->costs.string());
        predicted["time_scale"] = inputs.predicted->time_scale;
        if (inputs.predicted->workers) predicted["workers"] = *inputs.predicted->workers;
        predicted["calm"] = inputs.predicted->calm;
    }
    for (const scenarios::VariedKey& key : inputs.varied) {
        about["vary"].push_back({{"pointer", key.pointer}, {"values", key.values}});
    }
    for (const ReplayDocument& document : inputs.more) {
        about["more"].push_back(document_json(document));
    }
    return about;
}

std::string joined(const json& list) {
    std::string text;
    for (const json& one : list) {
        text += (text.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
    }
    return text;
}

StoredInputs::Document document_in(const json& about, const StoredInputs& stored) {
    StoredInputs::Document document;
    document.file = about.at("scenario_file").get<std::string>();
    document.text = about.at(stored.varied.empty() ? "scenario" : "varied_from").dump();
    document.policies = joined(about.at("policies"));
    document.seeds = joined(about.at("seeds"));
    return document;
}

StoredInputs inputs_in(const json& about) {
    StoredInputs stored;
    for (const json& key : about.value("vary", json::array())) {
        stored.varied.push_back({key.at("pointer").get<std::string>(),
                                 key.at("values").get<std::vector<std::string>>()});
    }
    stored.documents.push_back(document_in(about, stored));
    for (const json& one : about.value("more", json::array())) {
        stored.documents.push_back(document_in(one, stored));
    }
    for (const json& trace : about.value("traces", json::array())) {
        stored.traces.emplace_back(trace.get<std::string>());
    }
    stored.zones = about.value("zones", false);
    stored.starts = about.value("starts", "1");
    stored.baseline = about.value("baseline", "");
    if (about.contains("predicted")) {
        const json& said = about.at("predicted");
        PredictedInputs& predicted = stored.predicted.emplace();
        predicted.costs = said.at("costs").get<std::string>();
        predicted.time_scale = said.at("time_scale").get<double>();
        if (said.contains("workers")) predicted.workers = said.at("workers").get<std::int32_t>();
        predicted.calm = said.at("calm").get<bool>();
    }
    return stored;
}

}  // namespace

fs::path default_results_folder(const ReplayInputs& inputs) {
    const std::uint64_t hash = text_digest(inputs_json(inputs).dump());
    const std::string name = file_name_of(inputs.scenario->name);
    return fs::path("results") / fmt::format("{}-{:08x}", name, hash >> 32);
}

std::string run_json(const ReplayInputs& inputs) {
    json about = inputs_json(inputs);
    about["scenario_file"] = one_line(inputs.scenario->file.string());
    for (std::size_t i = 0; i < inputs.more.size(); ++i) {
        about["more"][i]["scenario_file"] = one_line(inputs.more[i].scenario->file.string());
    }
    about["files"] = files_of_run();
    about["ukemi"] = {
        {"version", build_version()}, {"commit", build_commit()}, {"build", build_description()}};
    about["warnings"] = inputs.warnings;
    if (!typed_command().empty()) about["typed"] = typed_command();
    if (!inputs.live.empty()) about["live"] = json::parse(inputs.live);
    return about.dump(2) + "\n";
}

std::optional<StoredInputs> stored_inputs(const fs::path& file) {
    json about;
    try {
        about = parse_json(read_file(file), file.string());
    } catch (const InputError&) {
        return std::nullopt;  // the reader of scenarios says what is wrong
    }
    const bool is_one = about.is_object() && about.contains("scenario") &&
                        about.at("scenario").is_object() && about.contains("ukemi");
    if (!is_one) return std::nullopt;
    if (about.contains("command")) {
        throw InputError(file.string(), "", "is of steps: ukemi simulate runs it again");
    }
    if (about.contains("live")) {
        throw InputError(file.string(), "",
                         "is of a live run, which cannot be run again bit for bit; its decisions "
                         "can: ukemi replay-log");
    }
    try {
        expect_files(about, file);
        return inputs_in(about);
    } catch (const json::exception& error) {
        throw InputError(file.string(), "", fmt::format("damaged: {}", one_line(error.what())));
    }
}

}  // namespace ukemi::analysis
