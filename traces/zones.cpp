// zones.cpp — prices find their zones by names, and everything its place by the calendar.
#include "traces/zones.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

// "east" of "east.availability" and of "east.price", which `ukemi import` writes.
std::string zone_name(std::string name) {
    for (const std::string_view ending : {".availability", ".price"}) {
        if (name.size() > ending.size() && name.ends_with(ending)) {
            name.resize(name.size() - ending.size());
            break;
        }
    }
    return name;
}

// One series, and where it is from.
struct ZonePart {
    TraceSeries series;
    std::filesystem::path file;
    std::string name;         // of the file
    bool alone = false;       // the only series of its file
    std::string price_start;  // of prices from another file
    std::filesystem::path price_file;
};

// Makes room for a zone's own name where a file has several.
std::string name_of(const ZonePart& part) {
    return part.alone || part.series.zone.empty() ? part.name : part.series.zone;
}

bool same_header(const TraceSeries& zone, const TraceSeries& prices) {
    const bool types_meet = zone.instance_type.empty() || prices.instance_type.empty() ||
                            zone.instance_type == prices.instance_type;
    return !zone.zone.empty() && zone.zone == prices.zone && types_meet;
}

class Zones {
public:
    void add(Trace&& trace, const std::filesystem::path& file, const std::string& name) {
        add_notes(doubts_, trace.report.doubts);
        for (TraceSeries& series : trace.series) {
            auto& parts = series.availability ? zones_ : prices_;
            parts.push_back(
                {std::move(series), file, zone_name(name), trace.series.size() == 1, {}, {}});
        }
    }

    void match_prices() {
        if (zones_.empty()) {
            std::swap(zones_, prices_);
            return;
        }
        std::vector<std::filesystem::path> useful;
        for (ZonePart& prices : prices_) {
            ZonePart* zone = zone_of(prices);
            if (zone == nullptr) continue;
            if (zone->series.price) {
                throw InputError(prices.file.string(), "",
                                 fmt::format("zone \"{}\" has prices already", name_of(*zone)));
            }
            zone->series.price = std::move(prices.series.price);
            zone->price_start = prices.series.start;
            zone->price_file = prices.file;
            useful.push_back(prices.file);
        }
        for (const ZonePart& prices : prices_) {
            if (std::ranges::find(useful, prices.file) == useful.end()) fits_nothing(prices);
        }
        unused_ = prices_.size() - useful.size();
    }

    Trace market() {
        Trace all;
        all.report.doubts = doubts_;
        all.name = zones_.front().name;
        all.report.form = "zones of several files";
        const auto priced = std::ranges::count_if(
            zones_, [](const ZonePart& zone) { return zone.series.price.has_value(); });
        all.report.notes.push_back(fmt::format("{} zone{}, {} with prices of their own",
                                               zones_.size(), zones_.size() == 1 ? "" : "s",
                                               priced));
        if (by_header_ > 0) {
            all.report.notes.push_back(
                fmt::format("{} of them found by the zones that headers name", by_header_));
        }
        if (unused_ > 0) {
            all.report.notes.push_back(
                fmt::format("{} series of prices are of no zone here", unused_));
        }
        all.report.notes.push_back(lay_on_calendar());
        for (ZonePart& zone : zones_) {
            zone.series.zone = name_of(zone);
            all.series.push_back(std::move(zone.series));
        }
        return all;
    }

private:
    // By name first; null if there is none.
    ZonePart* zone_of(const ZonePart& prices) {
        ZonePart* found = nullptr;
        for (const bool by_name : {true, false}) {
            for (ZonePart& zone : zones_) {
                const bool fits = by_name ? prices.alone && zone.alone && zone.name == prices.name
                                          : same_header(zone.series, prices.series);
                if (!fits) continue;
                if (found != nullptr) {
                    throw InputError(
                        prices.file.string(), "",
                        fmt::format(
                            "has prices that fit both \"{}\" and \"{}\": call it as one of them",
                            name_of(*found), name_of(zone)));
                }
                found = &zone;
            }
            if (found == nullptr) continue;
            by_header_ += by_name ? 0 : 1;
            return found;
        }
        return nullptr;
    }

    [[noreturn]] void fits_nothing(const ZonePart& prices) const {
        std::vector<std::string> names;
        for (const ZonePart& zone : zones_) names.push_back(name_of(zone));
        const std::vector<std::string_view> known(names.begin(), names.end());
        throw InputError(prices.file.string(), "",
                         fmt::format("has prices of no zone here: expected an availability file of "
                                     "this name, or of the zone that its header names{}",
                                     did_you_mean(prices.name, known)));
    }

