// run_columns.cpp — a line for each number and word that a run reports.
#include "records/run_columns.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "records/varied_columns.hpp"

namespace ukemi::records {

namespace {

using Columns = std::vector<RunColumn>;
using Real = std::optional<double>;

RunValue real_or_nothing(Real value) {
    if (!value) return std::monostate{};
    return *value;
}

RunValue text_or_nothing(const std::string& text) {
    if (text.empty()) return std::monostate{};
    return text;
}

void add_text(Columns& columns, std::string name, std::string RunResult::*member) {
    columns.push_back({std::move(name), RunColumnKind::text,
                       [member](const RunResult& run) { return RunValue(run.*member); }});
}
void add_integer(Columns& columns, std::string name, std::int64_t RunResult::*member) {
    columns.push_back({std::move(name), RunColumnKind::integer,
                       [member](const RunResult& run) { return RunValue(run.*member); }});
}
void add_flag(Columns& columns, std::string name, bool RunResult::*member) {
    columns.push_back({std::move(name), RunColumnKind::flag,
                       [member](const RunResult& run) { return RunValue(run.*member); }});
}
void add_real(Columns& columns, std::string name, std::function<Real(const RunResult&)> of) {
    columns.push_back(
        {std::move(name), RunColumnKind::real,
         [of = std::move(of)](const RunResult& run) { return real_or_nothing(of(run)); }});
}

void add_names(Columns& columns) {
    add_text(columns, "scenario", &RunResult::scenario);
    add_text(columns, "trace", &RunResult::trace);
    add_text(columns, "policy", &RunResult::policy);
    columns.push_back({"seed", RunColumnKind::integer, [](const RunResult& run) {
                           return RunValue(static_cast<std::int64_t>(run.seed));
                       }});
}

void add_outcome(Columns& columns) {
    add_flag(columns, "oracle", &RunResult::oracle);
    add_flag(columns, "finished", &RunResult::finished);
    columns.push_back({"deadline_met", RunColumnKind::flag, [](const RunResult& run) {
                           return run.deadline ? RunValue(run.deadline_met)
                                               : RunValue(std::monostate{});
                       }});
    add_real(columns, "deadline_s", [](const RunResult& run) {
        return run.deadline ? Real(to_seconds(*run.deadline)) : std::nullopt;
    });
    add_real(columns, "cost_usd", [](const RunResult& run) { return to_dollars(run.cost); });
    add_real(columns, "duration_s", [](const RunResult& run) { return to_seconds(run.duration); });
    add_integer(columns, "ticks", &RunResult::ticks);
    add_real(columns, "progress", [](const RunResult& run) -> Real {
        if (run.samples_total == 0) return std::nullopt;
        return static_cast<double>(run.samples_done) / static_cast<double>(run.samples_total);
    });
    columns.push_back({"samples", RunColumnKind::integer, [](const RunResult& run) {
                           return run.work_is_time ? RunValue(std::monostate{})
                                                   : RunValue(run.samples_done);
                       }});
    add_integer(columns, "launches", &RunResult::launches);
    add_integer(columns, "revocations", &RunResult::revocations);
    add_integer(columns, "revocation_events", &RunResult::revocation_events);
    add_integer(columns, "transitions", &RunResult::transitions);
    add_integer(columns, "checkpoints", &RunResult::checkpoints);
    add_integer(columns, "plans", &RunResult::plans);
    add_integer(columns, "discarded", &RunResult::discarded);
    add_integer(columns, "refused", &RunResult::refused);
    add_real(columns, "held_s", [](const RunResult& run) { return to_seconds(run.held); });
}

void add_causes(Columns& columns) {
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        add_real(columns, fmt::format("{}_s", cause_names()[cause]),
                 [cause](const RunResult& run) { return to_seconds(run.causes.time[cause]); });
    }
    for (std::size_t cause = 0; cause < cause_count; ++cause) {
        add_real(columns, fmt::format("{}_usd", cause_names()[cause]),
                 [cause](const RunResult& run) { return to_dollars(run.causes.cost[cause]); });
    }
    columns.push_back({"cost_nano_usd", RunColumnKind::integer,
                       [](const RunResult& run) { return RunValue(run.cost.raw()); }});
    add_integer(columns, "events", &RunResult::events);
    add_text(columns, "event_hash", &RunResult::event_hash);
}

void add_learning(Columns& columns) {
    columns.push_back({"steps", RunColumnKind::integer, [](const RunResult& run) {
                           return run.steps ? RunValue(*run.steps) : RunValue(std::monostate{});
                       }});
    add_real(columns, "step_s_mean", [](const RunResult& run) {
        return run.step_mean ? Real(to_seconds(*run.step_mean)) : std::nullopt;
    });
    add_real(columns, "loss", [](const RunResult& run) { return run.loss; });
    add_real(columns, "accuracy", [](const RunResult& run) { return run.accuracy; });
    add_real(columns, "egress_usd", [](const RunResult& run) { return to_dollars(run.egress); });
    add_integer(columns, "launch_failures", &RunResult::launch_failures);
    add_integer(columns, "failures", &RunResult::failures);
}

void add_phase_times(Columns& columns) {
    const auto add = [&](std::string name, std::size_t phase, Duration PhaseCost::*member) {
        add_real(columns, std::move(name), [phase, member](const RunResult& run) {
            return run.phases ? Real(to_seconds((*run.phases)[phase].*member)) : std::nullopt;
        });
    };
    for (std::size_t phase = 1; phase < policies::transition_phase_count; ++phase) {
        const std::string name = fmt::format("{}_phase", policies::transition_phase_names[phase]);
        add(name + "_s", phase, &PhaseCost::standstill);
        add(name + "_instance_s", phase, &PhaseCost::instance_time);
    }
}

// Where in its market it began, why it did not finish, what somebody who knew the market would
// have paid.
void add_judgement(Columns& columns) {
    add_flag(columns, "stuck", &RunResult::stuck);
    add_text(columns, "predictor", &RunResult::predictor);
    add_text(columns, "record", &RunResult::record);
    add_real(columns, "start_s", [](const RunResult& run) { return to_seconds(run.start); });
    add_integer(columns, "stretch", &RunResult::stretch);
    columns.push_back({"unfinished_because", RunColumnKind::text, [](const RunResult& run) {
                           return text_or_nothing(run.unfinished_because);
                       }});
    add_real(columns, "optimum_usd", [](const RunResult& run) {
        return run.optimum ? Real(to_dollars(*run.optimum)) : std::nullopt;
    });
    columns.push_back({"optimum_kind", RunColumnKind::text,
                       [](const RunResult& run) { return text_or_nothing(run.optimum_kind); }});
    add_real(columns, "regret_percent", [](const RunResult& run) { return run.regret_percent(); });
    columns.push_back({"variant", RunColumnKind::text,
                       [](const RunResult& run) { return RunValue(variant_label(run.varied)); }});
}

// What was bought of which market, and the work that was done where that is a time.
void add_market_totals(Columns& columns) {
    add_real(columns, "work_h", [](const RunResult& run) {
        return run.work_is_time ? Real(static_cast<double>(run.samples_done) / 3.6e12)
                                : std::nullopt;
    });
    add_real(columns, "spot_h", [](const RunResult& run) { return to_hours(run.spot.held); });
    add_real(columns, "on_demand_h",
             [](const RunResult& run) { return to_hours(run.on_demand.held); });
    add_real(columns, "spot_usd", [](const RunResult& run) { return to_dollars(run.spot.cost); });
    add_real(columns, "on_demand_usd",
             [](const RunResult& run) { return to_dollars(run.on_demand.cost); });
    add_real(columns, "worker_h", [](const RunResult& run) { return to_hours(run.worker_time); });
}

// What only a job in pipelines has.
void add_pipelines(Columns& columns) {
    const auto add_count = [&](std::string name, std::int64_t PipelineCounts::*member) {
        columns.push_back({std::move(name), RunColumnKind::integer, [member](const RunResult& run) {
                               return run.pipelines ? RunValue((*run.pipelines).*member)
                                                    : RunValue(std::monostate{});
                           }});
    };
    add_count("meetings", &PipelineCounts::meetings);
    add_count("takeovers", &PipelineCounts::takeovers);
    add_count("fatal_failures", &PipelineCounts::fatal_failures);
    add_real(columns, "trained_from_s", [](const RunResult& run) {
        return run.trained ? Real(to_seconds(run.trained->first)) : std::nullopt;
    });
    add_real(columns, "trained_until_s", [](const RunResult& run) {
        return run.trained ? Real(to_seconds(run.trained->second)) : std::nullopt;
    });
}

}  // namespace

std::span<const RunColumn> run_columns() {
    static const Columns columns = [] {
        Columns all;
        for (const auto add : {add_names, add_outcome, add_causes, add_learning, add_phase_times,
                               add_judgement, add_market_totals, add_pipelines}) {
            add(all);
        }
        return all;
    }();
    return columns;
}

}  // namespace ukemi::records
