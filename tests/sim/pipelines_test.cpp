// pipelines_test.cpp — who takes over from whom, when that is fatal, and when all meet.
#include "sim/job/pipelines.hpp"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace ukemi {

namespace {

using sim::PipelineOrder;
using sim::Pipelines;

constexpr policies::Layout two_of_three{2, 3, 1};

// Machines 0 to `count` − 1 that have met once.
Pipelines met(std::uint32_t count, bool as_simulated = false) {
    Pipelines pipelines({true, 1500, 0.05, as_simulated});
    for (std::uint32_t id = 0; id < count; ++id) {
        const PipelineOrder order = pipelines.started(InstanceId{id});
        CHECK(order == (id == 0 ? PipelineOrder::meet_all : PipelineOrder::none));
    }
    CHECK(pipelines.met(true, two_of_three) ==
          (count < 3 ? PipelineOrder::stop : PipelineOrder::form));
    return pipelines;
}

std::vector<sim::PipelinePlace> places_of(const Pipelines& pipelines, std::uint32_t id) {
    for (const sim::PipelineMachine& one : pipelines.machines()) {
        if (one.id == InstanceId{id}) return one.places;
    }
    return {};
}

using Places = std::vector<sim::PipelinePlace>;

}  // namespace

TEST_CASE("pipelines: places go by age, and who is left over is a spare", "[pipelines]") {
    const Pipelines pipelines = met(8);
    CHECK(places_of(pipelines, 0) == Places{{0, 0}});
    CHECK(places_of(pipelines, 2) == Places{{0, 2}});
    CHECK(places_of(pipelines, 3) == Places{{1, 0}});
    CHECK(places_of(pipelines, 5) == Places{{1, 2}});
    CHECK(places_of(pipelines, 6).empty());
    CHECK(pipelines.counts() == records::PipelineCounts{1, 0, 0});
    CHECK(met(2).counts().meetings == 1);
}

TEST_CASE("pipelines: the machine before takes over, the last one for the first", "[pipelines]") {
    Pipelines pipelines = met(6);
    CHECK(pipelines.lost(InstanceId{1}) == PipelineOrder::slow_down);
    CHECK(places_of(pipelines, 0) == Places{{0, 0}, {0, 1}});
    CHECK(pipelines.lost(InstanceId{3}) == PipelineOrder::none);  // slow already
    CHECK(places_of(pipelines, 5) == Places{{1, 2}, {1, 0}});
    CHECK(pipelines.counts() == records::PipelineCounts{1, 2, 0});
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::meet_within);  // 2 of 4 are too many
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::form);
    CHECK(places_of(pipelines, 5) == Places{});
    CHECK(pipelines.lost(InstanceId{0}) == PipelineOrder::slow_down);
}

TEST_CASE("pipelines: two neighbours gone are fatal, in either order", "[pipelines]") {
    const std::pair<std::uint32_t, std::uint32_t> pairs[] = {{1, 2}, {2, 1}, {0, 2}, {2, 0}};
    for (const auto& [first, second] : pairs) {
        CAPTURE(first, second);
        for (const bool as_simulated : {false, true}) {
            Pipelines pipelines = met(6, as_simulated);
            CHECK(pipelines.lost(InstanceId{first}) == PipelineOrder::slow_down);
            const PipelineOrder order = pipelines.lost(InstanceId{second});
            CHECK(order == PipelineOrder::meet_all);
            CHECK(pipelines.ends(order) != as_simulated);
            CHECK(pipelines.called().size() == 4);
            CHECK(pipelines.counts() == records::PipelineCounts{1, 1, 1});
        }
    }
    Pipelines apart = met(6);  // of two pipelines
    CHECK(apart.lost(InstanceId{2}) == PipelineOrder::slow_down);
    CHECK(apart.lost(InstanceId{3}) == PipelineOrder::none);
    CHECK(apart.counts().fatal_failures == 0);
}

