// real_gradients_test.cpp — true gradients behind the interface of learning: states are values, and
// the bits do not depend on who looks when.
#include <catch2/catch.hpp>
#include <thread>

#include "base/rng.hpp"
#include "tests/sim/learning/small_tasks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

std::shared_ptr<const LearningModel> small_model(std::optional<double> target,
                                                 std::int64_t samples = 20'480) {
    RealGradients settings;
    settings.task = task_of(synthetic_data(), {.model = {"mlp", {8}}});
    settings.target = target;
    settings.samples = samples;
    settings.evaluate_every = 512;
    return make_real_gradients(std::move(settings));
}

struct Seen {
    std::int64_t progress = 0;
    double metric = 0;
    GradientStatistics gradient;
    friend bool operator==(const Seen&, const Seen&) = default;
};
Seen seen(const LearningModel& model, const LearningState& at, const LearningStep& step) {
    return {at.progress, model.metric(at).value(), model.gradient(at, step)};
}

}  // namespace

TEST_CASE("real gradients: S-SGD of several workers is SGD on the whole batch", "[learning]") {
    const auto task = task_of(synthetic_data(), {.model = {"softmax", {}}, .momentum = 0.5});
    GroupStep group(*task, 3);
    GroupState state = first_state(*task, 3);
    std::vector<float> weights = state.common;
    std::vector<float> velocity(weights.size(), 0.0F);
    const auto workspace = task->model->make_workspace();
    SampleOrder order(3, task->training.count);
    const MomentumRule rule{0.5F, 0.0F, 0.1F};
    for (int i = 0; i < 40; ++i) {
        step_on(state, group, {50, 0.1, 3, 1});
        std::vector<std::uint32_t> samples(50);
        order.fill(50 * i, samples);
        std::vector<float> gradient(weights.size(), 0.0F);
        task->model->gradient(weights, task->training, samples, gradient, *workspace, {});
        for (float& value : gradient) value /= 50;
        local_step(rule, gradient, weights, velocity);
    }
    CHECK(state.position == 2000);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        REQUIRE(state.common[i] == Approx(weights[i]).margin(2e-5));
    }
}

TEST_CASE("real gradients: however the way is cut, it leads to the same bits",
          "[learning][property]") {
    const auto model = small_model(0.99);
    const LearningStep small{16, 0.2, 2, 1};
    const LearningStep large{64, 0.3, 4, 1};
    const auto once = model->drawn(5);
    const LearningState middle = once->after(once->start(), 70, small);
    const LearningState end = once->after(middle, 33, large);
    const Seen expected = seen(*once, end, large);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "cuts");
        const auto other = model->drawn(5);
        LearningState state = other->start();
        std::int64_t left = 103;
        while (left > 0) {
            const bool first = left > 33;
            const LearningStep& step = first ? small : large;
            const std::int64_t here = first ? left - 33 : left;
            if (random.chance(0.5)) other->look_ahead(state, step, random.integer(1, 200));
            if (random.chance(0.5)) other->after(state, random.integer(0, here), step);
            const std::int64_t steps = random.integer(1, here);
            state = other->after(state, steps, step);
            left -= steps;
        }
        CHECK(seen(*other, state, large) == expected);
    }
    // A state that was left is still there: what a lost checkpoint goes back to.
    CHECK(seen(*once, once->after(middle, 33, large), large) == expected);
}

TEST_CASE("real gradients: what a state is worth is known between evaluations, too", "[learning]") {
    RealGradients settings;
    settings.task = task_of(synthetic_data(), {.model = {"softmax", {}}});
    settings.samples = 4096;
    settings.evaluate_every = 512;
    const auto seldom = make_real_gradients(settings)->drawn(5);
    settings.evaluate_every = 1;
    const auto always = make_real_gradients(settings)->drawn(5);
    const LearningStep step{16, 0.3, 1, 1};
    const auto after = [&](const LearningModel& model, std::int64_t steps) {
        return model.after(model.start(), steps, step);
    };
    std::int64_t stale = 0;
    for (const std::int64_t steps : {0, 1, 20, 31, 32, 33, 63, 64}) {
        CAPTURE(steps);
        const LearningState state = after(*seldom, steps);
        const double now = always->metric(after(*always, steps)).value();
        CHECK(seldom->metric_now(state) == now);
        stale += seldom->metric(state) == now ? 0 : 1;
        // Having been looked at changes nothing.
        CHECK(seldom->digest(state) == seldom->digest(after(*seldom, steps)));
    }
    CHECK(stale >= 3);  // 512 samples are 32 steps: most of these lie between two evaluations
    CHECK(seldom->metric(after(*seldom, 31)) == seldom->metric(seldom->start()));
}

