#include "records/timeline.hpp"

#include <algorithm>
#include <limits>

#include "base/csv_writer.hpp"

namespace ukemi::records {

std::string_view job_phase_name(policies::JobPhase phase) {
    return policies::job_phase_names[static_cast<std::size_t>(phase)];
}

std::string to_csv(const Timeline& timeline, std::int64_t samples_total) {
    std::vector<std::string> columns{"t_s",
                                     "phase",
                                     "spot_held",
                                     "on_demand_held",
                                     "workers",
                                     "spot_capacity",
                                     "spot_usd_per_instance_hour",
                                     "progress",
                                     "spent_usd",
                                     "spot_losses"};
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    const bool learns = std::ranges::any_of(
        timeline, [](const TimelineRow& row) { return row.loss || row.accuracy; });
    if (learns) columns.insert(columns.end(), {"loss", "accuracy"});
    const bool batches = std::ranges::any_of(
        timeline, [](const TimelineRow& row) { return row.batch || row.learned; });
    if (batches) columns.insert(columns.end(), {"batch", "learned"});
    const bool phases = std::ranges::any_of(
        timeline, [](const TimelineRow& row) { return row.transition_phase.has_value(); });
    if (phases) columns.emplace_back("transition_phase");
    const bool noise = std::ranges::any_of(
        timeline, [](const TimelineRow& row) { return row.noise_scale.has_value(); });
    if (noise) columns.emplace_back("noise_scale");
    const bool prices = std::ranges::any_of(
        timeline, [](const TimelineRow& row) { return row.spot_prices.has_value(); });
    if (prices) {
        columns.insert(columns.end(),
                       {"spot_usd_per_instance_hour_lowest", "spot_usd_per_instance_hour_highest"});
    }
    CsvWriter csv(columns);
    for (const TimelineRow& row : timeline) {
        csv.add(to_seconds(row.at.since_start()))
            .add(job_phase_name(row.phase))
            .add(std::int64_t{row.spot_held})
            .add(std::int64_t{row.on_demand_held})
            .add(std::int64_t{row.workers})
            .add(std::int64_t{row.spot_capacity})
            .add(to_dollars_per_hour(row.spot_price))
            .add(static_cast<double>(row.samples_done) / static_cast<double>(samples_total))
            .add(to_dollars(row.spent))
            .add(row.spot_losses);
        if (learns) csv.add(row.loss.value_or(no_value)).add(row.accuracy.value_or(no_value));
        if (batches) {
            csv.add(row.batch ? static_cast<double>(*row.batch) : no_value)
                .add(row.learned.value_or(no_value));
        }
        if (phases) {
            const auto phase = row.transition_phase.value_or(policies::TransitionPhase::none);
            csv.add(policies::transition_phase_names[static_cast<std::size_t>(phase)]);
        }
        if (noise) csv.add(row.noise_scale.value_or(no_value));
        if (prices) {
            const auto [lowest, highest] =
                row.spot_prices.value_or(std::pair(row.spot_price, row.spot_price));
            csv.add(to_dollars_per_hour(lowest)).add(to_dollars_per_hour(highest));
        }
        csv.end_row();
    }
    return csv.text();
}

}  // namespace ukemi::records
