// Every complaint of the readers, provoked once.
#include <catch2/catch.hpp>

#include <string>

#include "tests/traces/fixture.hpp"
#include "traces/limits.hpp"

using namespace ukemi;
using namespace ukemi::traces;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using test::complaint;

namespace {

std::string plain(const std::string& rows) { return complaint("t_s,instances\n" + rows); }
std::string skypilot(const std::string& text) { return complaint(text); }

ReadOptions inverted() {
    ReadOptions options;
    options.polarity = Polarity::one_is_unavailable;
    return options;
}
ReadOptions in_form(std::string_view form) {
    ReadOptions options;
    options.form = form;
    return options;
}

}  // namespace

TEST_CASE("refusals: what no reader recognises", "[traces][refusal]") {
    CHECK(complaint("") ==
          "t:1:1: expected the beginning of a known trace form (for a table of your own: "
          "t_s,instances in the first line; see ukemi list traces), found an empty file");
    CHECK(complaint("root:x:0:0:root:/root:/bin/bash\n") ==  // a scenario can name any file
          "t:1:1: expected the beginning of a known trace form (for a table of your own: "
          "t_s,instances in the first line; see ukemi list traces), found another kind of file");
    CHECK(complaint("0,1\n60,2\n" + std::string(40, 'x') + ",3\n").find("xxx") ==
          std::string::npos);
    CHECK(complaint("t_s,instances\n0,1\n" + std::string(40, 'x') + ",3\n") ==
          "t:3:1: expected seconds since the start, from 0 to 100 years, found 40 bytes of text");
    CHECK(complaint("x", in_form("plain_prize"))
              .starts_with("t: no trace form \"plain_prize\" (did you mean \"plain_price\"?); "
                           "there is plain_availability, "));
    CHECK_THROWS_AS(read_trace("/nonexistent/file.csv"), InputError);
}

TEST_CASE("refusals: plain form", "[traces][refusal][plain]") {
    CHECK(complaint("a,b\n0,1\n", in_form("plain_availability")) ==
          "t:1:1: expected a column \"instances\" in the header");
    CHECK(plain("") == "t:1:1: expected at least one row under the header, found none");
    CHECK(plain("5,1\n") == "t:2:1: expected the first row at 0, found \"5\"");
    CHECK(plain("0,1\n60,2\n60,3\n") ==
          "t:4:1: expected a time after the row before (60 s), found \"60\"");
    CHECK(plain("0,1\n60,2\n30,3\n") ==
          "t:4:1: expected a time after the row before (60 s), found \"30\"");
    CHECK(plain("0,1\n-60,2\n") ==
          "t:3:1: expected seconds since the start, from 0 to 100 years, found \"-60\"");
    CHECK(plain("0,1\n1e300,2\n") ==
          "t:3:1: expected seconds since the start, from 0 to 100 years, found \"1e300\"");
    CHECK(plain("0,-1\n") == "t:2:3: expected a whole number from 0 to 1000000, found \"-1\"");
    CHECK(plain("0,1000001\n") ==
          "t:2:3: expected a whole number from 0 to 1000000, found \"1000001\"");
    CHECK(plain("0,nan\n") == "t:2:3: expected a whole number from 0 to 1000000, found \"nan\"");
    CHECK(plain("0,1.5\n") == "t:2:3: expected a whole number from 0 to 1000000, found \"1.5\"");
    CHECK(plain("0,1\n60") == "t:3:1: expected 2 columns, found 1");  // cut short
    CHECK(plain("0,1\n60,\xE2\x82\n") == "t:3:4: expected UTF-8, found another byte");
    CHECK(complaint("# duration_s=60\nt_s,instances\n0,1\n61,2\n") ==
          "t:4:1: expected no row after duration_s=60");
    CHECK(complaint("# duration_s=-1\nt_s,instances\n0,1\n") ==
          "t:1:1: expected duration_s from 0 to 100 years, found \"-1\"");
    CHECK(complaint("t_s,usd_per_instance_hour\n0,-0.1\n") ==
          "t:2:3: expected a price in USD per hour from 0 to 1000000, found \"-0.1\"");
    CHECK(complaint("t_s,usd_per_instance_hour\n0,$1\n") ==
          "t:2:3: expected a price in USD per hour from 0 to 1000000, found \"$1\"");
    CHECK(complaint("t_s,instances\n0,1\n", inverted()) ==
          "t: the form plain_availability counts instances: one cannot mean unavailable");
}

