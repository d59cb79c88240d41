// describe_figures.cpp — from series to points: thinned where nobody could see them all.
#include "analysis/describe_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "traces/character_chart.hpp"
#include "traces/lifetime_law.hpp"
#include "traces/market_file.hpp"
#include "traces/market_statistics.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t steps_shown_max = 4000;  // of one series
constexpr std::size_t columns_shown = 1600;    // of one that has more: means of equal parts
constexpr std::size_t zones_generated_max = 16;
constexpr Duration length_counted = days(300);

double in_unit(std::int32_t instances) { return instances; }
double in_unit(Price price) { return to_dollars_per_hour(price); }

template <class Value>
plots::PlotPoints points_of(const traces::Series<Value>& series, double begin_h) {
    plots::PlotPoints points;
    if (series.steps.size() <= steps_shown_max) {
        for (const traces::Step<Value>& step : series.steps) {
            points.emplace_back(begin_h + to_hours(step.at.since_start()), in_unit(step.value));
        }
        return points;
    }
    const std::vector<double> means = traces::column_means(series, columns_shown);
    const double column_h = to_hours(series.end.since_start()) / static_cast<double>(means.size());
    for (std::size_t i = 0; i < means.size(); ++i) {
        if (!points.empty() && points.back().second == means[i]) continue;
        points.emplace_back(begin_h + column_h * static_cast<double>(i), means[i]);
    }
    return points;
}

bool is_thinned(const traces::TraceSeries& one) {
    return (one.availability && one.availability->steps.size() > steps_shown_max) ||
           (one.price && one.price->steps.size() > steps_shown_max);
}

Duration length_of(const traces::TraceSeries& one) {
    Duration length;
    if (one.availability) length = one.availability->end.since_start();
    if (one.price) length = std::max(length, one.price->end.since_start());
    return length;
}

// When each series begins on the calendar, in nanoseconds; nothing unless all say it and all have
// some time in common, as zones of one market have.
std::vector<std::int64_t> common_calendar(const std::vector<traces::TraceSeries>& all) {
    std::vector<std::int64_t> begins;
    std::int64_t last_begin = 0;
    std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
    for (const traces::TraceSeries& one : all) {
        const auto begin = traces::parse_timestamp(one.start);
        if (!begin) return {};
        begins.push_back(*begin);
        last_begin = std::max(last_begin, *begin);
        first_end = std::min(first_end, *begin + length_of(one).raw());
    }
    if (last_begin >= first_end) return {};
    return begins;
}

plots::MarketInput market_input(const std::vector<traces::TraceSeries>& all,
                                std::span<const std::string> names, const std::string& title) {
    plots::MarketInput market;
    market.title = title;
    const std::vector<std::int64_t> begins = common_calendar(all);
    const std::int64_t zero = begins.empty() ? 0 : *std::ranges::min_element(begins);
    market.time_axis = begins.empty()
                           ? (all.size() > 1 ? "time since each record begins" : "time")
                           : fmt::format("time since {}", traces::format_timestamp(zero));
    for (std::size_t i = 0; i < all.size(); ++i) {
        plots::MarketZone& zone = market.zones.emplace_back();
        zone.name = names[i];
        if (is_thinned(all[i])) {
            const auto part = to_hours(length_of(all[i])) / static_cast<double>(columns_shown);
            zone.name += fmt::format(" (means of {:.3g} h)", part);
        }
        if (!begins.empty()) zone.begin_h = to_hours(nanoseconds(begins[i] - zero));
        zone.end_h = zone.begin_h + to_hours(length_of(all[i]));
        if (all[i].availability) zone.capacity = points_of(*all[i].availability, zone.begin_h);
        if (all[i].price) zone.price = points_of(*all[i].price, zone.begin_h);
    }
    return market;
}

// How long there was any instance, each time. The run with which a record begins is left out, as
// nobody knows when it began; the one with which it ends is censored.
void add_runs(const traces::AvailabilitySeries& series, std::vector<traces::Lifetime>& runs) {
    std::optional<Instant> begin;
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        const bool any = series.steps[i].value > 0;
        if (any && series.steps[i - 1].value == 0) begin = series.steps[i].at;
        if (any || !begin) continue;
        traces::Lifetime& run = runs.emplace_back();
        run.lasted = series.steps[i].at - *begin;
        run.was_lost = true;
        begin.reset();
    }
    if (begin && series.end > *begin) runs.emplace_back().lasted = series.end - *begin;
}

