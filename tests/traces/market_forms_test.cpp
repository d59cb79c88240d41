// market_forms_test.cpp — the forms of price histories, logs, lists and lifetimes, each read from a
// small text whose series is derived by hand, and in other orders, line ends and columns.
#include <catch2/catch.hpp>

#include <string>

#include "base/input_error.hpp"
#include "tests/traces/fixture.hpp"
#include "tests/traces/two_zones.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using test::check_two_zones;
using test::complaint;
using test::counts;
using test::prices;
using test::read;
using test::with_line_ends;

using Texts = std::vector<std::string>;

namespace {

ReadOptions as(std::string_view form) {
    ReadOptions options;
    options.form = form;
    return options;
}

}  // namespace

TEST_CASE("aws_price_history_text: tags, tokens and the old tool's columns", "[traces][aws]") {
    const std::string now =
        "SPOTPRICEHISTORY\tus-east-1a\tp3.2xlarge\tLinux/"
        "UNIX\t0.310000\t2021-03-02T06:00:00+00:00\n"
        "SPOTPRICEHISTORY\tus-east-1b\tp3.2xlarge\tLinux/"
        "UNIX\t0.500000\t2021-03-02T03:00:00+00:00\n"
        "SPOTPRICEHISTORY\tus-east-1a\tp3.2xlarge\tWindows\t0.9\t2021-03-02T03:00:00+00:00\n"
        "SPOTPRICEHISTORY\tus-east-1a\tp3.2xlarge\tLinux/"
        "UNIX\t0.300000\t2021-03-02T00:00:00+00:00\n";
    const Trace trace = read(now);
    CHECK(trace.report.form == "aws_price_history_text");
    CHECK(trace.report.repairs == Texts{"1 rows of other products than Linux/UNIX left out"});
    check_two_zones(trace);
    check_two_zones(read(with_line_ends(now, "\r\n")));
    for (const std::string token : {"NEXTTOKEN\tabc\n", "eyJOZXh0VG9rZW4\n"}) {
        const Trace page = read(token + now);
        check_two_zones(page);
        CHECK(page.report.notes ==
              Texts{"truncated page: NextToken is set, older prices are missing"});
    }
    check_two_zones(read(
        "SPOTINSTANCEPRICE\t0.31\t2021-03-01T23:00:00-0700\tp3.2xlarge\tLinux/UNIX\tus-east-1a\n"
        "SPOTINSTANCEPRICE\t0.5\t2021-03-01T20:00:00-0700\tp3.2xlarge\tLinux/UNIX\tus-east-1b\n"
        "SPOTINSTANCEPRICE\t0.3\t2021-03-01T17:00:00-0700\tp3.2xlarge\tLinux/UNIX\tus-east-1a\n"));
}

