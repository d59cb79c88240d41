#include "analysis/run_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "analysis/compared_folder.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/unit_text.hpp"
#include "records/ledger.hpp"
#include "records/timeline.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

using Value = std::optional<double>;

RecordedPhases phase_times(const fs::path& file) {
    const std::string text = read_file(file);
    const std::string path = file.string();  // which the scanner only looks at
    traces::CsvScanner rows(text, path);
    rows.read_header();
    const std::size_t at = rows.column("t_s");
    const std::size_t phase = rows.column("phase");
    RecordedPhases times;
    const std::size_t progress = rows.column("progress");
    double since_s = 0;
    std::string_view doing;
    while (rows.next_row()) {
        const std::string_view share = rows.field(progress);
        const auto read =
            std::from_chars(share.data(), share.data() + share.size(), times.progress_after);
        if (read.ec != std::errc()) rows.fail(progress, "expected a share of the work");
        if (doing.empty()) times.progress_before = times.progress_after;
        const double now_s = to_seconds(rows.seconds(at));
        if (doing == records::job_phase_name(policies::JobPhase::running))
            times.running_s += now_s - since_s;
        if (doing == records::job_phase_name(policies::JobPhase::transition))
            times.transition_s += now_s - since_s;
        since_s = now_s;
        doing = rows.field(phase);
    }
    return times;
}

