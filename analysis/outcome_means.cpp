#include "analysis/outcome_means.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ukemi::analysis {

namespace {

struct OutcomeColumn {
    const char* name;
    double (*of)(const OutcomeMeans& means);  // not a number: nobody knows
};

constexpr double unknown_mean = std::numeric_limits<double>::quiet_NaN();

constexpr OutcomeColumn outcome_columns[] = {
    {"deadline_met_share",
     [](const OutcomeMeans& m) { return m.deadline_met_share().value_or(unknown_mean); }},
    {"spot_h_mean", [](const OutcomeMeans& m) { return m.spot_h; }},
    {"on_demand_h_mean", [](const OutcomeMeans& m) { return m.on_demand_h; }},
    {"worker_h_mean", [](const OutcomeMeans& m) { return m.worker_h; }},
    {"spot_usd_mean", [](const OutcomeMeans& m) { return m.spot_usd; }},
    {"on_demand_usd_mean", [](const OutcomeMeans& m) { return m.on_demand_usd; }},
    {"egress_usd_mean", [](const OutcomeMeans& m) { return m.egress_usd; }},
    {"optimum_usd_mean",
     [](const OutcomeMeans& m) { return m.optimum ? m.optimum->usd : unknown_mean; }},
    {"regret_percent",
     [](const OutcomeMeans& m) { return m.regret_percent.value_or(unknown_mean); }}};

std::string_view kind_of(const OutcomeMeans& means) {
    return !means.optimum ? "" : means.optimum->exact ? "exact" : "bound";
}

}  // namespace

void OutcomeCounts::add(bool is_finished, std::optional<bool> met) {
    ++runs;
    finished += is_finished;
    with_deadline += met.has_value();
    deadline_met += met.value_or(false);
}

std::optional<double> OutcomeCounts::deadline_met_share() const {
    if (with_deadline == 0) return std::nullopt;
    return static_cast<double>(deadline_met) / static_cast<double>(with_deadline);
}

std::string OutcomeCounts::deadline_met_percent() const {
    const auto share = deadline_met_share();
    return share ? fmt::format("{:.0f}", 100 * *share) : std::string(nothing_to_show);
}

int OutcomeCounts::rank() const {
    if (finished == 0) return 2;
    return finished == runs && deadline_met == with_deadline ? 0 : 1;
}

OutcomeMeans outcome_means(std::span<const PolicyGroup::Member> members, bool of_finished_only) {
    OutcomeMeans means;
    RegretSum regret;
    std::size_t counted = 0;
    for (const PolicyGroup::Member& member : members) {
        const records::RunResult& run = *member.run;
        means.add(run.finished, run.deadline ? std::optional(run.deadline_met) : std::nullopt);
        regret.add(run);
        if (of_finished_only && !run.finished) continue;
        ++counted;
        means.spot_h += to_hours(run.spot.held);
        means.on_demand_h += to_hours(run.on_demand.held);
        means.worker_h += to_hours(run.worker_time);
        means.spot_usd += to_dollars(run.spot.cost);
        means.on_demand_usd += to_dollars(run.on_demand.cost);
        means.egress_usd += to_dollars(run.egress);
    }
    for (double* const sum : {&means.spot_h, &means.on_demand_h, &means.worker_h, &means.spot_usd,
                              &means.on_demand_usd, &means.egress_usd}) {
        *sum = counted == 0 ? unknown_mean : *sum / static_cast<double>(counted);
    }
    means.optimum = regret.optimum();
    means.regret_percent = regret.percent();
    means.regret_runs = means.regret_percent ? regret.runs_in_time() : 0;
    return means;
}

void add_outcome_names(std::vector<std::string>& names) {
    for (const OutcomeColumn& column : outcome_columns) names.emplace_back(column.name);
    names.emplace_back("optimum_kind");
    names.emplace_back("regret_runs");
}

void add_outcome_fields(CsvWriter& csv, const OutcomeMeans& means) {
    for (const OutcomeColumn& column : outcome_columns) csv.add(column.of(means));
    csv.add(kind_of(means)).add(means.regret_runs);
}

void add_outcome_fields(nlohmann::ordered_json& row, const OutcomeMeans& means) {
    for (const OutcomeColumn& column : outcome_columns) {
        const double value = column.of(means);
        row[column.name] =
            std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
    }
    row["optimum_kind"] =
        means.optimum ? nlohmann::ordered_json(kind_of(means)) : nlohmann::ordered_json();
    row["regret_runs"] = means.regret_runs;
}

}  // namespace ukemi::analysis
