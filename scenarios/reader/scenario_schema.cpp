// scenario_schema.cpp — the notes of the reader as a schema, and the examples that it reads for
// them: each has keys that exclude others.
#include "scenarios/reader/scenario_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/unit_pattern.hpp"
#include "policies/parameter_notes.hpp"
#include "scenarios/reader/first_scenarios.hpp"
#include "scenarios/reader/scenario_keys.hpp"

namespace ukemi::scenarios {

namespace {

using nlohmann::json;

json text_like(const std::string& pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

json number_schema(const KeyNote& note) {
    json schema{{"type", note.kind == KeyKind::integer ? "integer" : "number"}};
    // The ends of all integers and of all doubles are no bounds.
    constexpr double no_bound = 9e18;
    const auto bound = [&](const char* key, const std::optional<double>& value) {
        if (!value || std::abs(*value) > no_bound) return;
        const bool whole = note.kind == KeyKind::integer;
        schema[key] = whole ? json(static_cast<std::int64_t>(*value)) : json(*value);
    };
    bound("minimum", note.least);
    bound("maximum", note.most);
    return schema;
}

json value_schema(const KeyNote& note) {
    switch (note.kind) {
        case KeyKind::text:
        case KeyKind::object: return {{"type", "string"}};
        case KeyKind::name: {
            if (note.names.empty()) return {{"type", "string"}};
            const json name{{"enum", note.names}};
            if (note.file_ending.empty()) return name;
            return {{"anyOf", {name, text_like(fmt::format("\\{}$", note.file_ending))}}};
        }
        case KeyKind::flag: return {{"type", "boolean"}};
        case KeyKind::integer:
        case KeyKind::number: return number_schema(note);
        case KeyKind::duration: return text_like(duration_pattern());
        case KeyKind::price: return text_like(price_pattern());
        case KeyKind::egress_price: return text_like(egress_price_pattern());
        case KeyKind::bytes: return text_like(bytes_pattern());
        case KeyKind::bandwidth: return text_like(bandwidth_pattern());
        case KeyKind::rate:
            return text_like(fmt::format("^[0-9.]+([eE][+-]?[0-9]+)? ?{}$", note.unit));
    }
    return {};
}

class SchemaTree {
public:
    explicit SchemaTree(const std::vector<KeyNote>& notes) : notes_(notes) {}

    json object(const std::string& path) const {
        json schema{{"type", "object"}, {"additionalProperties", false}};
        for (std::size_t i = 0; i < notes_.size(); ++i) {
            const std::string& child = notes_[i].path;
            const std::size_t slash = child.rfind('/');
            if (child.substr(0, slash) != path) continue;
            if (i > 0 && notes_[i - 1].path == child) continue;  // with the one before
            const std::string key = child.substr(slash + 1);
            if (key == "*") {
                schema["additionalProperties"] = at(child);
            } else {
                schema["properties"][key] = at(child);
            }
            if (notes_[i].required && key != "*") schema["required"].push_back(key);
        }
        return schema;
    }

private:
    json of(const KeyNote& note) const {
        const bool is_object = note.kind == KeyKind::object;
        json schema =
            is_object ? object(note.listed ? note.path + "/*" : note.path) : value_schema(note);
        if (note.listed) schema = {{"type", "array"}, {"items", schema}};
        if (!note.limits.empty()) schema["description"] = note.limits;
        if (!note.otherwise.empty()) schema["default"] = json::parse(note.otherwise);
        return schema;
    }

    // Of all that may stand there.
    json at(const std::string& path) const {
        std::vector<json> forms;
        for (const KeyNote& note : notes_) {
            if (note.path == path) forms.push_back(of(note));
        }
        return forms.size() == 1 ? forms.front() : json{{"anyOf", forms}};
    }

    const std::vector<KeyNote>& notes_;  // sorted by path
};

json parameters_schema(const policies::PolicyEntry& entry) {
    const std::vector<KeyNote> notes = policies::parameters_of(entry);
    return SchemaTree(notes).object("");
}

// Policies read their parameters themselves.
void put_policies(json& properties) {
    std::string names;
    json by_name{{"type", "object"}, {"additionalProperties", false}};
    json one_of_list = json::array();
    for (const policies::PolicyEntry& entry : policies::all_policies()) {
        json named = parameters_schema(entry);
        json called = json::array({entry.name});
        by_name["properties"][std::string(entry.name)] = named;
        names += fmt::format("{}{}", names.empty() ? "" : "|", entry.name);
        if (!entry.alias.empty()) {
            by_name["properties"][std::string(entry.alias)] = named;
            called.push_back(entry.alias);
            names += fmt::format("|{}", entry.alias);
        }
        named["properties"]["name"] = {{"enum", called}};
        named["required"] = {"name"};
        one_of_list.push_back(named);
    }
    properties["policy_parameters"] = by_name;
    properties["policies"] = {{"type", "array"}, {"items", {{"anyOf", one_of_list}}}};
    const std::string item = fmt::format("({})(:[^+,]*)?", names);
    properties["replay"]["items"] = text_like(fmt::format("^{0}([+,]{0})*$", item));
}

std::string schema_text(json schema, std::string_view title) {
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
    schema["title"] = title;
    // So that an editor may be told of the schema in the file itself, "$schema" is no mistake
    // there.
    return schema.dump(2) + '\n';
}

std::vector<std::string> first_texts(bool of_steps) {
    std::vector<std::string> texts;
    for (const FirstScenario& first : first_scenarios()) {
        if ((first.kind == "simulate") == of_steps) texts.push_back(named_text(first, "example"));
    }
    return texts;
}

constexpr std::array job_examples = {
    R"({"name": "a", "seed": 2, "job": {"steps": 10, "step_time": "320 ms"},
        "cluster": {"count_min": 2, "count_max": 8, "count_start": 3},
        "market": {"zones": [{"name": "a", "on_demand_price": "3 USD/h"}], "bidding": true},
        "policies": [{"name": "on_demand"}]})",
    R"({"name": "b", "seed": 3, "job": {"samples": 2000, "batch": 64, "transition": {},
        "model_size": "1 GB", "noise_scale": [{"samples": 0, "noise_scale": 1}],
        "communication": {"ring": "20 ms"},
        "interference": [{"from": "1 h", "until": "2 h", "collective": "ring", "factor": 2}]},
        "cluster": {"count_min": 3, "count_max": 9, "count_start": 4},
        "market": {"on_demand_price": "3 USD/h", "availability": "a.csv"},
        "replay": ["on_demand"]})",
    R"({"name": "d", "seed": 5, "job": {"samples": 5000, "batch": 32,
        "noise_scale": [{"samples": 0, "noise_scale": 1}],
        "step_time": {"per_sample": "1 ms", "gradient": "1 MB", "link": {"bandwidth": "1 GB/s"},
        "codecs": [{"codec": "fp16", "bytes": "1 MB"}]}}, "cluster": {"count": 2},
        "market": {"on_demand_price": "3 USD/h"},
        "predictor": {"kind": "calibrated", "throughput": {"1": "10 samples/s"}},
        "replay": ["on_demand"]})",
    R"({"name": "e", "seed": 6, "job": {"work": "1 h", "throughput": {"1": 1}},
        "cluster": {}, "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
    R"({"name": "l", "seed": 11, "job": {"samples": 100, "batch": 1,
        "throughput": {"1": "1 samples/s"},
        "links": {"message": "1 MB", "round_trip": "1 ms", "bandwidth": "1 GB/s", "between": [
        {"host": 0, "other": 1, "round_trip": "1 ms", "bandwidth": "1 GB/s"}]}},
        "cluster": {"count": 2}, "market": {"on_demand_price": "3 USD/h"},
        "replay": ["on_demand"]})",
    R"({"name": "f", "seed": 7, "job": {"samples": 9000, "batch": 16,
        "step_time": {"simulated": {"steps": "steps.json", "batches": [1]}}}, "cluster": {},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
    R"({"name": "g", "seed": 8, "job": {"samples": 700, "batch": 16,
        "pipelines": {"stages": 2, "step": {"1": "1 s"}, "other_stages": {"3": {"1": "1 s"}}}},
        "cluster": {"count_max": 4},
        "market": {"on_demand_price": "3 USD/h", "availability": "a.csv"},
        "replay": ["on_demand"]})",
    R"({"name": "h", "seed": 9, "job": {"samples": 800, "batch": 16,
        "step_time": {"table": {"1": "1 ms"}}}, "cluster": {},
        "learning": {"model": "critical_regimes", "critical": [{"from": 0, "until": 9}],
        "careful": {"batch": 16}, "squared_norm": [{"samples": 0, "value": 1}],
        "accuracy": {"careful": 0.9, "careless": 0.8}},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
    R"({"name": "i", "seed": 10, "job": {"samples": 600, "batch": 16,
        "step_time": {"table": {"1": "1 ms"}}}, "cluster": {},
        "learning": {"model": "critical_regimes", "critical": [{"from": 0, "until": 9}],
        "careful": {"codec": "fp16"}, "accuracy": {"careful": 0.9, "careless": 0.8}},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
    R"({"name": "c", "seed": 4, "job": {"samples": 3000, "batch_per_worker": 8,
        "step_time": {"table": {"1": "1 ms"}}}, "cluster": {"count": 2},
        "learning": {"model": "real_gradients"},
        "training": {"data": {"kind": "synthetic"}, "model": {"kind": "softmax"}},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
    R"({"name": "j", "seed": 11, "job": {"samples": 900, "batch": 16,
        "throughput": {"1": "5 samples/s"}}, "cluster": {}, "training": {"script": "train.py"},
        "market": {"on_demand_price": "3 USD/h"}, "replay": ["on_demand"]})",
};

