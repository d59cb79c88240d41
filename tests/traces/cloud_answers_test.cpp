// cloud_answers_test.cpp — what the command lines and price catalogues of clouds print: read as a
// history, read as a list, or refused with the command or flag that gives one. The texts of AWS are
// as its command line formats them; those of Azure and Google have the keys of their documents.
#include <catch2/catch.hpp>

#include <string>

#include "base/read_file.hpp"
#include "tests/traces/fixture.hpp"
#include "tests/traces/two_zones.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using Catch::Contains;
using test::check_two_zones;
using test::complaint;
using test::prices;
using test::read;
using test::with_line_ends;

namespace {

using Notes = std::vector<std::string>;

std::string corpus(const char* name) {
    return read_file(std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/traces/corpus" / name);
}

std::string without(std::string text, const std::string& part) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.erase(at, part.size());
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
}

const std::string truncated = "truncated page: NextToken is set, older prices are missing";

// An item of an Azure answer.
std::string azure_item(const std::string& sku, const std::string& price, const std::string& date,
                       const std::string& more = "") {
    return R"({"currencyCode":"USD","retailPrice":)" + price +
           R"(,"armRegionName":"eastus","effectiveStartDate":")" + date +
           R"(T00:00:00Z","productName":"Virtual Machines NCSv3 Series","skuName":")" + sku +
           R"(","unitOfMeasure":"1 Hour","type":"Consumption","armSkuName":"Standard_NC6s_v3")" +
           more + "}";
}

// A SKU of a Google answer.
std::string google_sku(const std::string& description, const std::string& usage,
                       const std::string& money, const std::string& time,
                       const std::string& unit = "h") {
    return R"({"skuId":"1","description":")" + description +
           R"(","category":{"resourceGroup":"GPU","usageType":")" + usage +
           R"("},"serviceRegions":["us-west1"],"pricingInfo":[{"effectiveTime":")" + time +
           R"(","pricingExpression":{"usageUnit":")" + unit +
           R"(","tieredRates":[{"startUsageAmount":0,"unitPrice":{)" + money + "}}]}}]}";
}

}  // namespace

