// training_step_test.cpp — one job on any number of ranks is the same job.
#include "kernels/training_step.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "tests/handwritten_digits.hpp"
#include "tests/kernels/training_ranks.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using Catch::Matchers::Contains;

namespace {

const ModelSpec mlp{.kind = "mlp", .hidden = {16, 8}};
const OptimiserSettings heavy_ball{.momentum = 0.9, .weight_decay = 1e-3};

}  // namespace

TEST_CASE("training step: N ranks with a share each are one rank with all", "[training_step]") {
    const DataSet data = small_data();
    const std::int64_t batch = GENERATE(24, 25);  // even and uneven shares
    CAPTURE(batch);
    TrainingRanks one(data, mlp, heavy_ball, 1);
    const auto alone = one.train(plan_of(batch), 20);
    REQUIRE(alone.size() == 20);
    for (int size = 2; size <= 4; ++size) {
        CAPTURE(size);
        TrainingRanks ranks(data, mlp, heavy_ball, size);
        const auto together = ranks.train(plan_of(batch), 20);
        REQUIRE(all_ok(ranks));
        CHECK(all_equal(ranks.digests()));
        CHECK(distance(one.replica(0).weights(), ranks.replica(0).weights()) < 1e-5);
        for (std::size_t step = 0; step < 20; ++step) {
            CHECK(together[step].report.samples == batch);
            CHECK(together[step].report.loss == Approx(alone[step].report.loss).epsilon(1e-4));
            CHECK(together[step].report.noise_measured);
            CHECK_FALSE(alone[step].report.noise_measured);
        }
    }
}

TEST_CASE("training step: micro-batches, learners, buckets and launches change only the rounding",
          "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks plain(data, mlp, heavy_ball, 2);
    plain.train(plan_of(24), 10);
    Plan plan = plan_of(24);
    StepSettings settings;
    SECTION("accumulation") { plan.accumulation = 5; }
    SECTION("learners") { plan.learners_per_gpu = 3; }
    SECTION("more micro-batches than samples") { plan.accumulation = 20; }
    SECTION("a bucket a tensor") { settings.bucket_bytes = 1; }
    SECTION("buckets of several tensors") { settings.bucket_bytes = 400; }
    SECTION("coordinated launches") { settings.launch = LaunchMode::coordinated; }
    SECTION("another schedule") { plan.collective = Collective::star; }
    TrainingRanks other(data, mlp, heavy_ball, 2, settings);
    other.train(plan, 10);
    REQUIRE(all_ok(other));
    CHECK(all_equal(other.digests()));
    CHECK(distance(plain.replica(0).weights(), other.replica(0).weights()) < 1e-5);
}

TEST_CASE("training step: a batch of its own for each rank", "[training_step]") {
    const DataSet data = small_data();
    Plan plan = plan_of(0);
    plan.batch_per_learner = 8;
    plan.accumulation = 2;
    TrainingRanks ranks(data, mlp, heavy_ball, 3);
    const auto results = ranks.train(plan, 2);
    REQUIRE(all_ok(ranks));
    CHECK(results[0].report.samples == 48);
    CHECK(results[0].report.words[2].samples == 16);
}

TEST_CASE("training step: fewer samples than ranks", "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks one(data, mlp, heavy_ball, 1);
    one.train(plan_of(2), 5);
    TrainingRanks four(data, mlp, heavy_ball, 4);
    const auto results = four.train(plan_of(2), 5);
    REQUIRE(all_ok(four));
    CHECK(all_equal(four.digests()));
    CHECK(results[4].report.words[3].samples == 0);
    CHECK(distance(one.replica(0).weights(), four.replica(0).weights()) < 1e-5);
}

TEST_CASE("training step: equal seeds give equal bits", "[training_step]") {
    const DataSet data = small_data();
    const auto synchronisation =
        GENERATE(Synchronisation::s_sgd, Synchronisation::synchronous_averaging,
                 Synchronisation::pair_averaging);
    CAPTURE(static_cast<int>(synchronisation));
    const auto digests = [&](std::uint64_t seed) {
        TrainingRanks ranks(data, mlp, heavy_ball, 3, {.seed = seed});
        ranks.train(plan_of(24, 0.1, synchronisation), 8);
        return ranks.digests();
    };
    const auto expected = digests(1);
    CHECK(digests(1) == expected);
    CHECK(digests(2) != expected);
    CHECK(all_equal(expected) == (synchronisation == Synchronisation::s_sgd));
}

