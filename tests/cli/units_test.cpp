// units_test.cpp — which runs are independent, and what their means and pairs say.
#include "analysis/units.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/pairs.hpp"
#include "analysis/policy_means.hpp"
#include "analysis/regret.hpp"
#include "base/input_error.hpp"
#include "tests/cli/child.hpp"

namespace ukemi::analysis {

namespace {

using records::RunResult;

struct Where {
    std::string record;
    std::string trace;
    std::int64_t start_h = 0;
    std::int64_t stretch = 0;
    std::uint64_t seed = 1;
};

RunResult run_at(const Where& where, const std::string& policy, double usd,
                 const std::string& hash = "") {
    RunResult run;
    run.scenario = std::string("s");  // g++ 12 at -O3 takes the literal for an overlap
    run.record = where.record;
    run.trace = where.trace;
    run.start = hours(where.start_h);
    run.stretch = where.stretch;
    run.seed = where.seed;
    run.policy = policy;
    run.cost = dollars(usd);
    run.duration = hours(50);
    run.finished = true;
    run.event_hash = hash;
    return run;
}

RunClusters clusters_at(const std::vector<Where>& places) {
    std::vector<RunUnit> units;
    for (const Where& where : places) {
        units.push_back(unit_of(run_at(where, "greedy", 1, std::to_string(units.size()))));
    }
    return clusters_of(units);
}

}  // namespace

TEST_CASE("units: several zones are the clusters, whatever else varies", "[cli][units]") {
    std::vector<Where> places;
    for (const char* zone : {"a", "b"}) {
        for (const char* month : {"-may", "-june"}) {
            for (const std::int64_t start_h : {0, 60, 120}) {
                for (const std::uint64_t seed : {1U, 2U}) {
                    const std::string name = zone;
                    places.push_back({name, name + month, start_h, start_h / 60, seed});
                }
            }
        }
    }
    const RunClusters clusters = clusters_at(places);
    CHECK(clusters.varying == Varying::records);
    CHECK(clusters.count == 2);
    CHECK(clusters.name() == "record");
    CHECK(clusters.words() == "2 zones (12 windows)");
    CHECK(clusters.cluster.front() != clusters.cluster.back());
    CHECK(std::ranges::count(clusters.cluster, clusters.cluster.front()) == 12);
}

TEST_CASE("units: traces and generated markets are called so", "[cli][units]") {
    CHECK(clusters_at({{"a", "a"}, {"b", "b"}, {"c", "c"}}).words() == "3 traces");
    const RunClusters made =
        clusters_at({{"m, seed 1", "m", 0, 0, 1}, {"m, seed 2", "m", 0, 0, 2}});
    CHECK(made.words() == "2 generated markets");
}

TEST_CASE("units: of one trace, windows are, and where they overlap, stretches", "[cli][units]") {
    const RunClusters apart =
        clusters_at({{"a", "a", 0, 0, 1}, {"a", "a", 0, 0, 2}, {"a", "a", 72, 1, 1}});
    CHECK(apart.varying == Varying::windows);
    CHECK(apart.words() == "2 windows of one trace");
    CHECK(apart.cluster == std::vector<std::size_t>{0, 0, 1});
    const RunClusters overlap =
        clusters_at({{"a", "a", 0, 0}, {"a", "a", 10, 0}, {"a", "a", 150, 1}});
    CHECK(overlap.varying == Varying::stretches);
    CHECK(overlap.words() == "2 stretches of one trace (3 windows, which overlap)");
    const RunClusters all_overlap = clusters_at({{"a", "a", 0, 0}, {"a", "a", 10, 0}});
    CHECK(all_overlap.count == 1);
    CHECK(all_overlap.words().empty());
}

TEST_CASE("units: seeds are, where nothing else varies", "[cli][units]") {
    const RunClusters seeds = clusters_at({{"a", "a", 0, 0, 7}, {"a", "a", 0, 0, 9}});
    CHECK(seeds.varying == Varying::seeds);
    CHECK(seeds.words() == "2 seeds");
    CHECK(clusters_at({{"a", "a"}}).varying == Varying::nothing);
    CHECK(clusters_of(std::span<const RunUnit>{}).count == 0);
}

TEST_CASE("units: what is the same under every seed counts once", "[cli][units]") {
    std::vector<RunResult> runs;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        runs.push_back(run_at({"a", "a", 0, 0, seed}, "on_demand", 30, "same"));
        runs.push_back(run_at({"a", "a", 0, 0, seed}, "greedy", 10 + static_cast<double>(seed),
                              std::to_string(seed)));
    }
    const auto means = policy_means(runs);
    REQUIRE(means.size() == 2);
    CHECK(means[0].outcome.runs == 1);
    CHECK(means[0].repeated == 2);
    CHECK(means[0].cost_usd.clusters == 1);
    CHECK(means[0].cost_usd.mean_high_95 == 30);
    CHECK(means[1].outcome.runs == 3);
    CHECK(means[1].repeated == 0);
    CHECK(means[1].cost_usd.clusters == 3);
    CHECK(means[1].clusters_words == "3 seeds");
    // 11, 12, 13: t(0.975, 2) / √3.
    CHECK(means[1].cost_usd.mean_high_95 == Approx(12 + 4.302653 / std::sqrt(3.0)));
    // One seed that differs, and none of them is left out.
    runs.front().event_hash = "another";
    CHECK(policy_means(runs)[0].repeated == 0);
}

