// Every form of trace, read from a small text whose series is derived by hand.
#include "traces/reader.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <set>
#include <string>

#include "tests/traces/fixture.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using test::counts;
using test::prices;
using test::read;

using Texts = std::vector<std::string>;

TEST_CASE("plain form: availability with a comment", "[traces][plain]") {
    const Trace trace = read(
        "# id=x zone=us-east-1a type=p3.2xlarge start=2023-08-27 duration_s=1.2e+02\n"
        "t_s,instances\n0,3\n60,0\n70,0\n90.5,2\n");
    CHECK(trace.name == "t");
    CHECK(trace.report.form == "plain_availability");
    CHECK(trace.report.rows == 4);
    REQUIRE(trace.series.size() == 1);
    CHECK(trace.series[0].zone == "us-east-1a");
    CHECK(trace.series[0].instance_type == "p3.2xlarge");
    CHECK(trace.series[0].start == "2023-08-27");
    CHECK_FALSE(trace.series[0].price);
    CHECK(read("# start=2023-08-27(day only) gap=300\nt_s,instances\n0,3\n").series[0].start ==
          "2023-08-27");
    // The row at 70 repeats a zero: merged.
    CHECK(trace.series[0].availability == counts({{0, 3}, {60, 0}, {90.5, 2}}, 120));
}

TEST_CASE("plain form: without a duration it ends at its last row, and says so",
          "[traces][plain]") {
    const Trace trace = read("t_s,usd_per_instance_hour\r\n0,0.918\r\n60,0.9181\r\n");
    CHECK(trace.report.form == "plain_price");
    CHECK(trace.series[0].price == prices({{0, 0.918}, {60, 0.9181}}, 60));
    CHECK(trace.report.notes == Texts{"no duration_s: ends at its last row"});
}

TEST_CASE("plain form: what is written reads back equal", "[traces][plain]") {
    const auto availability = counts({{0, 3}, {0.000000001, 0}, {1'284'213.25, 2}}, 1'284'300.5);
    const std::string text = to_plain_csv(availability, "zone=z");
    CHECK(text ==
          "# zone=z duration_s=1284300.5\nt_s,instances\n0,3\n0.000000001,0\n1284213.25,2\n");
    CHECK(read(text).series[0].availability == availability);
    const auto price = prices({{0, 0.3}, {7, 26}}, 8);
    CHECK(to_plain_csv(price, "") == "# duration_s=8\nt_s,usd_per_instance_hour\n0,0.3\n7,26\n");
    CHECK(read(to_plain_csv(price, "")).series[0].price == price);
}

TEST_CASE("skypilot_json: samples, prices and other metadata", "[traces][skypilot_json]") {
    const Trace trace = read(
        R"({"metadata": {"note": {"a": [1, "]"]}, "gap_seconds": 0.5}, "data": [0, 16, 16.0, 7],)"
        R"( "prices": [0.9, 0.9, 0.9, 3.06], "extra": []})");
    CHECK(trace.report.form == "skypilot_json");
    CHECK(trace.report.rows == 4);
    CHECK(trace.report.sampling == milliseconds(500));
    CHECK(trace.report.notes == Texts{"key \"extra\" not read"});
    // 16 holds from the second sample to the fourth; the end is one gap after the fourth.
    CHECK(trace.series[0].availability == counts({{0, 0}, {0.5, 16}, {1.5, 7}}, 2));
    CHECK(trace.series[0].price == prices({{0, 0.9}, {1.5, 3.06}}, 2));
}

TEST_CASE("skypilot_json: keys in any order, and the polarity", "[traces][skypilot_json]") {
    const std::string text = R"({"data":[0,1,1,0],"metadata":{"gap_seconds":600}})";
    CHECK(read(text).series[0].availability == counts({{0, 0}, {600, 1}, {1800, 0}}, 2400));
    ReadOptions options;
    options.polarity = Polarity::one_is_available;
    CHECK(read(text, options).series[0].availability ==
          counts({{0, 0}, {600, 1}, {1800, 0}}, 2400));
    options.polarity = Polarity::one_is_unavailable;
    const Trace inverted = read(text, options);
    CHECK(inverted.series[0].availability == counts({{0, 1}, {600, 0}, {1800, 1}}, 2400));
    CHECK(inverted.report.notes == Texts{"polarity: 1 means unavailable"});
}

TEST_CASE("skynomad_csv: real times, irregular as they are", "[traces][skynomad_csv]") {
    const Trace trace = read(
        "date,availability\n2023-02-15 22:08:16,0\n2023-02-15 22:11:31,1\n"
        "2023-02-15 22:14:46,1\n2023-02-15 22:19:26,0\n");
    CHECK(trace.report.form == "skynomad_csv");
    CHECK(trace.report.start == "2023-02-15T22:08:16Z");
    CHECK(trace.report.sampling == whole_seconds(195));
    CHECK(trace.report.notes == Texts{"sampled every 195 s to 280 s, usually 195 s"});
    // Gaps 195, 195 and 280 s; the end is 670 + 195 s.
    CHECK(trace.series[0].availability == counts({{0, 0}, {195, 1}, {670, 0}}, 865));
}

