// market_fit.cpp — availability: estimates from the steps, then corrected by generating.
#include "traces/market_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/unit_text.hpp"
#include "traces/market_statistics.hpp"
#include "traces/market_waits.hpp"
#include "traces/price_fit.hpp"
#include "traces/series_statistics.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

double sum_of(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
}

// The mean share that a partial burst takes of `held`, if `mean` is the parameter: the generator
// rounds an exponential draw and keeps it from 1 to held − 1.
double share_taken(double mean, std::int32_t held) {
    const double scale = mean * held;
    const double ratio = exact::exp(-1 / scale);
    const double more = exact::exp(-1.5 / scale) *
                        (1 - exact::exp(-static_cast<double>(held - 2) / scale)) / (1 - ratio);
    return (1 + (held > 2 ? more : 0)) / held;
}

double burst_share_mean(const RecordedChain& chain) {
    std::map<std::int32_t, double> events;  // by instances held before
    double taken = 0;
    for (const auto& [held, lost] : chain.partial) {
        events[held] += 1;
        taken += static_cast<double>(lost) / held;
    }
    double low = 1e-6;
    double high = 10;
    for (int halving = 0; halving < 60; ++halving) {
        const double middle = std::sqrt(low * high);
        double expected = 0;
        for (const auto& [held, count] : events) expected += count * share_taken(middle, held);
        (expected < taken ? low : high) = middle;
    }
    return low;
}

// Steps that bring everything back may do so on purpose or because little was missing.
void fit_refills(const RecordedChain& chain, MarketParameters& parameters) {
    const auto steps = static_cast<double>(chain.refill_step.size());
    if (chain.refill_step.empty()) return;
    double stops = 0;  // of the geometric steps: those not cut off by what was missing
    double stops_brought = 0;
    std::map<std::int32_t, double> full_steps;  // by what was missing
    for (const auto& [missing, step] : chain.refill_step) {
        if (step >= missing) {
            full_steps[missing] += 1;
        } else {
            stops += 1;
            stops_brought += step;
        }
    }
    double full = 0.5;
    double mean = 2;
    for (int round = 0; round < 200; ++round) {
        double on_purpose = 0;
        double brought = stops_brought;
        for (const auto& [missing, count] : full_steps) {
            const double by_chance = std::pow(1 - 1 / mean, missing - 1);
            const double purpose = full / (full + (1 - full) * by_chance);
            on_purpose += count * purpose;
            brought += count * (1 - purpose) * missing;
        }
        full = on_purpose / steps;
        mean = stops > 0 ? std::max(1.0, brought / stops) : 1.0;
    }
    parameters.full_refill_share = full;
    parameters.refill_step_mean = mean;
}

void scale(ShortOrLong& wait, double factor) {
    wait.short_h_mean *= factor;
    wait.long_h_mean *= factor;
}

struct Aims {
    double losses_per_hour = 0;
    double share_mean = 0;
    std::optional<double> correlation;  // of the zones of one region
};

// Over all pairs of zones of one region.
std::optional<double> correlation_within_regions(std::span<const TraceSeries> series) {
    std::map<std::string_view, std::vector<TraceSeries>> regions;
    for (const TraceSeries& one : series) {
        if (one.availability && parse_timestamp(one.start)) {
            regions[region_of_zone(one.zone)].push_back(one);
        }
    }
    double sum = 0;
    int found = 0;
    for (const auto& [region, zones] : regions) {
        const auto mean = mean_correlation(zones);
        if (!mean) continue;
        sum += *mean;
        ++found;
    }
    if (found == 0) return std::nullopt;
    return sum / found;
}

Aims aims_of(std::span<const TraceSeries> series, std::int32_t capacity) {
    double length_h = 0;
    double held = 0;
    double losses = 0;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const SeriesStatistics s = statistics_of(*one.availability);
        length_h += to_hours(s.length);
        held += s.instances_mean * to_hours(s.length);
        losses += static_cast<double>(s.loss_events);
    }
    return {losses / length_h, held / length_h / capacity, std::nullopt};
}

// Four zones, where each has a month before its series begins; fewer where that is a million
// losses.
std::int32_t trial_zones(double losses_per_hour) {
    constexpr double losses_most = 1e6;
    constexpr double hours_least = 2 * 720;
    return static_cast<std::int32_t>(
        std::clamp(losses_most / (losses_per_hour * hours_least), 1.0, 4.0));
}

