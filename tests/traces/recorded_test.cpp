// The raw files of the public traces against the same series in one common form.
//
// Cases whose files are in no slice say that they skip.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/traces/recorded_series.hpp"
#include "traces/series_builder.hpp"
#include "traces/timestamp.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using namespace ukemi::test;
namespace fs = std::filesystem;

TEST_CASE("recorded: SkyNomad's V100 samples", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "skynomad");
    int compared = 0;
    for (const fs::path& file : files_under(data / "skynomad/v100_aws_1node_avail")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "skynomad_csv");
        CHECK(trace.report.sampling == whole_seconds(195));
        const std::string zone = zone_and_rest(trace.name).first;
        compared += check_availability(trace.series[0], data, "aws-v100x1-2023feb-" + zone);
    }
    for (const auto& [folder, id] : std::map<std::string, std::string>{
             {"16-nodes", "aws-v100-16node-"}, {"4-nodes-real-preemption", "aws-v100-4node-"}}) {
        for (const fs::path& file : files_under(data / "skynomad/v100_aws_multinode" / folder)) {
            const Trace trace = read_trace(file);
            CHECK(trace.report.form == "skypilot_json");
            const std::string zone = zone_and_rest(trace.name).first;
            compared += check_availability(trace.series[0], data, id + zone);
        }
    }
    CHECK(compared >= 10);
}

TEST_CASE("recorded: SkyNomad's launch probes have one hole of 110 minutes too many",
          "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "skynomad");
    const Trace trace = read_trace(data / "skynomad/h100_gcp_16node/probe_counts.csv.gz");
    CHECK(trace.report.form == "skynomad_probe_counts");
    CHECK(trace.report.sampling == minutes(10));
    CHECK(trace.report.repairs.empty());
    REQUIRE(trace.report.notes.size() == 3);  // the zones, the spacing, and the hole
    CAPTURE(trace.report.notes);
    CHECK(trace.report.notes[2].find("1 hole, the longest of 1") == 0);
    int compared = 0;
    for (const TraceSeries& series : trace.series) {
        compared += check_availability(series, data, "gcp-h100-" + series.zone);
    }
    CHECK(compared == static_cast<int>(trace.series.size()));
}

TEST_CASE("recorded: SkyPilot's campaigns and held instances", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "skypilot_spot_strategy");
    int compared = 0;
    for (const auto& [folder, campaign] :
         std::map<std::string, std::string>{{"2022-10-26T22-05", "2022oct"},
                                            {"2022-11-28T22-23", "2022nov"},
                                            {"2022-12-13T19-14", "2022dec"}}) {
        for (const fs::path& file : files_under(data / "skypilot_spot_strategy" / folder)) {
            const Trace trace = read_trace(file);
            CHECK(trace.report.form == "skypilot_strategy_txt");
            const auto [zone, type] = zone_and_rest(trace.name);  // "v100_8" is "v100x8"
            compared += check_availability(
                trace.series[0], data,
                fmt::format("aws-{}-{}-{}", replaced(type, '_', 'x'), campaign, zone));
        }
    }
    for (const fs::path& file : files_under(data / "skypilot_spot_traces/preemption")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "skypilot_json");
        const auto [zone, type] = zone_and_rest(trace.name);
        const std::string cloud = file.string().find("/gcp-") == std::string::npos ? "aws" : "gcp";
        compared += check_availability(
            trace.series[0], data,
            fmt::format("{}-preempt-{}-{}", cloud, zone, replaced(type, '_', '-')));
    }
    for (const fs::path& file : files_under(data / "spothedge/GCP1")) {
        const Trace trace = read_trace(file);
        compared += check_availability(trace.series[0], data,
                                       "gcp-a100-" + zone_and_rest(trace.name).first);
    }
    CHECK(compared >= 29);
}

TEST_CASE("recorded: Bamboo's groups", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "bamboo");
    const Trace events = read_trace(data / "bamboo/p3-trace.csv");
    CHECK(events.report.form == "bamboo_events");
    CHECK(check_availability(events.series[0], data, "aws-bamboo-p3"));
    const Trace counts = read_trace(data / "bamboo/gcloud/v100x1-east1c.txt");
    CHECK(counts.report.form == "bamboo_counts");
    CHECK(counts.report.repairs ==
          std::vector<std::string>{"15 rows out of order: sorted",
                                   "16 rows with a stamp seen before: largest kept"});
    CHECK(check_availability(counts.series[0], data, "gcp-bamboo-v100x1-east1c"));
}

TEST_CASE("recorded: prices of the bidding era", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "aws_spot_2015_g2");
    int compared = 0;
    for (const fs::path& file : files_under(data / "aws_spot_2015_g2")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "stamped_price_csv");
        const std::string zone = zone_and_rest(trace.name).first;
        compared += check_price(trace.series[0], data, "aws2015-g2.2xlarge-" + zone);
    }
    for (const fs::path& file : files_under(data / "aws_spot_2016_g2_8x")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "aws_price_history_csv");
        for (const TraceSeries& series : trace.series) {
            const std::string id = series.instance_type + "-" + series.zone;
            compared += check_price(series, data, "aws2016-" + id);
        }
    }
    CHECK(compared >= 4);
}

namespace {

// Several pulls of one price history, by calendar time.
struct Pulls {
    std::map<std::int64_t, Price> steps;
    std::int64_t end_ns = 0;
};

void add_pull(Pulls& pulls, const TraceSeries& series, std::int64_t start_ns) {
    for (const auto& step : series.price->steps) {
        pulls.steps.emplace(start_ns + step.at.raw(), step.value);
    }
    pulls.end_ns = std::max(pulls.end_ns, start_ns + series.price->end.raw());
}

}  // namespace

TEST_CASE("recorded: AWS price histories of five pulls", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "training_on_a_dime");
    std::map<std::string, Pulls> all_pulls;
    int files = 0;
    for (const fs::path& file : files_under(data / "training_on_a_dime/aws/cost")) {
        CAPTURE(file);
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "aws_price_history_json");
        ++files;
        for (const TraceSeries& series : trace.series) {
            const auto start = parse_timestamp(series.start);
            REQUIRE(start);
            add_pull(all_pulls[series.instance_type + "-" + series.zone], series, *start);
        }
    }
    int compared = 0;
    for (const auto& [id, pulls] : all_pulls) {
        // A pull that begins in the middle of an unchanged price adds no step.
        SeriesBuilder<Price> builder;
        const std::int64_t zero_ns = pulls.steps.begin()->first;
        for (const auto& [stamp_ns, price] : pulls.steps) {
            builder.add(Instant::at(nanoseconds(stamp_ns - zero_ns)), price);
        }
        TraceSeries joined;
        joined.price = builder.finish(Instant::at(nanoseconds(pulls.end_ns - zero_ns)));
        compared += check_price(joined, data, "aws2020-" + id);
    }
    const bool whole = whole_recorded_data().has_value();
    CHECK(files >= (whole ? 100 : 15));
    CHECK(compared >= (whole ? 49 : 7));
}
