// pipelines_world_test.cpp — a World whose job trains in pipelines: takeovers, fatal failures and
// meetings by hand, on machines that are lost one by one.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// So many machines from zero on, of which some are lost.
sim::MarketData losing(std::int32_t count,
                       const std::vector<std::pair<std::uint32_t, Duration>>& losses,
                       Duration notice = {}) {
    std::vector<std::pair<Duration, std::int32_t>> steps{{Duration{}, count}};
    sim::RecordedGroup group;
    group.machines.resize(static_cast<std::size_t>(count));
    for (const auto& [machine, when] : losses) {
        group.machines[machine].until = at(when);
        group.losses.push_back(machine);
        const std::int32_t left = steps.back().second - 1;
        if (steps.back().first == when) steps.pop_back();
        steps.emplace_back(when, left);
    }
    sim::ZoneData only = zone("only", capacity(steps, hours(1)), price(1.0));
    only.machines = std::move(group);
    sim::MarketData data;
    data.zones.push_back(std::move(only));
    data.after_last_row = sim::AfterLastRow::hold;
    data.notice = notice;
    sim::prepare(data);
    return data;
}

// Pipelines of two stages, whose steps take 10 s with one and 6 s with two of them. A meeting of
// all takes 4 s, one among those that are well 2 s.
sim::JobSpec job_in_pipelines(std::int32_t machines, std::int64_t steps) {
    sim::JobSpec spec = job(nanoseconds(steps), 1, machines);
    spec.samples_per_epoch = steps;
    spec.profile.throughput = {
        {2, {1, whole_seconds(10)}}, {3, {1, whole_seconds(10)}}, {4, {1, whole_seconds(6)}}};
    spec.profile.restart = whole_seconds(4);
    spec.profile.resize = whole_seconds(2);
    spec.plan.layout = {2, 2, 1};
    spec.pipelines = sim::PipelineRules{true, 1500, 2, false};
    return spec;
}

}  // namespace

TEST_CASE("world: a takeover slows the rest of the step in progress and the steps after it",
          "[world][pipelines]") {
    // The meeting is over at 4 s. Of the step from 14 s to 24 s, 5 s are left when its machine
    // goes.
    const auto result = run(losing(2, {{1, whole_seconds(19)}}), job_in_pipelines(2, 4), {});
    CHECK(result.finished);
    CHECK(result.duration == seconds(26.5 + 2 * 15));
    CHECK(result.pipelines == records::PipelineCounts{1, 1, 0});
    CHECK(result.trained == std::pair(whole_seconds(4), seconds(56.5)));
    CHECK(result.causes.time_of(records::Cause::wasted) == whole_seconds(5));
    CHECK(result.causes.time_of(records::Cause::transition) == whole_seconds(8));
    CHECK(result.causes.time_of(records::Cause::useful) == seconds(52.5 + 10));
    CHECK(result.transitions == 1);
}

TEST_CASE("world: two takeovers within a step slow it once", "[world][pipelines]") {
    // Two pipelines; one machine of each is lost: 4 + 6 s, then 1 s of 6 is left and 0.5 s more.
    const auto result =
        run(losing(4, {{0, whole_seconds(15)}, {2, seconds(15.5)}}), job_in_pipelines(4, 3), {});
    CHECK(result.pipelines == records::PipelineCounts{1, 2, 0});
    CHECK(result.duration == seconds(16.5 + 9));
}

TEST_CASE("world: neighbours lost together end the steps and what no checkpoint has",
          "[world][pipelines]") {
    const sim::MarketData market_data = losing(4, {{0, whole_seconds(15)}, {1, whole_seconds(15)}});
    sim::JobSpec lossless = job_in_pipelines(4, 3);
    const auto kept = run(market_data, lossless, {});
    CHECK(kept.pipelines == records::PipelineCounts{2, 1, 1});
    CHECK(kept.duration == whole_seconds(15 + 4 + 2 * 10));  // one step was made
    sim::JobSpec saved = lossless;
    saved.profile.lossless = false;
    const auto lost = run(market_data, saved, {});
    CHECK(lost.pipelines == records::PipelineCounts{2, 1, 1});
    CHECK(lost.duration == whole_seconds(15 + 4 + 3 * 10));  // and is made again
    CHECK(lost.causes.time_of(records::Cause::redone) == whole_seconds(2 * 10));
    sim::JobSpec no_shadows = saved;
    no_shadows.pipelines->takes_over = false;
    const auto strawman = run(losing(4, {{0, whole_seconds(15)}}), no_shadows, {});
    CHECK(strawman.pipelines == records::PipelineCounts{2, 0, 1});
    CHECK(strawman.duration == whole_seconds(15 + 4 + 3 * 10));
    // The second of two that go at one moment is not on the list of the meeting.
    const auto two = run(market_data, no_shadows, {});
    CHECK(two.pipelines == records::PipelineCounts{2, 0, 1});
    CHECK(two.duration == strawman.duration);
}