// What rounding, censoring and refills that overlap leave over is put right by trying, until it is
// right to a thousandth: markets that lose often show that after a few rounds.
void correct_by_generating(const Aims& aims, MarketParameters& parameters) {
    const bool shares = parameters.shared.per_day > 0 && aims.correlation;
    const std::int32_t zones =
        shares ? parameters.shared.zones_per_region : trial_zones(aims.losses_per_hour);
    constexpr double losses_wanted = 3000;
    constexpr double losses_most = 200'000;
    const double month_h = std::min(720.0, losses_most / aims.losses_per_hour);
    const double length_h =
        std::clamp(losses_wanted / zones / aims.losses_per_hour, month_h, 48'000.0);
    for (int round = 0; round < 16; ++round) {
        const auto made = generate_market(parameters, 1, zones, ukemi::seconds(length_h * 3600));
        const Aims found = aims_of(made, parameters.capacity);
        const double quiet = std::clamp(found.losses_per_hour / aims.losses_per_hour, 0.5, 2.0);
        const double missing = (1 - aims.share_mean) / std::max(1e-6, 1 - found.share_mean);
        scale(parameters.quiet, quiet);
        if (parameters.quiet_after_none) scale(*parameters.quiet_after_none, quiet);
        scale(parameters.outage, std::clamp(missing, 0.5, 2.0));
        parameters.refill_gap_h_mean *= std::clamp(std::sqrt(missing), 0.7, 1.4);
        if (!shares) {
            if (std::abs(quiet - 1) < 1e-3 && std::abs(missing - 1) < 1e-3) return;
            continue;
        }
        const double together = std::max(0.02, mean_correlation(made).value_or(0));
        double& factor = parameters.shared.outage_factor;
        factor = std::clamp(factor * std::clamp(*aims.correlation / together, 0.7, 1.5), 1.0, 6.0);
    }
}

void fit_daily_cycle(std::span<const TraceSeries> series, MarketFit& fit) {
    constexpr double pi = 3.14159265358979323846;
    double n = 0;
    double along = 0;
    double across = 0;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const auto losses = losses_by_hour(*one.availability, one.start);
        if (!losses) continue;
        for (std::size_t hour = 0; hour < 24; ++hour) {
            const double angle = pi / 12 * (static_cast<double>(hour) + 0.5);
            const auto count = static_cast<double>((*losses)[hour]);
            n += count;
            along += count * std::cos(angle);
            across += count * std::sin(angle);
        }
    }
    if (n == 0) {
        fit.notes.emplace_back("daily cycle: off, the series do not say when they start");
        return;
    }
    // Rayleigh's test: by chance, n r² is above 4.6 once in a hundred.
    const double r = std::sqrt(along * along + across * across) / n;
    if (n < 50 || n * r * r < 4.6) {
        fit.notes.push_back(fmt::format("daily cycle: off, {:.0f} hours with losses show none", n));
        return;
    }
    double hour = std::atan2(across, along) * 12 / pi;
    if (hour < 0) hour += 24;
    fit.parameters.daily = {std::min(0.9, 2 * r), hour};
    fit.notes.push_back(fmt::format("daily cycle: losses {:.0f} % more often at {:.0f} h UTC",
                                    fit.parameters.daily.depth * 100, hour));
}

std::vector<std::int64_t> loss_times(const TraceSeries& series, std::int64_t start_ns) {
    std::vector<std::int64_t> times;
    const auto& steps = series.availability->steps;
    for (std::size_t i = 1; i < steps.size(); ++i) {
        if (steps[i].value < steps[i - 1].value) times.push_back(start_ns + steps[i].at.raw());
    }
    return times;
}

struct Coincidences {
    double found = 0;
    double by_chance = 0;
    double pair_hours = 0;
};