TEST_CASE("skypilot_strategy_txt: a one means unavailable", "[traces][skypilot_strategy]") {
    const std::string text =
        "0,2022-11-28T22:23:37.000Z,1\n1,2022-11-28T22:33:37.000Z,0\n"
        "2,2022-11-28T22:43:37.000Z,1\n";
    const Trace trace = read(text);
    CHECK(trace.report.form == "skypilot_strategy_txt");
    CHECK(trace.series[0].availability == counts({{0, 0}, {600, 1}, {1200, 0}}, 1800));
    CHECK(trace.report.notes == Texts{"polarity: 1 means unavailable"});
    ReadOptions options;
    options.polarity = Polarity::one_is_available;
    CHECK(read(text, options).series[0].availability ==
          counts({{0, 1}, {600, 0}, {1200, 1}}, 1800));
}

TEST_CASE("skynomad_probe_counts: interleaved zones and a hole", "[traces][probe_counts]") {
    const std::string header =
        "run_id,scheduled_utc,started_utc,ended_utc,probe_duration_s,status,zone,requested,"
        "created,capacity_exhausted_detected,n_ids\n";
    const auto row = [](const char* time, const char* zone, int created, const char* status) {
        return std::string("r,2025-10-04T") + time + ":00Z,s,e,1.5," + status + "," + zone +
               ",16," + std::to_string(created) + ",0,16\n";
    };
    const std::string text = header + row("00:10", "b", 16, "success") +
                             row("00:10", "a", 3, "success") + row("00:20", "b", 9, "success") +
                             row("00:20", "a", 0, "error") + row("00:30", "b", 9, "success") +
                             row("00:30", "a", 4, "success") + row("00:50", "b", 0, "success") +
                             row("00:40", "a", 4, "success");
    const Trace trace = read(text);
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "a");
    CHECK(trace.series[0].start == "2025-10-04T00:10:00Z");
    // a: 3 at 0, 4 at 20 and 30 min (the failed probe at 10 min left out); gaps 20 and 10 min, the
    // lower median 10 min, so the first gap is a hole. b: 16, 9 at 10, 0 at 40 min; gaps 10, 10 and
    // 20 min.
    CHECK(trace.series[0].availability == counts({{0, 3}, {1200, 4}}, 2400));
    CHECK(trace.series[1].availability == counts({{0, 16}, {600, 9}, {2400, 0}}, 3000));
    CHECK(trace.report.repairs == Texts{"1 failed probes left out"});
    CHECK(trace.report.notes ==
          Texts{"2 zones of launch probes", "sampled every 600 s to 1200 s, usually 600 s",
                "1 hole, the longest of 20 min after 2025-10-04T00:10:00Z: the value before it is "
                "held",
                "1 hole, the longest of 20 min after 2025-10-04T00:30:00Z: the value before it is "
                "held"});
    ReadOptions options;
    options.zone = "b";
    const Trace only = read(text, options);
    REQUIRE(only.series.size() == 1);
    CHECK(only.series[0].zone == "b");
}

TEST_CASE("bamboo_events: nodes come and go", "[traces][bamboo]") {
    const Trace trace = read(
        "60000,add,n1\r\n60000,add,n2\r\n120000,remove,n1\r\n120000,add,n3\r\n"
        "180000,remove,n3\r\n180000,remove,n2\r\n");
    CHECK(trace.report.form == "bamboo_events");
    CHECK(trace.report.rows == 6);
    CHECK(trace.report.sampling == Duration{});
    // Nothing before the first event; one gone and one come is no change; on a grid of 60 s, so the
    // end is a minute after the last event.
    CHECK(trace.series[0].availability == counts({{0, 0}, {60, 2}, {180, 0}}, 240));
}

TEST_CASE("bamboo_counts: sorted, the largest of a stamp kept, both counted", "[traces][bamboo]") {
    const Trace trace = read(
        "2021-12-10, 13:07:45, 80\n2021-12-10, 13:08:45, 80\n2021-12-10, 13:09:45, 70\n"
        "2021-12-10, 13:08:45, 70\n2021-12-10, 13:09:45, 75\n");
    CHECK(trace.report.form == "bamboo_counts");
    CHECK(trace.report.repairs ==
          Texts{"1 rows out of order: sorted", "2 rows with a stamp seen before: largest kept"});
    CHECK(trace.series[0].availability == counts({{0, 80}, {120, 75}}, 180));
    CHECK(trace.series[0].start == "2021-12-10T13:07:45Z");
}

