// crew_change_test.cpp — what a running group may change: each at one boundary, on all members.
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

// Digest of the replica after a history of memberships and steps.
std::uint64_t digest_after(const std::vector<std::pair<std::vector<InstanceId>, int>>& history,
                           const std::vector<InstanceId>& workers) {
    CrewRig rig;
    rig.spawn(workers);
    std::int64_t step = 0;
    std::uint32_t version = 0;
    for (const auto& [members, steps] : history) {
        rig.enter(members, plan_of(++version));
        rig.train_to(step += steps);
    }
    return rig.enter(history.back().first, plan_of(++version)).digest;
}

}  // namespace

TEST_CASE("crew: a newcomer gets the state from a member and the group trains on", "[live]") {
    CrewRig rig;
    rig.spawn(ids({1, 2, 3}));
    rig.enter(ids({1, 2}), plan_of(1));
    rig.train_to(10);
    const runtime::GroupEntered grown = rig.enter(ids({1, 2, 3}), plan_of(2));
    CHECK(grown.group_changed);
    CHECK(grown.step == 10);
    CHECK(grown.position == 10 * 2 * 4);
    rig.train_to(20);
    CHECK(rig.steps().back().position == 10 * 2 * 4 + 10 * 3 * 4);
    // The newcomer alone goes on: it has everything.
    const runtime::GroupEntered alone = rig.enter(ids({3}), plan_of(3));
    CHECK(alone.step == 20);
    rig.train_to(25);
    // Rank 0 may be a newcomer; the state comes from a holder, whatever its rank.
    const runtime::GroupEntered back = rig.enter(ids({1, 3, 2}), plan_of(4));
    CHECK(back.step == 25);
    rig.train_to(30);
    CHECK(rig.steps().size() == 30);
}

TEST_CASE("crew: every knob of the Plan turns at one boundary on all members", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    policies::Plan plan = plan_of(1);
    rig.enter(ids({0, 1, 2}), plan);
    std::int64_t step = 0;
    const auto change = [&](auto&& turn, std::int64_t samples) {
        plan.version = PlanVersion{index_of(plan.version) + 1};
        turn(plan);
        const runtime::GroupEntered entered = rig.enter(ids({0, 1, 2}), plan);
        CHECK_FALSE(entered.group_changed);
        CHECK(entered.epoch == 1);
        CHECK(entered.version == plan.version);
        rig.train_to(step += 4);
        const runtime::StepDone last = rig.steps().back();
        CHECK(last.report.samples == samples);
        for (const kernels::StepWord& word : last.report.words) {
            CHECK(word.plan_version == index_of(plan.version));
        }
    };
    rig.train_to(step += 4);
    change([](policies::Plan& p) { p.batch_per_learner = 8; }, 24);
    change([](policies::Plan& p) { p.learning_rate = 0.02; }, 24);
    change([](policies::Plan& p) { p.accumulation = 2; }, 48);
    change([](policies::Plan& p) { p.collective = policies::Collective::ring; }, 48);
    change([](policies::Plan& p) { p.collective = policies::Collective::star; }, 48);
    change([](policies::Plan& p) { p.global_batch = 31; }, 31);
    change(
        [](policies::Plan& p) {
            p.synchronisation = policies::Synchronisation::synchronous_averaging;
        },
        31);
    change([](policies::Plan& p) { p.synchronisation = policies::Synchronisation::pair_averaging; },
           31);
    change([](policies::Plan& p) { p.synchronisation = policies::Synchronisation::s_sgd; }, 31);
    // S-SGD again: the digests of all are compared here.
    plan.version = PlanVersion{99};
    CHECK(rig.enter(ids({0, 1, 2}), plan).step == step);
}

TEST_CASE("crew: the codec changes at one boundary on all members, with exact bytes", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    policies::Plan plan = plan_of(1);
    rig.enter(ids({0, 1}), plan);
    std::int64_t step = 0;
    // 12 · 16 + 16 and 16 · 4 + 4 numbers.
    const auto train_with = [&](policies::Codec codec, double level, std::int64_t bytes) {
        CAPTURE(policies::codec_names()[static_cast<std::size_t>(codec)]);
        plan.version = PlanVersion{index_of(plan.version) + 1};
        plan.codec = codec;
        plan.codec_level = level;
        CHECK_FALSE(rig.enter(ids({0, 1}), plan).group_changed);  // where all digests are compared
        rig.train_to(step += 5);
        const runtime::StepDone last = rig.steps().back();
        for (const kernels::StepWord& word : last.report.words) {
            CHECK(word.sent_bytes == bytes);
            CHECK(word.plan_version == index_of(plan.version));
        }
    };
    train_with(policies::Codec::none, 0, 4 * 276);
    train_with(policies::Codec::fp16, 0, 2 * 276);
    train_with(policies::Codec::power_sgd, 1, 4 * (16 + 12 + 16 + 4 + 16 + 4));
    train_with(policies::Codec::top_k, 0.25, 8 * (48 + 4 + 16 + 1));
    train_with(policies::Codec::qsgd, 0, 276 + 4 * 4);
    // A newcomer takes part in the warm start, and the group stays equal.
    train_with(policies::Codec::power_sgd, 2, 4 * (2 * (16 + 12) + 16 + 2 * (16 + 4) + 4));
    plan.version = PlanVersion{50};
    CHECK(rig.enter(ids({0, 1, 2}), plan).group_changed);
    rig.train_to(step += 5);
    plan.version = PlanVersion{51};
    CHECK(rig.enter(ids({0, 1, 2}), plan).step == step);
}

