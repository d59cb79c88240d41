// pipeline_group_test.cpp — what pipelines order, carried out on machines by hand.
#include "sim/job/pipeline_group.hpp"

#include <catch2/catch.hpp>

#include "tests/sim/run_by_hand.hpp"

namespace ukemi {

namespace {

using sim::PipelineOrder;
using Told = std::vector<std::string>;

sim::MarketData machines_for_all() {
    return market({zone("only", capacity({{minutes(0), 8}}, hours(2)), price(1.0))});
}

// Two pipelines of two stages; a meeting of all takes 4 s, one among those that are well 2 s.
sim::JobSpec two_of_two() {
    sim::JobSpec spec = job(nanoseconds(10), 1, 5);
    spec.profile.restart = whole_seconds(4);
    spec.profile.resize = whole_seconds(2);
    spec.plan.layout = {2, 2, 1};
    spec.pipelines = sim::PipelineRules{true, 1500, 2, false};
    return spec;
}

struct Rig : sim::GroupKeeper {
    Rig() : run(data, two_of_two()), group(run.parts(), *this) {}

    void disband() override { told.emplace_back("disband"); }
    void form(std::vector<sim::Instance*>& members) override {
        told.push_back("form" + names_of(members));
        run.ledger.elapse(run.queue.now(), records::Cause::idle);  // as a trainer that stops does
        for (sim::Instance* one : members) {
            one->member = true;
            run.ledger.join(one->lease, run.queue.now());
        }
        run.trainer.at = policies::JobPhase::running;
    }
    void gather(std::span<sim::Instance* const> called,
                const records::PhaseTimes& phases) override {
        told.push_back(fmt::format("gather{} for {} s", names_of(called),
                                   to_seconds(records::sum_of(phases))));
        run.trainer.at = policies::JobPhase::transition;
    }
    static std::string names_of(std::span<sim::Instance* const> members) {
        std::string text;
        for (const sim::Instance* one : members)
            text += fmt::format(" {}", ukemi::index_of(one->id));
        return text;
    }
    sim::Instance& machine(std::uint32_t id) { return *run.fleet.find(InstanceId{id}); }
    // So many that can take places.
    void start(int count) {
        for (int i = 0; i < count; ++i) {
            run.fleet.launch(ZoneId{0}, policies::Market::spot, {}, run.queue.now());
            sim::Instance& newest = run.fleet.instances().back();
            newest.started = true;
            group.started(newest);
        }
    }
    bool meet() { return group.met(std::get<sim::MeetingOver>(run.pop().event)); }
    Told take() { return std::exchange(told, {}); }

    sim::MarketData data = machines_for_all();
    Told told;
    RunByHand run;
    sim::PipelineGroup group;
};

}  // namespace

TEST_CASE("pipeline group: the first machine calls a meeting, after which whole pipelines train",
          "[pipelines]") {
    Rig rig;
    rig.start(5);
    // Each that comes at that moment is of the meeting from its begin.
    const Told told = rig.take();
    CHECK(told == Told{"disband", "gather 0 for 4 s", "disband", "gather 0 1 for 4 s", "disband",
                       "gather 0 1 2 for 4 s", "disband", "gather 0 1 2 3 for 4 s", "disband",
                       "gather 0 1 2 3 4 for 4 s"});
    CHECK_FALSE(rig.group.meeting_ends_now());
    CHECK(rig.run.queue.next_at() == at(whole_seconds(4)));
    CHECK(rig.meet());
    CHECK(rig.take() == Told{"form 0 1 2 3"});
    CHECK(rig.run.trainer.told == Told{"tear"});
    CHECK_FALSE(rig.group.meeting_ends_now());
    CHECK(rig.group.counts().meetings == 1);
}

TEST_CASE("pipeline group: a neighbour takes over, and the loss of two neighbours ends the steps",
          "[pipelines]") {
    Rig rig;
    rig.start(4);
    rig.meet();
    rig.take();
    rig.run.trainer.told.clear();
    const PipelineOrder first = rig.group.lost(rig.machine(1));
    CHECK(first == PipelineOrder::slow_down);
    CHECK_FALSE(rig.group.ends(first));
    CHECK_FALSE(rig.machine(1).member);
    CHECK(rig.run.trainer.told == Told{"go on slowed without a member"});
    CHECK(rig.take().empty());
    rig.run.fleet.release(InstanceId{1}, rig.run.queue.now());
    const PipelineOrder second = rig.group.lost(rig.machine(0));
    CHECK(rig.group.ends(second));
    CHECK(rig.take() == Told{"disband"});
    CHECK(rig.group.counts().fatal_failures == 1);
}

TEST_CASE("pipeline group: the model is lost with the second of two neighbours", "[pipelines]") {
    Rig rig;
    rig.start(4);
    rig.meet();
    CHECK(rig.group.model_lost_at() == Instant::never());
    rig.machine(0).lost_at = at(minutes(9));
    CHECK(rig.group.model_lost_at() == Instant::never());
    rig.machine(1).lost_at = at(minutes(5));
    CHECK(rig.group.model_lost_at() == at(minutes(9)));
    CHECK(rig.group.counts().takeovers == 0);  // it was tried on a copy
}

TEST_CASE("pipeline group: when the run is over nothing is carried out any more", "[pipelines]") {
    Rig rig;
    rig.group.end();
    rig.start(1);
    CHECK(rig.take().empty());
    CHECK(rig.run.queue.empty());
}

}  // namespace ukemi
