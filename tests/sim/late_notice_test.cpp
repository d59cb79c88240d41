// late_notice_test.cpp — checkpoint_on_notice where a checkpoint takes longer than the notice.
//
// Spot costs 1 USD/h; the only machine is lost at 30 min and another is there at 60 min.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

records::RunResult run_with_notice(
    Duration notice, const std::vector<std::pair<std::string, std::string>>& policies) {
    sim::MarketData data = market({zone(
        "a", capacity({{minutes(0), 1}, {minutes(30), 0}, {minutes(60), 1}}, hours(3)), price(1))});
    data.notice = notice;
    sim::prepare(data);
    sim::JobSpec spec = job(hours(1));
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    return run(data, spec, policies);
}

}  // namespace

TEST_CASE("late notice: a save that cannot end in time is not begun", "[late_notice]") {
    // 30 s and, with the second to spare, also 60 s are too short: half an hour is lost.
    const Duration notice = GENERATE(whole_seconds(30), whole_seconds(60));
    const records::RunResult result =
        run_with_notice(notice, {{"spot_only", "{}"}, {"checkpoint_on_notice", "{}"}});
    CHECK(result.finished);
    CHECK(result.checkpoints == 0);
    CHECK(result.causes.time_of(records::Cause::checkpoint) == Duration{});
    CHECK(result.causes.time_of(records::Cause::redone) == minutes(30));
    CHECK(result.duration == minutes(120));
    // A second more is enough, and so are two.
    const records::RunResult barely =
        run_with_notice(whole_seconds(61), {{"spot_only", "{}"}, {"checkpoint_on_notice", "{}"}});
    CHECK(barely.checkpoints == 1);
    CHECK(barely.causes.time_of(records::Cause::redone) == whole_seconds(1));
    const records::RunResult saved =
        run_with_notice(whole_seconds(62), {{"spot_only", "{}"}, {"checkpoint_on_notice", "{}"}});
    CHECK(saved.checkpoints == 1);
    CHECK(saved.causes.time_of(records::Cause::redone) == whole_seconds(1));
}

TEST_CASE("late notice: saves by an interval go on as without a notice", "[late_notice]") {
    // Saved at 10 and at 21 min, until 22; the 8 min after that are lost.
    const std::string interval = R"({"interval": "10 min"})";
    const records::RunResult alone = run_with_notice(
        whole_seconds(30), {{"spot_only", "{}"}, {"periodic_checkpoint", interval}});
    const records::RunResult both = run_with_notice(
        whole_seconds(30),
        {{"spot_only", "{}"}, {"periodic_checkpoint", interval}, {"checkpoint_on_notice", "{}"}});
    CHECK(both.causes.time_of(records::Cause::redone) == minutes(8));
    CHECK(both.checkpoints == alone.checkpoints);
    CHECK(both.duration == alone.duration);
    CHECK(both.cost == alone.cost);
}

}  // namespace ukemi
