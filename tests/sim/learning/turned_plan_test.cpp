// turned_plan_test.cpp — Plans turned in mid-run reach the true gradients at the step at which they
// are committed: a run in the simulated world ends with the bits of one made by hand.
#include <bit>
#include <catch2/catch.hpp>

#include "tests/sim/fixture.hpp"
#include "tests/sim/learning/small_tasks.hpp"
#include "tests/sim/learning/watched_model.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::records;
using namespace ukemi::sim;

namespace {

struct Turn {
    std::int64_t at_step = 0;
    Decision what;
};

class Turning final : public Policy {
public:
    explicit Turning(std::vector<Turn> turns) : turns_(std::move(turns)) {}
    std::string_view name() const override { return "turning"; }
    KnobSet knobs() const override {
        return {Knob::codec, Knob::synchronisation, Knob::learners_per_gpu};
    }
    HookSet hooks() const override { return {Hook::after_step}; }
    std::int64_t every_steps() const override { return 10; }
    Decision after_step(const PolicyView& view) override {
        for (const Turn& turn : turns_) {
            if (turn.at_step == view.seen.steps_done) return turn.what;
        }
        return {};
    }

private:
    std::vector<Turn> turns_;
};

Decision to_codec(Codec codec, double level) {
    Decision decision;
    decision.codec = codec;
    decision.codec_level = level;
    return decision;
}
Decision to_synchronisation(Synchronisation synchronisation) {
    Decision decision;
    decision.synchronisation = synchronisation;
    return decision;
}
Decision to_learners(std::int32_t learners) {
    Decision decision;
    decision.learners_per_gpu = learners;
    return decision;
}

std::shared_ptr<const RealTask> small_task(double momentum = 0.5, double weight_decay = 0) {
    SynchronisationSettings settings;
    settings.error_feedback = true;
    settings.period = 4;
    auto task = std::make_shared<RealTask>();
    std::tie(task->training, task->test) = split_data(synthetic_data(), 0.2);
    task->model = make_model({"mlp", {8}}, task->training);
    task->optimiser.momentum = momentum;
    task->optimiser.weight_decay = weight_decay;
    task->synchronisation = settings;
    return task;
}

constexpr std::int64_t samples_of_run = 200 * 32;

// Two machines with batches of 16 for each learner: 32 samples a step with one.
JobSpec real_job(const std::shared_ptr<const RealTask>& task) {
    JobSpec spec = job(hours(1), 2, 2);
    spec.plan.fleet.front().market = Market::on_demand;
    spec.plan.global_batch = 0;
    spec.plan.batch_per_learner = 16;
    spec.plan.learning_rate = 0.2;
    spec.samples_total = samples_of_run;
    spec.samples_per_epoch = task->training.count;
    StepTime time;
    time.compute = affine_time(milliseconds(10), milliseconds(1));
    for (std::int32_t i = 0; i < std::ssize(synchronisation_names()); ++i) {
        time.exchanges.push_back({static_cast<Synchronisation>(i), {{2, milliseconds(5 + i)}}});
    }
    time.codecs.push_back(
        {Codec::power_sgd, 2, true, {{1, milliseconds(1)}}, {{2, milliseconds(2)}}});
    time.codecs.push_back(
        {Codec::top_k, 0.1, false, {{1, milliseconds(2)}}, {{2, milliseconds(1)}}});
    time.learner_speeds = {1000, 1600};
    spec.profile.step_time = std::move(time);
    RealGradients settings;
    settings.task = task;
    settings.samples = samples_of_run;
    settings.evaluate_every = 512;
    spec.learning = make_real_gradients(std::move(settings));
    return spec;
}

struct Ended {
    RunResult result;
    GroupState state;
};

Ended run_turning(JobSpec spec, std::vector<Turn> turns) {
    LearningState last;  // of which the run's digest was taken
    spec.learning = std::make_shared<WatchedModel>(
        spec.learning, [&](const LearningState& at) { last = at; }, nullptr);
    const MarketData quiet = market({zone("a", capacity({{minutes(0), 2}}, hours(900)), price(1))});
    WorldSetup world = setup(quiet, spec);
    world.policies.push_back(std::make_unique<Turning>(std::move(turns)));
    RunResult result = World(std::move(world)).run();
    REQUIRE(result.finished);
    return {std::move(result), group_of(last)};
}

struct Stretch {
    std::int64_t steps = 0;
    LearningStep step;
};

GroupState by_hand(const RealTask& task, std::initializer_list<Stretch> stretches) {
    GroupStep group(task, 1);
    GroupState state = first_state(task, 1);
    for (const Stretch& stretch : stretches) {
        for (std::int64_t i = 0; i < stretch.steps; ++i) take_step(state, group, stretch.step);
    }
    return state;
}

const LearningStep plain{32, 0.2, 2, 1};
LearningStep coded(Codec codec, double level) {
    return {32, 0.2, 2, 1, Synchronisation::s_sgd, codec, level};
}
LearningStep kept_together(Synchronisation synchronisation) {
    return {32, 0.2, 2, 1, synchronisation};
}

}  // namespace

