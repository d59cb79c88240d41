// new_user_hour_test.cpp — a new user's first hour: prices as the AWS command line prints them and
// a recorded trace come in, a scenario of a few lines; cost against deadline for three policies
// with intervals, compared in pairs, and figures for print go out. Every table and file is looked
// into.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/child.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/recorded.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using nlohmann::json;

constexpr double on_demand_usd_per_h = 3.06;
constexpr double work_h = 20;
const std::vector<std::string> hour_deadlines{"24 h", "30 h", "36 h"};
const std::vector<std::string> hour_policies{"on_demand", "greedy+daly", "uniform_progress+daly"};

// Prices of two zones, every eleven hours from 10 to 25 February 2023, as
// `aws ec2 describe-spot-price-history` prints two pages: newest first, between 0.85 and 1 USD/h.
std::string aws_answer() {
    const std::int64_t begin_ns = *traces::parse_timestamp("2023-02-10T00:00:07Z");
    json pages[2];
    for (int i = 34; i >= 0; --i) {
        for (const char zone : {'a', 'b'}) {
            const std::int64_t at_ns = begin_ns + i * 11 * 3'600'000'000'000;
            std::string stamp = traces::format_timestamp(at_ns);
            stamp.replace(stamp.size() - 1, 1, "+00:00");
            pages[i < 17 ? 1 : 0]["SpotPriceHistory"].push_back(
                {{"AvailabilityZone", fmt::format("us-west-2{}", zone)},
                 {"AvailabilityZoneId", zone == 'a' ? "usw2-az1" : "usw2-az2"},
                 {"InstanceType", "p3.2xlarge"},
                 {"ProductDescription", "Linux/UNIX"},
                 {"SpotPrice", fmt::format("{:.6f}", 0.85 + 0.01 * (i * 7 % 15))},
                 {"Timestamp", stamp}});
        }
    }
    pages[0]["NextToken"] = "eyJ2IjoiMiIsImMiOiJ4In0=";
    return pages[0].dump(4) + "\n" + pages[1].dump(4) + "\n";
}

// What a user writes over a part of a new scenario.
void write_over(std::string& text, const std::string& part, const std::string& by) {
    const std::size_t at = text.find(part);
    CAPTURE(text, part);
    REQUIRE(at != std::string::npos);
    text.replace(at, part.size(), by);
}

Ran ran_well(const fs::path& folder, const std::vector<std::string>& arguments) {
    const Ran ran = run_ukemi(folder, arguments);
    CAPTURE(arguments, ran.err);
    REQUIRE(ran.code == 0);
    CHECK(ran.err.empty());
    return ran;
}

// The scenario of the hour: what `ukemi init` writes, with the user's market and times in it.
void write_hour_scenario(const fs::path& folder) {
    ran_well(folder, {"init", "replay", "hour.json"});
    std::string text = text_in(folder / "hour.json");
    write_over(text, R"("work": "48 hours")", R"("work": "20 hours")");
    write_over(text, R"("deadline": "60 hours")", R"("deadline": "36 hours")");
    write_over(text, R"("generate": {"market": "v100-1-good", "length": "10 days"})",
               R"("availability": "plain/trace.availability.csv",
    "price": "plain/prices.price.csv")");
    write_file(folder / "hour.json", text);
}

std::vector<std::string> fields_of(const std::string& row) {
    std::vector<std::string> fields;
    for (std::size_t from = 0; from <= row.size();) {
        const std::size_t end = std::min(row.find(',', from), row.size());
        fields.push_back(row.substr(from, end - from));
        from = end + 1;
    }
    return fields;
}

// The rows of a CSV by the names of its columns; every row has all of them.
std::vector<std::map<std::string, std::string>> csv_in(const fs::path& file) {
    CAPTURE(file.string());
    const std::vector<std::string> lines = lines_of(text_in(file));
    REQUIRE(lines.size() > 1);
    const std::vector<std::string> names = fields_of(lines[0]);
    std::vector<std::map<std::string, std::string>> rows;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        const std::vector<std::string> fields = fields_of(lines[i]);
        REQUIRE(fields.size() == names.size());
        auto& row = rows.emplace_back();
        for (std::size_t k = 0; k < names.size(); ++k) row[names[k]] = fields[k];
    }
    return rows;
}

// What a plain file says: its comment line, and its values.
std::pair<std::string, std::vector<double>> plain_in(const fs::path& file) {
    const std::vector<std::string> lines = lines_of(text_in(file));
    REQUIRE(lines.size() > 2);
    std::vector<double> values;
    for (std::size_t i = 2; i < lines.size(); ++i) {
        values.push_back(std::stod(lines[i].substr(lines[i].find(',') + 1)));
    }
    return {lines[0], values};
}

