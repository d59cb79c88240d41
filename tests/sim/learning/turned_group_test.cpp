// turned_group_test.cpp — what a group keeps and drops when its codec, its synchronisation or its
// size changes between two steps, worked out by hand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/sim/learning/small_tasks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

std::shared_ptr<const RealTask> small_task(bool error_feedback, std::string_view rule = "s_sgd") {
    SynchronisationSettings settings;
    settings.rule = rule;
    settings.error_feedback = error_feedback;
    return task_of(synthetic_data(), {.model = {"mlp", {8}}, .synchronisation = settings});
}

LearningStep with(std::int32_t learners, Codec codec, double level,
                  Synchronisation synchronisation = Synchronisation::s_sgd) {
    return {32, 0.2, learners, 1, synchronisation, codec, level};
}
const LearningStep lossy = with(4, Codec::top_k, 0.05);

GroupState after_lossy_steps(const RealTask& task) {
    GroupStep group(task, 1);
    GroupState state = first_state(task, 1);
    for (int i = 0; i < 10; ++i) take_step(state, group, lossy);
    return state;
}

// A step without a codec by so many learners: the mean gradient, and the mean of what was kept.
std::vector<float> with_kept(const RealTask& task, const GroupState& before,
                             std::int32_t learners) {
    GroupStep group(task, 1);
    GroupState copy = before;
    group.begin({32, 0.2, learners, 1}, before.steps, before.position);
    const auto mean = group.mean_gradient(before.common, copy);
    std::vector<float> gradient(mean.begin(), mean.end());
    for (std::size_t learner = 0; learner < before.kept.size(); ++learner) {
        if (static_cast<std::int32_t>(learner) >= learners) break;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            gradient[i] += before.kept[learner][i] / static_cast<float>(learners);
        }
    }
    std::vector<float> weights = before.common;
    std::vector<float> velocity = before.velocity;
    local_step(group.rule(), gradient, weights, velocity);
    return weights;
}

}  // namespace

TEST_CASE("turned group: what was kept joins the next gradient, codec or none", "[learning]") {
    const auto task = small_task(true);
    const GroupState before = after_lossy_steps(*task);
    REQUIRE(before.kept.size() == 4);
    CHECK(squared_norm(before.kept.front()) > 0);
    GroupStep group(*task, 1);
    GroupState none = before;
    take_step(none, group, with(4, Codec::none, 0));
    CHECK(none.common == with_kept(*task, before, 4));
    CHECK(none.kept.empty());
    CHECK(none.codec_error == 0);
    // fp16 loses next to nothing of it, so it arrives nearly whole.
    GroupState half = before;
    take_step(half, group, with(4, Codec::fp16, 0));
    for (std::size_t i = 0; i < half.common.size(); ++i) {
        REQUIRE(half.common[i] == Approx(none.common[i]).margin(1e-4));
    }
    CHECK(half.kept.size() == 4);
    // What does not contract keeps nothing, and takes along what there was.
    GroupState unbiased = before;
    take_step(unbiased, group, with(4, Codec::qsgd, 0));
    CHECK(unbiased.kept.empty());
}

TEST_CASE("turned group: who stays keeps the rest of its gradients, who joins has none",
          "[learning]") {
    const auto task = small_task(true);
    const GroupState before = after_lossy_steps(*task);
    GroupStep group(*task, 1);
    for (const std::int32_t learners : {2, 6}) {
        GroupState state = before;
        take_step(state, group, with(learners, Codec::none, 0));
        CHECK(state.common == with_kept(*task, before, learners));
        GroupState lossy_still = before;
        take_step(lossy_still, group, with(learners, Codec::top_k, 0.05));
        CHECK(std::ssize(lossy_still.kept) == learners);
    }
}

TEST_CASE("turned group: who takes the place of another has nothing of the other's", "[learning]") {
    const auto task = small_task(true);
    GroupStep group(*task, 1);
    const auto members = [](std::vector<std::uint32_t> numbers) {
        std::vector<InstanceId> ids;
        for (const std::uint32_t number : numbers) ids.push_back(InstanceId{number});
        return std::make_shared<const std::vector<InstanceId>>(std::move(ids));
    };
    LearningStep coded = with(4, Codec::top_k, 0.05);
    coded.members = members({1, 2, 3, 4});
    GroupState state = first_state(*task, 1);
    for (int i = 0; i < 5; ++i) take_step(state, group, coded);
    REQUIRE(state.kept.size() == 4);
    // By hand: worker 4 is rank 0 now, worker 2 has gone, and 9 is new.
    GroupState by_hand = state;
    by_hand.members = nullptr;
    by_hand.kept = {state.kept[3], state.kept[0], std::vector<float>(state.common.size(), 0.0F),
                    state.kept[2]};
    take_step(by_hand, group, with(4, Codec::top_k, 0.05));
    coded.members = members({4, 1, 9, 3});
    take_step(state, group, coded);
    CHECK(state.common == by_hand.common);
    CHECK(state.kept == by_hand.kept);
    // The same workers in another order are the same group.
    LearningStep averaging = with(4, Codec::none, 0, Synchronisation::synchronous_averaging);
    averaging.members = members({4, 1, 9, 3});
    for (int i = 0; i < 3; ++i) take_step(state, group, averaging);
    GroupState others = state;
    CHECK_FALSE(state.noise.noise_scale());  // of gradients at one model: not measured any more
    averaging.learning_rate = 0;
    averaging.members = members({4, 1, 8, 3});
    take_step(others, group, averaging);
    for (const GroupState::Learner& one : others.learners) CHECK(one.weights == state.common);
}

