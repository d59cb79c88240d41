// recorded_logs_test.cpp — logs, step lists, daily prices and prices without times of the public
// data against the same series in one common form. Where the two differ, the test says why.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/read_file.hpp"
#include "tests/traces/recorded_series.hpp"
#include "traces/timestamp.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using namespace ukemi::test;

TEST_CASE("recorded: logs of held instances", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "training_on_a_dime");
    int compared = 0;
    for (const auto& [folder, cloud] :
         std::map<std::string, std::string>{{"aws", "aws-dime-"}, {"gcp", "gcp-dime"}}) {
        for (const fs::path& file :
             files_under(data / "training_on_a_dime" / folder / "availability")) {
            CAPTURE(file);
            const Trace trace = read_trace(file);
            CHECK(trace.report.form == "survival_log");
            // "persistent_2020-03-01": the day is in the names of Google's series.
            const std::string day = trace.name.substr(trace.name.size() - 2);
            for (const TraceSeries& series : trace.series) {
                const std::string kind =
                    replaced(series.instance_type, 'x', ' ');  // "1 v100" is "v100x1"
                const std::string id = fmt::format(
                    "{}{}{}x{}-{}", cloud, folder == "gcp" ? day + "-" : "",
                    kind.substr(kind.find(' ') + 1), kind.substr(0, kind.find(' ')), series.zone);
                compared += check_availability(series, data, id);
            }
        }
    }
    CHECK(compared >= 14);
}

TEST_CASE("recorded: Bamboo's step lists", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "bamboo");
    int compared = 0;
    for (const fs::path& file : files_under(data / "bamboo/aws_2020_doc")) {
        if (file.string().find("tta-curves") != std::string::npos) continue;
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "bamboo_step_list");
        if (trace.name.find("_scaled") != std::string::npos) continue;
        // "aws-spot-instances-TYPE-ZONE-2020-11-20-1930-to-…"
        std::string id = trace.name.substr(std::string("aws-spot-instances-").size());
        id = "aws-bamboo2020-" + id.substr(0, id.find("-2020"));
        // The common form lets the last row hold for a minute; here the series ends at it.
        compared += check_availability(trace.series[0], data, id, minutes(1));
    }
    CHECK(compared >= 2);
}

TEST_CASE("recorded: a scaled step list is the same series in hours", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "bamboo");
    int compared = 0;
    for (const fs::path& file : files_under(data / "bamboo/aws_2020_doc")) {
        fs::path scaled = file;
        scaled.replace_filename(trace_name(file) + "_scaled.csv");
        if (!fs::exists(scaled)) continue;
        CAPTURE(file);
        const auto in_seconds = *read_trace(file).series[0].availability;
        const auto in_hours = *read_trace(scaled).series[0].availability;
        // Hours have three decimals: 3.6 s, within which a short step is lost.
        CHECK(std::abs((in_seconds.end - in_hours.end).raw()) <= 1'800'000'000);
        CHECK(in_seconds.steps.size() >= in_hours.steps.size());
        CHECK(in_seconds.steps.size() <= in_hours.steps.size() + 4);
        ++compared;
    }
    CHECK(compared >= 4);
}

TEST_CASE("recorded: Azure's daily prices", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "training_on_a_dime");
    int compared = 0;
    for (const fs::path& file : files_under(data / "training_on_a_dime/azure/cost")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "azure_daily_prices_csv");
        for (const TraceSeries& series : trace.series) {
            const std::string id = fmt::format(
                "azure2020-{}-{}", replaced(series.instance_type, ' ', '-'), series.zone);
            compared += check_price(series, data, id, Duration{});
        }
    }
    CHECK(compared >= 16);
}

TEST_CASE("recorded: medians of many providers", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "gpu_price_tracker");
    int compared = 0;
    for (const fs::path& file : files_under(data / "gpu_price_tracker")) {
        const Trace trace = read_trace(file);
        CHECK(trace.report.form == "gpu_price_tracker_jsonl");
        for (const TraceSeries& series : trace.series) {
            // The common form lets the last snapshot hold for 40 min; here for one usual gap.
            const Duration longer = minutes(40) - trace.report.sampling;
            compared +=
                check_price(series, data, "neocloud2025-median-" + series.instance_type, longer);
        }
    }
    CHECK(compared >= (whole_recorded_data() ? 5 : 1));
}

