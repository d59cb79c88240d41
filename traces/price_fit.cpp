// price_fit.cpp — small changes below a threshold, spikes above it, and the mean by trying.
#include "traces/price_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "traces/market_statistics.hpp"
#include "traces/series_statistics.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int32_t price_trial_zones = 4;

// What happens below and above the threshold.
struct Walked {
    double base_h = 0;
    double base_usd_h = 0;
    double changes = 0;
    double step_shares = 0;
    double spikes = 0;
    double spike_h = 0;
    double spike_usd_h = 0;
    double usd_min = 1e9;
    double usd_max = 0;
};

void walk(const PriceSeries& series, double threshold, Walked& walked) {
    bool in_spike = false;
    std::optional<double> base;  // the last price below
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const Instant end = i + 1 < series.steps.size() ? series.steps[i + 1].at : series.end;
        const double lasted_h = to_hours(end - series.steps[i].at);
        const double usd = to_dollars_per_hour(series.steps[i].value);
        walked.usd_max = std::max(walked.usd_max, usd);
        if (usd > threshold) {
            if (!in_spike) walked.spikes += 1;
            in_spike = true;
            walked.spike_h += lasted_h;
            walked.spike_usd_h += usd * lasted_h;
            continue;
        }
        walked.usd_min = std::min(walked.usd_min, usd);
        walked.base_h += lasted_h;
        walked.base_usd_h += usd * lasted_h;
        if (base && *base > 0 && !in_spike) {
            walked.changes += 1;
            walked.step_shares += std::abs(usd - *base) / *base;
        }
        in_spike = false;
        base = usd;
    }
}

Walked walk_all(std::span<const TraceSeries> series, double threshold) {
    Walked walked;
    for (const TraceSeries& one : series) {
        if (one.price) walk(*one.price, threshold, walked);
    }
    return walked;
}

double thrice_the_median(std::span<const TraceSeries> series) {
    double highest = 0;
    for (const TraceSeries& one : series) {
        if (one.price) highest = std::max(highest, detail_of(*one.price).usd_median);
    }
    return 3 * highest;
}

// Long enough for the mean of a slow walk, and not more than a million changes of a fast one.
Duration length_of_trial(double changes_per_day) {
    constexpr double changes_most = 1e6;
    constexpr std::int64_t days_most = 400;
    const double enough = changes_most / (price_trial_zones * changes_per_day);
    return std::min(days(days_most), ukemi::seconds(std::min(enough, 1.0 * days_most) * 86'400));
}

// The walk's pull to its mean is weak and its walls are hard: where it ends up is seen by trying.
void correct_mean(double threshold, double aim, MarketParameters parameters,
                  PriceParameters& price) {
    parameters.has_losses = false;
    const Duration length = length_of_trial(price.changes_per_day);
    for (int round = 0; round < 10; ++round) {
        parameters.price = price;
        const auto made = generate_market(parameters, 1, price_trial_zones, length);
        const Walked walked = walk_all(made, threshold);
        if (walked.base_h <= 0) return;
        const double found = walked.base_usd_h / walked.base_h;
        price.usd_mean = std::clamp(price.usd_mean * std::clamp(aim / found, 0.7, 1.4),
                                    price.usd_floor, price.usd_max);
    }
}

}  // namespace

void fit_prices(std::span<const TraceSeries> series, double usd_on_demand, MarketFit& fit) {
    const bool any =
        std::ranges::any_of(series, [](const TraceSeries& one) { return bool(one.price); });
    if (!any) {
        fit.notes.emplace_back("prices: none in the series, the scenario says its \"spot_price\"");
        return;
    }
    const double threshold = usd_on_demand > 0 ? usd_on_demand : thrice_the_median(series);
    const Walked walked = walk_all(series, threshold);
    if (walked.base_h <= 0) {
        fit.notes.emplace_back("prices: left out, always above on-demand, or without any time");
        return;
    }
    const double aim = walked.base_usd_h / walked.base_h;
    if (aim <= 0) {
        fit.notes.emplace_back("prices: left out, nothing but zeros");
        return;
    }
    PriceParameters& price = fit.parameters.price.emplace();
    price.usd_floor = walked.usd_min;
    price.usd_mean = aim;
    price.usd_max = walked.usd_max;
    price.changes_per_day = walked.changes / walked.base_h * 24;
    if (walked.changes > 0) price.step_share_mean = walked.step_shares / walked.changes;
    if (walked.spikes > 0) {
        price.spikes_per_day = walked.spikes / walked.base_h * 24;
        price.spike_h_mean = std::max(walked.spike_h / walked.spikes, 1.0 / 3600);
        price.usd_spike_min = threshold;
        price.usd_spike_mean = walked.spike_h > 0 ? walked.spike_usd_h / walked.spike_h : threshold;
    }
    fit.notes.push_back(
        fmt::format("prices: {:.1f} changes a day, {:.2f} spikes a day above {:g} "
                    "USD/h",
                    price.changes_per_day, price.spikes_per_day, threshold));
    if (price.changes_per_day > 0) correct_mean(threshold, aim, fit.parameters, price);
}

}  // namespace ukemi::traces
