// morph_pipelines_test.cpp — the pair of stages and pipelines whose step is the shortest.
#include <catch2/catch.hpp>

#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Steps of a batch of 64: of two stages with one to three pipelines, of four with one and two.
Situation in_pipelines() {
    Situation job;
    job.profile.pipelines = {{2, {seconds(10), seconds(6), seconds(5)}},
                             {4, {seconds(7), seconds(4)}}};
    job.plan.layout = {3, 2, 1};
    job.plan.workers_max = 8;
    job.plan.global_batch = 64;
    return job;
}

std::optional<Layout> chosen(Situation& job, Policy& policy, std::int32_t machines) {
    job.seen.spot_held = machines;
    return job.ask(policy, EventKind::instances_ready).layout;
}

}  // namespace

TEST_CASE("morph_pipelines: of all that fit the shortest step", "[morph_pipelines]") {
    Situation job = in_pipelines();
    const auto policy = policy_named("morph_pipelines");
    CHECK(policy->knobs() == KnobSet{Knob::layout});
    // Eight machines: 2 x 4 stages take 4 s, 3 x 2 of them 5 s.
    CHECK(job.ask_before_train(*policy).layout == Layout{2, 4, 1});
    CHECK(chosen(job, *policy, 8) == Layout{2, 4, 1});
    // Seven: one pipeline of four takes 7 s, three of two 5 s: the Plan has them.
    CHECK_FALSE(chosen(job, *policy, 7));
    CHECK_FALSE(chosen(job, *policy, 6));
    // Five and four: two of two, 6 s; three: one of two.
    CHECK(chosen(job, *policy, 5) == Layout{2, 2, 1});
    CHECK(chosen(job, *policy, 4) == Layout{2, 2, 1});
    CHECK(chosen(job, *policy, 3) == Layout{1, 2, 1});
    // One is too few for any: nothing is wished. More than the Plan may hold do not count.
    CHECK_FALSE(chosen(job, *policy, 1));
    CHECK_FALSE(chosen(job, *policy, 0));
    job.plan.workers_max = 5;
    CHECK(chosen(job, *policy, 8) == Layout{2, 2, 1});
}

TEST_CASE("morph_pipelines: more pipelines are not taken where they are slower",
          "[morph_pipelines]") {
    Situation job = in_pipelines();
    const auto policy = policy_named("morph_pipelines");
    job.profile.pipelines = {{2, {seconds(10), seconds(6), seconds(8)}}};
    CHECK(chosen(job, *policy, 8) == Layout{2, 2, 1});
    // As fast on fewer machines is better.
    job.profile.pipelines = {{2, {seconds(10), seconds(6)}}, {3, {seconds(6)}}};
    CHECK(chosen(job, *policy, 8) == Layout{1, 3, 1});
    // On-demand machines count as well.
    job.seen.on_demand_held = 1;
    CHECK(chosen(job, *policy, 2) == Layout{1, 3, 1});
    // A job of one depth: nothing to choose.
    job.profile.pipelines.clear();
    CHECK_FALSE(chosen(job, *policy, 8));
}