TEST_CASE("turned plan: a codec changes in mid-run, and so do the bits and the time",
          "[learning][world]") {
    const auto task = small_task();
    const Ended turned = run_turning(real_job(task), {{50, to_codec(Codec::power_sgd, 2)},
                                                      {90, to_codec(Codec::top_k, 0.1)},
                                                      {150, to_codec(Codec::none, 0)}});
    const GroupState hand = by_hand(*task, {{50, plain},
                                            {40, coded(Codec::power_sgd, 2)},
                                            {60, coded(Codec::top_k, 0.1)},
                                            {50, plain}});
    CHECK(turned.state.common == hand.common);
    CHECK(digest_of(turned.state) == digest_of(hand));
    // 26 ms of computing, and 5 ms, 2 + 1 ms or 1 + 2 ms of exchange and encoding.
    CHECK(turned.result.duration == 100 * milliseconds(31) + 100 * milliseconds(29));
    CHECK(turned.result.plans == 3);

    const GroupState never = by_hand(*task, {{200, plain}});
    CHECK(turned.state.common != never.common);
    CHECK(run_turning(real_job(task), {}).state.common == never.common);
}

TEST_CASE("turned plan: a policy that never switches is the fixed scenario, bit for bit",
          "[learning][world]") {
    const auto task = small_task();
    JobSpec spec = real_job(task);
    spec.plan.codec = Codec::top_k;
    spec.plan.codec_level = 0.1;
    const Ended fixed = run_turning(spec, {});
    const Ended restated = run_turning(spec, {{10, to_codec(Codec::top_k, 0.1)},
                                              {40, to_synchronisation(Synchronisation::s_sgd)},
                                              {90, to_learners(1)}});
    CHECK(digest_of(restated.state) == digest_of(fixed.state));
    CHECK(restated.result.event_hash == fixed.result.event_hash);
    CHECK(digest_of(fixed.state) == digest_of(by_hand(*task, {{200, coded(Codec::top_k, 0.1)}})));
}

TEST_CASE("turned plan: a synchronisation changes in mid-run", "[learning][world]") {
    const auto task = small_task();
    const auto turn = [](std::int64_t step, Synchronisation to) {
        return Turn{step, to_synchronisation(to)};
    };
    const Ended turned = run_turning(
        real_job(task),
        {turn(40, Synchronisation::synchronous_averaging), turn(80, Synchronisation::local_sgd),
         turn(110, Synchronisation::pair_averaging), turn(150, Synchronisation::s_sgd)});
    const GroupState hand =
        by_hand(*task, {{40, plain},
                        {40, kept_together(Synchronisation::synchronous_averaging)},
                        {30, kept_together(Synchronisation::local_sgd)},
                        {40, kept_together(Synchronisation::pair_averaging)},
                        {50, plain}});
    CHECK(digest_of(turned.state) == digest_of(hand));
    // 5 ms of exchange, and one more for each place in the list of synchronisations.
    const auto extra = [](Synchronisation one) { return milliseconds(static_cast<int>(one)); };
    CHECK(turned.result.duration ==
          200 * milliseconds(31) + 40 * extra(Synchronisation::synchronous_averaging) +
              30 * extra(Synchronisation::local_sgd) + 40 * extra(Synchronisation::pair_averaging));
}

TEST_CASE("turned plan: learners are added in mid-run, and share their machines",
          "[learning][world]") {
    const auto task = small_task();
    for (const Synchronisation kind :
         {Synchronisation::s_sgd, Synchronisation::synchronous_averaging}) {
        JobSpec spec = real_job(task);
        spec.plan.synchronisation = kind;
        const Ended turned = run_turning(spec, {{60, to_learners(2)}, {100, to_learners(1)}});
        LearningStep one = kept_together(kind);
        LearningStep two = one;
        two.batch = 64;
        two.learners_per_worker = 2;
        const GroupState hand = by_hand(*task, {{60, one}, {40, two}, {60, one}});
        CHECK(digest_of(turned.state) == digest_of(hand));
        CHECK(turned.result.steps == 160);
        // Two batches of 26 ms at 1.6 times the speed of one.
        const Duration exchange = milliseconds(5 + static_cast<int>(kind));
        CHECK(turned.result.duration ==
              120 * (milliseconds(26) + exchange) + 40 * (nanoseconds(32'500'000) + exchange));
    }
}

