// market_statistics.cpp — one walk over the steps for each question.
#include "traces/market_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

#include "base/text_scan.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

constexpr std::int64_t ns_per_hour = 3'600'000'000'000;

// Walks a series from one asked time to a later one.
template <class Value>
class Cursor {
public:
    explicit Cursor(const Series<Value>& series) : series_(series) {}
    Value at(Instant now) {
        while (step_ + 1 < series_.steps.size() && series_.steps[step_ + 1].at <= now) ++step_;
        return series_.steps[step_].value;
    }

private:
    const Series<Value>& series_;
    std::size_t step_ = 0;
};

// The hour of the day at every instant, from the start.
std::optional<std::int64_t> start_of(const AvailabilitySeries& series, std::string_view start) {
    if (series.end.since_start() < days(1)) return std::nullopt;
    return parse_timestamp(start);
}

// What holds from one moment on, for so long; that is within the series.
AvailabilitySeries window_of(const AvailabilitySeries& series, Instant from, Duration length) {
    AvailabilitySeries window;
    window.end = Instant::at(length);
    auto step = std::ranges::upper_bound(series.steps, from, {}, &Step<std::int32_t>::at);
    window.steps.push_back({Instant{}, std::prev(step)->value});
    for (; step != series.steps.end() && step->at < from + length; ++step) {
        window.steps.push_back({Instant::at(step->at - from), step->value});
    }
    return window;
}

std::size_t hour_of(std::int64_t start_ns, Instant at) {
    return static_cast<std::size_t>((start_ns + at.raw()) / ns_per_hour % 24);
}

}  // namespace

AvailabilityDetail detail_of(const AvailabilitySeries& series) {
    AvailabilityDetail detail;
    std::optional<Instant> run_start;    // nothing in the run with which the series begins
    std::optional<Instant> quiet_start;  // nothing while there is nothing to lose, or at first
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        const std::int32_t before = series.steps[i - 1].value;
        const std::int32_t now = series.steps[i].value;
        const Instant at = series.steps[i].at;
        if ((before > 0) != (now > 0)) {
            auto& runs = before > 0 ? detail.up_runs_h : detail.down_runs_h;
            if (run_start) runs.push_back(to_hours(at - *run_start));
            run_start = at;
        }
        if (now < before) {
            detail.burst_sizes.push_back(before - now);
            detail.burst_shares.push_back(static_cast<double>(before - now) / before);
            if (quiet_start) detail.quiet_runs_h.push_back(to_hours(at - *quiet_start));
            quiet_start = at;
        }
        if (now == 0) quiet_start.reset();
        if (before == 0) quiet_start = at;
    }
    for (auto* list : {&detail.burst_sizes, &detail.burst_shares, &detail.up_runs_h,
                       &detail.down_runs_h, &detail.quiet_runs_h}) {
        std::ranges::sort(*list);
    }
    return detail;
}

std::vector<TraceSeries> windows_like(std::span<const TraceSeries> recorded,
                                      std::span<const TraceSeries> generated) {
    std::vector<Duration> lengths;
    for (const TraceSeries& one : recorded) {
        if (one.availability) lengths.push_back(one.availability->end.since_start());
    }
    constexpr std::size_t windows_most = 100'000;  // as good as all of them
    const std::size_t most_of_one =
        std::max<std::size_t>(1, windows_most / std::max<std::size_t>(1, generated.size()));
    std::vector<TraceSeries> windows;
    std::size_t next = 0;
    for (const TraceSeries& one : generated) {
        if (!one.availability) continue;
        const std::size_t before = windows.size();
        Instant from;
        while (!lengths.empty() && windows.size() - before < most_of_one) {
            std::size_t passed = 0;  // lengths for which too little is left
            const auto fits = [&] {
                const Duration length = lengths[(next + passed) % lengths.size()];
                return length > Duration{} && length <= one.availability->end - from;
            };
            while (passed < lengths.size() && !fits()) ++passed;
            if (passed == lengths.size()) break;
            const Duration length = lengths[(next + passed) % lengths.size()];
            windows.emplace_back().availability = window_of(*one.availability, from, length);
            from = from + length;
            next += passed + 1;
        }
        if (windows.size() == before) windows.emplace_back().availability = one.availability;
    }
    return windows;
}

