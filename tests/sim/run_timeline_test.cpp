// run_timeline_test.cpp — rows of a timeline by hand: one an instant, and those on the way.
#include "sim/job/run_timeline.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/run_by_hand.hpp"

namespace ukemi {

namespace {

sim::MarketData two_zones() {
    return market({zone("a", capacity({{minutes(0), 3}}, hours(2)), price(1.0)),
                   zone("b", capacity({{minutes(0), 2}}, hours(2)), price(0.5))});
}

}  // namespace

TEST_CASE("run timeline: the last row of an instant stands, with what all zones have",
          "[timeline]") {
    const sim::MarketData data = two_zones();
    RunByHand run(data, job(hours(1), 1, 3));
    sim::RunTimeline timeline(run.parts());
    timeline.record(Instant{}, {});
    run.fleet.launch(ZoneId{0}, policies::Market::spot, {}, Instant{});
    timeline.record(Instant{}, {policies::TransitionPhase::drain, Dollars::of(7)});
    REQUIRE(timeline.rows().size() == 1);
    const records::TimelineRow& row = timeline.rows().front();
    CHECK(row.spot_held == 1);
    CHECK(row.spot_capacity == 5);
    CHECK(row.workers == 2);
    CHECK(row.transition_phase == policies::TransitionPhase::drain);
    CHECK(row.spent == Dollars::of(7));  // nothing has been held for any time yet
    CHECK(row.spot_prices == std::pair(dollars_per_hour(0.5), dollars_per_hour(1.0)));
    timeline.record(at(hours(1)), {policies::TransitionPhase::none, Dollars::of(7)});
    REQUIRE(timeline.rows().size() == 2);
    CHECK(timeline.rows().back().spent == dollars(1.0) + Dollars::of(7));
}

TEST_CASE("run timeline: where learning bends there is a row, with what was learned there",
          "[timeline]") {
    const sim::MarketData data = two_zones();
    RunByHand run(data, job(hours(1)));
    sim::RunTimeline timeline(run.parts());
    timeline.record(Instant{}, {});
    timeline.record_way(at(minutes(30)), {});
    CHECK(timeline.rows().size() == 1);  // nothing bends
    run.trainer.on_the_way = {{at(minutes(10)), 40, {0.25, 0.5, 8.0}},
                              {at(minutes(20)), 60, {0.5, std::nullopt, std::nullopt}}};
    timeline.record_way(at(minutes(30)), {});
    REQUIRE(timeline.rows().size() == 3);
    const records::TimelineRow& bend = timeline.rows()[1];
    CHECK(bend.at == at(minutes(10)));
    CHECK(bend.samples_done == 40);
    CHECK(bend.learned == 0.25);
    CHECK(bend.accuracy == 0.5);
    CHECK(bend.noise_scale == 8.0);
    CHECK(bend.batch == 1);
    // An event of which the trainer is told nothing: the same way again, and further.
    run.trainer.on_the_way.push_back({at(minutes(25)), 70, {0.75, std::nullopt, std::nullopt}});
    timeline.record_way(at(minutes(40)), {});
    REQUIRE(timeline.rows().size() == 4);
    CHECK(timeline.rows().back().at == at(minutes(25)));
    const records::Timeline rows = timeline.take_rows();
    CHECK(rows.back().samples_done == 70);
}

}  // namespace ukemi