TEST_CASE("turned plan: what the codec loses is measured on the true gradients",
          "[learning][world]") {
    const auto task = small_task();
    const auto model = real_job(task).learning->drawn(1);
    const LearningStep lossy = coded(Codec::top_k, 0.1);
    const LearningState before = model->after(model->start(), 10, plain);
    CHECK_FALSE(model->codec_error(before, plain).has_value());
    CHECK_FALSE(model->codec_error(before, lossy).has_value());  // that step was not coded
    const LearningState after = model->after(before, 10, lossy);
    const double error = model->codec_error(after, lossy).value();
    CHECK(error > 0.05);
    CHECK(error < 1);  // the kept part of the larger elements is not lost
    CHECK(model->gradient(after, lossy).applied_squared_norm > 0);
    const LearningStep half = coded(Codec::fp16, 0);
    CHECK(model->codec_error(model->after(before, 10, half), half).value() < 0.001);
}

TEST_CASE("turned plan: a world without a kind of exchange refuses a Plan that wants it",
          "[learning][world]") {
    const auto task = small_task();
    JobSpec spec = real_job(task);
    std::erase_if(spec.profile.step_time->exchanges, [](const ExchangeTime& one) {
        return one.synchronisation == Synchronisation::stale_parameter_server;
    });
    const Ended refused =
        run_turning(spec, {{40, to_synchronisation(Synchronisation::stale_parameter_server)}});
    CHECK(refused.result.refused == 1);
    CHECK(digest_of(refused.state) == digest_of(by_hand(*task, {{200, plain}})));
}

TEST_CASE("event hash: covers the weights", "[learning][world]") {
    const JobSpec spec = real_job(small_task());
    const Ended once = run_turning(spec, {});
    CHECK(run_turning(spec, {}).result.event_hash == once.result.event_hash);
    // The same events at the same instants, and weights that differ in their last digits.
    const Ended other = run_turning(real_job(small_task(0.5, 1e-6)), {});
    CHECK(other.result.duration == once.result.duration);
    CHECK(other.result.events == once.result.events);
    CHECK(other.state.common != once.state.common);
    CHECK(other.result.event_hash != once.result.event_hash);
}

TEST_CASE("event hash: a bit of anything that the next step depends on is another digest",
          "[learning]") {
    const auto task = small_task();
    const LearningStep averaging = kept_together(Synchronisation::synchronous_averaging);
    const GroupState coded_state = by_hand(*task, {{5, coded(Codec::power_sgd, 2)}});
    const GroupState averaged = by_hand(*task, {{5, averaging}});
    const auto differs = [](GroupState state, const auto& values_of) {
        const std::uint64_t before = digest_of(state);
        std::vector<float>& values = values_of(state);
        REQUIRE_FALSE(values.empty());
        auto bits = std::bit_cast<std::uint32_t>(values.back());
        values.back() = std::bit_cast<float>(bits ^ 1U);
        CHECK(digest_of(state) != before);
    };
    differs(coded_state, [](GroupState& s) -> auto& { return s.common; });
    differs(coded_state, [](GroupState& s) -> auto& { return s.velocity; });
    differs(coded_state, [](GroupState& s) -> auto& { return s.codec_shared; });
    differs(coded_state, [](GroupState& s) -> auto& { return s.kept.back(); });
    differs(averaged, [](GroupState& s) -> auto& { return s.common_before; });
    differs(averaged, [](GroupState& s) -> auto& { return s.learners.back().weights; });
    differs(averaged, [](GroupState& s) -> auto& { return s.learners.back().velocity; });

    // An evaluation on the way is in it, too: equal states with another past differ.
    const auto model = real_job(task).learning->drawn(1);
    const LearningState start = model->start();
    CHECK(model->digest(start) != model->digest(model->after(start, 1, plain)));
    CHECK(model->digest(model->after(start, 40, plain)) ==
          model->digest(model->after(model->after(start, 16, plain), 24, plain)));
}
