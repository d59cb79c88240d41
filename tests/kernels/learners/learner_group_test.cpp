// learner_group_test.cpp — several learners in each worker: the published rule bit for bit, one
// central model on all workers, and what changes, losses and checkpoints leave of them.
#include "kernels/learners/learner_group.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "kernels/averaging.hpp"
#include "tests/kernels/training_ranks.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;

namespace {

constexpr std::int64_t batch = 4;
constexpr OptimiserSettings optimiser{
    .momentum = 0.9, .weight_decay = 1e-4, .averaging_rate = 0.25, .averaging_momentum = 0.5};
const ModelSpec small_model{.kind = "mlp", .hidden = {5}};

Plan learners_plan(std::int32_t learners, double rate = 0.1) {
    Plan plan = plan_of(0, rate, Synchronisation::synchronous_averaging);
    plan.batch_per_learner = batch;
    plan.learners_per_gpu = learners;
    return plan;
}

// Workers that outlive their groups, as processes do.
struct Workers {
    explicit Workers(int count) : model(make_model(small_model, data)) {
        for (int rank = 0; rank < count; ++rank)
            add(Replica(model->initial_weights(11), optimiser));
    }
    void add(Replica replica) {
        replicas.push_back(std::move(replica));
        groups.push_back(std::make_unique<LearnerGroup>(data, cpu_learners(*model, data)));
    }
    // Steps of a group of all of them; a rank that `quits` ends before its last one.
    void train(const Plan& plan, int count, int quits = -1) {
        const int size = static_cast<int>(replicas.size());
        const std::int64_t samples = samples_per_step(plan, size);
        auto peers = in_process_communicators(size, std::chrono::milliseconds(5'000));
        outcomes.assign(replicas.size(), Outcome::ok);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size; ++rank) {
            threads.emplace_back([&, rank] {
                const auto place = static_cast<std::size_t>(rank);
                const auto own = std::move(peers[place]);
                TrainingStep step(*model, data, *own, {.seed = 3}, groups[place].get());
                for (int i = 0; i < count; ++i) {
                    if (rank == quits && i + 1 == count) return;
                    const StepResult result =
                        step.run(replicas[place], plan, 77, next + i, position + i * samples, 0);
                    outcomes[place] = result.outcome;
                    if (result.outcome != Outcome::ok) return;
                    if (rank == 0) reports.push_back(result.report);
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        next += count;
        position += count * samples;
    }
    bool all_alike() const {
        return std::ranges::all_of(replicas, [&](const Replica& one) {
            return one.is_at_central() && one.digest() == replicas.front().digest();
        });
    }

    DataSet data = small_data();
    std::unique_ptr<Model> model;
    std::vector<Replica> replicas;
    std::vector<std::unique_ptr<LearnerGroup>> groups;
    std::vector<Outcome> outcomes;
    std::vector<StepReport> reports;  // rank 0's
    std::int64_t next = 0;
    std::int64_t position = 0;
};

// The same on one thread, from the published rules (kernels/averaging.hpp).
struct Reference {
    explicit Reference(const Workers& of)
        : workers(of),
          central(of.model->initial_weights(11)),
          order(3, of.data.count),
          workspace(of.model->make_workspace()) {}

    void restart_from(std::span<const float> now, std::span<const float> previous) {
        central = CentralModel({now.begin(), now.end()}, {previous.begin(), previous.end()});
        learners.clear();
    }
    void step(int of_workers, int each, double rate) {
        const std::size_t size = central.weights().size();
        std::vector<float> sum(size, 0.0F);
        for (int worker = 0; worker < of_workers; ++worker) {
            std::vector<float> corrections(size, 0.0F);
            for (int number = 0; number < each; ++number) {
                one_learner({worker, number}, rate, corrections);
            }
            for (std::size_t i = 0; i < size; ++i) sum[i] += corrections[i];
        }
        central.step(sum, 0.5F);
        std::erase_if(learners, [&](const auto& one) { return one.first.second >= each; });
    }
    void one_learner(std::pair<int, int> who, double rate, std::span<float> corrections) {
        const std::size_t size = central.weights().size();
        auto found = learners.find(who);
        if (found == learners.end()) {
            const auto z = central.weights();
            found = learners.emplace(who, Learner{{z.begin(), z.end()}, {}}).first;
            found->second.velocity.assign(size, 0.0F);
        }
        Learner& learner = found->second;
        std::vector<std::uint32_t> samples(batch);
        order.fill(position, samples);
        position += batch;
        std::vector<float> gradient(size, 0.0F);
        workers.model->gradient(learner.weights, workers.data, samples, gradient, *workspace, {});
        for (float& value : gradient) value /= static_cast<float>(batch);
        std::vector<float> own(size, 0.0F);
        averaged_learner_step(workers.replicas[0].rule(rate), 0.25F, central.weights(), gradient,
                              learner.weights, learner.velocity, own);
        for (std::size_t i = 0; i < size; ++i) corrections[i] += own[i];
    }

    struct Learner {
        std::vector<float> weights;
        std::vector<float> velocity;
    };
    const Workers& workers;
    CentralModel central;
    SampleOrder order;
    std::unique_ptr<Model::Workspace> workspace;
    std::map<std::pair<int, int>, Learner> learners;
    std::int64_t position = 0;
};

}  // namespace

TEST_CASE("learner group: learners of workers average as published, bit for bit, whatever changes",
          "[learners]") {
    const int size = GENERATE(1, 2);  // the sum of two is one sum in any order
    CAPTURE(size);
    Workers workers(size);
    Reference reference(workers);
    for (const int learners : {3, 2, 5}) {
        workers.train(learners_plan(learners), 6);
        for (int step = 0; step < 6; ++step) reference.step(size, learners, 0.1);
        CAPTURE(learners);
        REQUIRE(workers.all_alike());
        REQUIRE(std::ranges::equal(workers.replicas[0].central(), reference.central.weights()));
        for (const auto& [who, learner] : reference.learners) {
            REQUIRE(workers.groups[static_cast<std::size_t>(who.first)]->weights(who.second) ==
                    learner.weights);
        }
    }
    CHECK(workers.reports.back().samples == size * 5 * batch);
    CHECK(workers.position == size * (3 + 2 + 5) * 6 * batch);
}

TEST_CASE("learner group: one learner, several, one again go on from the central model",
          "[learners]") {
    Workers workers(2);
    workers.train(learners_plan(1), 5);
    CHECK_FALSE(workers.all_alike());  // each has its own replica
    Reference reference(workers);
    const Replica& first = workers.replicas[0];
    reference.restart_from(first.central(), first.central_previous());
    reference.position = workers.position;
    workers.train(learners_plan(3), 4);
    for (int step = 0; step < 4; ++step) reference.step(2, 3, 0.1);
    CHECK(workers.all_alike());
    CHECK(std::ranges::equal(first.central(), reference.central.weights()));
    const std::vector<float> before(first.central().begin(), first.central().end());
    workers.train(learners_plan(1, 0.1), 1);
    CHECK(std::ranges::equal(first.central_previous(), before));
}

TEST_CASE("learner group: all begin anew when the learning rate drops", "[learners]") {
    Workers workers(1);
    workers.train(learners_plan(3), 5);
    const std::vector<float> before(workers.replicas[0].central().begin(),
                                    workers.replicas[0].central().end());
    workers.train(learners_plan(3, 0.0), 1);  // a step that does not move
    CHECK(std::ranges::equal(workers.replicas[0].central(), before));
    CHECK(workers.groups[0]->weights(2) == before);
}

TEST_CASE("learner group: after a loss everybody goes on from the last common central model",
          "[learners]") {
    Workers workers(3);
    workers.train(learners_plan(2), 5);
    const std::uint64_t before = workers.replicas[0].digest();
    workers.train(learners_plan(2), 1, 2);  // the last rank is gone
    CHECK(workers.outcomes[0] != Outcome::ok);
    CHECK(workers.outcomes[1] != Outcome::ok);
    CHECK(workers.replicas[0].digest() == before);
    CHECK(workers.replicas[1].digest() == before);
    workers.replicas.pop_back();
    workers.groups.pop_back();
    workers.next -= 1;
    workers.position -= 3 * 2 * batch;
    Reference reference(workers);
    reference.restart_from(workers.replicas[0].central(), workers.replicas[0].central_previous());
    reference.position = workers.position;
    workers.train(learners_plan(2), 5);
    for (int step = 0; step < 5; ++step) reference.step(2, 2, 0.1);
    CHECK(workers.all_alike());
    CHECK(std::ranges::equal(workers.replicas[1].central(), reference.central.weights()));
}

TEST_CASE("learner group: an undone step and a checkpoint leave the central model", "[learners]") {
    Workers workers(1);
    workers.train(learners_plan(3), 6);
    Replica& replica = workers.replicas[0];
    const std::vector<std::byte> saved = replica.state();
    const std::uint64_t digest = replica.digest();
    workers.train(learners_plan(3), 1);
    replica.undo();
    CHECK(replica.digest() == digest);
    workers.position -= 3 * batch;
    workers.train(learners_plan(3), 4);

    Workers resumed(1);
    resumed.replicas[0].restore(saved);
    CHECK(resumed.replicas[0].digest() == digest);
    resumed.position = workers.position - 4 * 3 * batch;
    resumed.next = 6;
    resumed.train(learners_plan(3), 4);
    CHECK(resumed.replicas[0].digest() == replica.digest());
}

TEST_CASE("learner group: averaging learners learn", "[learners]") {
    Workers workers(2);
    workers.train(learners_plan(2, 0.05), 150);         // α is 1 ÷ learners
    const auto mean_loss = [&](std::ptrdiff_t begin) {  // of 30 steps
        const auto from = workers.reports.begin() + begin;
        return std::accumulate(from, from + 30, 0.0, [](double sum, const StepReport& report) {
            return sum + report.loss / 30;
        });
    };
    CHECK(mean_loss(120) < 0.85 * mean_loss(0));
}