TEST_CASE("aws_price_history_table: boxes of --output table", "[traces][aws][table]") {
    const std::string text = corpus("aws_table.txt");
    const Trace trace = read(text);
    CHECK(trace.report.form == "aws_price_history_table");
    CHECK(trace.report.rows == 3);
    CHECK(trace.report.notes == Notes{"columns not read: \"AvailabilityZoneId\"", truncated});
    CHECK(trace.report.repairs.empty());  // rules are no blank lines
    check_two_zones(trace);
    check_two_zones(read(with_line_ends(text, "\r\n")));
    // Pages one after another, the last one without a token.
    const std::size_t header = text.find("|| AvailabilityZone |");
    const std::size_t rows = text.find("||  us-east-1b");
    const std::string token = text.substr(text.find("|  NextToken"), 127);
    const Trace pages = read(text.substr(0, rows) + without(text.substr(0, header), token) +
                             text.substr(header, 127) + text.substr(rows));
    check_two_zones(pages);
    CHECK(pages.report.notes == Notes{"columns not read: \"AvailabilityZoneId\"", truncated});
    // The columns of a --query, with names and without.
    const Trace named = read(
        "+------+----------------------------+--------------+\n"
        "|  AZ  |            When            |    Price     |\n"
        "+------+----------------------------+--------------+\n"
        "|  us-east-1a  |  2021-03-02T06:00:00.000Z  |  0.310000|\n"
        "|  us-east-1a  |  2021-03-02T00:00:00.000Z  |  0.300000|\n"
        "+------+----------------------------+--------------+\n");
    CHECK(named.series.at(0).price == prices({{0, 0.30}, {21'600, 0.31}}, 21'600));
    check_two_zones(
        read("-----------------------------------------------------------------------\n"
             "|                      DescribeSpotPriceHistory                       |\n"
             "+----------------------------+-------------+-------------+------------+\n"
             "|  2021-03-02T06:00:00+00:00 |  us-east-1a |  p3.2xlarge |  0.310000  |\n"
             "|  2021-03-02T03:00:00+00:00 |  us-east-1b |  p3.2xlarge |  0.500000  |\n"
             "|  2021-03-02T00:00:00+00:00 |  us-east-1a |  p3.2xlarge |  0.300000  |\n"
             "+----------------------------+-------------+-------------+------------+\n"));
    // Places are those of the file.
    CHECK(complaint(replaced(text, "0.500000", "cheap   ")) ==
          "t:11:84: expected a price in USD per hour from 0 to 1000000, found \"cheap\"");
}

TEST_CASE("aws_price_history_text: with the id of a zone beside its name", "[traces][aws]") {
    const std::string text =
        "SPOTPRICEHISTORY\tus-east-1a\tuse1-az4\tp3.2xlarge\tLinux/UNIX\t0.310000\t"
        "2021-03-02T06:00:00+00:00\n"
        "SPOTPRICEHISTORY\tus-east-1b\tuse1-az6\tp3.2xlarge\tLinux/UNIX\t0.500000\t"
        "2021-03-02T03:00:00+00:00\n"
        "SPOTPRICEHISTORY\tus-east-1a\tuse1-az4\tp3.2xlarge\tLinux/UNIX\t0.300000\t"
        "2021-03-02T00:00:00+00:00\n";
    const Trace trace = read(text);
    CHECK(trace.report.form == "aws_price_history_text");
    check_two_zones(trace);
    // Of two zones neither of which is an id, nobody knows which is meant.
    const std::string two = "2021-03-02T06:00:00Z\tus-east-1a\tus-east-1b\t0.31\n";
    CHECK_THAT(complaint(two), Contains("expected the beginning of a known trace form"));
}

TEST_CASE("aws_price_history_yaml: records, streams and tokens", "[traces][aws][yaml]") {
    const std::string text = corpus("aws.yaml");
    const Trace trace = read(text);
    CHECK(trace.report.form == "aws_price_history_yaml");
    CHECK(trace.report.rows == 3);
    CHECK(trace.report.notes == Notes{truncated});
    check_two_zones(trace);
    check_two_zones(read(with_line_ends(text, "\r\n")));
    check_two_zones(read(with_line_ends(text, "\r")));
    CHECK(read(without(text, "NextToken: eyJ2Ijo=\n")).report.notes.empty());
    // yaml-stream: a list of pages.
    const Trace stream = read(
        "---\n- NextToken: abc\n  SpotPriceHistory:\n"
        "  - AvailabilityZone: us-east-1a\n    InstanceType: p3.2xlarge\n"
        "    SpotPrice: \"0.31\"\n    Timestamp: '2021-03-02T06:00:00+00:00'\n"
        "- SpotPriceHistory:\n"
        "  - Timestamp: 2021-03-02T03:00:00Z\n    SpotPrice: 0.5\n"
        "    AvailabilityZone: us-east-1b\n    InstanceType: p3.2xlarge\n"
        "  - AvailabilityZone: us-east-1a\n    InstanceType: p3.2xlarge\n"
        "    SpotPrice: 0.3\n    Timestamp: '2021-03-02T00:00:00+00:00'\n");
    check_two_zones(stream);
    CHECK(stream.report.notes.empty());  // the last page names no other
    CHECK(complaint("SpotPriceHistory: []\n") == "t:1:1: expected at least one price, found none");
    CHECK(complaint(replaced(text, "'0.500000'", "dear")) ==
          "t:11:1: expected a price in USD per hour from 0 to 1000000, found \"dear\"");
    CHECK(complaint(without(text, "  SpotPrice: '0.500000'\n")) ==
          "t:8:1: expected the key \"SpotPrice\" in this record");
    CHECK(complaint(replaced(text, "  SpotPrice: '0.5", "  InstanceType: a\n  SpotPrice: '0.5")) ==
          "t:11:1: expected \"InstanceType\" once, found it again");
    CHECK(complaint(text + "- SpotCost: '0.3'\n") ==
          "t:19:1: expected the key \"AvailabilityZone\" in this record");
    CHECK_THAT(complaint(text + "- {SpotPrice: '0.3'}\n"), Contains("t:19:1: expected a line"));
    CHECK(complaint(text + "and so on\n") ==
          "t:19:1: expected a line such as \"SpotPrice: '0.310000'\" (or ask for --output json)");
}

TEST_CASE("aws_price_history_json: pages of --no-paginate one after another", "[traces][aws]") {
    const auto page = [](const std::string& token, const std::string& price, const char* time) {
        return R"({"NextToken":")" + token +
               R"(","SpotPriceHistory":[{"AvailabilityZone":"us-east-1a",)"
               R"("AvailabilityZoneId":"use1-az4","InstanceType":"p3.2xlarge",)"
               R"("ProductDescription":"Linux/UNIX","SpotPrice":")" +
               price + R"(","Timestamp":"2021-03-02T0)" + time + R"(:00:00+00:00"}]})";
    };
    const std::string two = page("abc", "0.31", "6") + "\n" + page("def", "0.30", "0");
    const Trace trace = read(two);
    CHECK(trace.series.at(0).price == prices({{0, 0.30}, {21'600, 0.31}}, 21'600));
    CHECK(trace.report.notes == Notes{"2 pages or records", truncated});
    CHECK(read(two + page("", "0.29", "1")).report.notes == Notes{"3 pages or records"});
}

TEST_CASE("azure_retail_prices_json: a list, or a history of several answers", "[traces][azure]") {
    const Trace one = read(corpus("azure_retail.json"));
    CHECK(one.report.form == "azure_retail_prices_json");
    CHECK(one.series.empty());
    CHECK(one.listed_prices ==
          std::vector<ListedPrice>{
              {"eastus", "Standard_NC6s_v3", dollars_per_hour(3.06), dollars_per_hour(0.918)}});
    CHECK(one.report.notes ==
          Notes{"prices of 1 instance types in 1 regions, each of one moment: a list, no series"});

    const std::string spot = "NC6s v3 Spot";
    const std::string page1 =
        R"({"Items":[)" + azure_item(spot, "0.9", "2023-02-01") + "," +
        azure_item(spot, "1.9", "2023-02-01", R"(,"serviceName":"Cloud Services")") + "," +
        azure_item("NC6s v3 Low Priority", "0.7", "2023-02-01") + "," +
        azure_item("NC6s v3", "3", "2020-08-01") + R"(],"NextPageLink":"https://x","Count":4})";
    const std::string page2 = R"({"Items":[)" + azure_item(spot, "1.25", "2023-02-03") + "," +
                              azure_item(spot, "0.9", "2023-02-01") + R"(],"NextPageLink":null})";
    for (const std::string& text : {page1 + "\n" + page2, "[" + page1 + "," + page2 + "]"}) {
        const Trace trace = read(text);
        REQUIRE(trace.series.size() == 1);
        CHECK(trace.series[0].zone == "eastus");
        CHECK(trace.series[0].instance_type == "Standard_NC6s_v3");
        CHECK(trace.series[0].start == "2023-02-01T00:00:00Z");
        CHECK(trace.series[0].price == prices({{0, 0.9}, {172'800, 1.25}}, 172'800));
        CHECK(trace.listed_prices.at(0).spot == dollars_per_hour(1.25));
        CHECK(trace.report.rows == 6);
        CHECK(trace.report.notes == Notes{"prices of 1 instance types in 1 regions, of 1 a spot "
                                          "price of several moments"});
        CHECK(trace.report.repairs ==
              Notes{"2 prices left out: Windows, low priority, reservations, development and what "
                    "is not billed by the hour",
                    "1 rows out of order: sorted", "1 exact duplicates dropped"});
    }
    CHECK(read(page1).report.notes.back() ==
          "truncated page: it names a next one, other prices are missing");
    // Items alone, as a --query leaves them.
    CHECK(read("[" + azure_item(spot, "0.9", "2023-02-01") + "]").listed_prices.size() == 1);
}

TEST_CASE("azure_retail_prices_json: what is not certain is refused", "[traces][azure][refusal]") {
    const std::string item = azure_item("NC6s v3 Spot", "0.9", "2023-02-01");
    const auto changed = [&](const std::string& part, const std::string& by) {
        return complaint(replaced(item, part, by));
    };
    CHECK(changed("USD", "EUR") ==
          "t:1:17: expected the currency USD (ask for prices in it), found \"EUR\"");
    CHECK(changed("0.9", "-1") ==
          "t:1:37: expected a price in USD per hour from 0 to 1000000, found -1");
    CHECK(changed("2023-02-01T", "soon") ==
          "t:1:87: expected a time such as 2023-02-01T00:00:00Z (years 1970 to 2199), found "
          "\"soon00:00:00Z\"");
    CHECK(changed("armRegionName", "region") == "t:1:1: expected the key \"armRegionName\"");
    CHECK(changed("armSkuName", "sku") == "t:1:1: expected the key \"armSkuName\"");
    CHECK(changed("Consumption", "Reservation") ==
          "t:1:1: expected at least one price an hour, found none but Windows, low priority, "
          "reservations, development and what is not billed by the hour");
    CHECK(complaint(item + azure_item("NC6s v3 Spot", "0.8", "2023-02-01")) ==
          "t:1:259: expected one price at 2023-02-01T00:00:00Z, found 0.9 and 0.8");
    CHECK_THAT(complaint(R"({"retailPrice":1)"), Contains("t:1:17: expected"));
}

TEST_CASE("gcp_skus_json: GPUs, in units and billionths of them", "[traces][gcp]") {
    const Trace one = read(corpus("gcp_skus.json"));
    CHECK(one.report.form == "gcp_skus_json");
    CHECK(one.listed_prices ==
          std::vector<ListedPrice>{
              {"us-central1", "Nvidia Tesla V100 GPU", {}, dollars_per_hour(0.74)},
              {"us-west1", "Nvidia Tesla V100 GPU", {}, dollars_per_hour(0.74)}});
    CHECK(one.report.notes ==
          Notes{"prices of a GPU alone: cores and memory are billed beside it",
                "prices of 1 instance types in 2 regions, each of one moment: a list, no series"});

    const std::string v100 = "Nvidia Tesla V100 GPU";
    const std::string spot = v100 + " attached to Spot Preemptible VMs running in Oregon";
    const std::string money = R"("currencyCode":"USD","units":"1","nanos":250000000)";
    const std::string day = "2023-02-01T08:00:00Z";
    const std::string skus =
        google_sku(spot, "Preemptible", money, day) + "," +
        google_sku(v100 + " running in Oregon", "OnDemand", R"("units":"2","nanos":480000000)",
                   day) +
        "," +
        google_sku("Spot Preemptible A4 Nvidia B200 (1 gpu slice) running in Oregon", "OnDemand",
                   R"("units":"4")", day) +
        "," +
        google_sku(v100 + " attached to DWS Defined Duration VMs", "OnDemand", R"("units":"9")",
                   day) +
        "," + google_sku("Commitment v1: " + v100, "Commit1Yr", R"("units":"1")", day) + "," +
        google_sku("GPU memory", "OnDemand", R"("units":"1")", day, "GiBy.h");
    const std::string later =
        google_sku(spot, "Preemptible", R"("units":0,"nanos":740000000)", "2023-02-02T08:00:00Z");
    const Trace trace = read(R"({"skus":[)" + skus +
                             R"(],"nextPageToken":""})"
                             "\n" +
                             R"({"skus":[)" + later + R"(],"nextPageToken":""})");
    REQUIRE(trace.series.size() == 1);
    CHECK(trace.series[0].zone == "us-west1");
    CHECK(trace.series[0].instance_type == v100);
    CHECK(trace.series[0].price == prices({{0, 1.25}, {86'400, 0.74}}, 86'400));
    CHECK(trace.listed_prices ==
          std::vector<ListedPrice>{
              {"us-west1", "A4 Nvidia B200 (1 gpu slice)", {}, dollars_per_hour(4)},
              {"us-west1", v100, dollars_per_hour(2.48), dollars_per_hour(0.74)}});
    CHECK(trace.report.repairs ==
          Notes{"3 prices left out: what is no GPU by the hour (cores, memory, disks), "
                "commitments and reservations"});
    const auto refused = [&](const std::string& text) {
        return complaint(google_sku(spot, "Preemptible", text, day));
    };
    CHECK_THAT(refused(R"("currencyCode":"EUR","units":"1")"),
               Contains("expected the currency USD (ask for prices in it), found \"EUR\""));
    CHECK_THAT(refused(R"("units":"many")"), Contains("expected a price in USD per hour"));
    CHECK_THAT(refused(R"("nanos":1000000000)"),
               Contains("expected billionths of a dollar, less than one dollar"));
    CHECK(complaint(replaced(google_sku(spot, "Preemptible", money, day), "unitPrice", "price")) ==
          "t:1:1: expected the key \"unitPrice\"");
}

TEST_CASE("answers of clouds that are no record: refused with what gives one",
          "[traces][refusal][answers]") {
    const std::string expected = "t: expected a record of a market over time, found ";
    const auto check = [&](const std::string& text, const std::string& words) {
        CAPTURE(text);
        const std::string said = complaint(text);
        CHECK(said.substr(0, expected.size()) == expected);
        CHECK_THAT(said, Contains(words) && !Contains("\n"));
    };
    const std::string history = "`aws ec2 describe-spot-price-history --output json`";
    check(R"({"SpotPlacementScores":[{"Region":"us-east-1","Score":7}]})", history);
    check("SPOTPLACEMENTSCORES\tuse1-az1\tus-east-1\t3\n", history);
    check(
        "------------------------------------------------\n"
        "|            GetSpotPlacementScores            |\n"
        "+----------------------------------------------+\n",
        history);
    check(R"({"InstanceTypeOfferings":[{"InstanceType":"p3.2xlarge"}]})", history);
    check(R"({"SpotInstanceRequests":[]})", history);
    check(R"({"FormatVersion":"aws_v1","PriceList":["{}"]})", "\"on_demand_price\"");
    for (const std::string text :
         {"us-east-1a\t0.310000\nus-east-1b\t0.5\n", "AvailabilityZone,SpotPrice\nus-east-1a,0.3\n",
          "+---------------+--------------+\n|  us-east-1a   |  0.036200    |\n",
          "|     AZ     |   Price   |\n|------------|-----------|\n| us-east-1a | 0.0321    |\n"}) {
        check(text, "leave Timestamp in the --query");
    }
    check("+--------------+-------------+\n|  Timestamp   |  us-east-1d |\n", "`--output json`");
    check(R"([{"apiVersions":null,"capabilities":[{"name":"vCPUs","value":"6"}],"costs":null}])",
          "https://prices.azure.com/api/retail/prices");
    check(
        "ResourceType     Locations    Name              Zones    Restrictions\n"
        "---------------  -----------  ----------------  -------  ------------\n"
        "virtualMachines  eastus       Standard_NC6s_v3  1,2      None\n",
        "https://prices.azure.com/api/retail/prices");
    check("Sku               Price\n----------------  -------\nStandard_NC6s_v3  0.918\n",
          "`--output json`");
    check(R"([{"kind":"compute#machineType","name":"a2-highgpu-1g"}])",
          "https://cloudbilling.googleapis.com/v1/services");
    check(
        "NAME           ZONE        CPUS  MEMORY_GB  DEPRECATED\n"
        "a2-highgpu-1g  us-west1-b  12    85.00\n",
        "https://cloudbilling.googleapis.com/v1/services");
    check("\nAn error occurred (UnauthorizedOperation) when calling\n", "an error");
    check(R"({"error": {"code": 403, "message": "no key"}})", "an error");
    check("time,zone,price_eur\n2021-03-02T06:00:00Z,us-east-1a,0.31\n", "price_usd_per_h");
    check(std::string("\xFF\xFEt\0_\0s\0", 8), "UTF-16");
    check("$ aws ec2 describe-spot-price-history\n{\"SpotPriceHistory\": []}", "keep the answer");
    check("[\n    [\n        \"us-east-1a\",\n        \"0.31\"\n    ]\n]\n",
          "leave the --query out");
    check("PK\x03\x04 and so on", "unpack it");
    check("<!DOCTYPE html>\n<html>\n", "a web page or XML");
    // Of a list of one moment, where its prices go.
    const ScratchFolder folder;
    CHECK_THROWS_WITH(read_trace(test::written(folder / "a.json", corpus("azure_retail.json"))),
                      Contains("found a price list of one moment; its prices go into "
                               "\"spot_price\" and \"on_demand_price\" of a scenario"));
}