TEST_CASE("aws_price_history_csv: any order of columns and rows, with a header or without",
          "[traces][aws]") {
    for (const std::string text :
         {// A data frame: an index without a name, rows by zone.
          ",AvailabilityZone,InstanceType,ProductDescription,SpotPrice,Timestamp\n"
          "0,us-east-1a,p3.2xlarge,Linux/UNIX,0.310000,2021-03-02 06:00:00+00:00\n"
          "1,us-east-1a,p3.2xlarge,Linux/UNIX,0.300000,2021-03-02 00:00:00+00:00\n"
          "2,us-east-1b,p3.2xlarge,Linux/UNIX,0.500000,2021-03-02 03:00:00+00:00\n",
          "datetime;az;instance_type;os;price\n2021-03-02T00:00:00Z;us-east-1a;p3.2xlarge;Linux;"
          "0.3\n2021-03-02T03:00:00Z;us-east-1b;p3.2xlarge;Linux;$0.5\n\n2021-03-02T06:00:00Z;"
          "us-east-1a;p3.2xlarge;Linux;0.31\n",
          "2021-03-02 03:00:00+00:00,p3.2xlarge,Linux/UNIX,us-east-1b,0.5\n"
          "2021-03-02 06:00:00+00:00,p3.2xlarge,Linux/UNIX,us-east-1a,0.31\n"
          "2021-03-02 00:00:00+00:00,p3.2xlarge,Linux/UNIX,us-east-1a,0.30\n",
          "us-east-1a\tp3.2xlarge\tLinux/UNIX (Amazon VPC)\t0.3\t2021-03-02T00:00:00Z\n"
          "us-east-1b\tp3.2xlarge\tLinux/UNIX (Amazon VPC)\t0.5\t2021-03-02T03:00:00Z\n"
          "us-east-1a\tp3.2xlarge\tLinux/UNIX (Amazon VPC)\t0.31\t2021-03-02T06:00:00Z\n",
          // Seconds since 1970, quoted, with a column more.
          "\"timestamp\",\"instance_type\",\"availability_zone\",\"price\",\"region\"\n"
          "\"1614643200\",\"p3.2xlarge\",\"us-east-1a\",\"0.3\",\"us-east-1\"\n"
          "\"1614654000\",\"p3.2xlarge\",\"us-east-1b\",\"0.5\",\"us-east-1\"\n"
          "\"1614664800\",\"p3.2xlarge\",\"us-east-1a\",\"0.31\",\"us-east-1\"\n"}) {
        CAPTURE(text);
        for (const std::string line_end : {"\n", "\r\n", "\r"}) {
            const Trace trace = read("\xEF\xBB\xBF" + with_line_ends(text, line_end));
            CHECK(trace.report.form == "aws_price_history_csv");
            check_two_zones(trace);
        }
    }
}

TEST_CASE("aws_price_history_csv: what is not certain is refused", "[traces][aws][refusal]") {
    const ReadOptions options = as("aws_price_history_csv");
    // Two columns of times, or of prices, without names.
    CHECK(complaint("2021-03-02 03:00:00,2021-03-02 04:00:00,us-east-1b,0.5\n", options) ==
          "t:1:1: expected one column of times and one of prices, by name or by value");
    CHECK(complaint("2021-03-02 03:00:00,0.4,us-east-1b,0.5\n", options) ==
          "t:1:1: expected one column of times and one of prices, by name or by value");
    CHECK(complaint("", options) == "t:1:1: expected rows of prices, found none");
    const std::string row = "2021-03-02 03:00:00,us-east-1b,0.5\n";
    CHECK(complaint(row + "2021-03-02 03:00:00,us-east-1b\n") ==
          "t:2:1: expected 3 columns, found 2");
    CHECK(complaint(row + "x,us-east-1b,0.5\n") ==
          "t:2:1: expected a time such as 2023-02-15 22:08:16 (years 1970 to 2199), found \"x\"");
    CHECK(complaint(row + "2021-03-02 04:00:00,us-east-1b,-1\n") ==
          "t:2:32: expected a price in USD per hour from 0 to 1000000, found \"-1\"");
}

TEST_CASE("aws_price_history_csv: seconds and milliseconds since 1970 go to the end of 2199",
          "[traces][aws]") {
    const auto of = [](const std::string& last) {
        return "time,zone,price\n1614643200,us-east-1a,0.5\n" + last + ",us-east-1a,0.6\n";
    };
    // 230 years less 51 are too long a record, but they are times.
    CHECK_THAT(complaint(of("7258118399")), !Catch::Contains("expected a time"));
    for (const char* last :
         {"7258118400", "9614664800", "9999999999", "7258118400000", "9999999999999"}) {
        CHECK(
            complaint(of(last)) ==
            std::string("t:3:1: expected a time such as 2023-02-15 22:08:16 (years 1970 to 2199), "
                        "found \"") +
                last + "\"");
    }
    CHECK(read(of("1614643260000")).series.size() == 1);
}