constexpr std::array step_examples = {
    R"({"name": "a", "seed": 2,
        "cluster": {"zones": [{"machine": "p3.2xlarge", "count": 4, "links": {},
                               "gpu": {"tflops": {}}}]},
        "jobs": [{"name": "one", "model": "resnet50", "batch": 16, "workers": 2, "steps": 7},
                 {"name": "two", "model": "resnet50", "batch": 8, "steps": 9}],
        "cross_traffic": [{"from": 0, "to": 1}],
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "b", "seed": 3, "cluster": {"machine": "p3.16xlarge", "count": 2},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": "bert_large", "batch": 1, "accumulation": 8, "steps": 5,
                "layout": {"pipeline": 4}},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5},
                   {"kind": "leave", "at": "2 s", "worker": 0, "delay": "1 s"}]})",
    R"({"name": "c", "seed": 4, "cluster": {"machine": "p3.2xlarge", "count": 3},
        "cross_traffic": [{"from": 0, "to": 2}],
        "job": {"model": "resnet50", "batch": 4, "steps": 6,
                "variable_update": "parameter_server"},
        "events": [{"kind": "leave", "at": "1 s", "worker": 0, "delay": "1 s"}]})",
    R"({"name": "d", "seed": 5, "cluster": {"machine": "hgx_a100_8", "count": 2},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": {"kind": "transformer", "layers": 4, "hidden": 64, "heads": 4,
                          "vocabulary": 100, "sequence": 16},
                "learners": {"count": 2}, "batch": 3, "steps": 8, "compute": {"kernels": {}}},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "e", "seed": 6, "cluster": {"machine": "hgx_a100_8", "count": 2},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": {"kind": "layers", "input": [3, 8, 8],
                          "layers": [{"kind": "dense", "outputs": 10}]}, "batch": 5, "steps": 9},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "f", "seed": 7, "cluster": {"machine": "hgx_a100_8", "count": 2},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": {"kind": "counted", "parameters": 1000, "tensors": 10,
                          "forward_flops": 1e6}, "batch": 6, "steps": 11},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "g", "seed": 8, "cluster": {"machine": "p3.2xlarge", "count": 4, "links": {},
                                            "gpu": {"tflops": {}}},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": "resnet50", "batch": 4, "steps": 6, "codec": "fp16"},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "h", "seed": 9, "cluster": {"machine": "p3.2xlarge", "count": 4},
        "cross_traffic": [{"from": 0, "to": 1}],
        "jobs": [{"name": "one", "batch": 5, "workers": 2, "steps": 9, "codec": "fp16",
                  "model": {"kind": "layers", "input": [3, 8, 8],
                            "layers": [{"kind": "dense", "outputs": 10}]}}],
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "i", "seed": 10, "cluster": {"machine": "p3.2xlarge", "count": 4},
        "cross_traffic": [{"from": 0, "to": 1}],
        "jobs": [{"name": "one", "model": "resnet50", "batch": 4, "workers": 2, "steps": 6,
                  "variable_update": "parameter_server"}],
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    // Whose defaults that follow from other keys differ from those above, and so are none.
    R"({"name": "j", "seed": 11, "cluster": {"machine": "dgx_h100", "count": 2, "links": {}},
        "cross_traffic": [{"from": 0, "to": 1}],
        "job": {"model": {"kind": "transformer", "layers": 2, "hidden": 128, "heads": 8,
                          "vocabulary": 100, "sequence": 24, "experts": 8}, "batch": 7, "steps": 12,
                "layout": {"tensor": 2}},
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
    R"({"name": "k", "seed": 12, "cluster": {"zones": [{"machine": "dgx_h100", "count": 2,
                                                        "links": {}}]},
        "cross_traffic": [{"from": 0, "to": 1}],
        "jobs": [{"name": "one", "batch": 7, "workers": 8, "steps": 12, "layout": {"tensor": 2},
                  "model": {"kind": "transformer", "layers": 2, "hidden": 128, "heads": 8,
                            "vocabulary": 100, "sequence": 24, "experts": 8}},
                 {"name": "two", "model": "bert_large", "batch": 1, "workers": 8, "steps": 13,
                  "layout": {"pipeline": 4}}],
        "events": [{"kind": "links", "at": "1 s", "machine": 0, "share": 0.5}]})",
};

