// zones_test.cpp — several files as the zones of one market, on one clock.
#include "traces/zones.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/traces/fixture.hpp"

namespace ukemi {

namespace {

using test::counts;
using test::prices;
using test::written;

std::string availability_csv(const std::string& about, const std::string& rows) {
    return fmt::format("# {} duration_s=7200\nt_s,instances\n{}", about, rows);
}
std::string price_csv(const std::string& about, const std::string& rows) {
    return fmt::format("# {} duration_s=7200\nt_s,usd_per_instance_hour\n{}", about, rows);
}

std::string complaint_of_zones(const std::vector<std::filesystem::path>& files) {
    try {
        traces::join_zones(files, {});
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("zones: each availability file is one, a price file of its name gives its price",
          "[zones]") {
    const ScratchFolder folder;
    const std::vector<std::filesystem::path> files{
        written(folder / "avail/east.csv", availability_csv("", "0,2\n3600,0\n")),
        written(folder / "avail/west.availability.csv", availability_csv("", "0,1\n")),
        written(folder / "price/east.csv", price_csv("", "0,0.5\n1800,0.6\n")),
        written(folder / "west.price.csv", price_csv("", "0,0.25\n"))};
    const traces::Trace market = traces::join_zones(files, {});
    REQUIRE(market.series.size() == 2);
    CHECK(market.series[0].zone == "east");
    CHECK(market.series[0].availability == counts({{0, 2}, {3600, 0}}, 7200));
    CHECK(market.series[0].price == prices({{0, 0.5}, {1800, 0.6}}, 7200));
    CHECK(market.series[1].zone == "west");
    CHECK(market.series[1].price == prices({{0, 0.25}}, 7200));
    CHECK(market.report.notes ==
          std::vector<std::string>{"2 zones, 2 with prices of their own",
                                   "not every file says when it was recorded: all are taken to "
                                   "begin together"});
}

TEST_CASE("zones: a price file may also be of a zone that the headers name", "[zones]") {
    const ScratchFolder folder;
    const auto east =
        written(folder / "probes-1.csv", availability_csv("zone=us-east-1a", "0,2\n"));
    const auto west =
        written(folder / "probes-2.csv", availability_csv("zone=us-west-2b", "0,2\n"));
    // One record with the prices of three zones: the third is nobody's.
    const auto history = written(folder / "history.json", R"({"SpotPriceHistory": [
        {"AvailabilityZone": "us-west-2b", "InstanceType": "p3.2xlarge", "ProductDescription":
         "Linux/UNIX", "SpotPrice": "0.9", "Timestamp": "2023-02-15T00:00:00Z"},
        {"AvailabilityZone": "us-east-1a", "InstanceType": "p3.2xlarge", "ProductDescription":
         "Linux/UNIX", "SpotPrice": "1.1", "Timestamp": "2023-02-15T00:00:00Z"},
        {"AvailabilityZone": "us-east-1c", "InstanceType": "p3.2xlarge", "ProductDescription":
         "Linux/UNIX", "SpotPrice": "1.2", "Timestamp": "2023-02-15T00:00:00Z"}]})");
    const traces::Trace market = traces::join_zones(std::vector{east, west, history}, {});
    REQUIRE(market.series.size() == 2);
    CHECK(market.series[0].zone == "probes-1");
    CHECK(market.series[0].price->steps[0].value == dollars_per_hour(1.1));
    CHECK(market.series[1].price->steps[0].value == dollars_per_hour(0.9));
    CHECK(market.report.notes.at(0) == "2 zones, 2 with prices of their own");
    CHECK(market.report.notes.at(1) == "2 of them found by the zones that headers name");
    CHECK(market.report.notes.at(2) == "1 series of prices are of no zone here");
}

TEST_CASE("zones: files that say when they were recorded are laid on one calendar", "[zones]") {
    const ScratchFolder folder;
    const auto early = written(folder / "a.csv", availability_csv("start=2023-02-15T00:00:00Z",
                                                                  "0,4\n1000,3\n1800,2\n3600,1\n"));
    const auto late =
        written(folder / "b.csv", availability_csv("start=2023-02-15T00:30:00Z", "0,7\n"));
    const auto price = written(
        folder / "p/b.csv", price_csv("start=2023-02-15T00:10:00Z", "0,0.5\n60,0.6\n1800,0.7\n"));
    const traces::Trace market = traces::join_zones(std::vector{early, late, price}, {});
    REQUIRE(market.series.size() == 2);
    for (const traces::TraceSeries& zone : market.series)
        CHECK(zone.start == "2023-02-15T00:30:00Z");
    CHECK(market.series[0].availability == counts({{0, 2}, {1800, 1}}, 5400));
    CHECK(market.series[1].availability == counts({{0, 7}}, 7200));
    CHECK(market.series[1].price == prices({{0, 0.6}, {600, 0.7}}, 6000));
    CHECK(market.report.notes.at(1) ==
          "laid on one calendar: the market begins at 2023-02-15T00:30:00Z, 0.50 h after the first "
          "file");
}

TEST_CASE("zones: price files alone are zones with prices", "[zones]") {
    const ScratchFolder folder;
    const traces::Trace market =
        traces::join_zones(std::vector{written(folder / "a.csv", price_csv("", "0,1\n")),
                                       written(folder / "b.csv", price_csv("", "0,2\n"))},
                           {});
    REQUIRE(market.series.size() == 2);
    CHECK(market.series[1].zone == "b");
    CHECK_FALSE(market.series[1].availability);
    CHECK(market.series[1].price == prices({{0, 2}}, 7200));
}

TEST_CASE("zones: files of one name in several folders keep their folders' names", "[zones]") {
    const ScratchFolder folder;
    const traces::Trace market =
        traces::join_zones(std::vector{written(folder / "x/up.csv", availability_csv("", "0,1\n")),
                                       written(folder / "y/up.csv", availability_csv("", "0,2\n"))},
                           {});
    REQUIRE(market.series.size() == 2);
    CHECK(market.series[0].zone == "x/up");
    CHECK(market.series[1].zone == "y/up");
}

TEST_CASE("zones: what does not fit together is refused", "[zones]") {
    const ScratchFolder folder;
    const auto east = written(folder / "east.csv", availability_csv("", "0,1\n"));
    const auto west = written(folder / "west.csv", availability_csv("", "0,1\n"));
    const auto wset = written(folder / "p/wset.csv", price_csv("", "0,1\n"));
    CHECK(complaint_of_zones({east, west, wset}) ==
          wset.string() +
              ": has prices of no zone here: expected an availability file of this name, or of the "
              "zone that its header names (did you mean \"west\"?)");
    const auto one = written(folder / "p/east.csv", price_csv("", "0,1\n"));
    const auto two = written(folder / "q/east.csv", price_csv("", "0,1\n"));
    CHECK(complaint_of_zones({east, one, two}) ==
          two.string() + ": zone \"east\" has prices already");
    const auto a = written(folder / "a.csv", availability_csv("zone=z", "0,1\n"));
    const auto b = written(folder / "b.csv", availability_csv("zone=z", "0,1\n"));
    const auto z = written(folder / "p/z.csv", price_csv("zone=z", "0,1\n"));
    CHECK(complaint_of_zones({a, b, z}) ==
          z.string() + ": has prices that fit both \"a\" and \"b\": call it as one of them");
    const auto then =
        written(folder / "then.csv", availability_csv("start=2020-01-01T00:00:00Z", "0,1\n"));
    const auto now =
        written(folder / "now.csv", availability_csv("start=2023-01-01T00:00:00Z", "0,1\n"));
    CHECK(complaint_of_zones({then, now}) ==
          then.string() +
              ": ends at 2020-01-01T02:00:00Z, before the market begins with another file at "
              "2023-01-01T00:00:00Z");
}

}  // namespace ukemi
