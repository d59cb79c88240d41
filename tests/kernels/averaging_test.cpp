// averaging_test.cpp — published update rules: golden vectors, what they conserve, whom they pick.
#include "kernels/averaging.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>

#include "kernels/replica.hpp"
#include "tests/kernels/codec_ranks.hpp"

using namespace ukemi;
using namespace ukemi::kernels;

namespace {

constexpr MomentumRule plain_rule{.momentum = 0, .weight_decay = 0, .rate = 0.1F};

double sum_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value);
    return sum;
}

}  // namespace

TEST_CASE("averaging: Crossbow's golden vector", "[averaging][golden]") {
    // z = 1, w = (2, ½), g = (1, −1), η = α = 0.1: w = (1.8, 0.65), z = 1.05 (Crossbow's sma.cu).
    CentralModel central({1});
    std::array<std::vector<float>, 2> weights{{{2}, {0.5F}}};
    std::vector<float> velocity{0};
    std::vector<float> sum{0};
    const std::array<std::vector<float>, 2> gradients{{{1}, {-1}}};
    for (std::size_t learner = 0; learner < 2; ++learner) {
        averaged_learner_step(plain_rule, 0.1F, central.weights(), gradients[learner],
                              weights[learner], velocity, sum);
    }
    CHECK(weights[0][0] == Approx(1.8));
    CHECK(weights[1][0] == Approx(0.65));
    central.step(sum, 0);
    CHECK(central.weights()[0] == Approx(1.05));
    // The central momentum carries on: z = 1.05 + 0 + 0.9 · 0.05.
    central.step(std::vector<float>{0}, 0.9F);
    CHECK(central.weights()[0] == Approx(1.095));
    // The restart ends that, and begins every learner anew from z.
    central.restart();
    central.restart_learner(weights[0], velocity);
    CHECK(weights[0][0] == central.weights()[0]);
    CHECK(velocity[0] == 0);
    central.step(std::vector<float>{0}, 0.9F);
    CHECK(central.weights()[0] == Approx(1.095));
}

TEST_CASE("averaging: the rules on vectors give the bits of live replicas", "[averaging]") {
    const auto start = random_gradient(1, "weights", 37);
    const OptimiserSettings settings{
        .momentum = 0.9, .weight_decay = 1e-4, .averaging_rate = 0.25, .averaging_momentum = 0.5};
    const MomentumRule rule{.momentum = 0.9F, .weight_decay = 1e-4F, .rate = 0.05F};
    std::vector<Replica> replicas(2, Replica(start, settings));
    std::array<std::vector<float>, 2> weights{{start, start}};
    std::array<std::vector<float>, 2> velocity{{std::vector<float>(37), std::vector<float>(37)}};
    CentralModel central(start);
    for (std::uint64_t step = 0; step < 4; ++step) {
        const auto gradients = rank_gradients(step, 2, 37);
        std::vector<float> live_sum(37, 0.0F);
        for (const Replica& replica : replicas) {
            std::vector<float> correction(37);
            replica.correction(correction);
            for (std::size_t i = 0; i < 37; ++i) live_sum[i] += correction[i];
        }
        std::vector<float> sum(37, 0.0F);
        for (std::size_t learner = 0; learner < 2; ++learner) {
            replicas[learner].apply_averaged(gradients[learner], 0.05, live_sum);
            averaged_learner_step(rule, 0.25F, central.weights(), gradients[learner],
                                  weights[learner], velocity[learner], sum);
        }
        central.step(sum, 0.5F);
        CHECK(sum == live_sum);
        for (std::size_t learner = 0; learner < 2; ++learner) {
            CHECK(std::ranges::equal(replicas[learner].weights(), weights[learner]));
            CHECK(std::ranges::equal(replicas[learner].central(), central.weights()));
        }
    }
    // Pairs and S-SGD.
    Replica paired(start, settings);
    Replica alone(start, settings);
    std::vector<float> other = random_gradient(2, "peer", 37);
    const auto gradient = random_gradient(3, "gradient", 37);
    paired.apply_paired(gradient, 0.05, other);
    alone.apply_gradient(gradient, 0.05);
    std::vector<float> own = start;
    std::vector<float> own_velocity(37);
    local_step(rule, gradient, own, own_velocity);
    CHECK(std::ranges::equal(alone.weights(), own));
    // There the gradient is taken before the averaging, and the decay with it.
    own = start;
    pair_with(other, own);
    for (std::size_t i = 0; i < 37; ++i) own[i] = rule.weight(own[i], own_velocity[i]);
    CHECK(std::ranges::equal(paired.weights(), own));
}