// A number of a row; "nan" and "inf" are words there, and what a run cannot say is null.
Value number_in(const nlohmann::ordered_json& row, const std::string& key) {
    const auto found = row.find(key);
    if (found == row.end() || found->is_null()) return std::nullopt;
    if (found->is_number()) return found->get<double>();
    if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
    if (*found == "nan") return std::nan("");
    if (*found == "inf") return std::numeric_limits<double>::infinity();
    if (*found == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

StoredResults load(const fs::path& folder) {
    const fs::path run_file = folder / "run.json";
    const fs::path runs_file = folder / "runs.json";
    if (auto of_cluster = cluster_results(folder)) return std::move(*of_cluster);
    if (fs::exists(folder / "simulate.json")) {
        throw InputError(folder.string(), "",
                         "is of ukemi simulate: diff compares runs of jobs (ukemi report shows "
                         "both side by side)");
    }
    if (!fs::exists(run_file) || !fs::exists(runs_file)) {
        throw InputError(folder.string(), "",
                         "is no results folder: runs.json or run.json is missing");
    }
    StoredResults results;
    results.command = "replay";
    try {
        const json about = parse_json(read_file(run_file), run_file.string());
        if (about.contains("vary")) {
            throw InputError(folder.string(), "",
                             "holds variants of a scenario: expected the runs of one");
        }
        results.scenario = std::make_shared<const json>(about.at("scenario"));
        const json document = parse_json(read_file(runs_file), runs_file.string());
        for (const json& row : document.at("runs")) {
            StoredRun run{short_label(row.at("policy").get<std::string>()),
                          row.at("trace").get<std::string>(),
                          row.at("seed").get<std::uint64_t>(),
                          seconds(row.value("start_s", 0.0)),
                          std::make_shared<const nlohmann::ordered_json>(row),
                          std::nullopt,
                          {},
                          std::nullopt};
            results.runs.push_back(std::move(run));
        }
    } catch (const json::exception& error) {
        throw InputError(folder.string(), "", fmt::format("damaged: {}", one_line(error.what())));
    }
    return results;
}

// Reads the details where the run's folder is its own.
void load_details(const fs::path& folder, std::vector<StoredRun>& runs) {
    std::map<std::string, int> uses;
    const auto name_of = [](const StoredRun& run) {  // as the list was called then
        return run_folder(run.row->at("policy").get<std::string>(), run.trace, run.seed, run.start);
    };
    if (!runs.empty() && runs.front().changes) return;  // of a cluster: they are in its tables
    for (const StoredRun& run : runs) ++uses[name_of(run)];
    for (StoredRun& run : runs) {
        const fs::path own = folder / "runs" / name_of(run);
        if (uses[name_of(run)] > 1) continue;
        if (fs::exists(own / "timeline.csv")) run.phases = phase_times(own / "timeline.csv");
        if (fs::exists(own / "decisions.jsonl")) run.decisions = own / "decisions.jsonl";
    }
}

Value ratio(const Value& above, const Value& below) {
    if (!above || !below || *below == 0) return std::nullopt;
    return *above / *below;
}

// What was trained in the time of its timeline: all of the run's samples, but for a live run that
// went on from a checkpoint.
Value samples_in_timeline(const StoredRun& run) {
    const Value samples = number_in(*run.row, "samples");
    if (!samples || !run.phases || run.phases->progress_after <= 0) return samples;
    return *samples * (1 - run.phases->progress_before / run.phases->progress_after);
}

struct NamedValue {
    std::string name;
    std::function<Value(const StoredRun&)> of;
    QuantityKind kind = QuantityKind::number;
};

// What is compared, in the order in which it is shown.
std::vector<NamedValue> compared_values() {
    std::vector<NamedValue> values;
    const auto column = [&](const std::string& name) {
        values.push_back(
            {name, [name](const StoredRun& run) { return number_in(*run.row, name); }});
    };
    const auto running_s = [](const StoredRun& run) {
        return run.phases ? Value(run.phases->running_s) : Value();
    };
    for (const char* name : {"finished", "deadline_met", "duration_s", "cost_usd", "held_s"}) {
        column(name);
    }
    values[0].kind = values[1].kind = QuantityKind::answer;
    for (const std::string_view cause : records::cause_names()) column(std::string(cause) + "_s");
    column("steps");
    values.push_back({"step_s_mean", [=](const StoredRun& run) {
                          const Value stated = number_in(*run.row, "step_s_mean");
                          return stated ? stated
                                        : ratio(running_s(run), number_in(*run.row, "steps"));
                      }});
    values.push_back({"training_s", running_s});  // wall time spent in steps
    column("samples");
    column("work_h");
    values.push_back({"training_samples_per_s", [=](const StoredRun& run) {
                          return ratio(samples_in_timeline(run), running_s(run));
                      }});
    column("transitions");
    values.push_back({"transition_wall_s_mean", [](const StoredRun& run) {
                          if (!run.phases) return Value();
                          return ratio(run.phases->transition_s,
                                       number_in(*run.row, "transitions"));
                      }});
    for (const char* name : {"checkpoints", "revocations", "revocation_events", "failures",
                             "launches", "plans", "discarded", "refused", "loss", "accuracy"}) {
        column(name);
    }
    return values;
}

void find_differences(const json& a, const json& b, const std::string& path,
                      std::vector<std::string>& found) {
    if (a == b) return;
    if (!a.is_object() || !b.is_object()) {
        found.push_back(one_line(fmt::format("{}: {} and {}", path, describe(a), describe(b))));
        return;
    }
    for (const auto& [key, value] : a.items()) {
        const std::string below = path + "/" + pointer_token(key);
        if (b.contains(key)) {
            find_differences(value, b.at(key), below, found);
        } else {
            found.push_back(one_line(fmt::format("{}: {} and nothing", below, describe(value))));
        }
    }
    for (const auto& [key, value] : b.items()) {
        if (a.contains(key)) continue;
        found.push_back(one_line(
            fmt::format("{}/{}: nothing and {}", path, pointer_token(key), describe(value))));
    }
}

std::vector<std::string> scenario_differences(json a, json b) {
    for (json* scenario : {&a, &b}) {
        if (scenario->is_object()) scenario->erase("seed");  // runs say theirs
    }
    std::vector<std::string> found;
    find_differences(a, b, "", found);
    return found;
}

// Of runs on a cluster every number of a row; of runs on markets what is named above.
std::vector<NamedValue> values_in(const StoredRun& run) {
    if (!run.changes) return compared_values();
    std::vector<NamedValue> values;
    for (const auto& [key, value] : run.row->items()) {
        if (key == "seed" || value.is_string() || value.is_object()) continue;
        const bool names = std::ranges::find(run.identifiers, key) != run.identifiers.end();
        values.push_back({key,
                          [key = key](const StoredRun& one) { return number_in(*one.row, key); },
                          names                ? QuantityKind::name
                          : value.is_boolean() ? QuantityKind::answer
                                               : QuantityKind::number});
    }
    return values;
}

ComparedResult compare(const StoredRun& predicted, const StoredRun& measured) {
    ComparedResult run;
    run.policy = one_line(predicted.policy == measured.policy
                              ? predicted.policy
                              : predicted.policy + " and " + measured.policy);
    run.predicted_which = predicted.which();
    run.measured_which = measured.which();
    for (const NamedValue& value : values_in(predicted)) {
        ComparedQuantity quantity{value.name, value.of(predicted), value.of(measured), value.kind};
        if (quantity.predicted || quantity.measured) run.quantities.push_back(std::move(quantity));
    }
    if (predicted.changes && measured.changes) {
        run.decisions = compare_changes(*predicted.changes, *measured.changes);
    } else if (!predicted.decisions.empty() && !measured.decisions.empty()) {
        run.decisions =
            compare_decisions(read_file(predicted.decisions), predicted.decisions.string(),
                              read_file(measured.decisions), measured.decisions.string());
    }
    return run;
}

// Takes out of both lists the pairs for which `alike` holds, where there is no second choice.
void pair_up(std::vector<const StoredRun*>& predicted, std::vector<const StoredRun*>& measured,
             const std::function<bool(const StoredRun&, const StoredRun&)>& alike,
             std::vector<ComparedResult>& pairs) {
    const auto others_like = [&](const std::vector<const StoredRun*>& runs, const StoredRun& one) {
        return std::ranges::count_if(runs, [&](const StoredRun* run) { return alike(*run, one); });
    };
    std::vector<const StoredRun*> left;
    for (const StoredRun* run : predicted) {
        const auto found = std::ranges::find_if(
            measured, [&](const StoredRun* other) { return alike(*run, *other); });
        if (found == measured.end() || others_like(predicted, *run) != 1 ||
            others_like(measured, *run) != 1) {
            left.push_back(run);
            continue;
        }
        pairs.push_back(compare(*run, **found));
        measured.erase(found);
    }
    predicted = std::move(left);
}

}  // namespace

std::string StoredRun::which() const {
    const std::string from =
        start == Duration{} ? "" : fmt::format(" from {}", format_duration(start));
    return one_line(
        fmt::format("{}{}{}seed {}", trace, from, (trace + from).empty() ? "" : ", ", seed));
}

std::string StoredRun::name() const { return one_line(fmt::format("{} ({})", policy, which())); }

Value ComparedQuantity::error() const {
    if (kind != QuantityKind::number || !predicted || !measured) return std::nullopt;
    return *predicted - *measured;
}

std::optional<bool> ComparedQuantity::equal() const {
    if (kind == QuantityKind::number || !predicted || !measured) return std::nullopt;
    return *predicted == *measured;
}

Value ComparedQuantity::relative() const {
    const Value difference = error();
    if (!difference || *measured == 0) return std::nullopt;
    return *difference / std::abs(*measured);
}

ResultsComparison compare_results(const fs::path& predicted, const fs::path& measured) {
    StoredResults sim = load(predicted);
    StoredResults live = load(measured);
    if (sim.command != live.command) {
        throw InputError(measured.string(), "",
                         fmt::format("is of ukemi {}, and {} of ukemi {}: expected both of one",
                                     live.command, one_line(predicted.string()), sim.command));
    }
    load_details(predicted, sim.runs);
    load_details(measured, live.runs);
    ResultsComparison result;
    result.scenario_differences = scenario_differences(*sim.scenario, *live.scenario);
    if (sim.scenario->is_object()) {
        const auto name = sim.scenario->find("name");
        if (name != sim.scenario->end() && name->is_string()) {
            result.scenario = one_line(name->get<std::string>());
        }
    }
    std::vector<const StoredRun*> left;
    std::vector<const StoredRun*> right;
    for (const StoredRun& run : sim.runs) left.push_back(&run);
    for (const StoredRun& run : live.runs) right.push_back(&run);
    using Run = const StoredRun&;
    pair_up(
        left, right,
        [](Run a, Run b) {
            return a.policy == b.policy && a.trace == b.trace && a.start == b.start &&
                   a.seed == b.seed;
        },
        result.runs);
    pair_up(
        left, right, [](Run a, Run b) { return a.policy == b.policy && a.seed == b.seed; },
        result.runs);
    pair_up(
        left, right, [](Run a, Run b) { return a.policy == b.policy; }, result.runs);
    const bool last_choice = result.runs.empty() && left.size() == 1 && right.size() == 1;
    if (last_choice)
        pair_up(
            left, right, [](Run, Run) { return true; }, result.runs);
    for (const StoredRun* run : left) result.only_predicted.push_back(run->name());
    for (const StoredRun* run : right) result.only_measured.push_back(run->name());
    return result;
}

}  // namespace ukemi::analysis
