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
    std::vector<std::string> warnings;
};

Recording read_all(const RecordsRequest& request) {
    Recording all;
    std::vector<NamedRecord> records = read_records(request);
    all.warnings = warnings_of(records);
    for (NamedRecord& one : records) {
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

// The generator's markets have machines at some time.
void expect_machines(const Recording& recording, const std::string& file) {
    bool recorded = false;
    for (const traces::TraceSeries& one : recording.series) {
        if (!one.availability) continue;
        recorded = true;
        for (const auto& step : one.availability->steps) {
            if (step.value > 0) return;
        }
    }
    if (!recorded) return;
    throw InputError(file, "",
                     "expected a record that has machines at some time, found none: there is "
                     "nothing to fit (ukemi replay --traces plays it as it is)");
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

std::vector<std::string> warnings_of(std::span<const NamedRecord> records) {
    std::vector<std::string> doubts;
    std::vector<const NamedRecord*> first;
    std::vector<std::size_t> counts;
    for (const NamedRecord& one : records) {
        for (const std::string& doubt : one.trace.report.doubts) {
            const auto known = std::ranges::find(doubts, doubt);
            if (known != doubts.end()) {
                ++counts[static_cast<std::size_t>(known - doubts.begin())];
                continue;
            }
            doubts.push_back(doubt);
            first.push_back(&one);
            counts.push_back(1);
        }
    }
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < doubts.size(); ++i) {
        const std::string more = counts[i] < 2 ? "" : fmt::format(" and {} more", counts[i] - 1);
        warnings.push_back(
            fmt::format("{}{}: {}", one_line(first[i]->name), more, one_line(doubts[i])));
    }
    return warnings;
}

RecordedFit fit_records(const FitRequest& request) {
    traces::FitOptions wanted;
    wanted.name = request.name;
    wanted.source = request.source.empty() ? names_of(request.records.files) : request.source;
    if (!request.on_demand.empty()) {
        wanted.usd_on_demand = to_dollars_per_hour(parse_price(request.on_demand, "--on-demand"));
    }
    const Recording recording = read_all(request.records);
    expect_machines(recording, request.records.files.front());
    wanted.sampling = recording.sampling;
    if (!request.stretches.empty()) {
        wanted.stretch = parse_duration(request.stretches, "--stretches");
        if (wanted.stretch <= Duration{}) {
            throw InputError("--stretches", "", "expected more than 0 s");
        }
    }
    RecordedFit fitted{traces::fit_market(recording.series, recording.lifetimes, wanted), "",
                       recording.warnings};
    if (!request.compared) return fitted;
    fitted.comparison = comparison_of(recording, fitted.fit.parameters, wanted.usd_on_demand);
    return fitted;
}

}  // namespace ukemi::analysis