TEST_CASE("aws_price_history_json: newest first, zones apart, duplicates dropped",
          "[traces][aws]") {
    const auto row = [](const char* zone, const char* price, const char* time,
                        const char* product = "Linux/UNIX") {
        return std::string(R"({"AvailabilityZone":")") + zone +
               R"(","InstanceType":"p2.xlarge","ProductDescription":")" + product +
               R"(","SpotPrice":")" + price + R"(","Timestamp":"2020-02-)" + time + R"(","x":1})";
    };
    const std::string text =
        R"({"NextToken": "abc", "SpotPriceHistory": [)" + row("b", "0.300000", "03T00:00:00.000Z") +
        "," + row("a", "0.31", "02T12:00:00.000Z") + "," +
        row("a", "9", "02T12:00:00.000Z", "Windows") + "," + row("a", "0.31", "02T12:00:00.000Z") +
        "," + row("a", "0.31", "02T06:00:00.000Z") + "," + row("a", "0.29", "02T00:00:00.000Z") +
        "]}";
    const Trace trace = read(text);
    CHECK(trace.report.form == "aws_price_history_json");
    CHECK(trace.report.rows == 6);
    CHECK(trace.report.start == "2020-02-02T00:00:00Z");
    CHECK(trace.report.notes ==
          Texts{"truncated page: NextToken is set, older prices are missing"});
    CHECK(trace.report.repairs ==
          Texts{"1 rows of other products than Linux/UNIX left out", "1 exact duplicates dropped"});
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "a");
    CHECK(trace.series[0].instance_type == "p2.xlarge");
    CHECK(trace.series[0].price == prices({{0, 0.29}, {21'600, 0.31}}, 43'200));
    CHECK(trace.series[1].start == "2020-02-03T00:00:00Z");
    CHECK(trace.series[1].price == prices({{0, 0.3}}, 0));
    ReadOptions options;
    options.zone = "c";
    CHECK(test::complaint(text, options) == "t: no zone \"c\" in this file; there is a, b");
}

TEST_CASE("aws_price_history_csv: the same as rows", "[traces][aws]") {
    const Trace trace = read(
        "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice\n"
        "2016-04-25T12:00:10.000Z,us-east-1a,g2.8xlarge,Linux/UNIX,1.590100\n"
        "2016-04-25T12:00:00.000Z,us-east-1a,g2.8xlarge,Linux/UNIX,0.98\n"
        "2016-04-25T12:00:05.000Z,us-east-1a,g2.8xlarge,Linux/UNIX,1.2110000001\n");
    CHECK(trace.report.form == "aws_price_history_csv");
    CHECK(trace.series[0].instance_type == "g2.8xlarge");
    CHECK(trace.series[0].price == prices({{0, 0.98}, {5, 1.211}, {10, 1.5901}}, 10));
    CHECK(trace.report.repairs == Texts{"1 rows out of order: sorted"});
}

TEST_CASE("stamped_price_csv: price changes", "[traces][price]") {
    const Trace trace = read(
        "timestamp_utc,price_usd_per_h\n2015-03-11T16:53:20Z,0.0652\n"
        "2015-03-11T16:59:29Z,0.065\n");
    CHECK(trace.series[0].price == prices({{0, 0.0652}, {369, 0.065}}, 369));
    CHECK(trace.series[0].start == "2015-03-11T16:53:20Z");
}

TEST_CASE("skynomad_prices_json: prices at every tick of a given interval", "[traces][price]") {
    ReadOptions options;
    options.gap = whole_seconds(195);
    const Trace trace =
        read(R"({"us-east-1b": [1, 1.5], "us-east-1a": [0.9, 0.9, 0.91]})", options);
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "us-east-1a");
    CHECK(trace.series[0].price == prices({{0, 0.9}, {390, 0.91}}, 585));
    CHECK(trace.series[1].price == prices({{0, 1}, {195, 1.5}}, 390));
    CHECK(trace.report.rows == 5);
}

TEST_CASE("traces: a byte order mark is skipped and reported", "[traces]") {
    const Trace trace = read("\xEF\xBB\xBFt_s,instances\n0,1\n9,2\n");
    CHECK(trace.report.repairs == Texts{"byte order mark skipped"});
    CHECK(trace.series[0].availability == counts({{0, 1}, {9, 2}}, 9));
}

TEST_CASE("traces: every form of the table is named once and summed up", "[traces]") {
    std::set<std::string_view> names;
    for (const TraceForm& form : all_trace_forms()) {
        CHECK(names.insert(form.name).second);
        CHECK_FALSE(form.summary.empty());
    }
    CHECK(names.size() == 32);
}

TEST_CASE("traces: a name without folders and endings, from a real file", "[traces]") {
    const ScratchFolder folder;
    const auto file = folder.file("us-east-1a_v100_1.csv", "t_s,instances\n0,1\n9,2\n");
    CHECK(read_trace(file).name == "us-east-1a_v100_1");
}