TEST_CASE("turned group: error feedback is the scenario's, and rules that send models drop it",
          "[learning]") {
    const GroupState without = after_lossy_steps(*small_task(false));
    CHECK(without.kept.empty());
    const auto task = small_task(true);
    GroupState state = after_lossy_steps(*task);
    GroupStep group(*task, 1);
    take_step(state, group, with(4, Codec::none, 0, Synchronisation::synchronous_averaging));
    CHECK(state.kept.empty());
}

TEST_CASE("turned group: a warm start is its codec's own", "[learning]") {
    const auto task = small_task(false);
    GroupStep group(*task, 1);
    GroupState state = first_state(*task, 1);
    const LearningStep rank_2 = with(4, Codec::power_sgd, 2);
    for (int i = 0; i < 5; ++i) take_step(state, group, rank_2);
    REQUIRE_FALSE(state.codec_shared.empty());
    GroupState fewer = state;
    take_step(fewer, group, with(2, Codec::power_sgd, 2));  // another group goes on with it
    CHECK(fewer.codec_shared.size() == state.codec_shared.size());
    take_step(state, group, with(4, Codec::power_sgd, 1));
    CHECK(state.codec_shared.size() * 2 == fewer.codec_shared.size());
    take_step(state, group, with(4, Codec::none, 0));
    CHECK(state.codec_shared.empty());
    // Coming back is a cold start: equal to one that never had been there before.
    GroupState fresh = state;
    fresh.codec_shared.clear();
    take_step(state, group, rank_2);
    take_step(fresh, group, rank_2);
    CHECK(state.common == fresh.common);
}

TEST_CASE("turned group: a change of synchronisation goes on from the model that is meant",
          "[learning]") {
    const auto task = task_of(synthetic_data(), {.model = {"mlp", {8}}, .momentum = 0.5});
    GroupStep group(*task, 1);
    for (const Synchronisation kind :
         {Synchronisation::synchronous_averaging, Synchronisation::elastic_averaging,
          Synchronisation::local_sgd, Synchronisation::pair_averaging}) {
        CAPTURE(static_cast<int>(kind));
        GroupState state = first_state(*task, 1);
        for (int i = 0; i < 20; ++i) take_step(state, group, with(4, Codec::none, 0, kind));
        REQUIRE(state.learners.size() == 4);
        // Of pairs nobody has the mean: rank 0's model, as live workers take it.
        const std::vector<float> meant =
            kind == Synchronisation::pair_averaging ? state.learners.front().weights : state.common;
        LearningStep still = with(4, Codec::none, 0);
        still.learning_rate = 0;  // a step that moves nothing
        GroupState changed = state;
        take_step(changed, group, still);
        CHECK(changed.common == meant);
        CHECK(changed.learners.empty());
        // And back: all learners begin there, at rest.
        still.synchronisation = kind;
        take_step(changed, group, still);
        CHECK(changed.learners.size() == 4);
        for (const GroupState::Learner& one : changed.learners) CHECK(one.weights == meant);
    }
}

TEST_CASE("turned group: a Plan's word means the scenario's own form of it", "[learning]") {
    SynchronisationSettings settings;
    CHECK(rule_for(settings, Synchronisation::synchronous_averaging).name ==
          "synchronous_averaging");
    CHECK(rule_for(settings, Synchronisation::stale_parameter_server).name == "parameter_server");
    settings.rule = "kungfu_averaging";
    CHECK(rule_for(settings, Synchronisation::synchronous_averaging).name == "kungfu_averaging");
    CHECK(rule_for(settings, Synchronisation::s_sgd).name == "s_sgd");
    settings.rule = "backup_workers";
    CHECK(rule_for(settings, Synchronisation::s_sgd).name == "backup_workers");
    for (std::size_t i = 0; i < synchronisation_names().size(); ++i) {
        const auto kind = static_cast<Synchronisation>(i);
        CHECK(rule_for(settings, kind).kind == kind);
    }
}
