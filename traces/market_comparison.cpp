// market_comparison.cpp — the figures of both sides, and the bands.
#include "traces/market_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.hpp"
#include "traces/market_statistics.hpp"
#include "traces/series_statistics.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

struct Pooled {
    double share_mean = 0;
    double losses_per_hour = 0;
    double total_share = 0;
    double burst_mean = 0;
    double burst_share_mean = 0;
    double up_median_h = 0;
    double up_p90_h = 0;
    double down_median_h = 0;
    double length_h = 0;
    std::size_t losses = 0;
    std::size_t up_runs = 0;
    std::size_t down_runs = 0;
};

double quantile_or_zero(std::vector<double>& values, double q) {
    std::ranges::sort(values);
    return values.empty() ? 0 : quantile(values, q);
}

void append(std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// Whole runs, and how long they last.
void add_runs(Pooled& figures, std::span<const TraceSeries> series) {
    AvailabilityDetail all;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const AvailabilityDetail detail = detail_of(*one.availability);
        append(all.up_runs_h, detail.up_runs_h);
        append(all.down_runs_h, detail.down_runs_h);
    }
    figures.up_runs = all.up_runs_h.size();
    figures.down_runs = all.down_runs_h.size();
    figures.up_median_h = quantile_or_zero(all.up_runs_h, 0.5);
    figures.up_p90_h = quantile_or_zero(all.up_runs_h, 0.9);
    figures.down_median_h = quantile_or_zero(all.down_runs_h, 0.5);
}

Pooled pooled(std::span<const TraceSeries> series) {
    Pooled figures;
    AvailabilityDetail all;
    std::int32_t capacity = 0;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        for (const auto& step : one.availability->steps) capacity = std::max(capacity, step.value);
    }
    double held = 0;
    double totals = 0;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const SeriesStatistics s = statistics_of(*one.availability);
        const double length_h = to_hours(s.length);
        figures.length_h += length_h;
        held += s.instances_mean * length_h;
        totals += s.share_of_total_losses * static_cast<double>(s.loss_events);
        const AvailabilityDetail detail = detail_of(*one.availability);
        append(all.burst_sizes, detail.burst_sizes);
        append(all.burst_shares, detail.burst_shares);
    }
    figures.losses = all.burst_sizes.size();
    if (figures.length_h > 0 && capacity > 0) {
        figures.share_mean = held / figures.length_h / capacity;
        figures.losses_per_hour = static_cast<double>(figures.losses) / figures.length_h;
    }
    if (figures.losses > 0) figures.total_share = totals / static_cast<double>(figures.losses);
    figures.burst_mean = summarise(all.burst_sizes).mean;
    figures.burst_share_mean = summarise(all.burst_shares).mean;
    return figures;
}

ComparedFigure within_factor(std::string_view name, double recorded, double generated,
                             double factor) {
    return {name, recorded, generated, recorded / factor, recorded * factor};
}
ComparedFigure within_margin(std::string_view name, double recorded, double generated,
                             double margin) {
    return {name, recorded, generated, recorded - margin, recorded + margin};
}

struct PricesPooled {
    double mean = 0;
    double median = 0;
    double p90 = 0;
    double changes_per_day = 0;
    double share_above = 0;
};

PricesPooled pooled_prices(std::span<const TraceSeries> series, double usd_on_demand) {
    PricesPooled figures;
    double total_h = 0;
    for (const TraceSeries& one : series) {
        if (!one.price) continue;
        const PriceStatistics s = statistics_of(*one.price);
        const PriceDetail detail = detail_of(*one.price);
        const double length_h = to_hours(s.length);
        total_h += length_h;
        figures.mean += s.usd_per_hour_mean * length_h;
        figures.median += detail.usd_median * length_h;
        figures.p90 += detail.usd_p90 * length_h;
        figures.changes_per_day += s.changes_per_day * length_h;
        const auto& steps = one.price->steps;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (to_dollars_per_hour(steps[i].value) <= usd_on_demand) continue;
            const Instant end = i + 1 < steps.size() ? steps[i + 1].at : one.price->end;
            figures.share_above += to_hours(end - steps[i].at);
        }
    }
    if (total_h <= 0) return {};
    for (double* figure : {&figures.mean, &figures.median, &figures.p90, &figures.changes_per_day,
                           &figures.share_above}) {
        *figure /= total_h;
    }
    return figures;
}

}  // namespace