TEST_CASE("aws_price_history_json: pages in one file, bare records, and records a line",
          "[traces][aws]") {
    const auto row = [](const char* zone, const char* price, const char* time) {
        return std::string(R"({"SpotPrice":)") + price + R"(,"AvailabilityZone":"us-east-1)" +
               zone + R"(","InstanceType":"p3.2xlarge","Timestamp":"2021-03-02 )" + time +
               R"(:00+00:00"})";
    };
    const std::string a6 = row("a", "\"0.31\"", "06:00");
    const std::string b3 = row("b", "0.5", "03:00");
    const std::string a0 = row("a", "0.3", "00:00");
    check_two_zones(read("[" + a6 + "," + b3 + "," + a0 + "]"));
    check_two_zones(read(a6 + "\n" + b3 + "\n" + a0 + "\n"));
    const std::string page1 = R"({"SpotPriceHistory":[)" + a6 + R"(],"NextToken":"x"})";
    const std::string page2 = R"({"NextToken":null,"SpotPriceHistory":[)" + b3 + "," + a0 + "]}";
    const Trace paged = read(page1 + "\n" + page2);
    check_two_zones(paged);
    CHECK(paged.report.notes == Texts{"2 pages or records"});  // the last one has no token
    check_two_zones(read("[" + page1 + "," + page2 + "]"));
    CHECK(complaint(page1 + "\n" + R"({"SpotPriceHistory":[{"SpotPrice":"-1"}]})") ==
          "t, in the value that begins in line 2:1:35: expected a price in USD per hour from 0 to "
          "1000000, found \"-1\"");
}

TEST_CASE("traces: pages of one history in several files", "[traces][aws]") {
    const ScratchFolder folder;
    const std::string header = "Timestamp,AvailabilityZone,InstanceType,SpotPrice\n";
    const auto one =
        test::written(folder / "1.csv", header +
                                            "2021-03-02T06:00:00Z,us-east-1a,p3.2xlarge,0.31\n"
                                            "2021-03-02T03:00:00Z,us-east-1b,p3.2xlarge,0.5\n");
    const auto two =
        test::written(folder / "2.csv", header +
                                            "2021-03-02T03:00:00Z,us-east-1b,p3.2xlarge,0.5\n"
                                            "2021-03-02T00:00:00Z,us-east-1a,p3.2xlarge,0.3\n");
    const auto bad = test::written(folder / "3.csv",
                                   header + "2021-03-02T03:00:00Z,us-east-1b,p3.2xlarge,0.6\n");
    const std::vector<std::filesystem::path> pages{one, two};
    const Trace trace = read_records(pages);
    check_two_zones(trace);
    CHECK(trace.report.rows == 4);
    CHECK(trace.report.notes == Texts{"2 pages"});
    CHECK(trace.report.repairs == Texts{"1 exact duplicates dropped"});
    const std::vector<std::filesystem::path> conflict{one, bad};
    CHECK_THROWS_WITH(
        read_records(conflict),
        bad.string() + ":2:1: expected one price at 2021-03-02T03:00:00Z, found 0.5 and 0.6");
    const auto other = test::written(folder / "4.csv", "t_s,instances\n0,1\n");
    const std::vector<std::filesystem::path> mixed{one, other};
    CHECK_THROWS_WITH(read_records(mixed), Catch::Contains("expected a page of the form "
                                                           "aws_price_history_csv"));
}

