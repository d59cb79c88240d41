// outcome_means.hpp — what tables of policies say beside cost and time: of a policy's runs in one
// variant, what was bought of which market, whether it was in time, and regret over the optimum.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/regret.hpp"
#include "analysis/units.hpp"
#include "base/csv_writer.hpp"

namespace ukemi::analysis {

struct OutcomeCounts {
    std::size_t runs = 0;
    std::size_t finished = 0;
    std::size_t with_deadline = 0;
    std::size_t deadline_met = 0;

    void add(bool is_finished, std::optional<bool> met);  // empty: it has no deadline
    std::optional<double> deadline_met_share() const;
    std::string deadline_met_percent() const;  // as tables show it
    // In tables those who finish in time stand first, who did not even finish once last: they paid
    // for something else.
    int rank() const;
};

struct OutcomeMeans : OutcomeCounts {
    // Means over the runs that were asked for; not a number where there are none.
    double spot_h = 0;
    double on_demand_h = 0;
    double worker_h = 0;  // of both, what machines were in the group that trains
    double spot_usd = 0;
    double on_demand_usd = 0;
    double egress_usd = 0;  // beside both
    std::optional<OptimumMean> optimum;
    std::optional<double> regret_percent;
    std::size_t regret_runs = 0;  // that it is of: those in time
};

// What is bought is of all members, or of those that finished their work.
OutcomeMeans outcome_means(std::span<const PolicyGroup::Member> members, bool of_finished_only);

// Columns of files, with one name in each: "deadline_met_share", "spot_usd_mean".
void add_outcome_names(std::vector<std::string>& names);
void add_outcome_fields(CsvWriter& csv, const OutcomeMeans& means);
void add_outcome_fields(nlohmann::ordered_json& row, const OutcomeMeans& means);  // null: nothing

}  // namespace ukemi::analysis