constexpr std::array schedule_examples = {
    R"({"name": "a", "cluster": {"gpus_per_machine": 8},
        "jobs": [{"service": "1 h"}], "schedulers": [{"name": "fifo"}]})",
    R"({"name": "b", "cluster": {"gpus_per_machine": 8},
        "jobs": [{"service": "1 h", "speeds": [0, 1]}], "schedulers": [{"name": "srtf"}]})",
    R"({"name": "c", "cluster": {"gpus_per_machine": 8},
        "jobs": {"workload": "jobs.csv"}, "schedulers": [{"name": "fifo"}]})",
    R"({"name": "d", "cluster": {"gpus_per_machine": 8},
        "jobs": [{"scenario": "own.json"}], "schedulers": [{"name": "fifo"}]})",
};

constexpr std::array search_examples = {
    R"({"name": "a", "seed": 1, "cluster": {"gpus_per_machine": 8}, "scheduler": {"name": "fifo"},
        "trial": {"cluster": {"count": 1}, "job": {"samples": 3000, "batch": 8,
        "step_time": {"table": {"1": "1 ms"}}}, "learning": {"model": "real_gradients"},
        "training": {"data": {"kind": "synthetic"}, "model": {"kind": "softmax"}}},
        "trials": 9, "units": 9, "space": [{"key": "/job/batch", "numbers": [8, 16]}],
        "searchers": [{"name": "random"}]})",
    R"({"name": "b", "seed": 1, "cluster": {"gpus_per_machine": 8}, "scheduler": {"name": "fifo"},
        "trial": {"cluster": {}, "job": {"samples": 800, "batch": 16,
        "step_time": {"table": {"1": "1 ms"}}},
        "learning": {"model": "critical_regimes", "critical": [{"from": 0, "until": 9}],
        "careful": {"batch": 16}, "squared_norm": [{"samples": 0, "value": 1}],
        "accuracy": {"careful": 0.9, "careless": 0.8}}},
        "trials": 9, "units": 9, "space": [{"key": "/job/batch", "from": 8, "to": 16}],
        "searchers": [{"name": "random"}]})",
    R"({"name": "c", "seed": 1, "cluster": {"gpus_per_machine": 8}, "scheduler": {"name": "fifo"},
        "trial": {"cluster": {"count_max": 2}, "job": {"samples": 800, "batch": 16,
        "step_time": {"per_sample": "1 ms"}},
        "learning": {"noise_scale": [{"samples": 0, "noise_scale": 1}]}},
        "trials": 9, "units": 9, "space": [{"key": "/job/batch", "from": 8, "to": 16}],
        "searchers": [{"name": "random"}]})",
};