TEST_CASE("traces: months of samples are joined by the calendar", "[traces][join]") {
    const ScratchFolder folder;
    const auto file = [&](const char* name, const std::string& rows) {
        return test::written(folder / name, "date,availability\n" + rows);
    };
    const auto first = file("1.csv", "2023-02-01 00:00:00,1\n2023-02-01 00:10:00,0\n");
    // From 00:20 on: no gap; two hours later: a gap.
    const auto second = file("2.csv", "2023-02-01 00:20:00,1\n2023-02-01 00:30:00,1\n");
    const auto third = file("3.csv", "2023-02-01 02:40:00,0\n2023-02-01 02:50:00,1\n");
    const std::vector<std::filesystem::path> files{third, first, second};
    const Trace trace = read_records(files);
    REQUIRE(trace.series.size() == 1);
    CHECK(trace.series[0].start == "2023-02-01T00:00:00Z");
    CHECK(trace.series[0].availability ==
          counts({{0, 1}, {600, 0}, {1200, 1}, {9600, 0}, {10'200, 1}}, 10'800));
    CHECK(trace.report.notes ==
          Texts{"3 files joined by the calendar",
                "1 gaps between files, the longest of 2.0 h: the value before is held"});
    // An overlap that disagrees: at 00:10 the other file has a zero.
    const auto overlap = file("4.csv", "2023-02-01 00:10:00,1\n2023-02-01 00:15:00,0\n");
    const std::vector<std::filesystem::path> disagreeing{first, overlap};
    CHECK_THROWS_WITH(read_records(disagreeing),
                      Catch::Contains("expected the value that another file has at "
                                      "2023-02-01T00:10:00Z"));
    const auto plain = test::written(folder / "p.csv", "t_s,instances\n0,1\n");
    const std::vector<std::filesystem::path> timeless{plain, plain};
    CHECK_THROWS_WITH(read_records(timeless), Catch::Contains("has no calendar time"));
}

TEST_CASE("skynomad_csv: any order, prices beside, columns more", "[traces][skynomad_csv]") {
    const Trace trace = read(
        "Date,price,note,Availability\r\n2023-02-01 00:20:00,0.9,x,16\r\n\r\n"
        "2023-02-01 00:00:00,0.9,x,3\r\n2023-02-01 00:10:00,1.1,x,3\r\n"
        "2023-02-01 00:10:00,1.1,x,3\r\n");
    CHECK(trace.series[0].availability == counts({{0, 3}, {1200, 16}}, 1800));
    CHECK(trace.series[0].price == prices({{0, 0.9}, {600, 1.1}, {1200, 0.9}}, 1800));
    CHECK(trace.report.repairs == Texts{"1 blank lines skipped", "1 rows out of order: sorted",
                                        "1 exact duplicates dropped"});
}

TEST_CASE("skypilot_json: with price_info a one means unavailable", "[traces][skypilot_json]") {
    const std::string text =
        R"({"metadata":{"gap_seconds":600,"zone":"us-east-1a","start_time":)"
        R"("2025-10-04T00:10:00+00:00","price_info":{"price":18.98,"on_demand_price":82.53}},)"
        R"("data":[0,0,1]})";
    const Trace trace = read(text);
    CHECK(trace.series[0].zone == "us-east-1a");
    CHECK(trace.series[0].start == "2025-10-04T00:10:00Z");
    CHECK(trace.series[0].availability == counts({{0, 1}, {1200, 0}}, 1800));
    CHECK(trace.series[0].price == prices({{0, 18.98}}, 1800));
    REQUIRE(trace.listed_prices.size() == 1);
    CHECK(trace.listed_prices[0].on_demand == dollars_per_hour(82.53));
    ReadOptions options;
    options.polarity = Polarity::one_is_available;
    CHECK(read(text, options).series[0].availability == counts({{0, 0}, {1200, 1}}, 1800));
    CHECK(complaint(R"({"metadata":{"gap_seconds":6,"price_info":{}},"data":[2]})") ==
          "t:1:54: expected 0 or 1 (1 = unavailable), as metadata.price_info tells; found counts");
}

TEST_CASE("skynomad_prices_json: the times of another file", "[traces][price]") {
    const ScratchFolder folder;
    ReadOptions options;
    options.times = test::written(folder / "z.csv",
                                  "date,availability\n2023-02-15 22:08:16,0\n"
                                  "2023-02-15 22:11:31,0\n2023-02-15 22:16:11,1\n");
    const Trace trace = read(R"({"us-east-1a": [0.9, 0.91, 0.9]})", options);
    CHECK(trace.series[0].price == prices({{0, 0.9}, {195, 0.91}, {475, 0.9}}, 670));
    CHECK(trace.series[0].start == "2023-02-15T22:08:16Z");
    CHECK(complaint(R"({"z": [1, 2]})", options) ==
          "t:1:7: expected a price for each of the 3 times, found 2");
    CHECK(complaint(R"({"z": [1, 2, 3, 4]})", options) ==
          "t:1:14: expected a price for each of the 3 times, found more");
}
