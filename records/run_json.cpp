#include "records/run_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/csv_writer.hpp"
#include "base/invariant.hpp"
#include "records/json_fields.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::records {

namespace {

// Nothing is a null in JSON and an empty field in CSV.
using Value = std::variant<std::string, double, std::int64_t, bool, std::monostate>;

struct Column {
    std::string name;
    Value value;
};

// What is not a number is a word, because JSON has no number for it.
Value real_or_nothing(std::optional<double> value) {
    if (!value) return std::monostate{};
    if (std::isfinite(*value)) return *value;
    return real_json(*value).get<std::string>();
}

// Why it did not finish, and what somebody who knew the market would have paid.
void add_judgement(std::vector<Column>& columns, const RunResult& run) {
    std::optional<double> optimum_usd;
    if (run.optimum) optimum_usd = to_dollars(*run.optimum);
    columns.push_back({"unfinished_because", run.unfinished_because.empty()
                                                 ? Value(std::monostate{})
                                                 : Value(run.unfinished_because)});
    columns.push_back({"optimum_usd", real_or_nothing(optimum_usd)});
    columns.push_back({"optimum_kind", run.optimum_kind.empty() ? Value(std::monostate{})
                                                                : Value(run.optimum_kind)});
    columns.push_back({"regret_percent", real_or_nothing(run.regret_percent())});
}

// What was bought of which market, and the work that was done where that is a time.
void add_market_totals(std::vector<Column>& columns, const RunResult& run) {
    std::optional<double> work_h;
    if (run.work_is_time) work_h = static_cast<double>(run.samples_done) / 3.6e12;
    columns.push_back({"work_h", real_or_nothing(work_h)});
    columns.push_back({"spot_h", to_hours(run.spot.held)});
    columns.push_back({"on_demand_h", to_hours(run.on_demand.held)});
    columns.push_back({"spot_usd", to_dollars(run.spot.cost)});
    columns.push_back({"on_demand_usd", to_dollars(run.on_demand.cost)});
    columns.push_back({"worker_h", to_hours(run.worker_time)});
}

// What only a job in pipelines has.
void add_pipelines(std::vector<Column>& columns, const RunResult& run) {
    const auto count = [&](std::int64_t PipelineCounts::*of) {
        return run.pipelines ? Value((*run.pipelines).*of) : Value(std::monostate{});
    };
    columns.push_back({"meetings", count(&PipelineCounts::meetings)});
    columns.push_back({"takeovers", count(&PipelineCounts::takeovers)});
    columns.push_back({"fatal_failures", count(&PipelineCounts::fatal_failures)});
    std::optional<double> from_s, until_s;
    if (run.trained) from_s = to_seconds(run.trained->first);
    if (run.trained) until_s = to_seconds(run.trained->second);
    columns.push_back({"trained_from_s", real_or_nothing(from_s)});
    columns.push_back({"trained_until_s", real_or_nothing(until_s)});
}

// The columns before which those of varied keys stand.
constexpr std::size_t columns_that_name = 4;

// The one list of what a run reports but for its varied keys, in the order of the CSV's columns.
std::vector<Column> columns_of(const RunResult& run) {
    std::optional<double> deadline_s;
    if (run.deadline) deadline_s = to_seconds(*run.deadline);
    const Value met = run.deadline ? Value(run.deadline_met) : Value(std::monostate{});
    const Value samples = run.work_is_time ? Value(std::monostate{}) : Value(run.samples_done);
    std::vector<Column> columns{{"scenario", run.scenario},
                                {"trace", run.trace},
                                {"policy", run.policy},
                                {"seed", static_cast<std::int64_t>(run.seed)},
                                {"oracle", run.oracle},
                                {"finished", run.finished},
                                {"deadline_met", met},
                                {"deadline_s", real_or_nothing(deadline_s)},
                                {"cost_usd", to_dollars(run.cost)},
                                {"duration_s", to_seconds(run.duration)},
                                {"ticks", run.ticks},
                                {"progress", static_cast<double>(run.samples_done) /
                                                 static_cast<double>(run.samples_total)},
                                {"samples", samples},
                                {"launches", run.launches},
                                {"revocations", run.revocations},
                                {"revocation_events", run.revocation_events},
                                {"transitions", run.transitions},
                                {"checkpoints", run.checkpoints},
                                {"plans", run.plans},
                                {"discarded", run.discarded},
                                {"refused", run.refused},
                                {"held_s", to_seconds(run.held)}};
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        columns.push_back(
            {std::string(cause_names()[cause]) + "_s", to_seconds(run.causes.time[cause])});
    }
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        columns.push_back(
            {std::string(cause_names()[cause]) + "_usd", to_dollars(run.causes.cost[cause])});
    }
    columns.push_back({"cost_nano_usd", run.cost.raw()});
    columns.push_back({"events", run.events});
    columns.push_back({"event_hash", run.event_hash});
    columns.push_back({"steps", run.steps ? Value(*run.steps) : Value(std::monostate{})});
    std::optional<double> step_s;
    if (run.step_mean) step_s = to_seconds(*run.step_mean);
    columns.push_back({"step_s_mean", real_or_nothing(step_s)});
    columns.push_back({"loss", real_or_nothing(run.loss)});
    columns.push_back({"accuracy", real_or_nothing(run.accuracy)});
    columns.push_back({"egress_usd", to_dollars(run.egress)});
    columns.push_back({"launch_failures", run.launch_failures});
    for (std::size_t phase = 1; phase < policies::transition_phase_count; ++phase) {
        std::optional<double> standstill_s, instance_s;
        if (run.phases) standstill_s = to_seconds((*run.phases)[phase].standstill);
        if (run.phases) instance_s = to_seconds((*run.phases)[phase].instance_time);
        const std::string name = fmt::format("{}_phase", policies::transition_phase_names[phase]);
        columns.push_back({name + "_s", real_or_nothing(standstill_s)});
        columns.push_back({name + "_instance_s", real_or_nothing(instance_s)});
    }
    columns.push_back({"stuck", run.stuck});
    columns.push_back({"predictor", run.predictor});
    columns.push_back({"record", run.record});
    columns.push_back({"start_s", to_seconds(run.start)});
    columns.push_back({"stretch", run.stretch});
    add_judgement(columns, run);
    columns.push_back({"variant", variant_label(run.varied)});
    add_market_totals(columns, run);
    add_pipelines(columns, run);
    return columns;
}

}  // namespace