TEST_CASE("refusals: skypilot_json", "[traces][refusal][skypilot_json]") {
    CHECK_THAT(skypilot("{}"), StartsWith("t:1:1: expected the beginning of a known trace form"));
    CHECK(complaint("{}", in_form("skypilot_json")) ==
          "t:1:1: expected \"metadata\" with \"gap_seconds\"");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60}})") ==
          "t:1:1: expected \"data\", found no such key");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60},"data":[]})") ==
          "t:1:39: expected at least one sample, found none");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":0},"data":[1]})") ==
          "t:1:28: expected a sampling interval in seconds, above 0 and at most 366 days, found 0");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":"60"},"data":[1]})") ==
          "t:1:28: expected a sampling interval in seconds, above 0 and at most 366 days, found "
          "a text");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60,"gap_seconds":60},"data":[1]})") ==
          "t:1:31: expected \"gap_seconds\" once, found it again");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1],"data":[1]})") ==
          "t:1:43: expected \"data\" once, found it again");
    CHECK(skypilot("{\"metadata\":{\"gap_seconds\":60},\n\"data\":[1,\n-1]}") ==
          "t:3:1: expected a whole number from 0 to 1000000, found -1");
    CHECK_THAT(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1,1e7]})"),
               Contains("found 1e7"));
    CHECK_THAT(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1,NaN]})"),
               Contains("found \"NaN\""));
    CHECK_THAT(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1,null]})"),
               Contains("found \"null\""));
    CHECK_THAT(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1,1)"),
               Contains("found the end of the file"));
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1,1],"prices":[1]})") ==
          "t:1:54: expected one price for each of the 2 samples, found 1");
    CHECK(skypilot(R"({"metadata":{"gap_seconds":60},"data":[1],"prices":[-1]})") ==
          "t:1:53: expected a price in USD per hour from 0 to 1000000, found -1");
    std::string years = R"({"metadata":{"gap_seconds":31622400},"data":[0)";
    for (int i = 0; i < 100; ++i) years += ",1";
    CHECK(skypilot(years + "]}") ==
          "t:1:1: expected at most 100 years, found 101 samples of 3.16224e+07 s");
    CHECK(complaint(R"({"metadata":{"gap_seconds":60},"data":[1,2]})", inverted()) ==
          "t:1:42: expected 0 or 1 (1 = unavailable), found 2");
}

TEST_CASE("refusals: samples with calendar times", "[traces][refusal]") {
    const std::string row = "2023-02-15 22:08:16,0\n";
    const auto skynomad = [](const std::string& rows) {
        return complaint("date,availability\n" + rows);
    };
    CHECK(skynomad("") == "t:1:1: expected at least two samples, found 0");
    CHECK(skynomad(row) == "t:2:1: expected at least two samples, found 1");
    CHECK(skynomad(row + row) == "t:3:1: expected at least two samples, found 1");
    CHECK(skynomad(row + "2023-02-15 22:08:16,1\n") ==
          "t:3:1: expected one value at 2023-02-15T22:08:16Z, found 0 and 1");
    CHECK(skynomad(row + "2023-02-30 22:08:16,0\n") ==
          "t:3:1: expected a time such as 2023-02-15 22:08:16 (years 1970 to 2199), found "
          "\"2023-02-30 22:08:16\"");
    CHECK(skynomad(row + "2190-02-15 22:08:16,0\n") ==
          "t:3:1: expected times within 100 years of each other");
    CHECK(skynomad(row + "2023-02-15 22:11:31,-2\n") ==
          "t:3:21: expected a whole number from 0 to 1000000, found \"-2\"");
    CHECK(complaint("date,availability\n" + row + "2023-02-15 22:11:31,2\n", inverted()) ==
          "t:3:21: expected 0 or 1 (1 = unavailable), found \"2\"");
    CHECK(complaint("date,price\n" + row, in_form("skynomad_csv")) ==
          "t:1:1: expected a column \"availability\" in the header");
    CHECK(complaint("date,availability,date\n" + row) ==
          "t:1:1: expected one column \"date\", found two");
    const std::string first = "0,2022-11-28T22:23:37.000Z,1\n";
    CHECK(complaint(first + "x,2022-11-28T22:33:37.000Z,1\n") ==
          "t:2:1: expected the number of the sample, found \"x\"");
    CHECK(complaint(first + "1,2022-11-28T22:33:37.000Z,\n") ==
          "t:2:28: expected 0 or 1 (1 = unavailable), found \"\"");
    CHECK(complaint("timestamp_utc,price_usd_per_h\n") ==
          "t:1:1: expected at least one price, found none");
}

