// series_statistics.cpp — one pass over the steps; integers until the division.
#include "traces/series_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/statistics.hpp"

namespace ukemi::traces {

namespace {

// How long a step counts: the only one of a series of one moment counts whole.
Int128 weight_of(const auto& series, std::size_t index) {
    if (series.end == Instant{}) return 1;
    return (end_of_step(series, index) - series.steps[index].at).raw();
}
Int128 weight_of(const auto& series) {
    return series.end == Instant{} ? 1 : series.end.since_start().raw();
}

double ratio(Int128 part, Int128 whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_runs(const AvailabilitySeries& series, SeriesStatistics& statistics) {
    std::vector<Duration> up;
    std::vector<Duration> down;
    Instant run_start;
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const bool is_up = series.steps[i].value > 0;
        const bool ends = i + 1 == series.steps.size() || (series.steps[i + 1].value > 0) != is_up;
        if (!ends) continue;
        (is_up ? up : down).push_back(end_of_step(series, i) - run_start);
        run_start = end_of_step(series, i);
    }
    if (!up.empty()) statistics.up_run_median = upper_median(std::move(up));
    if (!down.empty()) statistics.down_run_median = upper_median(std::move(down));
}

}  // namespace

SeriesStatistics statistics_of(const AvailabilitySeries& series) {
    SeriesStatistics statistics;
    statistics.length = series.end.since_start();
    for (const auto& step : series.steps) {
        statistics.instances_max = std::max(statistics.instances_max, step.value);
    }
    Int128 held = 0;
    Int128 none = 0;
    Int128 full = 0;
    std::int64_t lost = 0;
    std::int64_t gained = 0;
    std::int64_t gain_events = 0;
    std::int64_t total_losses = 0;
    double share_lost = 0;
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const std::int32_t value = series.steps[i].value;
        const Int128 lasted = weight_of(series, i);
        held += lasted * value;
        if (value == 0) none += lasted;
        if (value == statistics.instances_max && value > 0) full += lasted;
        if (i == 0) continue;
        const std::int32_t before = series.steps[i - 1].value;
        ++statistics.changes;
        if (value > before) {
            ++gain_events;
            gained += value - before;
            continue;
        }
        ++statistics.loss_events;
        lost += before - value;
        share_lost += ratio(before - value, before);
        if (value == 0) ++total_losses;
    }
    const Int128 length = weight_of(series);
    statistics.instances_mean = ratio(held, length);
    statistics.share_mean = ratio(held, length * statistics.instances_max);
    statistics.share_of_time_none = ratio(none, length);
    statistics.share_of_time_full = ratio(full, length);
    if (statistics.length > Duration{}) {
        statistics.loss_events_per_hour =
            static_cast<double>(statistics.loss_events) / to_hours(statistics.length);
    }
    statistics.instances_lost_per_event = ratio(lost, statistics.loss_events);
    statistics.share_of_total_losses = ratio(total_losses, statistics.loss_events);
    statistics.instances_gained_per_event = ratio(gained, gain_events);
    if (statistics.loss_events > 0) {
        statistics.share_lost_per_event = share_lost / static_cast<double>(statistics.loss_events);
    }
    add_runs(series, statistics);
    return statistics;
}

PriceStatistics statistics_of(const PriceSeries& series) {
    PriceStatistics statistics;
    statistics.length = series.end.since_start();
    Int128 paid = 0;
    double steps = 0;
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const Price price = series.steps[i].value;
        if (i == 0) statistics.min = price;
        statistics.min = std::min(statistics.min, price);
        statistics.max = std::max(statistics.max, price);
        paid += static_cast<Int128>(price.raw()) * weight_of(series, i);
        if (i == 0) continue;
        ++statistics.changes;
        const Price before = series.steps[i - 1].value;
        steps += ratio(std::abs((price - before).raw()), before.raw());
    }
    statistics.usd_per_hour_mean = ratio(paid, weight_of(series)) / 1e9;
    if (statistics.changes > 0) {
        const auto changes = static_cast<double>(statistics.changes);
        statistics.step_share_mean = steps / changes;
        if (statistics.length > Duration{}) {
            statistics.changes_per_day = changes / to_hours(statistics.length) * 24;
        }
    }
    return statistics;
}

std::string describe(const SeriesStatistics& s) {
    return fmt::format(
        "{:.1f} h, {:.2f} of {} instances on average ({:.1f} %), {} changes, {:.3f} losses/h of "
        "{:.2f} instances ({:.0f} % of them total), median run {:.2f} h up, {:.2f} h down",
        to_hours(s.length), s.instances_mean, s.instances_max, s.share_mean * 100, s.changes,
        s.loss_events_per_hour, s.instances_lost_per_event, s.share_of_total_losses * 100,
        to_hours(s.up_run_median), to_hours(s.down_run_median));
}

std::string describe(const PriceStatistics& s) {
    return fmt::format(
        "{:.1f} h, {:.4f} USD/h on average ({:.4f} to {:.4f}), {} changes, {:.1f} a "
        "day of {:.2f} %",
        to_hours(s.length), s.usd_per_hour_mean, to_dollars_per_hour(s.min),
        to_dollars_per_hour(s.max), s.changes, s.changes_per_day, s.step_share_mean * 100);
}

}  // namespace ukemi::traces
