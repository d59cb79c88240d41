#include "analysis/series_table.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/csv_writer.hpp"
#include "base/statistics.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_statistics.hpp"

namespace ukemi::analysis {

namespace {

struct SeriesNumber {
    const char* name;
    double value;  // not a number: it has none
};

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// The one list of columns.
std::vector<SeriesNumber> numbers_of(const traces::TraceSeries& series) {
    std::optional<traces::SeriesStatistics> held;
    std::optional<traces::AvailabilityDetail> runs;
    std::optional<traces::PriceStatistics> price;
    std::optional<traces::PriceDetail> levels;
    if (series.availability) held = traces::statistics_of(*series.availability);
    if (series.availability) runs = traces::detail_of(*series.availability);
    if (series.price) price = traces::statistics_of(*series.price);
    if (series.price) levels = traces::detail_of(*series.price);
    const auto of = [](const auto& known, auto number) {
        return known ? static_cast<double>(number(*known)) : no_number;
    };
    const auto middle = [](const std::vector<double>& hours) {
        return hours.empty() ? no_number : median(hours);
    };
    using Held = traces::SeriesStatistics;
    using Runs = traces::AvailabilityDetail;
    using Paid = traces::PriceStatistics;
    using Levels = traces::PriceDetail;
    return {
        {"length_h", of(held, [](const Held& s) { return to_hours(s.length); })},
        {"instances_max", of(held, [](const Held& s) { return s.instances_max; })},
        {"instances_mean", of(held, [](const Held& s) { return s.instances_mean; })},
        {"share_mean", of(held, [](const Held& s) { return s.share_mean; })},
        {"share_of_time_none", of(held, [](const Held& s) { return s.share_of_time_none; })},
        {"share_of_time_full", of(held, [](const Held& s) { return s.share_of_time_full; })},
        {"loss_events", of(held, [](const Held& s) { return s.loss_events; })},
        {"loss_events_per_hour", of(held, [](const Held& s) { return s.loss_events_per_hour; })},
        {"instances_lost_per_event",
         of(held, [](const Held& s) { return s.instances_lost_per_event; })},
        {"share_of_total_losses", of(held, [](const Held& s) { return s.share_of_total_losses; })},
        {"up_run_h_median", of(runs, [&](const Runs& s) { return middle(s.up_runs_h); })},
        {"down_run_h_median", of(runs, [&](const Runs& s) { return middle(s.down_runs_h); })},
        {"price_length_h", of(price, [](const Paid& s) { return to_hours(s.length); })},
        {"usd_per_hour_mean", of(price, [](const Paid& s) { return s.usd_per_hour_mean; })},
        {"usd_per_hour_min", of(price, [](const Paid& s) { return to_dollars_per_hour(s.min); })},
        {"usd_per_hour_p10", of(levels, [](const Levels& s) { return s.usd_p10; })},
        {"usd_per_hour_median", of(levels, [](const Levels& s) { return s.usd_median; })},
        {"usd_per_hour_p90", of(levels, [](const Levels& s) { return s.usd_p90; })},
        {"usd_per_hour_p99", of(levels, [](const Levels& s) { return s.usd_p99; })},
        {"usd_per_hour_max", of(price, [](const Paid& s) { return to_dollars_per_hour(s.max); })},
        {"price_changes", of(price, [](const Paid& s) { return s.changes; })},
        {"price_changes_per_day", of(price, [](const Paid& s) { return s.changes_per_day; })}};
}

struct SeriesText {
    const char* name;
    const std::string* value;
};

std::array<SeriesText, 4> texts_of(const DescribedSeries& one) {
    return {{{"file", &one.file},
             {"zone", &one.series.zone},
             {"instance_type", &one.series.instance_type},
             {"start", &one.series.start}}};
}

}  // namespace

std::string series_csv(std::span<const DescribedSeries> all) {
    std::vector<std::string> columns;
    const DescribedSeries nothing;
    for (const SeriesText& text : texts_of(nothing)) columns.emplace_back(text.name);
    for (const SeriesNumber& number : numbers_of(nothing.series)) columns.emplace_back(number.name);
    CsvWriter csv(columns);
    for (const DescribedSeries& one : all) {
        for (const SeriesText& text : texts_of(one)) csv.add(*text.value);
        for (const SeriesNumber& number : numbers_of(one.series)) csv.add(number.value);
        csv.end_row();
    }
    return csv.text();
}

std::string series_json(std::span<const DescribedSeries> all) {
    using nlohmann::ordered_json;
    ordered_json rows = ordered_json::array();
    for (const DescribedSeries& one : all) {
        ordered_json row;
        for (const SeriesText& text : texts_of(one)) {
            row[text.name] = text.value->empty() ? ordered_json() : ordered_json(*text.value);
        }
        for (const SeriesNumber& number : numbers_of(one.series)) {
            row[number.name] =
                std::isnan(number.value) ? ordered_json() : ordered_json(number.value);
        }
        rows.push_back(std::move(row));
    }
    ordered_json document;
    document["series"] = std::move(rows);
    return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace ukemi::analysis
