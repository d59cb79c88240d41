// bids_test.cpp — the recorded prices of the bidding era under bids.
#include <catch2/catch.hpp>

#include "scenarios/experiment/experiment.hpp"
#include "tests/recorded.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

namespace {

struct Recording {
    std::string file;
    double on_demand_usd;
    double lowest_share;  // of that, which still buys something
};

// 200 h of work on one machine under AWS's rules of 2016, all of it spot.
records::RunResult replay(const std::filesystem::path& file, double on_demand_usd, double bid_usd) {
    const scenarios::Scenario scenario =
        scenarios::scenario_from_text(fmt::format(R"({{"name": "bids", "seed": 1,
            "job": {{"work": "200 h", "restart": "5 min"}}, "cluster": {{"count": 1}},
            "market": {{"on_demand_price": "{} USD/h", "provider": "aws", "date": "2016-05-01"}},
            "plan": {{"bid": "{:.6f} USD/h"}}, "replay": ["spot_only"]}})",
                                                  on_demand_usd, bid_usd),
                                      "bids.json");
    const scenarios::NamedMarket market = scenarios::make_market(scenario, 1, file);
    return scenarios::run_one(scenario, market, scenario.policies.front(), 1).result;
}

}  // namespace

TEST_CASE("bids: in recorded markets lower bids are taken away more often", "[bids][recorded]") {
    const auto data = recorded_data("aws_spot_2015_g2");
    if (!data) {
        WARN("skipped: no recorded data: aws_spot_2015_g2");
        return;
    }
    const auto recording =
        GENERATE(Recording{"aws_spot_2015_g2/us-east-1a_g2.2xlarge.csv.gz", 0.65, 0.1001},
                 Recording{"aws_spot_2015_g2/us-east-1e_g2.2xlarge.csv.gz", 0.65, 0.1001},
                 Recording{"aws_spot_2016_g2_8x/g2.8xlarge-us-east-1a.csv.gz", 2.6, 0.2});
    CAPTURE(recording.file);
    double rate_before = 0;
    for (const double share : {4.0, 1.0, 0.3, recording.lowest_share}) {
        const double bid = share * recording.on_demand_usd;
        const records::RunResult result =
            replay(*data / recording.file, recording.on_demand_usd, bid);
        const double held_h = to_hours(result.held);
        CAPTURE(bid, held_h, result.revocations);
        fmt::print("bids: {:<46} bid {:5.2f} USD/h: {:4} taken, {:7.1f} h held, {:6.4f} USD/h\n",
                   recording.file, bid, result.revocations, held_h,
                   to_dollars(result.cost) / held_h);
        REQUIRE(held_h > 0);
        const double rate = static_cast<double>(result.revocations) / held_h;
        CHECK(rate >= rate_before);
        CHECK(to_dollars(result.cost) <= bid * held_h);
        rate_before = rate;
    }
    CHECK(rate_before > 0);
}

}  // namespace ukemi