// The first number of each row of a printed table, by what the row begins with; rows of the
// variation "24 h" and so on under its line.
std::map<std::string, std::map<std::string, double>> printed_rows(
    const std::vector<std::string>& lines) {
    std::map<std::string, std::map<std::string, double>> rows;
    std::string variant;
    for (const std::string& line : lines) {
        if (line.starts_with("/job/deadline=")) variant = line.substr(line.find('=') + 1);
        const std::size_t end = std::min(line.find(' '), line.size());
        const std::size_t number = line.find_first_not_of(' ', end);
        if (number == std::string::npos || variant.empty()) continue;
        const bool begins_number = line.find_first_of("0123456789-", number) == number;
        if (begins_number) rows[variant][line.substr(0, end)] = std::stod(line.substr(number));
    }
    return rows;
}

void import_both(const fs::path& folder) {
    write_file(folder / "prices.json", aws_answer());
    fs::copy_file(data_slices() / "markets/us-west-2a-v100-2023-02-15.json.gz",
                  folder / "trace.json.gz");
    const Ran prices =
        ran_well(folder, {"import", "prices.json", "--zone", "us-west-2a", "--out", "plain"});
    CHECK_THAT(prices.out, Catch::StartsWith("prices.json: aws_price_history_json, 70 rows, from "
                                             "2023-02-10T00:00:07Z, 1 series\n  period: 374.00 h, "
                                             "2023-02-10T00:00:07Z to 2023-02-25T14:00:07Z\n") &&
                               Contains("  found: 2 pages or records\n") &&
                               !Contains("truncated") &&
                               Contains("  wrote plain/prices.price.csv\n"));
    const auto [price_comment, usd] = plain_in(folder / "plain/prices.price.csv");
    CHECK_THAT(price_comment, Contains("zone=us-west-2a type=p3.2xlarge "
                                       "start=2023-02-10T00:00:07Z duration_s=1346400"));
    CHECK(usd.size() == 35);
    CHECK(std::ranges::all_of(usd, [](double price) { return price >= 0.85 && price <= 0.99; }));

    const Ran trace = ran_well(folder, {"import", "auto", "trace.json.gz", "--out", "plain"});
    CHECK_THAT(trace.out, Catch::StartsWith("trace.json.gz: skypilot_json, 3359 rows, every 195 s, "
                                            "from 2023-02-15T22:08:16Z, 1 series\n") &&
                              Contains("  wrote plain/trace.availability.csv\n"));
    const auto [comment, counts] = plain_in(folder / "plain/trace.availability.csv");
    CHECK_THAT(comment, Contains("zone=us-west-2a") && Contains("start=2023-02-15T22:08:16Z"));
    CHECK(std::set<double>(counts.begin(), counts.end()) == std::set<double>{0, 1});
}

// The means of runs.json by deadline and policy, each within its interval, over the same windows.
std::map<std::string, std::map<std::string, double>> check_means(const json& document) {
    CHECK(document.at("warnings").empty());
    std::map<std::string, std::map<std::string, double>> means;
    for (const json& row : document.at("policies")) {
        CAPTURE(row.dump());
        const auto variant = row.at("variant").get<std::string>();
        const json& cost = row.at("cost_usd");
        const auto mean = cost.at("mean").get<double>();
        CHECK(cost.at("low_95").get<double>() <= mean);
        CHECK(cost.at("high_95").get<double>() >= mean);
        CHECK(row.at("clusters").get<int>() == 5);  // 181.9 h hold five windows of 36 h
        CHECK(row.at("finished") == row.at("runs"));
        CHECK(row.at("deadline_met_share") == 1);
        means[variant.substr(variant.find('=') + 1)][row.at("policy").get<std::string>()] = mean;
    }
    return means;
}

// Each run: as much work as there is, not cheaper than the optimum, a bill of hours and prices.
void check_runs(const json& runs) {
    CHECK(runs.size() == hour_deadlines.size() * hour_policies.size() * 5);
    for (const json& run : runs) {
        CAPTURE(run.dump());
        CHECK(run.at("finished") == true);
        CHECK(run.at("useful_s").get<double>() == work_h * 3600);
        CHECK(run.at("duration_s").get<double>() >= work_h * 3600);
        CHECK(run.at("duration_s").get<double>() <= run.at("deadline_s").get<double>());
        const auto cost = run.at("cost_usd").get<double>();
        CHECK(cost >= run.at("optimum_usd").get<double>());
        CHECK(cost >= work_h * 0.85);
        CHECK(cost <= run.at("held_s").get<double>() / 3600 * on_demand_usd_per_h + 0.01);
    }
}