TEST_CASE("units: seeds do not narrow what six traces say", "[cli][units]") {
    const auto half_width = [](std::uint64_t seeds) {
        std::vector<RunResult> runs;
        for (std::uint64_t trace = 0; trace < 6; ++trace) {
            const std::string name(1, static_cast<char>('a' + trace));
            for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
                const double usd = 40 + 20.0 * static_cast<double>(trace * trace % 7) +
                                   0.1 * static_cast<double>(seed % 5);
                runs.push_back(
                    run_at({name, name, 0, 0, seed}, "greedy", usd, std::to_string(runs.size())));
            }
        }
        const Summary cost = policy_means(runs).front().cost_usd;
        return cost.mean_high_95 - cost.mean;
    };
    CHECK(half_width(5) == Approx(half_width(500)).epsilon(1e-9));
    CHECK(half_width(5) > 25);
}

TEST_CASE("pairs: differences on the same trace, window and seed", "[cli][pairs]") {
    // The zones differ by 100 USD, the policies by 2 to 4.
    std::vector<RunResult> runs;
    const double more_usd[] = {2, 3, 4, 2, 3, 4};
    for (std::size_t zone = 0; zone < 6; ++zone) {
        const std::string name(1, static_cast<char>('a' + zone));
        const double usd = 50 + 100 * static_cast<double>(zone);
        runs.push_back(run_at({name, name}, "greedy", usd, "g" + name));
        runs.push_back(run_at({name, name}, "on_demand", usd + more_usd[zone], "o" + name));
    }
    const auto pairs = pairs_with(runs, "greedy");
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].policy == "on_demand");
    CHECK(pairs[0].pairs == 6);
    CHECK(pairs[0].clusters_words == "6 traces");
    const PairedQuantity& cost = pairs[0].quantities.at(0);
    CHECK(cost.name == "cost_usd");
    CHECK(cost.difference.mean == Approx(3));
    // s² = 0.8, t(0.975, 5) = 2.5706
    CHECK(cost.difference.mean_high_95 - 3 == Approx(2.570582 * std::sqrt(0.8 / 6)));
    CHECK(cost.ratio == Approx(303.0 / 300));
    CHECK(cost.ratio_half_width_95 > 0);
    CHECK(cost.ratio_half_width_95 < 0.02);
    CHECK(cost.p == Approx(2.0 / 64));
    CHECK(cost.p_holm == Approx(2.0 / 64));
    CHECK(policy_means(runs)[0].cost_usd.mean_high_95 > 400);  // the zones are still in that one
    const PairedQuantity& time = pairs[0].quantities.at(1);
    CHECK(time.name == "hours");
    CHECK(time.difference.mean == 0);
    CHECK(time.p == 1);
}