    // Says what was done.
    std::string lay_on_calendar() {
        std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
        std::int64_t begin_ns = 0;
        for (const ZonePart& zone : zones_) {
            for (const std::string* start : {&zone.series.start, &zone.price_start}) {
                if (start == &zone.price_start && zone.price_file.empty()) continue;
                const auto at = parse_timestamp(*start);
                if (!at) {
                    return "not every file says when it was recorded: all are taken to begin "
                           "together";
                }
                first_ns = std::min(first_ns, *at);
                begin_ns = std::max(begin_ns, *at);
            }
        }
        for (ZonePart& zone : zones_) {
            const auto own_start = parse_timestamp(zone.series.start);
            if (zone.series.availability) {
                cut(*zone.series.availability, *own_start, begin_ns, zone.file);
            }
            if (zone.series.price && zone.price_file.empty()) {
                cut(*zone.series.price, *own_start, begin_ns, zone.file);
            } else if (zone.series.price) {
                cut(*zone.series.price, *parse_timestamp(zone.price_start), begin_ns,
                    zone.price_file);
            }
            for (NodeEvent& node : zone.series.nodes) {
                node.at = std::max(Instant{}, node.at - nanoseconds(begin_ns - *own_start));
            }
            zone.series.start = format_timestamp(begin_ns);
        }
        return fmt::format(
            "laid on one calendar: the market begins at {}, {:.2f} h after the first file",
            format_timestamp(begin_ns), to_hours(nanoseconds(begin_ns - first_ns)));
    }

    // What is left of a series that begins at `start_ns` for those who come at `begin_ns`.
    template <class Value>
    static void cut(Series<Value>& series, std::int64_t start_ns, std::int64_t begin_ns,
                    const std::filesystem::path& file) {
        const Duration later = nanoseconds(begin_ns - start_ns);
        if (later >= series.end.since_start() && later > Duration{}) {
            throw InputError(file.string(), "",
                             fmt::format("ends at {}, before the market begins with another file "
                                         "at {}",
                                         format_timestamp(start_ns + series.end.raw()),
                                         format_timestamp(begin_ns)));
        }
        Series<Value> rest;
        for (const Step<Value>& step : series.steps) {
            if (step.at.since_start() <= later) {
                rest.steps.assign(1, {Instant{}, step.value});
            } else {
                rest.steps.push_back({step.at - later, step.value});
            }
        }
        rest.end = series.end - later;
        series = std::move(rest);
    }

    std::vector<ZonePart> zones_;   // with availability, or all
    std::vector<ZonePart> prices_;  // without
    std::vector<std::string> doubts_;
    std::size_t unused_ = 0;
    std::size_t by_header_ = 0;
};

}  // namespace

Trace join_zones(std::span<const std::filesystem::path> files, const ReadOptions& options) {
    INVARIANT(!files.empty());
    std::vector<Trace> traces;
    std::vector<std::filesystem::path> with_availability;
    for (const std::filesystem::path& file : files) {
        traces.push_back(read_trace(file, options));
        const bool any = std::ranges::any_of(traces.back().series, [](const TraceSeries& one) {
            return one.availability.has_value();
        });
        if (any) with_availability.push_back(file);
    }
    // Zones must have different names; a price file is to have the same name as its zone.
    const auto named = with_availability.empty()
                           ? files
                           : std::span<const std::filesystem::path>(with_availability);
    const std::vector<std::string> names = trace_names(named);
    Zones zones;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto at = std::ranges::find(named, files[i]) - named.begin();
        const bool is_zone = at < std::ssize(named);
        zones.add(std::move(traces[i]), files[i],
                  is_zone ? names[static_cast<std::size_t>(at)] : trace_name(files[i]));
    }
    zones.match_prices();
    return zones.market();
}

std::vector<std::string> trace_names(std::span<const std::filesystem::path> files) {
    std::vector<std::string> names;
    std::vector<std::filesystem::path> folders;
    for (const auto& file : files) {
        names.push_back(trace_name(file));
        folders.push_back(std::filesystem::absolute(file).lexically_normal().parent_path());
    }
    const auto ambiguous = [&](const std::string& name) {
        return std::ranges::count(names, name) > 1;
    };
    while (true) {
        std::vector<std::size_t> unclear;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (ambiguous(names[i]) && folders[i].has_relative_path()) unclear.push_back(i);
        }
        if (unclear.empty()) break;
        for (const std::size_t i : unclear) {
            names[i] = fmt::format("{}/{}", one_line(folders[i].filename().string()), names[i]);
            folders[i] = folders[i].parent_path();
        }
    }
    // The same file twice, or a.csv beside a.json.
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (ambiguous(names[i])) names[i] += fmt::format(" ({})", i + 1);
    }
    return names;
}

}  // namespace ukemi::traces