// Every file holds what it is called, and each figure that is said to be drawn is there for print.
void check_files(const fs::path& results, const std::string& printed) {
    CHECK(csv_in(results / "summary.csv").size() == 3 * 3 * 5);
    CHECK(csv_in(results / "policies.csv").size() == 3 * 3);
    CHECK(csv_in(results / "pairs.csv").size() == 3 * 2);
    CHECK(json::parse(text_in(results / "run.json")).at("baseline") == "on_demand");
    std::ptrdiff_t pictures = 0;
    for (const auto& entry : fs::recursive_directory_iterator(results)) {
        CAPTURE(entry.path().string());
        if (!entry.is_regular_file()) continue;
        const std::string text = text_in(entry.path());
        const std::string ending = entry.path().extension().string();
        CHECK_FALSE(text.empty());
        if (ending == ".json") CHECK(json::accept(text));
        if (ending == ".csv" && lines_of(text).size() > 1) csv_in(entry.path());
        if (ending == ".png") CHECK(text.substr(1, 3) == "PNG");
        if (ending != ".svg") continue;
        ++pictures;
        CHECK_THAT(text, Contains("</svg>") && Contains("<text"));
        const std::string print = text_in(fs::path(entry.path()).replace_extension(".pdf"));
        CHECK(print.substr(0, 5) == "%PDF-");
        CHECK_THAT(print.substr(print.size() - std::min<std::size_t>(print.size(), 16)),
                   Contains("%%EOF"));
    }
    CHECK(pictures == std::ranges::count_if(lines_of(printed), [](const std::string& line) {
              return line.starts_with("figure:");
          }));
    CHECK_THAT(printed, Contains("cost_against_deadline"));
    const auto curve = csv_in(results / "figures/cost_against_deadline.csv");
    CHECK(curve.size() == 3 * 3);
    std::set<std::string> deadlines_h;
    for (const auto& point : curve) {
        deadlines_h.insert(point.at("deadline_h"));
        const double cost_usd = std::stod(point.at("cost_usd_median"));
        CHECK((cost_usd > work_h * 0.85 && cost_usd < 62));
    }
    CHECK(deadlines_h == std::set<std::string>{"24", "30", "36"});
}

}  // namespace

TEST_CASE("a new user's hour: from two downloads to a paired table and figures for print",
          "[cli][hour]") {
    if (!gnuplot_is_here()) {
        WARN("skipped: gnuplot is not installed");
        return;
    }
    const ScratchFolder scratch;
    const fs::path& folder = scratch.path();
    import_both(folder);
    write_hour_scenario(folder);
    CHECK_THAT(ran_well(folder, {"check", "hour.json"}).out, Contains("hour.json"));

    const Ran replay =
        ran_well(folder, {"replay", "hour.json", "--vary", "/job/deadline=24 h,30 h,36 h",
                          "--policies", "on_demand,greedy+daly,uniform_progress+daly", "--baseline",
                          "on_demand", "--pdf", "--out", "results"});
    const json document = json::parse(text_in(folder / "results/runs.json"));
    check_runs(document.at("runs"));
    const auto means = check_means(document);

    // The printed table holds the same means, and the optimum below all of them.
    const std::vector<std::string> lines = lines_of(replay.out);
    const auto against = std::ranges::find_if(
        lines, [](const std::string& line) { return line.starts_with("against on_demand"); });
    REQUIRE(against != lines.end());
    const auto table = printed_rows({lines.begin(), against});
    const auto pairs = printed_rows({against, lines.end()});
    REQUIRE(table.size() == hour_deadlines.size());
    REQUIRE(pairs.size() == hour_deadlines.size());
    for (const std::string& deadline : hour_deadlines) {
        CAPTURE(deadline, replay.out);
        for (const std::string& policy : hour_policies) {
            const double mean = means.at(deadline).at(policy);
            CHECK(table.at(deadline).at(policy) == Approx(mean).margin(0.006));
            CHECK(table.at(deadline).at("optimum") <= mean + 0.006);
        }
        // Twenty hours, a start and a restart; spot for a third of the price is cheaper.
        const double on_demand = means.at(deadline).at("on_demand");
        CHECK(on_demand == Approx(61.4).margin(0.1));
        CHECK(means.at(deadline).at("greedy+daly") < on_demand);
        CHECK(pairs.at(deadline).count("uniform_progress+daly") == 1);
        CHECK(pairs.at(deadline).at("greedy+daly") ==
              Approx(means.at(deadline).at("greedy+daly") - on_demand).margin(0.006));
    }
    CHECK(means.at("36 h").at("greedy+daly") <=
          means.at("24 h").at("greedy+daly"));  // more time, more spot
    CHECK_THAT(replay.out, Contains("intervals are over 5 windows of one trace"));

    for (const json& pair : document.at("pairs")) {
        CAPTURE(pair.dump());
        const auto ratio = pair.at("cost_usd_ratio").get<double>();
        CHECK((ratio > 0.2 && ratio < 1));
        CHECK((pair.at("cost_usd_p") > 0 && pair.at("cost_usd_p") <= pair.at("cost_usd_p_holm")));
        CHECK(pair.at("pairs") == 5);
    }
    check_files(folder / "results", replay.out);
}

}  // namespace ukemi
