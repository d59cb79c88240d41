// time_sliced_test.cpp — slices of 13 h: four to the deadline, 12 h of work in each.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

constexpr std::string_view four_slices = R"({"slice": "13 h"})";

}  // namespace

TEST_CASE("time sliced: is greedy inside the first slice", "[time_sliced]") {
    // The slice needs 12 + 0.1 of its 13 h: 0.9 h of slack, less a nanosecond of doubt.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    CHECK(job.spot(1).market(*policy) == Market::spot);
    const Decision waits = job.spot(0).ask(*policy);
    CHECK(waits.market == Market::none);
    CHECK(waits.ask_again_in == minutes(54) + milliseconds(1));
    CHECK(job.at(minutes(54) - whole_seconds(1)).market(*policy) == Market::none);
    const Decision late = job.at(minutes(54)).ask(*policy);
    CHECK(late.market == Market::on_demand);
    CHECK(late.reason == "slice is late");
    // Spot that is held may stay, spot that is only offered may not.
    CHECK(job.spot(1).market(*policy) == Market::on_demand);
    CHECK(job.hold(Market::spot).market(*policy) == Market::spot);
}

TEST_CASE("time sliced: an early slice asks again at its end", "[time_sliced]") {
    // Of its 12 h 11.5 h are done at 12.5 h: slack 0.5 − 0.5 − 0.1 < 0; with 11.95 h: slack
    // 0.5 − 0.05 − 0.1 = 0.35 h, before the end of the slice in 0.5 h; with 13 h the end comes
    // first.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    const Duration now = hours(12) + minutes(30);
    const Decision close = job.at(now, hours(11) + minutes(57)).ask(*policy);
    CHECK(close.market == Market::none);
    CHECK(close.ask_again_in == minutes(21) + milliseconds(1));
    const Decision ahead = job.at(now, hours(13)).ask(*policy);
    CHECK(ahead.ask_again_in == minutes(30) + milliseconds(1));
}

TEST_CASE("time sliced: what a slice gained is shared by those that remain", "[time_sliced]") {
    // 14 h done after 13 h: 2 h gained, 40 min for each of three slices. The second slice is late
    // after 13 + 2/3 − 12.1 h = 1 h 34 min and not after 54 min.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    job.ask(*policy);
    CHECK(job.at(hours(13), hours(14)).market(*policy) == Market::none);
    CHECK(job.at(hours(14) + minutes(33), hours(14)).market(*policy) == Market::none);
    CHECK(job.at(hours(14) + minutes(35), hours(14)).market(*policy) == Market::on_demand);
}

TEST_CASE("time sliced: what a slice lost is shared as well", "[time_sliced]") {
    // 11 h done after 13 h: 1 h lost, 20 min for each: late after 13 − 1/3 − 12.1 h = 34 min.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    job.ask(*policy);
    CHECK(job.at(hours(13) + minutes(33), hours(11)).market(*policy) == Market::none);
    CHECK(job.at(hours(13) + minutes(35), hours(11)).market(*policy) == Market::on_demand);
}

TEST_CASE("time sliced: catches up with several slices at once", "[time_sliced]") {
    // Not asked before t = 39 h, where 40 h are done. Gains: 40 − 12, then − 12, then − 12: 4 h,
    // all for the last slice: late after 13 + 4 − 12.1 = 4.9 h, which is the job's own slack
    // 13 − 8 − 0.1.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    job.ask(*policy);
    CHECK(job.at(hours(39), hours(40)).market(*policy) == Market::none);
    CHECK(job.at(hours(43) + minutes(53), hours(40)).market(*policy) == Market::none);
    CHECK(job.at(hours(43) + minutes(54), hours(40)).market(*policy) == Market::on_demand);
}

TEST_CASE("time sliced: with a tick it is late one tick before it would be too late",
          "[time_sliced]") {
    // need = 43200 + 360 > avail − 600 = 46800 − t − 600 from t > 2640 s on.
    const auto policy = policy_named("time_sliced", four_slices);
    Situation job;
    job.seen.decision_interval = minutes(10);
    const Decision waits = job.at(whole_seconds(2400)).ask(*policy);
    CHECK(waits.market == Market::none);
    CHECK_FALSE(waits.ask_again_in.has_value());
    CHECK(job.at(whole_seconds(3000)).market(*policy) == Market::on_demand);
    CHECK(job.spot(1).hold(Market::spot).market(*policy) == Market::spot);
}

TEST_CASE("time sliced: with a tick the net gives up spot that starts, the published rule does not",
          "[time_sliced]") {
    // 48 h + 360 s in ticks of 10 min are 173 400 s, which is what is left at t = 13 800 s.
    const auto strong = policy_named("time_sliced", four_slices);
    const auto simple = policy_named("time_sliced", R"({"slice": "13 h", "safety_net": "simple"})");
    Situation job;
    job.seen.decision_interval = minutes(10);
    job.at(whole_seconds(13'800)).spot(1).hold(Market::spot);
    CHECK(job.market(*strong) == Market::spot);
    CHECK(job.market(*simple) == Market::spot);
    job.starting();
    CHECK(job.market(*strong) == Market::on_demand);
    CHECK(job.market(*simple) == Market::spot);
}

TEST_CASE("time sliced: overlap_one_tick counts the last tick of the slice before as its own",
          "[time_sliced]") {
    // 42600 s done one tick before the end of the first slice, 43200 s at its end: no gain. The
    // second slice then lacks 43200 s, or 42600 s with the overlap: late from 2640 s or 3240 s on.
    const bool overlap = GENERATE(false, true);
    const auto policy = policy_named(
        "time_sliced", overlap ? R"({"slice": "13 h", "overlap_one_tick": true})" : four_slices);
    Situation job;
    job.seen.decision_interval = minutes(10);
    job.at(whole_seconds(46'200), whole_seconds(42'600)).ask(*policy);
    CHECK(job.at(hours(13), hours(12)).market(*policy) == Market::none);
    CHECK(job.at(hours(13) + whole_seconds(3000), hours(12)).market(*policy) ==
          (overlap ? Market::none : Market::on_demand));
    CHECK(job.at(hours(13) + whole_seconds(3600), hours(12)).market(*policy) == Market::on_demand);
}

TEST_CASE("time sliced: slices of eight hours unless told otherwise", "[time_sliced]") {
    // ceil(52/8) = 7 slices of 48/7 h: slack in the first 8 − 48/7 − 0.1 = 1.042857 h.
    const auto policy = policy_named("time_sliced");
    Situation job;
    CHECK(to_hours(job.ask(*policy).ask_again_in.value()) == Approx(8 - 48.0 / 7 - 0.1));
}
