// greedy_test.cpp — spot while there is slack, then on-demand.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

const std::string simple = R"({"safety_net": "simple"})";

}  // namespace

TEST_CASE("greedy: takes spot when it is there and waits when it is not", "[greedy]") {
    const auto greedy = policy_named("greedy");
    Situation job;
    CHECK(job.market(*greedy) == Market::none);
    CHECK(job.spot(1).market(*greedy) == Market::spot);
    CHECK(job.hold(Market::on_demand).market(*greedy) == Market::spot);
    CHECK(job.ask_before_train(*greedy).market == Market::spot);
    job.seen.workers_min = 2;  // one instance is none for a gang of two
    CHECK(job.hold(Market::none).market(*greedy) == Market::none);
}

TEST_CASE("greedy: an idle job switches at t' = R(0) - C(0) - d, and asks to be asked then",
          "[greedy]") {
    // 52 − 48 − 0.1 = 3.9 h.
    const auto greedy = policy_named("greedy", GENERATE(as<std::string>{}, simple, "{}"));
    const Duration switch_time = hours(3) + minutes(54);
    Situation job;
    const Decision first = job.ask(*greedy);
    CHECK(first.market == Market::none);
    CHECK(first.ask_again_in == switch_time);

    const Decision last = job.at(switch_time - nanoseconds(1)).ask(*greedy);
    CHECK(last.market == Market::none);
    CHECK(last.ask_again_in == nanoseconds(1));

    const Decision after = job.at(switch_time).ask(*greedy);
    CHECK(after.market == Market::on_demand);
    CHECK(after.reason == "safety net");
    CHECK_FALSE(after.ask_again_in.has_value());
}

TEST_CASE("greedy: with a tick it switches at the first tick that the rounded times demand",
          "[greedy]") {
    // ceil((172800 + 360)/600) · 600 = 173400 ≥ 187200 − t from t = 13800 s on.
    const auto greedy = policy_named("greedy", simple);
    Situation job;
    job.seen.decision_interval = minutes(10);
    const Decision waits = job.at(whole_seconds(13'200)).ask(*greedy);
    CHECK(waits.market == Market::none);
    CHECK_FALSE(waits.ask_again_in.has_value());
    CHECK(job.at(whole_seconds(13'800)).market(*greedy) == Market::on_demand);
    // The peer's strawman keeps a spot instance that it holds.
    CHECK(job.spot(1).hold(Market::spot).market(*greedy) == Market::spot);
}

TEST_CASE("greedy: a lossless job may go back to spot when it has slack again", "[greedy]") {
    const auto greedy = policy_named("greedy");
    Situation job;
    CHECK(job.at(hours(4)).market(*greedy) == Market::on_demand);
    job.seen.deadline = Instant::at(hours(60));
    CHECK(job.spot(1).market(*greedy) == Market::spot);
}

TEST_CASE("greedy: a job that can lose work stays on on-demand once the net has caught it",
          "[greedy]") {
    const auto greedy = policy_named("greedy");
    Situation job;
    job.profile.lossless = false;
    job.at(hours(5), hours(2)).spot(1);
    job.seen.samples_safe = 0;  // 48 h to do again at worst, 47 h left
    CHECK(job.market(*greedy) == Market::on_demand);
    // A checkpoint gives slack: 46 h left to do of 47.
    job.at(hours(5), hours(2)).hold(Market::on_demand);
    CHECK(job.market(*greedy) == Market::on_demand);
}

TEST_CASE("greedy: with the simple net it does not look whether the job is done", "[greedy]") {
    // As the strawman, whose last request is billed one tick more.
    Situation job;
    job.at(hours(50), hours(48)).spot(1);
    CHECK(job.market(*policy_named("greedy", simple)) == Market::spot);
    job.spot(0);
    CHECK(job.market(*policy_named("greedy", simple)) == Market::none);
}