PriceDetail detail_of(const PriceSeries& series) {
    PriceDetail detail;
    std::map<Price, Int128> time_at;
    Int128 length = 0;
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const Int128 lasted = (end_of_step(series, i) - series.steps[i].at).raw();
        time_at[series.steps[i].value] += lasted;
        length += lasted;
        if (i == 0 || series.steps[i - 1].value == Price{}) continue;
        const double before = to_dollars_per_hour(series.steps[i - 1].value);
        const double share = std::abs(to_dollars_per_hour(series.steps[i].value) - before) / before;
        if (share > 0.1) ++detail.jumps;
        detail.jump_share_max = std::max(detail.jump_share_max, share);
    }
    const auto quantile_at = [&](double q) {
        Int128 so_far = 0;
        for (const auto& [price, lasted] : time_at) {
            so_far += lasted;
            if (static_cast<double>(so_far) >= q * static_cast<double>(length)) {
                return to_dollars_per_hour(price);
            }
        }
        return to_dollars_per_hour(time_at.rbegin()->first);
    };
    detail.usd_p10 = quantile_at(0.1);
    detail.usd_median = quantile_at(0.5);
    detail.usd_p90 = quantile_at(0.9);
    detail.usd_p99 = quantile_at(0.99);
    return detail;
}

std::optional<std::array<double, 24>> by_hour_of_day(const AvailabilitySeries& series,
                                                     std::string_view start) {
    const auto start_ns = start_of(series, start);
    if (!start_ns) return std::nullopt;
    std::array<Int128, 24> held{};
    std::array<Int128, 24> time{};
    for (std::size_t i = 0; i < series.steps.size(); ++i) {
        const Instant end = end_of_step(series, i);
        for (Instant now = series.steps[i].at; now < end;) {
            const std::int64_t in_hour = (*start_ns + now.raw()) % ns_per_hour;
            const Instant next = std::min(end, now + nanoseconds(ns_per_hour - in_hour));
            const std::size_t hour = hour_of(*start_ns, now);
            held[hour] += static_cast<Int128>((next - now).raw()) * series.steps[i].value;
            time[hour] += (next - now).raw();
            now = next;
        }
    }
    std::array<double, 24> means{};
    for (std::size_t hour = 0; hour < 24; ++hour) {
        means[hour] = static_cast<double>(held[hour]) / static_cast<double>(time[hour]);
    }
    return means;
}

std::optional<std::array<std::int64_t, 24>> losses_by_hour(const AvailabilitySeries& series,
                                                           std::string_view start) {
    const auto start_ns = start_of(series, start);
    if (!start_ns) return std::nullopt;
    std::array<std::int64_t, 24> losses{};
    std::int64_t last_hour = -1;  // since 1970
    for (std::size_t i = 1; i < series.steps.size(); ++i) {
        if (series.steps[i].value > series.steps[i - 1].value) continue;
        const std::int64_t hour = (*start_ns + series.steps[i].at.raw()) / ns_per_hour;
        if (hour != last_hour) ++losses[hour_of(*start_ns, series.steps[i].at)];
        last_hour = hour;
    }
    return losses;
}

std::optional<double> correlation(const TraceSeries& a, const TraceSeries& b) {
    if (!a.availability || !b.availability) return std::nullopt;
    const auto start_a = parse_timestamp(a.start);
    const auto start_b = parse_timestamp(b.start);
    const std::int64_t later = start_a && start_b ? *start_b - *start_a : 0;  // b after a
    Instant now_a = Instant::at(nanoseconds(std::max<std::int64_t>(0, later)));
    Instant now_b = Instant::at(nanoseconds(std::max<std::int64_t>(0, -later)));
    Cursor<std::int32_t> of_a(*a.availability);
    Cursor<std::int32_t> of_b(*b.availability);
    double n = 0, sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    for (; now_a < a.availability->end && now_b < b.availability->end;
         now_a = now_a + hours(1), now_b = now_b + hours(1)) {
        const double x = of_a.at(now_a);
        const double y = of_b.at(now_b);
        n += 1, sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
    }
    const double spread = (saa - sa * sa / n) * (sbb - sb * sb / n);
    if (n < 24 || spread <= 0) return std::nullopt;
    return (sab - sa * sb / n) / std::sqrt(spread);
}

std::optional<double> mean_correlation(std::span<const TraceSeries> series) {
    double sum = 0;
    int pairs = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
        for (std::size_t j = i + 1; j < series.size(); ++j) {
            const auto one = correlation(series[i], series[j]);
            if (!one) continue;
            sum += *one;
            ++pairs;
        }
    }
    if (pairs == 0) return std::nullopt;
    return sum / pairs;
}

std::string zone_letters(std::int32_t index) {
    std::string letters;
    for (std::int32_t rest = index; rest >= 0; rest = rest / 26 - 1) {
        letters.insert(letters.begin(), static_cast<char>('a' + rest % 26));
    }
    return letters;
}

std::string_view region_of_zone(std::string_view zone) {
    if (zone.size() < 3 || zone.back() < 'a' || zone.back() > 'z') return zone;
    const char before = zone[zone.size() - 2];
    if (is_digit(before)) return zone.substr(0, zone.size() - 1);  // us-east-1a
    if (before == '-' && is_digit(zone[zone.size() - 3])) {        // us-central1-a
        return zone.substr(0, zone.size() - 2);
    }
    return zone;
}

}  // namespace ukemi::traces
