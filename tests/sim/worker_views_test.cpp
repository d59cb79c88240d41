// worker_views_test.cpp — what policies are shown of workers, and what nobody knows of them.
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// Keeps the last views of a group that trained.
class Looker final : public policies::Policy {
public:
    Looker(bool looks, std::vector<policies::WorkerView>& kept) : looks_(looks), kept_(&kept) {}
    std::string_view name() const override { return "looker"; }
    policies::KnobSet knobs() const override { return {}; }
    policies::HookSet hooks() const override { return {policies::Hook::after_step}; }
    bool looks_at_workers() const override { return looks_; }
    policies::Decision after_step(const policies::PolicyView& view) override {
        if (view.seen.workers > 0) *kept_ = view.seen.worker_views;
        return {};
    }

private:
    bool looks_;
    std::vector<policies::WorkerView>* kept_;
};

std::vector<policies::WorkerView> shown(const sim::JobSpec& spec, bool looks,
                                        std::vector<std::int32_t> speeds = {}) {
    sim::MarketData data = market({zone("a", capacity({{minutes(0), 9}}, hours(99)), price(1))});
    data.rules.machine_speeds = std::move(speeds);
    sim::prepare(data);
    std::vector<policies::WorkerView> kept;
    sim::WorldSetup world_setup = setup(data, spec);
    world_setup.policies.push_back(std::make_unique<Looker>(looks, kept));
    sim::World world(std::move(world_setup));
    CHECK(world.run().finished);
    return kept;
}

sim::JobSpec pair_of_workers() {
    sim::JobSpec spec = job(hours(1), 2, 2);
    spec.samples_total = 100;
    spec.plan.global_batch = 10;
    spec.profile.throughput = {{1, {1, whole_seconds(4)}}};
    return spec;
}

}  // namespace

TEST_CASE("worker views: a table of whole steps knows how long they took, and no more",
          "[worker_views]") {
    const sim::JobSpec spec = pair_of_workers();
    CHECK(shown(spec, false).empty());
    const std::vector<policies::WorkerView> views = shown(spec, true);
    REQUIRE(views.size() == 2);
    for (const policies::WorkerView& one : views) {
        CHECK(one == policies::WorkerView{one.instance, whole_seconds(4), {}, {}, {}});
    }
}

TEST_CASE("worker views: where machines differ a whole step is computing, so that the slow show",
          "[worker_views]") {
    const std::vector<policies::WorkerView> views = shown(pair_of_workers(), false, {500, 1000});
    REQUIRE(views.size() == 2);
    CHECK(views[0] ==
          policies::WorkerView{views[0].instance, whole_seconds(8), whole_seconds(8), {}, {}});
    CHECK(views[1].compute == whole_seconds(4));
    CHECK(views[1].exposed_communication == whole_seconds(4));
}

TEST_CASE("worker views: a step of known parts shows them, of each worker its own",
          "[worker_views]") {
    sim::JobSpec spec = pair_of_workers();
    spec.profile.step_time = policies::StepTime{};
    spec.profile.step_time->compute = {{5, whole_seconds(3)}};
    spec.profile.step_time->synchronisation = {{2, whole_seconds(1)}};
    const std::vector<policies::WorkerView> views = shown(spec, true);
    REQUIRE(views.size() == 2);
    for (const policies::WorkerView& one : views) {
        CHECK(one.compute == whole_seconds(3));
        CHECK(one.exposed_communication == whole_seconds(1));
    }
    // The whole step goes with the slowest; the other one waits for it.
    const std::vector<policies::WorkerView> uneven = shown(spec, true, {500, 1000});
    REQUIRE(uneven.size() == 2);
    CHECK(uneven[0].step == whole_seconds(8));
    CHECK(uneven[0].compute == whole_seconds(6));
    CHECK(uneven[1].compute == whole_seconds(3));
    CHECK(uneven[1].exposed_communication == whole_seconds(5));
}

}  // namespace ukemi