TEST_CASE("refusals: launch probes", "[traces][refusal][probe_counts]") {
    const std::string header =
        "run_id,scheduled_utc,started_utc,ended_utc,probe_duration_s,status,zone,requested,"
        "created,capacity_exhausted_detected,n_ids\n";
    const std::string row = "r,2025-10-04T00:10:00Z,s,e,1,success,z,16,16,0,16\n";
    CHECK(complaint(header) == "t:1:1: expected at least one successful probe, found none");
    CHECK(complaint(header + row) ==
          "t:2:1: expected at least two probes of zone \"z\", found one");
    CHECK(complaint(header + row + row) ==
          "t:2:1: expected at least two probes of zone \"z\", found one");
    CHECK(complaint(header + row + "r,2025-10-04T00:10:00Z,s,e,1,success,z,16,9,0,16\n") ==
          "t:3:1: expected one count at 2025-10-04T00:10:00Z, found 16 and 9");
    CHECK(complaint(header + "r,2025-10-04T00:10:00Z,s,e,1,success,z,16,17,0,16\n") ==
          "t:2:43: expected at most the 16 requested, found \"17\"");
    CHECK(complaint(header + "r,2025-10-04T00:10:00Z,s,e,1,success,,16,1,0,16\n") ==
          "t:2:38: expected the name of a zone, found \"\"");
    CHECK(complaint("scheduled_utc,zone\n", in_form("skynomad_probe_counts")) ==
          "t:1:1: expected a column \"created\" in the header");
    CHECK(complaint(header + row, inverted()) ==
          "t: the form skynomad_probe_counts counts instances: one cannot mean unavailable");
}

TEST_CASE("refusals: bamboo", "[traces][refusal][bamboo]") {
    CHECK(complaint("0,add,a\n60,add,a\n") ==
          "t:2:8: expected a node that is not there yet, found \"a\"");
    CHECK(complaint("0,add,a\n60,remove,b\n") ==
          "t:2:11: expected a node that was added before, found \"b\"");
    CHECK(complaint("0,remove,a\n") ==
          "t:1:10: expected a node that was added before, found \"a\"");
    CHECK(complaint("60,add,a\n30,add,b\n") ==
          "t:2:1: expected a time not before the row before (60), found \"30\"");
    CHECK(complaint("0,add,a\n1,drop,a\n") ==
          "t:2:3: expected \"add\" or \"remove\", found \"drop\"");
    CHECK(complaint("0,add,\n") == "t:1:7: expected the name of a node, found \"\"");
    CHECK(complaint("0,add,a\n-1,add,b\n") ==
          "t:2:1: expected milliseconds since the start, up to 100 years, found \"-1\"");
    CHECK(complaint("", in_form("bamboo_events")) ==
          "t:1:1: expected at least one event, found none");
    CHECK(complaint("0,add,a\n", inverted()) ==
          "t: the form bamboo_events counts instances: one cannot mean unavailable");
    const std::string row = "2021-12-10, 13:07:45, 80\n";
    CHECK(complaint(row) == "t:1:1: expected at least two times, found 1");
    CHECK(complaint(row + "2021-12-10, 25:07:45, 80\n") ==
          "t:2:1: expected a date and a time such as \"2021-12-10, 13:07:45\", found "
          "\"2021-12-10\"");
    CHECK(complaint(row + "2121-12-10, 13:07:45, 80\n") ==
          "t:2:1: expected a time within 50 years of the first, found \"2121-12-10\"");
    CHECK(complaint(row + "2021-12-10, 13:08:45, -80\n") ==
          "t:2:23: expected a whole number from 0 to 1000000, found \"-80\"");
    CHECK(complaint(row + row, inverted()) ==
          "t: the form bamboo_counts counts instances: one cannot mean unavailable");
}