void add_pair(const TraceSeries& a, std::int64_t start_a, const TraceSeries& b,
              std::int64_t start_b, Duration window, Coincidences& all) {
    const std::int64_t from = std::max(start_a, start_b);
    const std::int64_t to =
        std::min(start_a + a.availability->end.raw(), start_b + b.availability->end.raw());
    if (to - from < days(1).raw()) return;
    const auto outside = [&](std::int64_t t) { return t < from || t > to; };
    std::vector<std::int64_t> of_a = loss_times(a, start_a);
    std::vector<std::int64_t> of_b = loss_times(b, start_b);
    std::erase_if(of_a, outside);
    std::erase_if(of_b, outside);
    for (const std::int64_t t : of_a) {
        const auto near = std::ranges::lower_bound(of_b, t - window.raw());
        if (near != of_b.end() && *near <= t + window.raw()) all.found += 1;
    }
    const double length_h = to_hours(nanoseconds(to - from));
    all.by_chance +=
        static_cast<double>(of_a.size()) *
        std::min(1.0, static_cast<double>(of_b.size()) * 2 * to_hours(window) / length_h);
    all.pair_hours += length_h;
}

void fit_shared_losses(std::span<const TraceSeries> series, double losses_per_hour,
                       MarketFit& fit) {
    const Duration window = std::max(fit.parameters.sampling, minutes(5));
    std::map<std::string_view, std::int32_t> zones;
    Coincidences all;
    for (std::size_t i = 0; i < series.size(); ++i) {
        const auto start_a = parse_timestamp(series[i].start);
        const std::string_view region = region_of_zone(series[i].zone);
        if (!series[i].availability || !start_a || region.empty()) continue;
        ++zones[region];
        for (std::size_t j = i + 1; j < series.size(); ++j) {
            const auto start_b = parse_timestamp(series[j].start);
            if (!series[j].availability || !start_b) continue;
            if (region_of_zone(series[j].zone) != region) continue;
            add_pair(series[i], *start_a, series[j], *start_b, window, all);
        }
    }
    if (all.pair_hours == 0) {
        fit.notes.emplace_back("shared losses: off, no two zones of a region at the same time");
        return;
    }
    const double excess = (all.found - all.by_chance) / all.pair_hours;
    fit.notes.push_back(
        fmt::format("losses of two zones of a region within {:g} min: {:.0f}, by "
                    "chance {:.0f}",
                    to_seconds(window) / 60, all.found, all.by_chance));
    if (all.found < all.by_chance + 3 * std::sqrt(all.by_chance) + 3) return;
    // A pair loses together at rate × hit², one zone at rate × hit, at most most of its losses.
    SharedLosses& shared = fit.parameters.shared;
    shared.hit_share = std::clamp(excess / (0.8 * losses_per_hour), 0.5, 1.0);
    shared.per_day = 24 * excess / (shared.hit_share * shared.hit_share);
    for (const auto& [region, count] : zones) {
        shared.zones_per_region = std::max(shared.zones_per_region, count);
    }
}

Duration shortest_step(std::span<const TraceSeries> series) {
    Duration shortest = market_sampling_max;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const auto& steps = one.availability->steps;
        for (std::size_t i = 1; i < steps.size(); ++i) {
            shortest = std::min(shortest, steps[i].at - steps[i - 1].at);
        }
    }
    return std::max(shortest, market_sampling_min);
}

// Two kinds of quiet times where there are enough of both.
void fit_quiet(const RecordedChain& chain, MarketParameters& parameters) {
    constexpr std::size_t enough = 12;
    Waits all = chain.after_none;
    all.ended_h.insert(all.ended_h.end(), chain.quiet.ended_h.begin(), chain.quiet.ended_h.end());
    all.cut_h.insert(all.cut_h.end(), chain.quiet.cut_h.begin(), chain.quiet.cut_h.end());
    parameters.quiet = fit_short_or_long(all.ended_h, all.cut_h);
    if (chain.quiet.ended_h.size() < enough || chain.after_none.ended_h.size() < enough) return;
    parameters.quiet = fit_short_or_long(chain.quiet.ended_h, chain.quiet.cut_h);
    parameters.quiet_after_none =
        fit_short_or_long(chain.after_none.ended_h, chain.after_none.cut_h);
}

// Of the capacity, over the time of all series.
double share_held(std::span<const TraceSeries> series, std::int32_t capacity) {
    double held_h = 0;
    double length_h = 0;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        const SeriesStatistics known = statistics_of(*one.availability);
        held_h += known.instances_mean * to_hours(known.length);
        length_h += to_hours(known.length);
    }
    return length_h > 0 ? held_h / (length_h * capacity) : 1;
}

