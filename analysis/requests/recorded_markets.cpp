#include "analysis/requests/recorded_markets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "traces/market_comparison.hpp"
#include "traces/reader.hpp"
#include "traces/zones.hpp"

namespace ukemi::analysis {

namespace {

struct Recording {
    std::vector<traces::TraceSeries> series;
    std::vector<traces::Lifetime> lifetimes;
    Duration sampling;
};

Recording read_all(const RecordsRequest& request) {
    Recording all;
    for (NamedRecord& one : read_records(request)) {
        for (traces::TraceSeries& series : one.trace.series) {
            // "us-west-2a_v100_1": many files are called by their zone.
            if (series.zone.empty()) {
                series.zone = one.trace.name.substr(0, one.trace.name.find('_'));
            }
            all.series.push_back(std::move(series));
        }
        std::ranges::move(one.trace.lifetimes, std::back_inserter(all.lifetimes));
        all.sampling = std::max(all.sampling, one.trace.report.sampling);
    }
    if (all.series.empty() && all.lifetimes.empty()) {
        throw InputError(request.files.front(), "", "expected series or lifetimes to fit to");
    }
    return all;
}

std::string names_of(const std::vector<std::string>& files) {
    std::string names;
    for (const std::string& file : files) {
        names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
    }
    return shortened(one_line(names), 200);
}

// The same number of zones for long enough, beside the recording.
std::string comparison_of(const Recording& recording, const traces::MarketParameters& parameters,
                          double usd_on_demand) {
    const auto zones =
        static_cast<std::int32_t>(std::clamp<std::size_t>(recording.series.size(), 1, 16));
    const auto made = traces::generate_market(parameters, 1, zones,
                                              traces::length_to_compare(recording.series, zones));
    const auto has = [&](auto traces::TraceSeries::*member) {
        return std::ranges::any_of(
            recording.series, [&](const traces::TraceSeries& one) { return bool(one.*member); });
    };
    std::string text;
    if (has(&traces::TraceSeries::availability)) {
        text += traces::describe(traces::compare_availability(recording.series, made));
    }
    if (has(&traces::TraceSeries::price) && parameters.price) {
        text += traces::describe(traces::compare_prices(recording.series, made, usd_on_demand));
    }
    return text;
}

}  // namespace

std::vector<NamedRecord> read_records(const RecordsRequest& request) {
    if (request.join && request.zones) {
        throw InputError("--zones", "", "expected one of --join and --zones, found both");
    }
    traces::ReadOptions read;
    read.zone = request.zone;
    read.instance_type = request.instance_type;
    if (!request.gap.empty()) read.gap = parse_duration(request.gap, "--gap");
    const std::vector<std::filesystem::path> files(request.files.begin(), request.files.end());
    const std::string& first = request.files.front();
    if (request.zones) return {{first, traces::join_zones(files, read)}};
    if (request.join) {
        return {{fmt::format("{} and {} more", first, files.size() - 1),
                 traces::read_records(files, read)}};
    }
    std::vector<NamedRecord> records;
    for (const std::string& file : request.files) {
        records.push_back({file, traces::read_record(file, read)});
    }
    return records;
}

RecordedFit fit_records(const FitRequest& request) {
    traces::FitOptions wanted;
    wanted.name = request.name;
    wanted.source = request.source.empty() ? names_of(request.records.files) : request.source;
    if (!request.on_demand.empty()) {
        wanted.usd_on_demand = to_dollars_per_hour(parse_price(request.on_demand, "--on-demand"));
    }
    const Recording recording = read_all(request.records);
    wanted.sampling = recording.sampling;
    if (!request.stretches.empty()) {
        wanted.stretch = parse_duration(request.stretches, "--stretches");
        if (wanted.stretch <= Duration{}) {
            throw InputError("--stretches", "", "expected more than 0 s");
        }
    }
    RecordedFit fitted{traces::fit_market(recording.series, recording.lifetimes, wanted), ""};
    if (!request.compared) return fitted;
    fitted.comparison = comparison_of(recording, fitted.fit.parameters, wanted.usd_on_demand);
    return fitted;
}

}  // namespace ukemi::analysis