// How long until the next loss, each time: from a loss that left something, or from the first
// instance after none. The one with which a record ends is censored.
void add_waits(const traces::AvailabilitySeries& series, std::vector<traces::Lifetime>& waits) {
    Instant begin;
    bool waiting = false;
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        const std::int32_t before = series.steps[i - 1].value;
        const traces::Step<std::int32_t>& now = series.steps[i];
        const bool lost = now.value < before;
        if (lost && waiting) {
            traces::Lifetime& wait = waits.emplace_back();
            wait.lasted = now.at - begin;
            wait.was_lost = true;
        }
        if (lost || before == 0) begin = now.at;
        waiting = now.value > 0 && (waiting || lost || before == 0);
    }
    if (waiting && series.end > begin) waits.emplace_back().lasted = series.end - begin;
}

using Durations = void (*)(const traces::AvailabilitySeries&, std::vector<traces::Lifetime>&);

std::vector<traces::Lifetime> all_of(const std::vector<traces::TraceSeries>& all, Durations add) {
    std::vector<traces::Lifetime> found;
    for (const traces::TraceSeries& one : all) {
        if (one.availability) add(*one.availability, found);
    }
    return found;
}

void add_curve(plots::SurvivalInput& input, const std::string& name, bool generated,
               const std::vector<traces::Lifetime>& lifetimes) {
    const std::vector<traces::SurvivalStep> steps = traces::survival_of(lifetimes);
    if (steps.empty()) return;
    const auto lost = std::ranges::count(lifetimes, true, &traces::Lifetime::was_lost);
    plots::SurvivalCurve curve;
    curve.name =
        fmt::format("{} ({} ended, {} censored)", name, lost, std::ssize(lifetimes) - lost);
    curve.generated = generated;
    const std::size_t every = steps.size() / steps_shown_max + 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool last = i + 1 == steps.size();
        if (i % every != 0 && !last) continue;
        curve.alive.emplace_back(steps[i].hours, steps[i].alive);
    }
    input.curves.push_back(std::move(curve));
}

// The law as a curve of 400 points up to its cap.
void add_law(plots::SurvivalInput& input, const traces::MarketParameters& parameters) {
    const traces::LifetimeLaw& law = parameters.lifetimes;
    if (!law.is_on()) return;
    constexpr int points = 400;
    plots::SurvivalCurve curve;
    curve.generated = true;
    curve.name = fmt::format("lifetime law of {} (cap {:g} h)", parameters.name, law.cap_h);
    double alive = 1;
    for (int i = 1; i <= points; ++i) {
        const double hours = law.cap_h * i / points;
        alive = std::min(alive, 1 - traces::gone_after(law, hours));
        curve.alive.emplace_back(hours, alive);
    }
    input.curves.push_back(std::move(curve));
}

// Pooled over the series that say when they were recorded and last a day at least.
void add_hours(plots::FigureInput& input, const std::string& name, bool generated,
               const std::vector<traces::TraceSeries>& all) {
    plots::HourlyLosses losses;
    losses.generated = generated;
    double days_seen = 0;
    std::int64_t total = 0;
    std::size_t series = 0;
    for (const traces::TraceSeries& one : all) {
        if (!one.availability) continue;
        const std::string start = generated ? "1970-01-01T00:00:00Z" : one.start;
        const auto hours = traces::losses_by_hour(*one.availability, start);
        if (!hours) continue;
        days_seen += to_hours(one.availability->end.since_start()) / 24;
        ++series;
        for (std::size_t hour = 0; hour < 24; ++hour) {
            losses.share_of_days[hour] += static_cast<double>((*hours)[hour]);
            total += (*hours)[hour];
        }
    }
    if (total == 0) return;
    for (double& value : losses.share_of_days) value /= days_seen;
    losses.name = fmt::format("{} ({} hours with a loss, {:.0f} days, {} series)", name, total,
                              days_seen, series);
    input.hourly_losses.push_back(std::move(losses));
}

