// newcomer_traces_test.cpp — files as people save, convert and write them by hand: read right, or
// refused in one line.
#include <catch2/catch.hpp>

#include <string>

#include "tests/traces/fixture.hpp"
#include "tests/traces/two_zones.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using Catch::Contains;
using test::check_two_zones;
using test::complaint;
using test::counts;
using test::prices;
using test::read;

namespace {

using Said = std::vector<std::string>;

const std::string newcomer_header = "Timestamp,AvailabilityZone,InstanceType,SpotPrice\n";

std::string newcomer_row(const std::string& time, const std::string& more = "0.3") {
    return time + ",us-east-1a,p3.2xlarge," + more + "\n";
}

}  // namespace

TEST_CASE("newcomer's traces: times with any offset are one calendar", "[traces][newcomer]") {
    const std::string row_b = ",us-east-1b,p3.2xlarge,0.5\n";
    check_two_zones(read(newcomer_header + newcomer_row("2021-03-02T11:30:00+05:30", "0.31") +
                         "2021-03-01T20:00:00-0700" + row_b + newcomer_row("2021-03-02 00:00:00")));
    check_two_zones(read(newcomer_header + newcomer_row("2021-03-02 08:00:00+02", "0.31") +
                         "2021-03-02 03:00:00 UTC" + row_b +
                         newcomer_row("2021-03-02T00:00:00.000000Z")));
    for (const std::string time : {"2021-03-02", "2021-03-02 06", "3/2/2021 6:00:00 AM", "06:00:00",
                                   "2021-02-30T06:00:00Z"}) {
        CHECK(complaint(newcomer_header + newcomer_row(time)) ==
              "t:2:1: expected a time such as 2023-02-15 22:08:16 (years 1970 to 2199), found \"" +
                  time + "\"");
    }
}

TEST_CASE("newcomer's traces: regions mixed, rows said twice and in any order",
          "[traces][newcomer]") {
    const std::string one = newcomer_row("2021-03-02T06:00:00Z");
    const std::string mixed =
        newcomer_header + one + one + "2021-03-02T00:00:00Z,eu-west-1a,p3.2xlarge,0.4\n" +
        newcomer_row("2021-03-02T03:00:00Z", "0.2") + newcomer_row("2021-03-02T05:00:00Z", "0.2");
    const Trace trace = read(mixed);
    REQUIRE(trace.series.size() == 2);
    CHECK(trace.series[0].zone == "eu-west-1a");
    CHECK(trace.series[1].price == prices({{0, 0.2}, {10'800, 0.3}}, 10'800));
    CHECK(trace.report.repairs ==
          Said{"1 rows out of order: sorted", "1 exact duplicates dropped"});
    CHECK(complaint(mixed + newcomer_row("2021-03-02T06:00:00Z", "0.31")) ==
          "t:7:1: expected one price at 2021-03-02T06:00:00Z, found 0.3 and 0.31");
    ReadOptions options;
    options.zone = "eu-west-1";
    CHECK(complaint(mixed, options) ==
          "t: no zone \"eu-west-1\" in this file; there is eu-west-1a, us-east-1a");
}

TEST_CASE("newcomer's traces: a price in another currency is refused", "[traces][newcomer]") {
    const std::string header = "Timestamp,AvailabilityZone,SpotPrice,Currency\n";
    CHECK(read(header + "2021-03-02T06:00:00Z,us-east-1a,0.31,USD\n").series.size() == 1);
    CHECK(complaint(header + "2021-03-02T06:00:00Z,us-east-1a,0.31,EUR\n") ==
          "t:2:38: expected the currency USD (ask for prices in it), found \"EUR\"");
    CHECK_THAT(complaint(newcomer_header + newcomer_row("2021-03-02T06:00:00Z", "\u20AC0.31")),
               Contains("t:2:44: expected a price in USD per hour"));
    // A decimal comma, where fields are between semicolons.
    CHECK_THAT(
        complaint("Timestamp;AvailabilityZone;SpotPrice\n2021-03-02T06:00:00Z;us-east-1a;0,31\n"),
        Contains("t:2:33: expected a price in USD per hour"));
}

TEST_CASE("newcomer's traces: prices of another system are said to be", "[traces][newcomer]") {
    const auto of = [](const std::string& product) {
        return read(
                   "Timestamp,AvailabilityZone,ProductDescription,SpotPrice\n"
                   "2021-03-02T06:00:00Z,us-east-1a," +
                   product + ",0.31\n")
            .report.notes;
    };
    CHECK(of("Windows") == Said{"prices of \"Windows\", not of Linux/UNIX"});
    CHECK(of("Linux/UNIX (Amazon VPC)").empty());
    CHECK(of("Linux").empty());
}

TEST_CASE("newcomer's traces: the plain form with blanks, capitals and columns more",
          "[traces][newcomer][plain]") {
    const auto expected = counts({{0, 1}, {60, 2}}, 60);
    for (const std::string text :
         {"t_s, instances\n0, 1\n60, 2\n", "T_S,Instances\r\n0,1\r\n60,2\r\n",
          "\"t_s\",\"instances\"\n\"0\",\"1\"\n\"60\",\"2\"\n", "instances,t_s\n1,0\n2,60\n",
          "\n# zone=a\nt_s,note,instances\n0,x,1\n\n60,y,2\n"}) {
        CAPTURE(text);
        const Trace trace = read(text);
        CHECK(trace.report.form == "plain_availability");
        CHECK(trace.series.at(0).availability == expected);
    }
    CHECK(read("t_s,note,instances\n0,x,1\n60,y,2\n").report.notes ==
          Said{"columns not read: \"note\"", "no duration_s: ends at its last row"});
    CHECK(read("T_s,USD_per_instance_hour\n0,0.5\n").report.form == "plain_price");
}

TEST_CASE("newcomer's traces: nothing in a file is nothing, whatever is around it",
          "[traces][newcomer]") {
    for (const std::string text : {"", "\xEF\xBB\xBF", "\n\r\n \t\n"}) {
        CHECK_THAT(complaint(text), Contains("found an empty file"));
    }
    CHECK(complaint(newcomer_header) == "t:1:1: expected at least one price, found none");
    CHECK(complaint("t_s,instances\n") ==
          "t:1:1: expected at least one row under the header, found none");
    CHECK(complaint(R"({"SpotPriceHistory": []})") ==
          "t:1:1: expected at least one price, found none");
}

TEST_CASE("skypilot_json: the start of its metadata, under either name",
          "[traces][newcomer][skypilot_json]") {
    for (const std::string key : {"start", "start_time"}) {
        const Trace trace = read(R"({"metadata":{"gap_seconds":600,")" + key +
                                 R"(":"2023-02-15T22:08:16Z"},"data":[1,0]})");
        CHECK(trace.series.at(0).start == "2023-02-15T22:08:16Z");
    }
}

TEST_CASE("newcomer's traces: one zone and type of a list, too", "[traces][newcomer]") {
    const std::string list =
        "region,instance_type,spot_usd_per_h\neastus,a,1\nwestus,a,2\nwestus,b,3\n";
    ReadOptions options;
    options.zone = "westus";
    options.instance_type = "b";
    CHECK(read(list, options).listed_prices ==
          std::vector<ListedPrice>{{"westus", "b", {}, dollars_per_hour(3)}});
    options.zone = "westus2";
    CHECK(complaint(list, options) ==
          "t: no zone \"westus2\" in this file; there is eastus, westus");
    CHECK(complaint("lifetime_s,preempted,zone\n5,1,b\n", options) ==
          "t: no zone \"westus2\" in this file; there is b");
}