TEST_CASE("training step: a step undone and done again gives equal bits", "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, mlp, heavy_ball, 2);
    const Plan plan = plan_of(24);
    ranks.train(plan, 3);
    const auto before = ranks.digests();
    std::vector<std::vector<std::uint64_t>> after(2, std::vector<std::uint64_t>(2));
    for (auto& digests : after) {
        std::vector<double> noise(2);
        ranks.together([&](int rank, InProcessCommunicator&, TrainingStep& step) {
            const StepResult result = step.run(ranks.replica(rank), plan, 77, 3, 72, 0);
            noise[static_cast<std::size_t>(rank)] = result.report.noise_scale;
            digests[static_cast<std::size_t>(rank)] = ranks.replica(rank).digest();
            ranks.replica(rank).undo();
        });
        CHECK(noise[0] == noise[1]);
        CHECK(ranks.digests() == before);
    }
    CHECK(after[0] == after[1]);
    CHECK(after[0] != before);
}

TEST_CASE("training step: a rank that dies leaves every replica as it was", "[training_step]") {
    const DataSet data = small_data();
    const auto synchronisation =
        GENERATE(Synchronisation::s_sgd, Synchronisation::synchronous_averaging,
                 Synchronisation::pair_averaging);
    CAPTURE(static_cast<int>(synchronisation));
    const Plan plan = plan_of(24, 0.1, synchronisation);
    TrainingRanks ranks(data, mlp, heavy_ball, 4);
    ranks.train(plan, 2);
    REQUIRE(all_ok(ranks));
    std::vector<std::uint64_t> before = ranks.digests();
    std::vector<Outcome> outcomes(4, Outcome::ok);
    ranks.together([&](int rank, InProcessCommunicator& own, TrainingStep& step) {
        if (rank == 2) {
            own.die();
            return;
        }
        const StepResult result = step.run(ranks.replica(rank), plan, 77, 2, 48, 0);
        outcomes[static_cast<std::size_t>(rank)] = result.outcome;
    });
    for (const std::size_t rank : {0U, 1U, 3U}) {
        CAPTURE(rank);
        CHECK(outcomes[rank] != Outcome::ok);
        CHECK(ranks.digests()[rank] == before[rank]);
        CHECK(ranks.replicas[rank].can_undo());  // the step before can still be taken back
    }
    // The survivors go on as a group of their own.
    ranks.replicas.erase(ranks.replicas.begin() + 2);
    ranks.train(plan, 2);
    CHECK(all_ok(ranks));
}