void fit_availability(std::span<const TraceSeries> series, const FitOptions& options,
                      MarketFit& fit) {
    MarketParameters& p = fit.parameters;
    for (const TraceSeries& one : series) {
        if (!one.availability) continue;
        for (const auto& step : one.availability->steps)
            p.capacity = std::max(p.capacity, step.value);
    }
    const Duration recorded =
        options.sampling > Duration{} ? options.sampling : shortest_step(series);
    p.sampling = std::clamp(recorded, market_sampling_min, market_sampling_max);
    if (p.sampling != recorded) {
        fit.notes.push_back(fmt::format("sampling: {} in the series, {} in the market",
                                        format_duration(recorded), format_duration(p.sampling)));
    }
    const RecordedChain chain = recorded_chain(series, p.capacity, p.sampling);
    p.has_losses = chain.losses > 0;
    if (!p.has_losses) {
        fit.notes.push_back(fmt::format(
            "no loss in the series: the market always has {}, and the record had {:.1f} % "
            "of them on average",
            p.capacity, 100 * share_held(series, p.capacity)));
        return;
    }
    fit_quiet(chain, p);
    p.outage = fit_short_or_long(chain.outage.ended_h, chain.outage.cut_h);
    const auto of_many =
        static_cast<double>(chain.partial.size()) + static_cast<double>(chain.total_losses_of_many);
    p.total_loss_share =
        of_many == 0 ? 1 : static_cast<double>(chain.total_losses_of_many) / of_many;
    p.burst_share_mean = chain.partial.empty() ? 1 : burst_share_mean(chain);
    fit_refills(chain, p);
    const double gaps = static_cast<double>(chain.gap.ended_h.size());
    if (gaps > 0)
        p.refill_gap_h_mean = (sum_of(chain.gap.ended_h) + sum_of(chain.gap.cut_h)) / gaps;
    if (chain.losses < 30) {
        fit.notes.push_back(fmt::format("only {} losses: the fit is rough", chain.losses));
    }
    Aims aims = aims_of(series, p.capacity);
    aims.correlation = correlation_within_regions(series);
    fit_daily_cycle(series, fit);
    fit_shared_losses(series, aims.losses_per_hour, fit);
    correct_by_generating(aims, p);
}

}  // namespace

Duration length_to_compare(std::span<const TraceSeries> recorded, std::int32_t zones) {
    double steps = 0;
    double length_h = 0;
    for (const TraceSeries& one : recorded) {
        const auto add = [&](const auto& series) {
            steps += static_cast<double>(series.steps.size());
            length_h = std::max(length_h, to_hours(series.end.since_start()));
        };
        if (one.availability) add(*one.availability);
        if (one.price) add(*one.price);
    }
    constexpr double steps_most = 4e6;
    const double hours_most = std::max(300.0 * 24, length_h);
    const double of_a_zone = steps / static_cast<double>(std::max<std::size_t>(1, recorded.size()));
    const double enough_h = steps_most / zones * length_h / std::max(1.0, of_a_zone);
    return ukemi::seconds(std::clamp(enough_h, 24.0, hours_most) * 3600);
}

MarketFit fit_market(std::span<const TraceSeries> series, std::span<const Lifetime> lifetimes,
                     const FitOptions& options) {
    MarketFit fit;
    MarketParameters& p = fit.parameters;
    p = {};
    p.name = options.name;
    p.capacity = 1;
    p.sampling = minutes(1);
    p.refill_step_mean = 1;
    const bool has_availability =
        std::ranges::any_of(series, [](const TraceSeries& one) { return bool(one.availability); });
    if (has_availability) fit_availability(series, options, fit);
    if (has_availability && options.stretch > Duration{}) {
        p.recorded = {std::max(options.stretch, p.sampling), recorded_zones(series)};
    }
    fit_prices(series, options.usd_on_demand, fit);
    const auto lost = std::ranges::count(lifetimes, true, &Lifetime::was_lost);
    if (!has_availability && lost >= 20) {
        p.lifetimes = fit_lifetime_law(lifetimes);
        p.has_losses = true;
        // Nothing but age takes them; a replacement comes at the next tick.
        p.quiet = {0.5, 1e9, 1e9};
        p.full_refill_share = 1;
        fit.notes.push_back(fmt::format("lifetimes: {} lost; at most {:.3f} from the estimate",
                                        lost, distance(survival_of(lifetimes), p.lifetimes)));
    }
    p.summary = fmt::format("fitted to {}", options.source);
    return fit;
}

}  // namespace ukemi::traces