TEST_CASE("pairs: Holm's correction is over all rows", "[cli][pairs]") {
    std::vector<RunResult> runs;
    for (int zone = 0; zone < 8; ++zone) {
        const std::string name = std::to_string(zone);
        runs.push_back(run_at({name, name}, "greedy", 50, "g" + name));
        runs.push_back(run_at({name, name}, "on_demand", 60 + zone, "o" + name));
        runs.push_back(run_at({name, name}, "spot_only", 40 - zone, "s" + name));
        runs.push_back(run_at({name, name}, "time_sliced", zone % 2 == 0 ? 51 : 49, "t" + name));
    }
    const auto pairs = pairs_with(runs, "greedy");
    REQUIRE(pairs.size() == 3);
    CHECK(pairs[0].quantities[0].p == Approx(2.0 / 256));
    CHECK(pairs[0].quantities[0].p_holm == Approx(6.0 / 256));
    CHECK(pairs[1].quantities[0].p_holm == Approx(6.0 / 256));
    CHECK(pairs[2].quantities[0].p == 1);
    CHECK(pairs[2].quantities[0].p_holm == 1);
}

TEST_CASE("pairs: without both ends there is no pair", "[cli][pairs]") {
    std::vector<RunResult> runs;
    for (const char* zone : {"a", "b", "c"}) {
        runs.push_back(run_at({zone, zone}, "greedy", 50, zone));
        runs.push_back(run_at({zone, zone}, "spot_only", 20, zone));
    }
    runs[1].finished = false;
    runs.push_back(run_at({"d", "d"}, "spot_only", 20, "d"));
    const auto pairs = pairs_with(runs, "greedy");
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].pairs == 2);
    CHECK(pairs[0].unfinished == 1);
    constexpr std::string_view cost[] = {"cost_usd"};
    const auto lines = lines_of(pairs_table(pairs, cost));
    REQUIRE(lines.size() >= 3);
    CHECK_THAT(lines[1], Catch::StartsWith("against greedy "));
    CHECK_THAT(lines[2], Catch::StartsWith("spot_only ") && Catch::Contains(" -30 ") &&
                             Catch::EndsWith(" 2!"));
    CHECK_THAT(lines.back(), Catch::Contains("1 pair left out"));
    for (const std::string& line : lines) CHECK(columns_in(line) <= 100);
    const auto json = nlohmann::json::parse(pairs_json(pairs));
    CHECK(json[0].at("cost_usd_difference_mean") == -30);
    CHECK(json[0].at("clusters") == 2);
    CHECK(json[0].at("cluster") == "record");
    const auto rows = lines_of(pairs_csv(pairs));
    REQUIRE(rows.size() == 2);
    CHECK_THAT(rows[0], Catch::StartsWith("variant,policy,baseline,unfinished,clusters,cluster,"
                                          "pairs,cost_usd_difference_mean,"));
}

TEST_CASE("pairs: one cluster has a difference and no test", "[cli][pairs]") {
    const std::vector<RunResult> runs{run_at({"a", "a"}, "greedy", 50, "g"),
                                      run_at({"a", "a"}, "on_demand", 60, "o")};
    const auto pairs = pairs_with(runs, "greedy");
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].quantities[0].difference.mean == 10);
    CHECK(!pairs[0].quantities[0].p);
    CHECK(nlohmann::json::parse(pairs_json(pairs))[0].at("cost_usd_p").is_null());
}

TEST_CASE("pairs: a baseline is known by its long and its short name", "[cli][pairs]") {
    const std::vector<std::string> labels{"on_demand", "greedy+daly_checkpoint"};
    CHECK(policy_called("greedy+daly", labels) == "greedy+daly_checkpoint");
    CHECK(policy_called("greedy+daly_checkpoint", labels) == "greedy+daly_checkpoint");
    CHECK(policy_called("on_demand", labels) == "on_demand");
    try {
        policy_called("greedy", labels);
        FAIL("no complaint");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()) ==
              "--baseline: expected one of the policies greedy+daly, on_demand, found \"greedy\"");
    }
}

TEST_CASE("tables: numbers keep the digits that count, and no exponent", "[cli]") {
    CHECK(rounded(0, 3) == "0");
    CHECK(rounded(1.534, 3) == "1.53");
    CHECK(rounded(-1234.6, 4) == "-1235");
    CHECK(rounded(16'245, 3) == "16245");
    CHECK(rounded(2e12, 3) == "2e+12");
}

}  // namespace ukemi::analysis