TEST_CASE("training step: a death at any moment leaves replicas whole and one step apart at most",
          "[training_step][property]") {
    const DataSet data = small_data();
    const Plan plan = plan_of(24, 0.1);
    const int victim = GENERATE(0, 1, 2);
    const auto delay = std::chrono::microseconds(GENERATE(300, 1'000, 3'000, 9'000));
    CAPTURE(victim, delay.count());
    TrainingRanks reference(data, mlp, heavy_ball, 3);
    TrainingRanks ranks(data, mlp, heavy_ball, 3);
    std::thread killer;
    ranks.together([&](int rank, InProcessCommunicator& own, TrainingStep& step) {
        std::thread stop;
        if (rank == victim) {
            stop = std::thread([&own, delay] {
                std::this_thread::sleep_for(delay);
                own.die();
            });
        }
        for (std::int64_t i = 0;; ++i) {
            if (step.run(ranks.replica(rank), plan, 77, i, i * 24, 0).outcome != Outcome::ok) break;
        }
        if (stop.joinable()) stop.join();
    });
    std::vector<std::int64_t> steps;
    for (const Replica& replica : ranks.replicas) steps.push_back(replica.steps());
    const std::int64_t least = *std::ranges::min_element(steps);
    CHECK(*std::ranges::max_element(steps) - least <= 1);
    reference.train(plan, least);
    for (Replica& replica : ranks.replicas) {
        if (replica.steps() > least) replica.undo();
        CHECK(replica.digest() == reference.replica(0).digest());
    }
}

TEST_CASE("training step: ranks with other Plans or steps do not train together",
          "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, mlp, heavy_ball, 2);
    const auto before = ranks.digests();
    const int difference = GENERATE(0, 1, 2);
    CAPTURE(difference);
    std::vector<StepResult> results(2);
    ranks.together([&](int rank, InProcessCommunicator&, TrainingStep& step) {
        Plan plan = plan_of(24);
        if (difference == 0) plan.version = PlanVersion{static_cast<std::uint32_t>(rank)};
        const std::uint64_t digest = difference == 1 ? static_cast<std::uint64_t>(rank) : 0;
        const std::int64_t number = difference == 2 ? rank : 0;
        results[static_cast<std::size_t>(rank)] =
            step.run(ranks.replica(rank), plan, digest, number, 0, 0);
    });
    for (const StepResult& result : results) {
        CHECK(result.outcome == Outcome::aborted);
        CHECK(result.plan_disagreement);
    }
    CHECK(ranks.digests() == before);
}

TEST_CASE("training step: a hold is seen when all ranks have seen it", "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, mlp, heavy_ball, 2);
    std::vector<std::vector<std::uint32_t>> holds(2);
    ranks.together([&](int rank, InProcessCommunicator&, TrainingStep& step) {
        for (int i = 0; i < 3; ++i) {
            const std::uint32_t seen = i >= rank ? 4 : 0;  // rank 1 sees it a step later
            holds[static_cast<std::size_t>(rank)].push_back(
                step.run(ranks.replica(rank), plan_of(24), 77, i, i * 24, seen).report.hold);
        }
    });
    CHECK(holds[0] == std::vector<std::uint32_t>{0, 4, 4});
    CHECK(holds[1] == holds[0]);
}

TEST_CASE("training step: pairs are matched at random, all but an odd one", "[training_step]") {
    std::set<int> partners_of_0;
    for (const int size : {1, 2, 5, 8}) {
        for (std::int64_t step = 0; step < 60; ++step) {
            int alone = 0;
            for (int rank = 0; rank < size; ++rank) {
                const auto peer = peer_of(9, step, rank, size);
                if (!peer) {
                    ++alone;
                    continue;
                }
                REQUIRE(*peer != rank);
                REQUIRE(peer_of(9, step, *peer, size) == rank);
                if (size == 8 && rank == 0) partners_of_0.insert(*peer);
            }
            REQUIRE(alone == size % 2);
        }
    }
    CHECK(partners_of_0.size() == 7);
}

TEST_CASE("training step: averaging follows its rule with one central model", "[training_step]") {
    const DataSet data = small_data();
    TrainingRanks ranks(data, {}, {.averaging_rate = 0.25, .averaging_momentum = 0.5}, 3);
    ranks.train(plan_of(24, 0.1, Synchronisation::synchronous_averaging), 6);
    REQUIRE(all_ok(ranks));
    const auto central = ranks.replica(0).central();
    for (int rank = 1; rank < 3; ++rank) {
        CHECK(std::ranges::equal(ranks.replica(rank).central(), central));
        CHECK_FALSE(std::ranges::equal(ranks.replica(rank).weights(), ranks.replica(0).weights()));
    }
}

TEST_CASE("training step: another synchronisation starts from one common model",
          "[training_step]") {
    const DataSet data = small_data();
    const auto from = GENERATE(Synchronisation::s_sgd, Synchronisation::synchronous_averaging,
                               Synchronisation::pair_averaging);
    CAPTURE(static_cast<int>(from));
    TrainingRanks ranks(data, {}, {.momentum = 0.5}, 3);
    ranks.train(plan_of(24, 0.1, from), 5);
    const Replica& first = ranks.replica(0);
    const auto model =
        from == Synchronisation::synchronous_averaging ? first.central() : first.weights();
    const std::vector<float> common(model.begin(), model.end());
    const auto before = ranks.digests();
    SECTION("to averaging, without moving") {
        if (from == Synchronisation::synchronous_averaging) return;
        ranks.train(plan_of(24, 0.0, Synchronisation::synchronous_averaging), 1);
        for (const Replica& replica : ranks.replicas) {
            CHECK(std::ranges::equal(replica.weights(), common));
            CHECK(std::ranges::equal(replica.central(), common));
        }
    }
    SECTION("to S-SGD, where all are equal again") {
        ranks.train(plan_of(24, 0.1), 3);
        CHECK(all_equal(ranks.digests()));
    }
    SECTION("and back, if the step is undone") {
        const auto to = from == Synchronisation::pair_averaging ? Synchronisation::s_sgd
                                                                : Synchronisation::pair_averaging;
        ranks.train(plan_of(24, 0.1, to), 1);
        REQUIRE(all_ok(ranks));
        for (Replica& replica : ranks.replicas) replica.undo();
        CHECK(ranks.digests() == before);
    }
}

TEST_CASE("training step: averaging restarts when the learning rate drops", "[training_step]") {
    const DataSet data = small_data();
    const auto averaging = Synchronisation::synchronous_averaging;
    TrainingRanks ranks(data, {}, {}, 3);
    ranks.train(plan_of(24, 0.2, averaging), 5);
    const auto central = ranks.replica(1).central();
    const std::vector<float> common(central.begin(), central.end());
    ranks.train(plan_of(24, 0.2, averaging), 0);
    const double rate = GENERATE(0.0, 0.4);
    CAPTURE(rate);
    ranks.train(plan_of(24, rate, averaging), 1);
    CHECK(std::ranges::equal(ranks.replica(1).weights(), common) == (rate == 0.0));
}

TEST_CASE("training step: what cannot be trained is said", "[training_step]") {
    Plan plan = plan_of(24);
    CHECK(training_refusal(plan, 3).empty());
    plan = plan_of(24, 0.1, Synchronisation::local_sgd);
    CHECK(training_refusal(plan, 3) == "local_sgd cannot be trained here");
    plan = plan_of(24, 0.1, Synchronisation::pair_averaging);
    plan.learners_per_gpu = 2;
    CHECK_THAT(training_refusal(plan, 3), Contains("1 learner a worker"));
    plan = plan_of(24);
    plan.layout.pipeline = 2;
    CHECK_THAT(training_refusal(plan, 3), Contains("data parallel"));
    plan = plan_of(24);
    plan.learning_rate = std::nan("");
    CHECK_THAT(training_refusal(plan, 3), Contains("learning rate"));
    plan = plan_of(24);
    plan.accumulation = 0;
    CHECK_THAT(training_refusal(plan, 3), Contains("not 0"));
    plan = plan_of(std::int64_t{1} << 40);
    CHECK_THAT(training_refusal(plan, 3), Contains("samples"));
}

TEST_CASE("training step: the noise scale weighs steps by their age from the first on",
          "[training_step][gradient_noise]") {
    const DataSet data = handwritten_digits();
    constexpr double smoothing = 0.99;
    TrainingRanks ranks(data, {}, {}, 3, {.noise_smoothing = smoothing});
    const auto results = ranks.train(plan_of(96, 0.05), 45);
    REQUIRE(results.size() == 45);
    double norm = 0;
    double trace = 0;
    for (const StepResult& result : results) {
        REQUIRE(result.report.noise_measured);
        norm = smoothing * norm + result.report.squared_norm;
        trace = smoothing * trace + result.report.covariance_trace;
        REQUIRE(result.report.noise_scale == Approx(trace / norm));
    }
}

TEST_CASE("training step: training learns, on every synchronisation", "[training_step]") {
    const auto synchronisation =
        GENERATE(Synchronisation::s_sgd, Synchronisation::synchronous_averaging,
                 Synchronisation::pair_averaging);
    const DataSet data = handwritten_digits();
    TrainingRanks ranks(data, {}, {.momentum = 0.9}, 3);
    const std::int64_t batch = 96;
    const auto results = ranks.train(plan_of(batch, 0.05, synchronisation), 5 * data.count / batch);
    REQUIRE(all_ok(ranks));
    const double accuracy = ranks.accuracy();
    UNSCOPED_INFO("accuracy " << accuracy << ", noise scale " << results.back().report.noise_scale);
    CHECK(accuracy > 0.9);
    CHECK(results.back().report.loss < results.front().report.loss / 2);
    CHECK((results.back().report.noise_scale > 0) == (synchronisation == Synchronisation::s_sgd));
}