TEST_CASE("refusals: price histories", "[traces][refusal][aws]") {
    const auto row = [](const std::string& price, const std::string& time,
                        const std::string& product = "Linux/UNIX") {
        return R"({"AvailabilityZone":"a","InstanceType":"t","ProductDescription":")" + product +
               R"(","SpotPrice":")" + price + R"(","Timestamp":")" + time + R"("})";
    };
    const auto history = [](const std::string& rows) {
        return complaint("{\"SpotPriceHistory\":[\n" + rows + "]}");
    };
    const std::string time = "2020-02-03T00:00:00.000Z";
    CHECK(history("") == "t:1:1: expected at least one price, found none");
    CHECK(history(row("0.3", time) + ",\n" + row("0.4", time)) ==
          "t:3:1: expected one price at 2020-02-03T00:00:00Z, found 0.3 and 0.4");
    CHECK_THAT(history(row("-1", time)),
               StartsWith("t:2:") && Contains("expected a price in USD per hour"));
    CHECK_THAT(history(row("1", "2020-02-03")), Contains("expected a time such as"));
    CHECK(history(R"({"SpotPrice":"1"})") == "t:2:1: expected the key \"AvailabilityZone\"");
    CHECK(history(R"({"SpotPrice":"1","SpotPrice":"1"})") ==
          "t:2:18: expected \"SpotPrice\" once, found it again");
    CHECK(history(R"({"SpotPrice":true})") == "t:2:14: expected a text, found \"true\"");
    CHECK(history(R"({"SpotPrice":1})") == "t:2:1: expected the key \"AvailabilityZone\"");
    CHECK(history(row("1", time, "Windows") + ",\n" + row("1", time, "SUSE Linux")) ==
          "t:2:1: expected one product, or Linux/UNIX among them (--product-descriptions "
          "Linux/UNIX)");
    CHECK(history(row("1", "1971-02-03T00:00:00Z") + ",\n" + row("1", "2100-02-03T00:00:00Z")) ==
          "t:3:1: expected times within 100 years of each other");
    CHECK(complaint(R"({"SpotPriceHistory":[],"SpotPriceHistory":[]})") ==
          "t:1:24: expected \"SpotPriceHistory\" once, found it again");
    const std::string csv =
        "Timestamp,AvailabilityZone,InstanceType,ProductDescription,SpotPrice\n";
    CHECK(complaint(csv + time + ",a,t,Linux/UNIX,1\n" + time + ",a,t,Linux/UNIX,2\n") ==
          "t:3:1: expected one price at 2020-02-03T00:00:00Z, found 1 and 2");
}

TEST_CASE("refusals: prices without times", "[traces][refusal][price]") {
    CHECK(complaint(R"({"z":[1]})") ==
          "t: the form skynomad_prices_json holds no times: expected the interval between its "
          "samples as an option, such as 195 s");
    ReadOptions options;
    options.gap = whole_seconds(195);
    CHECK(complaint(R"({"z":[]})", options) ==
          "t:1:6: expected at least one price for every zone, found none");
    CHECK(complaint(R"({"z":[1],"z":[1]})", options) ==
          "t:1:10: expected every zone once, found this one again");
    CHECK(complaint(R"({"z":[1],"y":2})", options) == "t:1:14: expected a list, found \"2\"");
}

TEST_CASE("refusals: too many rows", "[traces][refusal][slow]") {
    std::string text;  // 190 MB: under the limit on files, so that this one is reached
    const std::string pair = "0,add,n\n0,remove,n\n";
    text.reserve(static_cast<std::size_t>(trace_rows_max / 2 + 1) * pair.size());
    for (std::int64_t i = 0; i <= trace_rows_max / 2; ++i) text += pair;
    CHECK(complaint(text) == "t:20000001:1: expected at most 20000000 rows");
}