std::vector<KeyNote> job_notes() {
    std::vector<std::string> examples = first_texts(false);
    examples.insert(examples.end(), job_examples.begin(), job_examples.end());
    return scenario_keys(examples);
}

std::vector<KeyNote> step_notes() {
    std::vector<std::string> examples = first_texts(true);
    examples.insert(examples.end(), step_examples.begin(), step_examples.end());
    return step_scenario_keys(examples);
}

std::vector<KeyNote> schedule_notes() {
    const std::vector<std::string> examples(schedule_examples.begin(), schedule_examples.end());
    return schedule_scenario_keys(examples);
}

std::vector<KeyNote> search_notes() {
    const std::vector<std::string> examples(search_examples.begin(), search_examples.end());
    return search_scenario_keys(examples);
}

// In a cell of a table.
std::string cell_text(std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
        text.insert(at, 1, '\\');
    }
    return text;
}

// Notes are sorted by path; a key that may be read as several kinds has them all in its line.
std::string table_of(const std::vector<KeyNote>& notes) {
    std::string table = "| Key | Value | Default |\n|---|---|---|\n";
    for (std::size_t i = 0; i < notes.size();) {
        const std::string& path = notes[i].path;
        std::string values;
        std::string otherwise;
        bool needed = true;
        for (; i < notes.size() && notes[i].path == path; ++i) {
            const KeyNote& one = notes[i];
            const std::string value =
                fmt::format("{}{}", one.listed && one.kind != KeyKind::object ? "a list: " : "",
                            value_text(one));
            if (!values.empty()) values += "; or ";
            values += value;
            if (!one.otherwise.empty()) otherwise = fmt::format("`{}`", one.otherwise);
            needed = needed && one.needed;
        }
        if (otherwise.empty()) otherwise = needed ? "–" : "none";
        table += fmt::format("| `{}` | {} | {} |\n", cell_text(path.substr(1)), cell_text(values),
                             cell_text(otherwise));
    }
    return table;
}

}  // namespace

std::string scenario_schema() {
    const std::vector<KeyNote> notes = job_notes();
    json schema = SchemaTree(notes).object("");
    put_policies(schema["properties"]);
    return schema_text(std::move(schema), "ukemi: a job on a market");
}

std::string step_scenario_schema() {
    const std::vector<KeyNote> notes = step_notes();
    json schema = SchemaTree(notes).object("");
    schema["properties"]["jobs"]["items"] = schema["properties"]["job"];  // read by one function
    return schema_text(std::move(schema), "ukemi: steps on a cluster");
}

std::string schedule_scenario_schema() {
    const std::vector<KeyNote> notes = schedule_notes();
    return schema_text(SchemaTree(notes).object(""), "ukemi: jobs that share a cluster");
}

std::string search_scenario_schema() {
    const std::vector<KeyNote> notes = search_notes();
    return schema_text(SchemaTree(notes).object(""), "ukemi: trials that share a cluster");
}

std::string scenario_key_table() { return table_of(job_notes()); }
std::string step_scenario_key_table() { return table_of(step_notes()); }
std::string schedule_scenario_key_table() { return table_of(schedule_notes()); }
std::string search_scenario_key_table() { return table_of(search_notes()); }

}  // namespace ukemi::scenarios