TEST_CASE("real gradients: bits are equal whatever else runs", "[learning]") {
    const auto model = small_model(std::nullopt);
    const LearningStep step{32, 0.2, 4, 2};
    const auto run = [&](std::uint64_t seed) {
        const auto mine = model->drawn(seed);
        return seen(*mine, mine->after(mine->start(), 200, step), step);
    };
    const Seen alone = run(9);
    std::vector<Seen> together(4);
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < together.size(); ++i) {
            threads.emplace_back([&, i] { together[i] = run(i == 2 ? 8 : 9); });
        }
    }
    CHECK(together[0] == alone);
    CHECK(together[1] == alone);
    CHECK_FALSE(together[2] == alone);  // another seed
    CHECK(together[3] == alone);
}

TEST_CASE("real gradients: the target ends the way, and the samples do if there is none",
          "[learning]") {
    const LearningStep step{32, 0.2, 2, 1};
    const auto with = small_model(0.6)->drawn(1);
    const auto steps = steps_to_target(*with, with->start(), step);
    REQUIRE(steps.has_value());
    CHECK(*steps * 32 % 512 == 0);  // found at an evaluation
    const LearningState there = with->after(with->start(), *steps, step);
    CHECK(there.progress >= with->target());
    CHECK(with->metric(there).value() >= 0.6);
    CHECK(with->after(with->start(), *steps - 16, step).progress < with->target());

    const auto without = small_model(std::nullopt)->drawn(1);
    CHECK(steps_to_target(*without, without->start(), step) == 640);
    CHECK(without->samples_left(without->start(), step) == 20'480);

    // A batch beyond all samples uses what there are.
    const LearningStep huge{1'000'000'000, 0.2, 2, 1};
    CHECK(steps_to_target(*without, without->start(), huge) == 1);
    CHECK(without->after(without->start(), 1, huge).progress == 20'480);

    const auto never = small_model(1.0)->drawn(1);  // the labels are noisy
    CHECK_FALSE(steps_to_target(*never, never->start(), step).has_value());
    const LearningState stopped = never->after(never->start(), 1'000'000'000, step);
    CHECK(stopped.progress == never->after(never->start(), 640, step).progress);
    CHECK(never->done(stopped));  // all samples are used
    CHECK(never->samples_left(stopped, step) == 0);
    const LearningState last = never->after(never->start(), 639, step);
    CHECK_FALSE(never->done(last));
    CHECK(never->samples_left(last, step) == 32);
    CHECK(never->look_ahead(last, step, 5).steps == 1);
    CHECK(never->look_ahead(last, step, 5).done);
}

TEST_CASE("real gradients: who joins begins from the common model", "[learning]") {
    for (const SynchronisationRule& rule : synchronisation_rules()) {
        CAPTURE(rule.name);
        SynchronisationSettings settings;
        settings.rule = rule.name;
        const auto task =
            task_of(synthetic_data(), {.model = {"mlp", {8}}, .synchronisation = settings});
        GroupStep group(*task, 2);
        GroupState state = first_state(*task, 2);
        for (int i = 0; i < 30; ++i) step_on(state, group, {32, 0.1, 4, 1});
        const double before = evaluated(*task, task->training, state.common).loss_sum;
        for (int i = 0; i < 5; ++i) step_on(state, group, {32, 0.02, 7, 1});
        const double after = evaluated(*task, task->training, state.common).loss_sum;
        CHECK(after < 1.1 * before);
        CHECK(state.position == 35 * 32);
        for (int i = 0; i < 5; ++i) step_on(state, group, {32, 0.02, 1, 1});
        CHECK(evaluated(*task, task->training, state.common).loss_sum < 1.1 * before);
    }
}

TEST_CASE("real gradients: a split uses every sample once", "[learning]") {
    const DataSet all = synthetic_data(101);
    const auto [training, test] = split_data(all, 0.2);
    CHECK(training.count == 81);
    CHECK(test.count == 20);
    double sum = 0;
    for (const float value : all.values) sum += static_cast<double>(value);
    for (const DataSet* part : {&training, &test}) {
        CHECK(std::ssize(part->labels) == part->count);
        for (const float value : part->values) sum -= static_cast<double>(value);
    }
    CHECK(sum == Approx(0).margin(1e-9));
}