TEST_CASE("world: what those who wait for more machines hold can be lost", "[world][pipelines]") {
    // A step is made at 14 s; of the one to 26.5 s both stages are the other's, who waits alone.
    sim::JobSpec spec = job_in_pipelines(2, 4);
    spec.pipelines->overloaded_max = 0.05;
    spec.profile.lossless = false;
    const auto losses = {std::pair(1U, whole_seconds(19)), std::pair(0U, whole_seconds(60))};
    const auto result = run(losing(2, losses), spec, {});
    CHECK_FALSE(result.finished);
    CHECK(result.pipelines->takeovers == 1);
    CHECK(result.pipelines->fatal_failures == 1);
    const auto kept = run(losing(2, {{1, whole_seconds(19)}}), spec, {});
    CHECK(kept.pipelines->fatal_failures == 0);
}

TEST_CASE("world: of neighbours whose loss is announced the work is saved before",
          "[world][pipelines]") {
    const auto notice = whole_seconds(12);
    const std::vector<std::pair<std::uint32_t, Duration>> both{{0, whole_seconds(25)},
                                                               {1, whole_seconds(27)}};
    sim::JobSpec spec = job_in_pipelines(4, 5);
    spec.profile.lossless = false;
    spec.profile.checkpoint = whole_seconds(2);
    spec.plan.checkpoint_on_notice = true;
    const auto saved = run(losing(4, both, notice), spec, {});
    CHECK(saved.checkpoints == 1);
    CHECK(saved.pipelines->fatal_failures == 1);
    CHECK(saved.causes.time_of(records::Cause::redone) == Duration{});
    // One that a neighbour takes over from needs no checkpoint.
    const auto one = run(losing(4, {both.front()}, notice), spec, {});
    CHECK(one.checkpoints == 0);
    CHECK(one.pipelines == records::PipelineCounts{1, 1, 0});
}

TEST_CASE("world: in the simulator's way the steps go on until the meeting is over",
          "[world][pipelines]") {
    sim::JobSpec spec = job_in_pipelines(4, 3);
    spec.pipelines->as_simulated = true;
    // Steps end at 10 and 16 s, the meeting of 15 s at 19 s: two steps are made before it.
    const auto result = run(losing(4, {{0, whole_seconds(15)}, {1, whole_seconds(15)}}), spec, {});
    CHECK(result.pipelines->fatal_failures == 1);
    CHECK(result.duration > whole_seconds(19));
    CHECK(result.steps == 3);
}

TEST_CASE("world: a step that ends as a meeting does is not made, whatever else happens then",
          "[world][pipelines]") {
    sim::JobSpec spec = job_in_pipelines(8, 3);
    spec.profile.throughput = {{2, {1, whole_seconds(1)}}, {4, {1, whole_seconds(6)}}};
    spec.pipelines->as_simulated = true;
    spec.profile.spawn = whole_seconds(45);
    // Steps of two pipelines end at 55 and 61 s, when the meeting of 57 s does. The one pipeline
    // that is left then would end its first step at 62 s; so does the meeting of 58 s, and a
    // machine that has not started yet is lost.
    sim::MarketData data = losing(8, {{0, whole_seconds(57)},
                                      {1, whole_seconds(57)},
                                      {2, whole_seconds(58)},
                                      {3, whole_seconds(58)},
                                      {7, whole_seconds(62)}});
    sim::ZoneData& only = data.zones.front();
    only.capacity.steps.front().value = 7;
    only.capacity.steps.insert(only.capacity.steps.begin() + 1, {at(whole_seconds(50)), 8});
    only.machines.machines[7].from = at(whole_seconds(50));
    sim::prepare(data);
    const auto result = run(data, spec, {});
    CHECK(result.pipelines == records::PipelineCounts{3, 2, 2});
    CHECK(result.steps == 1);
    CHECK(result.trained == std::pair(whole_seconds(49), whole_seconds(55)));
    CHECK_FALSE(result.finished);  // nobody comes any more
}

TEST_CASE("world: a machine that is added makes one pipeline more", "[world][pipelines]") {
    sim::MarketData data = losing(4, {});
    sim::ZoneData& only = data.zones.front();
    only.capacity = capacity({{Duration{}, 3}, {whole_seconds(11), 4}}, hours(1));
    only.machines.machines[3].from = at(whole_seconds(11));
    sim::prepare(data);
    // The step that ends at 14 s is the last with one pipeline; 2 s later there are two.
    const auto result = run(data, job_in_pipelines(4, 4), {});
    CHECK(result.pipelines == records::PipelineCounts{2, 0, 0});
    CHECK(result.duration == whole_seconds(16 + 3 * 6));
    CHECK(result.transitions == 2);
}

TEST_CASE("world: recorded machines are announced, and nothing is launched on one that goes",
          "[world][pipelines]") {
    const auto result =
        run(losing(2, {{1, whole_seconds(19)}}, whole_seconds(10)), job_in_pipelines(2, 4), {});
    CHECK(result.duration == seconds(26.5 + 2 * 15));
    CHECK(result.launches == 2);
    CHECK(result.revocations == 1);
}

}  // namespace ukemi
