// links_scenario_test.cpp — hosts that are unequally far from each other: the tree over them is
// chosen in a simulation, and shortens its steps.
#include <catch2/catch.hpp>

#include "scenarios/experiment/experiment.hpp"
#include "scenarios/optimum/optimum.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

scenarios::FinishedRun run_of(const scenarios::Scenario& scenario, std::string_view policies) {
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const scenarios::PolicyList list =
        scenarios::parse_policies(policies, scenario, "test").front();
    scenarios::RunOptions options;
    options.decisions = true;
    return scenarios::run_one(scenario, market, list, scenario.seed, options);
}

}  // namespace

TEST_CASE("links scenario: a tree that crosses once is as much faster as its ways are shorter",
          "[scenario]") {
    const scenarios::Scenario scenario =
        scenarios::read_scenario(scenario_folder / "exchange/far_hosts.json");
    const auto ring = run_of(scenario, "on_demand");
    const auto tree = run_of(scenario, "latency_tree+on_demand");
    CHECK(ring.result.duration == 10'000 * milliseconds(1'200));
    CHECK_THAT(tree.decisions, Catch::Contains(R"("tree":[0,0,0,4,1,4])"));
    // Ten rounds over the slow way, each 30 ms and 1.67 MB; up and down 0–1, 1–4 and 4–3.
    const Duration around = 10 * (milliseconds(30) + nanoseconds(13'333'328));
    const Duration once = 2 * (milliseconds(1) + milliseconds(10 + 80) + 2 * milliseconds(8));
    const Duration step = milliseconds(1'200) - around + once;
    CHECK(tree.result.duration == 10 * milliseconds(1'200) + 9'990 * step);  // then it is asked
    // What is called the least that anybody pays is less, with spot, too.
    const scenarios::NamedMarket market = scenarios::make_market(scenario, scenario.seed);
    const auto least = scenarios::optimum_of(market.data, scenarios::job_on(scenario, market.data));
    CHECK(least.kind == scenarios::OptimumKind::bound);
    CHECK(least.cost <= run_of(scenario, "latency_tree+spot_only").result.cost);
}

TEST_CASE("links scenario: what it says is read, and what it lacks is named", "[scenario]") {
    const auto read = [](std::string_view links, std::string_view more = "") {
        return scenarios::scenario_from_text(
            fmt::format(R"({{"name": "small", "seed": 1, "job": {{"samples": 90, "batch": 9,
                            "throughput": {{"1": "1 samples/s"}}, "links": {} {}}},
                            "cluster": {{"count": 3}}, "market": {{"on_demand_price": "1 USD/h"}},
                            "replay": ["on_demand"]}})",
                        links, more),
            "small.json");
    };
    const auto scenario =
        read(R"({"message": "1 MB", "round_trip": "4 ms", "bandwidth": "8 Gbit/s", "between":
                 [{"host": 1, "other": 2, "round_trip": "9 ms", "bandwidth": "8 Mbit/s"}]})");
    const auto& links = scenario.job.profile.links;
    CHECK(links.message == Bytes::of(1'000'000));
    REQUIRE(links.links.size() == 3);
    CHECK(links.links[1] == policies::LinkView{0, 2, milliseconds(4), 1e9});
    CHECK(links.links[2] == policies::LinkView{1, 2, milliseconds(9), 1e6});
    const auto complaint = [&](std::string_view text, std::string_view more = "") {
        return complaint_of([&] { read(text, more); });
    };
    CHECK_THAT(complaint(R"({"message": "1 MB", "round_trip": "4 ms"})"),
               Catch::Contains(R"(at /job/links: missing key "bandwidth")"));
    CHECK_THAT(complaint(R"({"message": "1 MB", "round_trip": "4 ms", "bandwidth": "1 GB/s",
                             "workers_per_host": 3})"),
               Catch::Contains("expected 2 to 64 hosts, found 1: 3 workers, 3 on each"));
    CHECK_THAT(complaint(R"({"message": "1 MB", "round_trip": "4 ms", "bandwidth": "1 GB/s",
                             "between": [{"host": 2, "other": 2, "round_trip": "1 s",
                             "bandwidth": "1 B/s"}]})"),
               Catch::Contains("/job/links/between/0/other: 2 and 2 are no pair of hosts: "
                               "expected two of 0 to 2"));
    CHECK_THAT(complaint(R"({"message": "1 MB", "round_trip": "4 ms", "bandwidth": "0 Gbit/s"})"),
               Catch::Contains("/job/links/bandwidth: expected more than nothing"));
    // A step of three takes nine seconds; each of four rounds a third of the message.
    CHECK_THAT(complaint(R"({"message": "3 MB", "round_trip": "0 s", "bandwidth": "400 KB/s"})"),
               Catch::Contains("at /job/links: a ring of 3 workers takes 10 s over these links, "
                               "and a step, which has it in it, 9 s"));
    CHECK_THAT(complaint(R"({"message": "1 MB"})", R"(, "communication": {"ring": "1 ms"})"),
               Catch::Contains(R"(at /job/links: stands beside "communication")"));
    // A step of such a job is a nanosecond of work: no sum is part of it.
    CHECK_THAT(complaint_of([&] {
                   scenarios::scenario_from_text(
                       R"({"name": "timed", "seed": 1, "job": {"work": "10 h", "links": {}},
                           "cluster": {"count": 2}, "market": {"on_demand_price": "1 USD/h"},
                           "replay": ["on_demand"]})",
                       "timed.json");
               }),
               Catch::Contains(R"(at /job/links: goes with "samples")"));
}

}  // namespace ukemi