Duration longest_of(const std::vector<traces::TraceSeries>& all) {
    Duration longest = hours(1);
    for (const traces::TraceSeries& one : all) longest = std::max(longest, length_of(one));
    return longest;
}

// Only what the recording has, so that the two can be compared.
std::vector<traces::TraceSeries> generated_like(const std::vector<traces::TraceSeries>& recorded,
                                                const traces::MarketParameters& parameters,
                                                Duration length) {
    const auto zones =
        static_cast<std::int32_t>(std::clamp<std::size_t>(recorded.size(), 1, zones_generated_max));
    std::vector<traces::TraceSeries> made = traces::generate_market(parameters, 1, zones, length);
    const auto has = [&](auto traces::TraceSeries::*member) {
        return std::ranges::any_of(
            recorded, [&](const traces::TraceSeries& one) { return bool(one.*member); });
    };
    for (traces::TraceSeries& one : made) {
        if (!has(&traces::TraceSeries::availability)) one.availability.reset();
        if (!has(&traces::TraceSeries::price)) one.price.reset();
    }
    return made;
}

}  // namespace

traces::MarketParameters market_parameters_of(const std::string& name_or_file,
                                              std::string_view option) {
    if (name_or_file.ends_with(".json")) return traces::read_market_parameters(name_or_file);
    std::vector<std::string_view> names;
    for (const traces::MarketParameters& one : traces::all_market_parameters()) {
        if (one.name == name_or_file) return one;
        names.push_back(one.name);
    }
    throw InputError(
        option, "",
        fmt::format("no market {}{} (see ukemi list markets, or name a .json file that "
                    "ukemi fit wrote)",
                    ukemi::quoted(name_or_file), did_you_mean(name_or_file, names)));
}

plots::FigureInput market_figures(const DescribedMarket& market,
                                  const std::optional<traces::MarketParameters>& parameters,
                                  std::optional<bool> log_time) {
    plots::FigureInput input;
    std::vector<traces::TraceSeries> counted;  // generated, to be counted
    if (!market.series.empty()) {
        input.markets.push_back(
            market_input(market.series, market.names, "instances and prices: " + market.title));
        if (parameters) {
            const auto like = generated_like(market.series, *parameters, longest_of(market.series));
            std::vector<std::string> names;
            for (const traces::TraceSeries& one : like) names.push_back(one.zone);
            plots::MarketInput made = market_input(
                like, names, fmt::format("instances and prices, generated: {}", parameters->name));
            made.file_stem = "market_over_time-generated";
            made.time_axis = "time";
            input.markets.push_back(std::move(made));
            counted = generated_like(market.series, *parameters, length_counted);
        }
    }
    const auto add_survival = [&](plots::SurvivalInput shown, Durations durations) {
        shown.log_time = log_time;
        add_curve(shown, market.title, false, all_of(market.series, durations));
        if (shown.curves.empty()) return;
        if (parameters) add_curve(shown, parameters->name, true, all_of(counted, durations));
        input.survivals.push_back(std::move(shown));
    };
    add_survival({"time_to_loss",
                  "how long until instances were lost, from a loss or from the first",
                  "time to the next loss",
                  {}},
                 add_waits);
    add_survival(
        {"runs_with_any", "how long there was any instance", "time until the last was lost", {}},
        add_runs);
    plots::SurvivalInput lifetimes;
    lifetimes.title = "how long an instance lived (Kaplan-Meier)";
    lifetimes.time_axis = "time since the instance began";
    lifetimes.log_time = log_time;
    add_curve(lifetimes, market.title, false, market.lifetimes);
    if (!lifetimes.curves.empty() && parameters) add_law(lifetimes, *parameters);
    if (!lifetimes.curves.empty()) input.survivals.push_back(std::move(lifetimes));

    add_hours(input, market.title, false, market.series);
    if (!input.hourly_losses.empty() && parameters) {
        add_hours(input, parameters->name, true, counted);
    }
    return input;
}

}  // namespace ukemi::analysis