TEST_CASE("averaging: without gradients learners and centre keep their sum, and meet",
          "[averaging][property]") {
    for (const int learners : {1, 2, 5}) {
        CAPTURE(learners);
        auto weights = rank_gradients(3, learners, 11);
        CentralModel central(random_gradient(9, "centre", 11));
        const std::vector<float> no_gradient(11, 0.0F);
        std::vector<float> velocity(11, 0.0F);
        const auto total = [&] {
            double sum = sum_of(central.weights());
            for (const auto& each : weights) sum += sum_of(each);
            return sum;
        };
        const double before = total();
        for (int step = 0; step < 200; ++step) {
            std::vector<float> sum(11, 0.0F);
            for (auto& each : weights) {
                averaged_learner_step(plain_rule, 0.1F, central.weights(), no_gradient, each,
                                      velocity, sum);
            }
            central.step(sum, 0);
        }
        CHECK(total() == Approx(before).margin(1e-4));
        for (const auto& each : weights) CHECK(squared_distance(each, central.weights()) < 1e-9);
    }
}

TEST_CASE("averaging: elastic averaging in both forms", "[averaging][golden]") {
    // Synchronous: z ← (1 − β) z + β mean(x) with β = p α (eq. 6).
    const std::vector<std::vector<float>> learners{{4}, {2}, {-1}};
    CentralModel central({1});
    std::vector<float> sum{0};
    std::vector<float> velocity{0};
    for (std::vector<float> each : learners) {
        averaged_learner_step(plain_rule, 0.2F, central.weights(), std::vector<float>{0}, each,
                              velocity, sum);
    }
    central.step(sum, 0);
    CHECK(central.weights()[0] == Approx((1 - 0.6) * 1 + 0.6 * 5 / 3.0));
}

TEST_CASE("averaging: KungFu's pull to the mean, its switch, and local SGD's rhythm",
          "[averaging][golden]") {
    const std::vector<float> a{1, 10};
    const std::vector<float> b{3, 20};
    std::vector<float> mean(2);
    mean_of_replicas(std::vector<std::span<const float>>{a, b}, mean);
    CHECK(mean == std::vector<float>{2, 15});
    std::vector<float> weights = a;
    pull_to_mean(kungfu_averaging_rate, mean, weights);
    CHECK(weights[0] == Approx(1.1));
    CHECK(weights[1] == Approx(10.5));
    CHECK(ada_sgd_at(0, 2) == AdaSgdStep::averaging);
    CHECK(ada_sgd_at(1, 2) == AdaSgdStep::averaging);
    CHECK(ada_sgd_at(2, 2) == AdaSgdStep::take_rank_0);
    CHECK(ada_sgd_at(3, 2) == AdaSgdStep::s_sgd);
    CHECK(ada_sgd_at(0, 0) == AdaSgdStep::s_sgd);
    std::vector<std::int64_t> exchanged;
    for (std::int64_t step = 0; step < 12; ++step) {
        if (exchanges_after(step, 4)) exchanged.push_back(step);
    }
    CHECK(exchanged == std::vector<std::int64_t>{3, 7, 11});
}

TEST_CASE("averaging: KungFu takes the next worker twice as often, the other choice does not",
          "[averaging][property]") {
    constexpr int trials = 60'000;
    for (const int size : {2, 5}) {
        for (int rank = 0; rank < size; ++rank) {
            RandomStream random(1, fmt::format("peer/{}/{}", size, rank));
            std::map<int, double> kungfu;
            std::map<int, double> uniform;
            for (int i = 0; i < trials; ++i) {
                kungfu[kungfu_peer(random, rank, size)] += 1.0 / trials;
                uniform[uniform_peer(random, rank, size)] += 1.0 / trials;
            }
            CHECK(kungfu.count(rank) == 0);
            CHECK(uniform.count(rank) == 0);
            for (int peer = 0; peer < size; ++peer) {
                if (peer == rank) continue;
                CAPTURE(size, rank, peer);
                const double expected = peer == (rank + 1) % size ? 2.0 / size : 1.0 / size;
                CHECK(kungfu[peer] == Approx(expected).margin(0.01));
                CHECK(uniform[peer] == Approx(1.0 / (size - 1)).margin(0.01));
            }
        }
    }
}