std::vector<ComparedFigure> compare_availability(std::span<const TraceSeries> recorded,
                                                 std::span<const TraceSeries> generated) {
    Pooled r = pooled(recorded);
    Pooled g = pooled(generated);
    add_runs(r, recorded);
    add_runs(g, windows_like(recorded, generated));
    std::vector<ComparedFigure> figures;
    figures.push_back(within_margin("mean share held", r.share_mean, g.share_mean, 0.06));
    if (r.losses == 0) {
        figures.push_back(within_margin("losses an hour", 0, g.losses_per_hour, 0.001));
        return figures;
    }
    figures.push_back(within_factor("losses an hour", r.losses_per_hour, g.losses_per_hour, 1.25));
    figures.push_back(within_factor("instances a loss takes", r.burst_mean, g.burst_mean, 1.3));
    figures.push_back(within_margin("share of what is held that a loss takes", r.burst_share_mean,
                                    g.burst_share_mean, 0.1));
    figures.push_back(within_margin("share of total losses", r.total_share, g.total_share, 0.1));
    constexpr std::size_t runs_least = 5;  // a quantile of fewer is nobody's
    if (r.up_runs >= runs_least) {
        figures.push_back(
            within_factor("median run with any, h", r.up_median_h, g.up_median_h, 1.6));
        figures.push_back(within_factor("90 % run with any, h", r.up_p90_h, g.up_p90_h, 1.8));
    }
    if (r.down_runs >= runs_least) {
        figures.push_back(
            within_factor("median run with none, h", r.down_median_h, g.down_median_h, 1.6));
    }
    // Without a calendar, nobody knows what was at the same time.
    const bool have_calendar = std::ranges::all_of(
        recorded, [](const TraceSeries& one) { return parse_timestamp(one.start).has_value(); });
    const auto correlation = mean_correlation(recorded);
    if (correlation && have_calendar) {
        figures.push_back(within_margin("mean correlation of zones", *correlation,
                                        mean_correlation(generated).value_or(0), 0.15));
    }
    return figures;
}

std::vector<ComparedFigure> compare_prices(std::span<const TraceSeries> recorded,
                                           std::span<const TraceSeries> generated,
                                           double usd_on_demand) {
    const PricesPooled r = pooled_prices(recorded, usd_on_demand);
    const PricesPooled g = pooled_prices(generated, usd_on_demand);
    std::vector<ComparedFigure> figures;
    figures.push_back(within_factor("mean price, USD/h", r.mean, g.mean, 1.25));
    figures.push_back(within_factor("median price, USD/h", r.median, g.median, 1.3));
    figures.push_back(within_factor("90 % price, USD/h", r.p90, g.p90, 1.6));
    figures.push_back(
        within_factor("price changes a day", r.changes_per_day, g.changes_per_day, 1.3));
    if (usd_on_demand > 0) {
        figures.push_back(
            within_margin("share of time above on-demand", r.share_above, g.share_above, 0.03));
    }
    return figures;
}

std::string describe(std::span<const ComparedFigure> figures) {
    std::string text =
        fmt::format("{:<42}{:>10}{:>11}  fits from … to\n", "figure", "recorded", "generated");
    for (const ComparedFigure& figure : figures) {
        text += fmt::format("{:<42}{:>10.4g}{:>11.4g}  {:.4g} … {:.4g}{}\n", figure.name,
                            figure.recorded, figure.generated, figure.low, figure.high,
                            figure.fits() ? "" : "  does not fit");
    }
    return text;
}

}  // namespace ukemi::traces
