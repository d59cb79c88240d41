// fleet_progress_test.cpp — deadlines of a job that is there in parts: each rule in a case of its
// own.
#include <catch2/catch.hpp>

#include "tests/policies/zones_situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// 48 h of work for eight machines, any number of which train, each an eighth of the pace; 104 h to
// the deadline: four keep to the line. After 13 h the line is at 6 h.
Situation fleet_of_eight(Duration done, std::int32_t spot) {
    Situation job;
    job.profile.throughput = {{1, {1, nanoseconds(8)}}, {8, {1, nanoseconds(1)}}};
    job.plan.workers_max = 8;
    job.plan.global_batch = 1;
    job.plan.fleet = {{ZoneId{0}, 0, Market::spot, 8, {}}};
    job.seen.deadline = Instant::at(hours(104));
    job.seen.zones = {zone_view(0, spot, 1)};
    job.seen.spot_capacity = spot;
    job.at(hours(13), done);
    return job;
}
constexpr Duration behind = hours(6) - minutes(1);
constexpr Duration ahead = hours(6) + minutes(1);

std::vector<FleetLine> lines(std::int32_t spot, std::int32_t on_demand) {
    std::vector<FleetLine> fleet;
    if (spot > 0) fleet.push_back({ZoneId{0}, 0, Market::spot, spot, {}});
    if (on_demand > 0) fleet.push_back({ZoneId{0}, 0, Market::on_demand, on_demand, {}});
    return fleet;
}

// What it wants, or what is planned if it wants no change; planned from then on.
std::vector<FleetLine> planned(Situation& job, Policy& policy) {
    apply(job.ask(policy), job.plan);
    return job.plan.fleet;
}

}  // namespace

TEST_CASE("uniform progress: a part of a fleet is there if it keeps to the line", "[fleet]") {
    const auto policy = policy_named(GENERATE("uniform_progress", "rc_threshold"));
    CHECK(fleet_of_eight(behind, 4).market(*policy) == Market::spot);
    CHECK(fleet_of_eight(behind, 3).market(*policy) == Market::on_demand);
    CHECK(fleet_of_eight(ahead, 3).market(*policy) == Market::spot);
    CHECK(fleet_of_eight(ahead, 0).market(*policy) == Market::none);
}

TEST_CASE("uniform progress: a fleet on too little spot asks again when the line has caught up",
          "[fleet]") {
    const auto policy = policy_named("uniform_progress");
    Situation job = fleet_of_eight(hours(6) + minutes(30), 3);
    job.seen.spot_held = job.seen.workers = 3;
    const Decision decision = job.ask(*policy);
    CHECK(decision.market == Market::spot);
    REQUIRE(decision.ask_again_in.has_value());
    // It makes 3/8 of its pace, the line asks for 48/104 of it: half an hour lasts 5.78 h.
    CHECK(to_hours(*decision.ask_again_in) == Approx(0.5 / (48.0 / 104 - 3.0 / 8)).epsilon(1e-4));
}

TEST_CASE("greedy: takes any part of a fleet until the net", "[fleet]") {
    const auto policy = policy_named("greedy");
    CHECK(fleet_of_eight(behind, 1).market(*policy) == Market::spot);
    CHECK(fleet_of_eight(behind, 0).market(*policy) == Market::none);
    Situation late = fleet_of_eight({}, 1);
    CHECK(late.at(hours(56)).market(*policy) == Market::on_demand);
}

TEST_CASE("fleet progress: spot alone while ahead, filled up with on-demand while behind",
          "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight(ahead, 3);
    CHECK(planned(job, *policy) == lines(3, 0));
    // 42 h 1 min of work are left, and 90.8 h less two changeovers: 3.7 machines.
    job.at(hours(13), behind);
    CHECK(planned(job, *policy) == lines(3, 1));
    CHECK(planned(job.spot(8), *policy) == lines(8, 0));
    // Without any spot on-demand may as well be bought later, all at once.
    CHECK(planned(job.spot(0), *policy) == lines(1, 0));
}

TEST_CASE(
    "fleet progress: on-demand goes when a quarter of it is too much, or two changeovers ahead",
    "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight({}, 1);  // 48 h in 90.8 h: five machines
    CHECK(planned(job, *policy) == lines(1, 4));
    CHECK(planned(job.spot(2), *policy) == lines(2, 4));
    CHECK(planned(job.spot(3), *policy) == lines(3, 2));
    // Two changeovers of 6 min: ep(13.2 h) = 6 h and 5.54 min.
    job.at(hours(13), hours(6) + minutes(5));
    CHECK(planned(job, *policy) == lines(3, 1));
    job.at(hours(13), hours(6) + minutes(6));
    CHECK(planned(job, *policy) == lines(3, 0));
}

TEST_CASE("fleet progress: without a clock, free changes do not come one after the other",
          "[fleet]") {
    // A minute ahead of the line: ep(13 h 1 min) = 6 h and 28 s.
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight(behind, 3);
    job.profile.restart = {};
    CHECK(planned(job, *policy) == lines(3, 1));
    job.at(hours(13), hours(6) + whole_seconds(27));
    CHECK(planned(job, *policy) == lines(3, 1));
    job.at(hours(13), hours(6) + whole_seconds(28));
    CHECK(planned(job, *policy) == lines(3, 0));
}

TEST_CASE("fleet progress: takes turns instead where losses cost a fleet with spot its pace",
          "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight(hours(5), 3);
    job.seen.spot_held = job.seen.workers = 3;
    CHECK(planned(job, *policy) == lines(3, 1));
    // Ten hours later it has made 1 h 40 min of the 3 h 45 min that three machines promise.
    job.at(hours(23), hours(5) + minutes(100));
    CHECK(planned(job, *policy) == lines(3, 0));
    job.at(hours(24), hours(10));
    CHECK(planned(job, *policy) == lines(3, 1));
}

TEST_CASE("fleet progress: the whole fleet is on-demand once the net insists", "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight({}, 5);
    CHECK(planned(job.at(hours(56)), *policy) == lines(0, 8));
}

TEST_CASE("fleet progress: buys in the cheapest zones, and asks for what the job needs at least",
          "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight(behind, 0);
    job.seen.zones = {zone_view(0, 2, 2), zone_view(1, 1, 1)};
    job.seen.zones[1].on_demand_price = dollars_per_hour(2);
    job.seen.spot_capacity = 3;
    const std::vector<FleetLine> two_zones = {{ZoneId{0}, 0, Market::spot, 2, {}},
                                              {ZoneId{1}, 0, Market::spot, 1, {}},
                                              {ZoneId{1}, 0, Market::on_demand, 1, {}}};
    CHECK(planned(job, *policy) == two_zones);

    Situation waiting = fleet_of_eight(ahead, 0);
    waiting.seen.workers_min = 2;
    CHECK(planned(waiting, *policy_named("fleet_progress")) == lines(2, 0));
}

TEST_CASE("fleet progress: asks again when the work done meets the line", "[fleet]") {
    const auto policy = policy_named("fleet_progress");
    Situation job = fleet_of_eight(ahead, 3);
    job.seen.spot_held = job.seen.workers = 3;
    const Decision decision = job.ask(*policy);
    REQUIRE(decision.ask_again_in.has_value());
    CHECK(to_hours(*decision.ask_again_in) ==
          Approx(1.0 / 60 / (48.0 / 104 - 3.0 / 8)).epsilon(1e-3));
    job.seen.decision_interval = minutes(10);
    CHECK_FALSE(job.ask(*policy).ask_again_in.has_value());
}