TEST_CASE("pipelines: who waits for more machines holds its stages, and they can be lost",
          "[pipelines]") {
    constexpr policies::Layout one_of_four{1, 4, 1};
    Pipelines waiting({true, 1500, 0.05, false});
    for (std::uint32_t id = 0; id < 4; ++id) waiting.started(InstanceId{id});
    CHECK(waiting.met(true, one_of_four) == PipelineOrder::form);
    CHECK(waiting.lost(InstanceId{0}) == PipelineOrder::slow_down);
    CHECK(waiting.stepped(one_of_four) == PipelineOrder::meet_within);
    CHECK(waiting.met(false, one_of_four) == PipelineOrder::stop);
    CHECK(places_of(waiting, 3) == Places{{0, 3}, {0, 0}});
    for (const std::uint32_t first : {1U, 3U}) {  // neighbours of the one that went
        Pipelines neighbour = waiting;
        CHECK(neighbour.ends(neighbour.lost(InstanceId{first})));
        CHECK(neighbour.counts() == records::PipelineCounts{2, 1, 1});
        CHECK(neighbour.lost(InstanceId{2}) == PipelineOrder::none);  // nothing is left to lose
    }
    CHECK(waiting.lost(InstanceId{2}) == PipelineOrder::none);
    CHECK(places_of(waiting, 1) == Places{{0, 1}, {0, 2}});
    CHECK(waiting.counts() == records::PipelineCounts{2, 2, 0});
    Pipelines more = waiting;
    CHECK(more.started(InstanceId{4}) == PipelineOrder::meet_all);
    CHECK(more.started(InstanceId{5}) == PipelineOrder::none);
    CHECK(more.met(true, one_of_four) == PipelineOrder::form);
    CHECK(places_of(more, 1) == Places{{0, 0}});
    CHECK(waiting.ends(waiting.lost(InstanceId{1})));

    Pipelines alone({true, 1500, 0.05, false});  // of one stage
    alone.started(InstanceId{0});
    CHECK(alone.met(true, {1, 1, 1}) == PipelineOrder::form);
    CHECK(alone.ends(alone.lost(InstanceId{0})));
}

TEST_CASE("pipelines: without takeovers every loss of a place is fatal", "[pipelines]") {
    Pipelines pipelines({false, 1500, 0.05, false});
    for (std::uint32_t id = 0; id < 4; ++id) pipelines.started(InstanceId{id});
    CHECK(pipelines.met(true, two_of_three) == PipelineOrder::form);
    CHECK(pipelines.lost(InstanceId{3}) == PipelineOrder::none);  // a spare
    const PipelineOrder order = pipelines.lost(InstanceId{1});
    CHECK(pipelines.ends(order));
    CHECK(pipelines.lost(InstanceId{0}) == PipelineOrder::none);  // there is nothing left to lose
    CHECK(pipelines.counts() == records::PipelineCounts{1, 0, 1});
}

TEST_CASE("pipelines: they meet for spares, for one pipeline more and for another Plan",
          "[pipelines]") {
    Pipelines pipelines = met(4);
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::none);
    CHECK(pipelines.started(InstanceId{4}) == PipelineOrder::none);
    CHECK(pipelines.started(InstanceId{5}) == PipelineOrder::none);
    CHECK(pipelines.stepped({1, 3, 1}) == PipelineOrder::none);  // one is all that is wanted
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::meet_within);
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::form);
    CHECK(pipelines.stepped({1, 3, 1}) == PipelineOrder::meet_within);
    CHECK(pipelines.met(false, {1, 3, 1}) == PipelineOrder::form);
    CHECK(pipelines.stepped({1, 2, 1}) == PipelineOrder::meet_within);  // of other stages

    Pipelines replaced = met(4);
    CHECK(replaced.lost(InstanceId{1}) == PipelineOrder::slow_down);
    CHECK(replaced.stepped(two_of_three) == PipelineOrder::meet_within);
    Pipelines many({true, 1500, 1, false});
    for (std::uint32_t id = 0; id < 3; ++id) many.started(InstanceId{id});
    many.met(true, two_of_three);
    CHECK(many.lost(InstanceId{0}) == PipelineOrder::slow_down);
    CHECK(many.stepped(two_of_three) == PipelineOrder::none);  // 2·1/2 is not above 1
}

TEST_CASE("pipelines: a spare that goes is one less, but for the simulator", "[pipelines]") {
    Pipelines pipelines = met(5);
    CHECK(pipelines.lost(InstanceId{4}) == PipelineOrder::none);
    CHECK(pipelines.started(InstanceId{5}) == PipelineOrder::none);
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::none);  // five are there
    Pipelines simulated = met(5, true);
    CHECK(simulated.lost(InstanceId{4}) == PipelineOrder::slow_down);
    CHECK(simulated.started(InstanceId{5}) == PipelineOrder::none);
    CHECK(simulated.stepped(two_of_three) == PipelineOrder::meet_within);
}