TEST_CASE("crew: losing a member under a codec loses no committed step", "[live]") {
    const policies::Codec codec = GENERATE(policies::Codec::power_sgd, policies::Codec::top_k);
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    policies::Plan plan = plan_of(1);
    plan.codec = codec;
    rig.enter(ids({0, 1, 2}), plan);
    rig.crew.run();
    rig.look(30ms);
    rig.crew.kill(InstanceId{2});
    rig.expect<runtime::WorkerDied>();
    plan.version = PlanVersion{2};
    const runtime::GroupEntered entered = rig.enter(ids({0, 1}), plan);  // survivors are equal
    CHECK(entered.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(entered.step + 5);
    plan.version = PlanVersion{3};
    CHECK(rig.enter(ids({0, 1}), plan).step == entered.step + 5);
}

TEST_CASE("crew: a hold stops all members at one boundary while they run freely", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1, 2}), plan_of(1));
    std::int64_t step = 0;
    for (std::uint32_t round = 0; round < 8; ++round) {
        rig.crew.run();
        rig.look(10ms);
        rig.crew.hold();
        const runtime::GroupHeld held = rig.expect<runtime::GroupHeld>();
        CHECK(held.step >= step);
        CHECK(rig.steps().size() == static_cast<std::size_t>(held.step));
        step = held.step;
        if (round % 2 == 0) CHECK(rig.enter(ids({0, 1, 2}), plan_of(2 + round)).step == step);
    }
    CHECK(step > 0);
    // A held group is held: asking again answers again.
    rig.crew.hold();
    CHECK(rig.expect<runtime::GroupHeld>().step == step);
}

TEST_CASE("crew: a limit may grow while the group runs", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    for (std::int64_t limit = 1; limit <= 60; ++limit) {
        rig.crew.run_until(limit);
        rig.look(0ms);
    }
    while (rig.steps().size() < 60) REQUIRE(rig.await<runtime::StepDone>().has_value());
    rig.crew.hold();
    CHECK(rig.expect<runtime::GroupHeld>().step == 60);
}

TEST_CASE("crew: a Plan that cannot be trained changes nothing", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(3);
    policies::Plan bad = plan_of(2);
    bad.codec = policies::Codec::sign;
    bad.codec_level = 3;
    rig.crew.begin_transition(ids({0, 1}), bad);
    CHECK(rig.expect<runtime::TransitionFailed>().why.find("sign has no level") !=
          std::string::npos);
    rig.train_to(6);  // under the old Plan, in the old epoch
    CHECK(rig.steps().back().report.words.at(1).plan_version == 1);
}

TEST_CASE("crew: a dismissed worker leaves by itself and is reaped", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(3);
    rig.enter(ids({0}), plan_of(2));
    rig.crew.dismiss(InstanceId{1});
    const runtime::WorkerDied died = rig.expect<runtime::WorkerDied>();
    CHECK(died.worker == InstanceId{1});
    CHECK(died.expected);
    CHECK_FALSE(died.was_member);
    CHECK(died.why == "ended with status 0");
    CHECK(rig.crew.process_of(InstanceId{1}) == -1);
    rig.train_to(6);
}

TEST_CASE("crew: equal seeds and membership histories give equal weights", "[live][property]") {
    const std::vector<std::pair<std::vector<InstanceId>, int>> history{
        {ids({0, 1}), 7}, {ids({0, 1, 2}), 5}, {ids({2, 1}), 6}};
    const std::uint64_t once = digest_after(history, ids({0, 1, 2}));
    CHECK(digest_after(history, ids({0, 1, 2})) == once);
    // Who the ranks are is nobody's business.
    const std::vector<std::pair<std::vector<InstanceId>, int>> renamed{
        {ids({5, 4}), 7}, {ids({5, 4, 6}), 5}, {ids({6, 4}), 6}};
    CHECK(digest_after(renamed, ids({4, 5, 6})) == once);
    const std::vector<std::pair<std::vector<InstanceId>, int>> other{
        {ids({0, 1}), 6}, {ids({0, 1, 2}), 6}, {ids({2, 1}), 6}};
    CHECK(digest_after(other, ids({0, 1, 2})) != once);
}

}  // namespace ukemi