std::string runs_json(std::span<const RunResult> runs, std::span<const std::string> warnings) {
    using nlohmann::ordered_json;
    const VariedColumns varied(runs);
    ordered_json list = ordered_json::array();
    for (const RunResult& run : runs) {
        ordered_json object;
        std::size_t number = 0;
        for (const Column& column : columns_of(run)) {
            if (number++ == columns_that_name) varied.add_fields(object, run.varied);
            std::visit(
                [&](const auto& value) {
                    using Held = std::decay_t<decltype(value)>;
                    if constexpr (std::is_same_v<Held, std::monostate>) {
                        object[column.name] = nullptr;
                    } else {
                        object[column.name] = value;
                    }
                },
                column.value);
        }
        for (const VariedValue& one : run.varied) object["varied"][one.pointer] = one.value;
        list.push_back(std::move(object));
    }
    ordered_json document;
    document["runs"] = std::move(list);
    document["warnings"] = ordered_json::array();
    for (const std::string& one : warnings) document["warnings"].push_back(one);
    // Names of files need not be UTF-8; what is not is shown as the replacement character.
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string runs_csv(std::span<const RunResult> runs) {
    const VariedColumns varied(runs);
    std::vector<std::string> names;
    RunResult nameless;
    nameless.samples_total = 1;
    for (const Column& column : columns_of(nameless)) {
        if (names.size() == columns_that_name) varied.add_names(names);
        names.push_back(column.name);
    }
    CsvWriter csv(names);
    for (const RunResult& run : runs) {
        std::size_t number = 0;
        for (const Column& column : columns_of(run)) {
            if (number++ == columns_that_name) varied.add_fields(csv, run.varied);
            std::visit(
                [&](const auto& value) {
                    using Held = std::decay_t<decltype(value)>;
                    if constexpr (std::is_same_v<Held, bool>) {
                        csv.add(std::string_view(value ? "true" : "false"));
                    } else if constexpr (std::is_same_v<Held, std::monostate>) {
                        csv.add(std::string_view{});
                    } else if constexpr (std::is_same_v<Held, std::string>) {
                        csv.add(std::string_view(value));
                    } else {
                        csv.add(value);
                    }
                },
                column.value);
        }
        csv.end_row();
    }
    return csv.text();
}

}  // namespace ukemi::records