TEST_CASE("averaging: pairs keep the mean of two models", "[averaging][golden]") {
    std::vector<float> own{1, -2};
    pair_with(std::vector<float>{3, 2}, own);
    CHECK(own == std::vector<float>{2, 0});
}

TEST_CASE("parameter server: n equal workers in turn are n − 1 updates behind",
          "[averaging][property]") {
    // w_{t+1} = w_t − η g(w_{t−τ}) with τ = n − 1.
    constexpr int workers = 4;
    ParameterServer server({1}, workers, {});
    std::array<std::vector<float>, workers> seen{};
    for (int worker = 0; worker < workers; ++worker) {
        seen[static_cast<std::size_t>(worker)].resize(1);
        server.pull(worker, seen[static_cast<std::size_t>(worker)]);
    }
    std::vector<float> history{1};  // of w
    for (int turn = 0; turn < 40; ++turn) {
        const int worker = turn % workers;
        auto& weights = seen[static_cast<std::size_t>(worker)];
        // g(w) = w: the gradient of ½w².
        const std::int64_t staleness = server.push(worker, weights, 0.1F);
        CHECK(staleness == std::min(turn, workers - 1));
        const auto past = history.size() - 1 - static_cast<std::size_t>(staleness);
        history.push_back(history.back() - 0.1F * history[past]);
        CHECK(server.weights()[0] == history.back());
        server.pull(worker, weights);
    }
    CHECK(server.updates() == 40);
}

TEST_CASE("parameter server: nobody runs further ahead than allowed", "[averaging]") {
    ParameterServer server({0}, 3, {.clock_lead_max = 2});
    std::vector<float> weights(1);
    const std::vector<float> gradient{1};
    const auto step = [&](int worker) {
        if (!server.may_pull(worker)) return false;
        server.pull(worker, weights);
        server.push(worker, gradient, 1);
        return true;
    };
    CHECK((step(0) && step(0) && step(0)));
    CHECK_FALSE(step(0));  // three ahead of the others
    CHECK(step(1));
    CHECK_FALSE(step(0));  // worker 2 has done nothing yet
    server.leave(2);
    CHECK(step(0));
    CHECK(server.clock(0) == 4);
    CHECK(server.weights()[0] == -5);
    ParameterServer lockstep({0}, 2, {.clock_lead_max = 0});
    lockstep.pull(0, weights);
    lockstep.push(0, gradient, 1);
    CHECK_FALSE(lockstep.may_pull(0));
    CHECK(lockstep.may_pull(1));
}

TEST_CASE("parameter server: a stale gradient may count less", "[averaging]") {
    ParameterServer server({0}, 3, {.by_staleness = true});
    std::vector<float> weights(1);
    for (int worker = 0; worker < 3; ++worker) server.pull(worker, weights);
    const std::vector<float> gradient{1};
    CHECK(server.push(0, gradient, 0.5F) == 0);
    CHECK(server.push(1, gradient, 0.5F) == 1);
    CHECK(server.weights()[0] == -1.0F);
    CHECK(server.push(2, gradient, 0.5F) == 2);
    CHECK(server.weights()[0] == -1.25F);
}

TEST_CASE("backup workers: the first to finish count, and the last of them is the step",
          "[averaging][golden]") {
    const std::vector<Duration> times{seconds(3), seconds(1), seconds(9), seconds(1), seconds(2)};
    const FirstFinished first = first_finished(times, 3);
    CHECK(first.ranks == std::vector<int>{1, 3, 4});
    CHECK(first.step == seconds(2));
    CHECK(first_finished(times, 1).ranks == std::vector<int>{1});  // the lower rank of equals
    CHECK(first_finished(times, 5).step == seconds(9));
}