TEST_CASE("pipelines: a meeting that somebody has left begins once more", "[pipelines]") {
    Pipelines pipelines = met(7);
    CHECK(pipelines.lost(InstanceId{0}) == PipelineOrder::slow_down);
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::meet_within);
    CHECK(pipelines.lost(InstanceId{4}) == PipelineOrder::none);
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::meet_within);
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::form);
    CHECK(places_of(pipelines, 3) == Places{{0, 2}});
    CHECK(pipelines.given_back(InstanceId{6}) == PipelineOrder::none);  // a spare
    CHECK(pipelines.given_back(InstanceId{3}) == PipelineOrder::meet_within);
    CHECK(pipelines.given_back(InstanceId{5}) == PipelineOrder::none);
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::stop);
    CHECK(pipelines.waited(two_of_three) == PipelineOrder::none);
    CHECK(pipelines.waited({1, 2, 1}) == PipelineOrder::meet_all);
}

TEST_CASE("pipelines: who goes as a meeting is called is not waited for", "[pipelines]") {
    Pipelines pipelines = met(7);
    pipelines.lost(InstanceId{0});
    CHECK(pipelines.lost(InstanceId{2}) == PipelineOrder::meet_all);
    CHECK(pipelines.lost_with_others(InstanceId{4}) == PipelineOrder::meet_anew);
    CHECK_FALSE(pipelines.ends(PipelineOrder::meet_anew));  // what is lost was so before
    CHECK(pipelines.called().size() == 4);
    CHECK(pipelines.counts().fatal_failures == 1);
    CHECK(pipelines.met(true, two_of_three) == PipelineOrder::form);
    CHECK(pipelines.counts().meetings == 2);
    // One that came called it, and another goes: nothing is lost for good.
    Pipelines begun({true, 1500, 0.05, false});
    CHECK(begun.started(InstanceId{0}) == PipelineOrder::meet_all);
    CHECK(begun.started(InstanceId{1}) == PipelineOrder::none);
    CHECK(begun.lost_with_others(InstanceId{0}) == PipelineOrder::meet_anew);
    CHECK(begun.called().size() == 1);
    CHECK(begun.counts().fatal_failures == 0);
    Pipelines simulated = met(7, true);
    simulated.lost(InstanceId{0});
    CHECK(simulated.lost(InstanceId{2}) == PipelineOrder::meet_all);
    CHECK(simulated.lost_with_others(InstanceId{4}) == PipelineOrder::none);
}

TEST_CASE("pipelines: who comes as a meeting is called is of it from its begin", "[pipelines]") {
    Pipelines pipelines({true, 1500, 0.05, false});
    CHECK(pipelines.started(InstanceId{0}) == PipelineOrder::meet_all);
    CHECK(pipelines.started_with_others(InstanceId{1}) == PipelineOrder::meet_anew);
    CHECK(pipelines.called().size() == 2);
    CHECK(pipelines.started(InstanceId{2}) == PipelineOrder::none);  // later: it waits with them
    CHECK(pipelines.called().size() == 3);
    Pipelines simulated({true, 1500, 0.05, true});
    CHECK(simulated.started(InstanceId{0}) == PipelineOrder::meet_all);
    CHECK(simulated.started_with_others(InstanceId{1}) == PipelineOrder::none);
}

TEST_CASE("pipelines: of two meetings at a time the second finds nobody", "[pipelines]") {
    Pipelines pipelines = met(6, true);
    pipelines.lost(InstanceId{1});
    CHECK(pipelines.lost(InstanceId{2}) == PipelineOrder::meet_all);
    CHECK(pipelines.stepped(two_of_three) == PipelineOrder::meet_within);  // steps go on
    CHECK(pipelines.met(false, two_of_three) == PipelineOrder::form);
    CHECK(pipelines.met(true, two_of_three) == PipelineOrder::stop);
    // Places are still there, but the first stage has none before it.
    CHECK(pipelines.lost(InstanceId{0}) == PipelineOrder::none);
    CHECK(pipelines.counts().takeovers == 1);
    CHECK(pipelines.lost(InstanceId{4}) == PipelineOrder::none);
    CHECK(pipelines.counts().takeovers == 2);
    CHECK(pipelines.lost(InstanceId{3}) == PipelineOrder::meet_all);
}

TEST_CASE("pipelines: a step after a takeover, by the clock of whole milliseconds or exactly",
          "[pipelines]") {
    const sim::PipelineRules exact;
    const sim::PipelineRules whole{true, 1500, 0.05, true};
    CHECK(sim::slowed_step(whole, milliseconds(1085)) == milliseconds(1627));
    CHECK(sim::slowed_step(exact, milliseconds(1085)) == nanoseconds(1'627'500'000));
    CHECK(sim::slowed_more(whole, milliseconds(7)) == milliseconds(3));
    CHECK(sim::slowed_more(exact, milliseconds(7)) == nanoseconds(3'500'000));
}

}  // namespace ukemi
