#include "scenarios/experiment/starts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::string_view every_key = "every=";
constexpr std::string_view at_key = "at=";

[[noreturn]] void refuse(std::string_view text, std::string_view where) {
    throw InputError(where, "",
                     fmt::format("expected a number of beginnings from 1 to {}, every=6h, "
                                 "at=0h,12h or apart, found \"{}\"",
                                 StartsChoice::count_most, one_line(text)));
}

std::vector<Duration> moments_of(std::string_view text, std::string_view where) {
    std::vector<Duration> moments;
    while (true) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const Duration one = parse_duration(text.substr(0, comma), where);
        if (std::ranges::find(moments, one) != moments.end()) {
            throw InputError(where, "", fmt::format("{} stands there twice", format_duration(one)));
        }
        moments.push_back(one);
        if (comma == text.size()) break;
        text.remove_prefix(comma + 1);
    }
    std::ranges::sort(moments);
    return moments;
}

constexpr Duration second = whole_seconds(1);

// `count` of them from zero to `last`; evenly, both among them.
std::vector<Duration> spread(std::int64_t count, Duration last) {
    std::vector<Duration> starts;
    for (std::int64_t i = 0; i < count; ++i) {
        const Int128 share =
            static_cast<Int128>(last.raw()) * i / std::max<std::int64_t>(count - 1, 1);
        starts.push_back(round_down_to(Duration::of(static_cast<std::int64_t>(share)), second));
    }
    starts.erase(std::ranges::unique(starts).begin(), starts.end());
    return starts;
}

void check_count(std::int64_t count) {
    if (count <= StartsChoice::count_most) return;
    throw InputError("--starts", "",
                     fmt::format("expected at most {} beginnings of a trace, found {}",
                                 StartsChoice::count_most, count));
}

std::vector<Duration> starts_of(const StartsChoice& choice, Duration trace, bool repeats,
                                Duration span) {
    using Kind = StartsChoice::Kind;
    if (choice.kind == Kind::at) return choice.at;
    // Where the last may begin. Of a trace that repeats, all are as far apart as the last is from
    // the first's return.
    const Duration room = std::max(repeats ? trace : trace - span, Duration{});
    if (choice.kind == Kind::every) {
        std::int64_t count = room.raw() / choice.every.raw() + 1;
        if (repeats && count > 1 && (count - 1) * choice.every == trace) --count;
        check_count(count);
        return spread(count, (count - 1) * choice.every);
    }
    std::int64_t count = choice.kind == Kind::count ? choice.count : 1;
    if (choice.kind == Kind::apart && span > Duration{}) {
        count = std::clamp<std::int64_t>(trace.raw() / span.raw(), 1, StartsChoice::apart_most);
    }
    if (room == Duration{}) count = 1;
    if (!repeats || count == 1) return spread(count, room);
    return spread(count, Duration::of(room.raw() / count * (count - 1)));
}

template <class Value>
traces::Series<Value> later(const traces::Series<Value>& series, Duration start, bool repeats) {
    std::vector<traces::Step<Value>> steps = series.steps;
    const Duration length = series.end.since_start();
    repeats = repeats && length > Duration{};
    if (repeats) {
        start = Duration::of(start.raw() % length.raw());
        // A last row that holds for no time is no part of what repeats.
        if (steps.size() > 1 && steps.back().at == series.end) steps.pop_back();
    }
    traces::Series<Value> rest;
    rest.end = repeats ? series.end : Instant::at(std::max(length - start, Duration{}));
    const auto add = [&](Instant at, Value value) {
        if (rest.steps.empty() || rest.steps.back().value != value)
            rest.steps.push_back({at, value});
    };
    for (const traces::Step<Value>& step : steps) {
        if (step.at.since_start() <= start) {
            rest.steps.assign(1, {Instant{}, step.value});
        } else {
            add(step.at - start, step.value);
        }
    }
    if (!repeats) return rest;
    for (const traces::Step<Value>& step : steps) {
        if (step.at.since_start() < start) add(step.at + (length - start), step.value);
    }
    return rest;
}

}  // namespace

StartsChoice parse_starts(std::string_view text, std::string_view where) {
    using Kind = StartsChoice::Kind;
    StartsChoice choice;
    choice.text = text;
    if (text == "apart") {
        choice.kind = Kind::apart;
    } else if (text.starts_with(every_key)) {
        choice.kind = Kind::every;
        choice.every = parse_duration(text.substr(every_key.size()), where);
        if (choice.every < second) {
            throw InputError(where, "", "expected beginnings at least 1 s apart");
        }
    } else if (text.starts_with(at_key)) {
        choice.kind = Kind::at;
        choice.at = moments_of(text.substr(at_key.size()), where);
    } else {
        choice.kind = Kind::count;
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), choice.count);
        if (error != std::errc{} || end != text.data() + text.size() || choice.count < 1 ||
            choice.count > StartsChoice::count_most) {
            refuse(text, where);
        }
        if (choice.count == 1) choice.kind = Kind::first;
    }
    return choice;
}

std::vector<TraceWindow> windows_of(const StartsChoice& choice, Duration trace, bool repeats,
                                    Duration span) {
    const std::vector<Duration> starts = starts_of(choice, trace, repeats, span);
    if (choice.kind == StartsChoice::Kind::at && starts.back() > Duration{} &&
        starts.back() >= trace) {
        throw InputError("--starts", "",
                         fmt::format("expected beginnings within a trace of {}, found {}",
                                     format_duration(trace), format_duration(starts.back())));
    }
    bool overlap = false;
    const Duration apart = span - second;  // starts are rounded to seconds
    for (std::size_t i = 1; i < starts.size(); ++i) overlap |= starts[i] - starts[i - 1] <= apart;
    if (repeats && starts.size() > 1) overlap |= starts.front() + trace - starts.back() <= apart;
    std::vector<TraceWindow> windows;
    for (const Duration start : starts) {
        windows.push_back({start, overlap ? start.raw() / span.raw() / 2 : std::ssize(windows)});
    }
    return windows;
}

Duration trace_length(const sim::MarketData& market) {
    Duration shortest = market.zones.front().capacity.end.since_start();
    for (const sim::ZoneData& zone : market.zones) {
        shortest = std::min(shortest, zone.capacity.end.since_start());
    }
    return shortest;
}

Duration window_span(const sim::JobSpec& job) {
    if (job.deadline != Instant::never()) return std::max(job.deadline.since_start(), second);
    const std::int64_t per_step = samples_per_step(job.plan, job.plan.workers_max);
    const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
    const Duration work = time_for(rate_of(job.profile, job.plan, job.plan.workers_max), steps);
    return std::max(2 * std::min(work, days(36'600)), second);
}

sim::MarketData begun_later(const sim::MarketData& market, Duration start) {
    if (start == Duration{}) return market;
    sim::MarketData rest = market;
    const bool repeats = market.after_last_row == sim::AfterLastRow::repeat;
    for (sim::ZoneData& zone : rest.zones) {
        zone.capacity = later(zone.capacity, start, repeats);
        zone.spot_price = later(zone.spot_price, start, repeats);
        zone.machines = sim::begun_later(zone.machines, start);
    }
    prepare(rest);
    return rest;
}

}  // namespace ukemi::scenarios
