// market_records_test.cpp — logs of instances, lists of prices, lifetimes and bands, from small
// texts whose meaning is derived by hand.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <string>

#include "tests/traces/fixture.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using test::complaint;
using test::counts;
using test::prices;
using test::read;

using Texts = std::vector<std::string>;

TEST_CASE("bamboo_events: nodes keep their names and their lifetimes", "[traces][bamboo]") {
    const Trace trace = read("0,add,a\n\n60000,add,b,extra\n120000,remove,a\n");
    CHECK(trace.series[0].nodes == std::vector<NodeEvent>{{Instant{}, true, "a"},
                                                          {Instant::at(minutes(1)), true, "b"},
                                                          {Instant::at(minutes(2)), false, "a"}});
    // The series ends a minute after the last event; b is still there then.
    CHECK(trace.lifetimes ==
          std::vector<Lifetime>{{"", "", "", minutes(2), true}, {"", "", "", minutes(2), false}});
    CHECK(to_plain_csv(trace.series[0].nodes) == "0,add,a\n60000,add,b\n120000,remove,a\n");
    CHECK(read(to_plain_csv(trace.series[0].nodes)).series[0].nodes == trace.series[0].nodes);
}

TEST_CASE("bamboo_step_list: corners are one step, whole times seconds, others hours",
          "[traces][bamboo]") {
    const Trace seconds = read("0,10\n41093,10\n41093,9\n41885,9\n41885,10\n");
    CHECK(seconds.report.form == "bamboo_step_list");
    CHECK(seconds.series[0].availability == counts({{0, 10}, {41'093, 9}, {41'885, 10}}, 41'885));
    const Trace hours = read("0.000,10\n11.5,10\n11.5,9\n");
    CHECK(hours.series[0].availability == counts({{0, 10}, {41'400, 9}}, 41'400));
    CHECK(hours.report.notes == Texts{"times with a point are hours", "ends at its last row"});
    CHECK(read("0,8\n").series[0].availability == counts({{0, 8}}, 0));
    CHECK(complaint("0,8\n5,7\n4,6\n") ==
          "t:3:1: expected a time not before that of the row before, found \"4\"");
    CHECK(complaint("0,8\n5.0,7.5\n") ==
          "t:2:5: expected a whole number from 0 to 1000000, found \"7.5\"");
    CHECK(complaint("0,8\n1e9.0,7\n") ==
          "t:2:1: expected a time since the start, in seconds or "
          "hours, found \"1e9.0\"");
    CHECK(complaint("0,8\n99999999.0,7\n") ==
          "t:2:1: expected a time of at most 100 years, found \"99999999.0\"");
}

TEST_CASE("survival_log: what is held of every kind, and how long it lived",
          "[traces][survival_log]") {
    const Trace trace = read(
        "[2020-03-15T10:00:00.000Z] Created instance i-1 with 1 GPU(s) of type v100 in zone z-b\n"
        "[2020-03-15T10:01:00.000Z] Instance with 8 GPU(s) of type k80 creation failed\n"
        "[2020-03-15T10:10:00.000Z] Instance i-1 running in zone z-b\n"
        "[2020-03-15T10:11:00.000Z] Created instance i-2 with 8 GPU(s) of type "
        "nvidia-tesla-k80 in zone z-a\n"
        "[2020-03-15T10:20:00.000Z] Instance i-1 not running in zone z-b\n"
        "[2020-03-15T10:20:05.000Z] Successfully deleted instance i-1\n"
        "[2020-03-15T10:30:00.000Z] Instance i-9 running in zone z-a\n");
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "z-a");
    CHECK(trace.series[0].instance_type == "8xk80");
    // From 10:00 to ten minutes after 10:30.
    CHECK(trace.series[0].availability == counts({{0, 0}, {660, 1}}, 2400));
    CHECK(trace.series[1].instance_type == "1xv100");
    CHECK(trace.series[1].availability == counts({{0, 1}, {1200, 0}}, 2400));
    CHECK(trace.lifetimes ==
          std::vector<Lifetime>{{"z-b", "1xv100", "2020-03-15T10:00:00Z", minutes(20), true},
                                {"z-a", "8xk80", "2020-03-15T10:11:00Z", minutes(29), false}});
    CHECK(trace.report.repairs == Texts{"1 lines about instances never created here left out"});
    const std::string line = "[2020-03-15T10:00:00.000Z] ";
    CHECK(complaint(line + "Instance a creation failed\n") ==
          "t:1:1: expected at least one created instance, found none");
    CHECK(complaint(line + "Created instance a with x GPU(s) of type v100 in zone z\n")
              .find("t:1:1: expected \"… with N GPU(s) of type T in zone Z\", found ") == 0);
    CHECK(complaint(line + "Instance a running\n").find("expected a line of a survival log") !=
          std::string::npos);
}

TEST_CASE("launch_log: one file a moment, all files one history", "[traces][launch_log]") {
    const ScratchFolder folder;
    const auto line = [](const char* zone, int gpus, const char* price) {
        return "Zone: " + std::string(zone) +
               ", GPU type: nvidia-tesla-v100, Number of GPUs: " + std::to_string(gpus) +
               ", Price per hour: $" + price + "\n";
    };
    const std::vector<std::filesystem::path> files{
        test::written(folder / "2020-02-26T21:00:00.000Z.out", line("z", 1, "0.9")),
        test::written(folder / "2020-02-26T17:00:00.000Z.out",
                      line("z", 1, "0.851") + line("z", 4, "3.4")),
        test::written(folder / "2020-02-27T01:00:00.000Z.out",
                      line("y", 1, "0.7") + line("z", 4, "3.4"))};
    const Trace trace = read_records(files);
    REQUIRE(trace.series.size() == 3);
    CHECK(trace.series[0].zone == "y");
    CHECK(trace.series[0].availability == counts({{0, 0}, {28'800, 1}}, 43'200));
    CHECK(trace.series[0].price == prices({{0, 0.7}}, 43'200));
    CHECK(trace.series[1].instance_type == "1xv100");
    CHECK(trace.series[1].availability == counts({{0, 1}, {28'800, 0}}, 43'200));
    CHECK(trace.series[1].price == prices({{0, 0.851}, {14'400, 0.9}}, 43'200));
    CHECK(trace.series[2].availability == counts({{0, 1}, {14'400, 0}, {28'800, 1}}, 43'200));
    CHECK(trace.report.start == "2020-02-26T17:00:00Z");
    const Trace one = read(line("z", 1, "0.9"));  // one moment, without a time
    CHECK(one.series[0].availability == counts({{0, 1}}, 0));
    CHECK(complaint(line("z", 1, "x")) ==
          "t:1:58: expected a price in USD per hour from 0 to 1000000, found \"Price per hour: "
          "$x\"");
}

TEST_CASE("azure_daily_prices_csv: a column a type, empty cells, days in any order",
          "[traces][azure]") {
    const Trace trace = read_trace_text(
        "Date,NC6,NC6s v2,NC24\r\n2/25/2020,$0.2,,\r\n2/24/2020,$0.1,,$3\r\n"
        "2/26/2020,$0.2,$0.5,$3.0\r\n",
        "us_north_central.csv");
    REQUIRE(trace.series.size() == 3);
    CHECK(trace.series[0].zone == "us-north-central");
    CHECK(trace.series[0].instance_type == "NC24");
    CHECK(trace.series[0].price == prices({{0, 3}}, 259'200));
    CHECK(trace.series[1].price == prices({{0, 0.1}, {86'400, 0.2}}, 259'200));
    CHECK(trace.series[2].start == "2020-02-26T00:00:00Z");
    CHECK(trace.series[2].price == prices({{0, 0.5}}, 86'400));
    CHECK(read("Date,NC6\n2020-02-24,$1\n").series[0].price == prices({{0, 1}}, 86'400));
    CHECK(complaint("Date,NC6\n24/2/2020,$1\n") ==
          "t:2:1: expected a day such as 2/24/2020 (month first) or 2020-02-24, found "
          "\"24/2/2020\"");
    CHECK(complaint("Date,NC6\n2/24/2020,$x\n") ==
          "t:2:11: expected a price in USD per hour from 0 to 1000000, found \"$x\"");
    CHECK(complaint("Date,NC6 $\n2/24/2020,\n") ==
          "t:2:1: expected at least one price, found none");
}

TEST_CASE("gpu_price_tracker_jsonl: the median of every snapshot", "[traces][price]") {
    const auto row = [](const char* time, const char* stats) {
        return std::string(R"({"timestamp":"2025-10-19T)") + time +
               R"(+00:00","gpu_type":"H100_80GB","socket_type":"SXM5","price_stats":)" + stats +
               R"(,"availability":{"total":32}})" + "\n";
    };
    const Trace trace = read(row("22:00:00", R"({"min":1,"median":2.12})") +
                             row("21:00:00.5", R"({"median":1.99})") + row("23:00:00", "null"));
    CHECK(trace.series[0].instance_type == "H100_80GB_SXM5");
    CHECK(trace.series[0].price == prices({{0, 1.99}, {3599.5, 2.12}}, 7199));
    CHECK(trace.report.repairs == Texts{"1 snapshots without prices left out"});
    CHECK(complaint(R"({"gpu_type":"A","price_stats":{}})") ==
          "t:1:1: expected a snapshot with the key \"timestamp\"");
}

TEST_CASE("provider_log: what a live run had of each zone", "[traces]") {
    const auto line = [](std::int64_t t_s, const char* event, int instance,
                         const std::string& more = "", const char* market = "spot") {
        return fmt::format(R"({{"t_ns":{},"event":"{}","instance":{},"zone":"a","market":"{}"{}}})"
                           "\n",
                           t_s * 1'000'000'000, event, instance, market, more);
    };
    const std::string text =
        line(0, "asked", 0) + line(0, "asked", 1) + line(0, "asked", 2, "", "on_demand") +
        line(2, "refused", 0) + line(3, "granted", 1, R"(,"usd_per_hour":0.5)") +
        line(4, "ready", 1) + line(4, "ready", 2, "", "on_demand") + line(9, "asked", 3) +
        line(10, "granted", 3, R"(,"usd_per_hour":0.75)") + line(11, "ready", 3) +
        line(60, "notice", 1) + line(90, "given_back", 1) + line(120, "given_back", 3) +
        R"({"t_ns":120000000000,"event":"ended","cost_usd":1})";
    const Trace trace = read(text);
    CHECK(trace.report.form == "provider_log");
    REQUIRE(trace.series.size() == 1);
    CHECK(trace.series[0].zone == "a");
    CHECK(trace.series[0].availability == counts({{0, 0}, {4, 1}, {11, 2}, {90, 1}}, 120));
    CHECK(trace.series[0].price == prices({{0, 0.5}, {10, 0.75}}, 120));
    REQUIRE(trace.lifetimes.size() == 2);
    CHECK(trace.lifetimes[0].was_lost);
    CHECK(trace.lifetimes[0].lasted == seconds(86));
    CHECK_FALSE(trace.lifetimes[1].was_lost);
    CHECK(complaint(line(4, "asked", 0) + line(3, "asked", 1)) ==
          "t:2:1: expected times that do not go back");
    CHECK(complaint(line(4, "asked", 0, "", "on_demand")) ==
          "t:1:1: expected at least one spot machine, found none");
}

TEST_CASE("provider_log: who is given back before the time of its notice is not lost", "[traces]") {
    const auto lost = [](const std::string& lost_at, std::int64_t given_back_s) {
        const auto line = [](std::int64_t t_s, const char* event, const std::string& more = "") {
            return fmt::format(
                R"({{"t_ns":{},"event":"{}","instance":0,"zone":"a","market":"spot"{}}})"
                "\n",
                t_s * 1'000'000'000, event, more);
        };
        const Trace trace = read(line(0, "asked") + line(1, "ready") + line(60, "notice", lost_at) +
                                 line(given_back_s, "given_back") +
                                 R"({"t_ns":200000000000,"event":"ended","cost_usd":1})");
        REQUIRE(trace.lifetimes.size() == 1);
        return trace.lifetimes[0].was_lost;
    };
    CHECK_FALSE(lost(R"(,"lost_at_ns":180000000000)", 90));  // the run needed it no longer
    CHECK(lost(R"(,"lost_at_ns":180000000000)", 180));
    CHECK(lost(R"(,"lost_at_ns":180000000000)", 181));
    CHECK(lost("", 90));  // the notice told of no time
}

TEST_CASE("parcae: segments by node, intervals by count", "[traces][parcae]") {
    const Trace segment = read(
        "[0, \"add\", {\"nodes\": [\"a\", \"b\"], \"duration\": 60000, \"x\": [8, 4]}]\n"
        "[60000, \"no-op\", {\"nodes\": [], \"duration\": 60000}]\n"
        "[120000, \"remove\", {\"nodes\": [\"a\"], \"duration\": 30000}]\n");
    CHECK(segment.report.form == "parcae_segment_txt");
    CHECK(segment.series[0].availability == counts({{0, 2}, {120, 1}}, 150));
    CHECK(segment.series[0].nodes.size() == 3);
    CHECK(complaint("[0,\"remove\",{\"nodes\":[\"a\"]}]") ==
          "t:1:1: expected a node that is there, found \"a\"");
    const Trace intervals =
        read(R"([{"interval": [0, 18, 0], "duration": 60000}, {"interval": [18, 1, 3],)"
             R"( "duration": 60000, "liveput-truth": [4, 4]}])");
    CHECK(intervals.report.form == "parcae_intervals_json");
    CHECK(intervals.series[0].availability == counts({{0, 18}, {60, 16}}, 120));
    CHECK(complaint(R"([{"interval": [0, 1], "duration": 60000}])") ==
          "t:1:2: expected \"interval\": [before, added, removed] and \"duration\"");
}

TEST_CASE("skynomad_probe_round_json: a file a round", "[traces][probe_counts]") {
    const auto round = [](const char* time, int created, const char* status = "success") {
        return std::string(R"({"interval_sec": 600, "scheduled_at": "2025-10-03T)") + time +
               R"(.002281-07:00", "status": ")" + status +
               R"(", "zone_results": {"z": {"instances_created": )" + std::to_string(created) +
               R"(, "instances_created_ids": ["i"], "instances_requested": 16}}})";
    };
    const Trace one = read(round("17:10:00", 9));
    CHECK(one.report.form == "skynomad_probe_round_json");
    CHECK(one.series[0].availability == counts({{0, 9}}, 600));
    const Trace several = read(round("17:20:00", 16) + "\n" + round("17:10:00", 9) +
                               round("17:30:00", 0, "error") + round("17:40:00", 16));
    CHECK(several.series[0].start == "2025-10-04T00:10:00Z");
    // Gaps of 10 and 20 min: the lower median is ten.
    CHECK(several.series[0].availability == counts({{0, 9}, {600, 16}}, 2400));
    CHECK(several.report.repairs ==
          Texts{"1 rows out of order: sorted", "1 failed probes left out"});
    CHECK(complaint(round("17:10:00", 17)).find("expected at most as many created") !=
          std::string::npos);
}

TEST_CASE("lifetimes_csv: taken or given back, and written again", "[traces][lifetimes]") {
    const Trace trace = read(
        "insert_utc,machine_type,zone,lifetime_s,preempted,hour\n"
        "2019-02-18T16:57:37Z,n1-standard-2,us-central1-f,4648.701,1,10\n"
        ",n1,z,5,0,1\n");
    CHECK(trace.series.empty());
    CHECK(trace.lifetimes ==
          std::vector<Lifetime>{{"us-central1-f", "n1-standard-2", "2019-02-18T16:57:37Z",
                                 milliseconds(4'648'701), true},
                                {"z", "n1", "", whole_seconds(5), false}});
    CHECK(trace.report.notes == Texts{"columns not read: \"hour\"",
                                      "2 instances: 1 taken by the provider, 1 not (censored)"});
    CHECK(read(to_plain_csv(trace.lifetimes)).lifetimes == trace.lifetimes);
    CHECK(complaint("lifetime_s\n5\n") == "t:1:1: expected a column \"preempted\"");
    CHECK(complaint("lifetime_s,preempted\n-5,0\n") ==
          "t:2:1: expected seconds since the start, from 0 to 100 years, found \"-5\"");
}

TEST_CASE("price lists: what they say, and the same when written again", "[traces][price_list]") {
    const Trace csv = read(
        "instance_type,gpu,region,on_demand_usd_per_h\np3.2xlarge,V100,us-east-1,3.06\n"
        "p3.2xlarge,V100,eu-west-1,3.305\n");
    CHECK(csv.report.form == "price_list_csv");
    REQUIRE(csv.listed_prices.size() == 2);
    CHECK(csv.listed_prices[0] ==
          ListedPrice{"eu-west-1", "p3.2xlarge", dollars_per_hour(3.305), {}});
    CHECK(read(to_plain_csv(csv.listed_prices)).listed_prices == csv.listed_prices);
    const Trace json =
        read(R"({"p3.2xlarge": {"us-east-1": 3.06, "eu-west-1": 3.305}, "p2.xlarge": {}})");
    CHECK(json.report.form == "price_list_json");
    CHECK(json.listed_prices == csv.listed_prices);
    const Trace gcp = read(
        R"({"region": "us-east4", "machine_type": "a3-highgpu-8g", "currency": "USD",)"
        R"( "price": 14.85344, "price_unit": "h", "components": [{}], "on_demand_price": 82.5})");
    CHECK(gcp.report.form == "gcp_list_price_json");
    CHECK(gcp.listed_prices ==
          std::vector<ListedPrice>{
              {"us-east4", "a3-highgpu-8g", dollars_per_hour(82.5), dollars_per_hour(14.85344)}});
    CHECK(complaint("region,instance_type,spot_usd_per_h\na,t,1\na,t,2\n") ==
          "t: expected one price of \"t\" in \"a\", found two");
    CHECK(complaint(R"({"region":"a","machine_type":"b","price":1,"currency":"EUR"})") ==
          "t:1:55: expected the currency \"USD\"");
}

TEST_CASE("aws_spot_advisor_json: bands between the ends of the ranges", "[traces][bands]") {
    const Trace trace =
        read(R"({"instance_types": {"x": {"cores": 1}}, "ranges": [{"index": 1, "label": "5-10%",)"
             R"( "dots": 1, "max": 11}, {"index": 0, "label": "<5%", "max": 5}], "spot_advisor":)"
             R"( {"us-east-1": {"Linux": {"p3.2xlarge": {"s": -62, "r": 1}}}}})");
    CHECK(trace.bands ==
          std::vector<InterruptionBand>{{"us-east-1", "p3.2xlarge", "Linux", 5, 11, -62}});
    CHECK(read(to_plain_csv(trace.bands)).bands == trace.bands);
    CHECK(complaint(R"({"ranges":[],"spot_advisor":{"r":{"Linux":{"t":{"r":3}}}}})") ==
          "t:1:1: expected a range for the band 3");
}

TEST_CASE("read_trace: a record without a series cannot be replayed", "[traces]") {
    const ScratchFolder folder;
    const auto file = test::written(folder / "l.csv", "lifetime_s,preempted\n5,1\n");
    CHECK(read_record(file).lifetimes.size() == 1);
    CHECK_THROWS_WITH(
        read_trace(file),
        file.string() + ": expected a series of availability or prices, found lifetimes");
}