// The file of ticks is not everywhere: it is written again from the common form and the stamps.
TEST_CASE("recorded: SkyNomad's prices at the ticks of its samples", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "skynomad");
    int compared = 0;
    for (const fs::path& file : files_under(data / "skynomad/v100_aws_1node_avail")) {
        const std::string zone = zone_and_rest(trace_name(file)).first;
        const fs::path common = data / "normalized/price" / ("aws-v100x1-2023feb-" + zone + ".csv");
        if (!fs::exists(common)) continue;
        const PriceSeries price = *read_trace(common).series[0].price;
        std::string ticks = "{\"" + zone + "\": [";
        std::size_t step = 0;
        std::string separator;
        std::optional<std::int64_t> first;
        const std::string text = read_file(file);
        for (std::size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1) {
            const auto stamp = parse_timestamp(text.substr(at, text.find(',', at) - at));
            REQUIRE(stamp);
            if (!first) first = stamp;
            // The common form rounds times to six digits, at most 5 s.
            const Instant now = Instant::at(nanoseconds(*stamp - *first) + whole_seconds(6));
            while (step + 1 < price.steps.size() && price.steps[step + 1].at <= now) ++step;
            ticks += fmt::format("{}{}", separator, to_dollars_per_hour(price.steps[step].value));
            separator = ", ";
        }
        ReadOptions options;
        options.times = file;
        const Trace trace = read_trace_text(ticks + "]}", "prices.json", options);
        CHECK(trace.report.form == "skynomad_prices_json");
        REQUIRE(trace.series.size() == 1);
        compared += check_price(trace.series[0], data, "aws-v100x1-2023feb-" + zone, Duration{});
    }
    CHECK(compared >= 6);
}

TEST_CASE("recorded: a round of probes is a row of the condensed table", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "skynomad");
    const Trace table = read_trace(data / "skynomad/h100_gcp_16node/probe_counts.csv.gz");
    int compared = 0;
    for (const fs::path& file : files_under(data / "skynomad/h100_gcp_16node/raw_sample")) {
        const Trace round = read_trace(file);
        CHECK(round.report.form == "skynomad_probe_round_json");
        for (const TraceSeries& series : round.series) {
            for (const TraceSeries& other : table.series) {
                if (other.zone != series.zone) continue;
                const auto at = Instant::at(
                    nanoseconds(*parse_timestamp(series.start) - *parse_timestamp(other.start)));
                std::int32_t held = 0;
                for (const auto& step : other.availability->steps) {
                    if (step.at <= at) held = step.value;
                }
                CHECK(held == series.availability->steps[0].value);
                ++compared;
            }
        }
    }
    CHECK(compared >= 9);
}

TEST_CASE("recorded: tries to launch are one history", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "training_on_a_dime");
    const auto files = files_under(data / "training_on_a_dime/gcp/spin_up_and_shut_down");
    REQUIRE(files.size() > 20);
    const Trace trace = read_records(files);
    CHECK(trace.report.form == "launch_log");
    CHECK(trace.report.start == "2020-02-26T17:03:53Z");
    std::set<std::string> zones;
    for (const TraceSeries& series : trace.series) zones.insert(series.zone);
    CHECK(zones.size() >= 4);
    // Tried every five hours, for eight days.
    CHECK(to_hours(trace.report.sampling) == Approx(4.9).margin(0.2));
    CHECK(trace.series[0].availability->end.since_start() > days(6));
}

TEST_CASE("recorded: lifetimes of 1442 machines, half of them taken", "[traces][recorded]") {
    NEEDS_RECORDED_DATA(data, "goog_preemption");
    const Trace trace = read_record(data / "goog_preemption/lifetimes.csv");
    CHECK(trace.report.form == "lifetimes_csv");
    CHECK(trace.lifetimes.size() == 1442);
    const auto taken = std::ranges::count(trace.lifetimes, true, &Lifetime::was_lost);
    CHECK(taken == 717);
}
