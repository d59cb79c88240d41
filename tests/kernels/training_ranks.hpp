// training_ranks.hpp — the ranks of one job as threads of the test.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/data_set.hpp"
#include "kernels/model.hpp"
#include "kernels/replica.hpp"
#include "kernels/training_step.hpp"
#include "tests/support/in_process.hpp"

namespace ukemi {

inline kernels::DataSet small_data(std::int64_t samples = 300) {
    return kernels::load_data({.kind = "synthetic",
                               .images = {},
                               .labels = {},
                               .samples = samples,
                               .features = 12,
                               .classes = 4,
                               .seed = 5});
}

inline policies::Plan plan_of(
    std::int64_t batch, double learning_rate = 0.2,
    policies::Synchronisation synchronisation = policies::Synchronisation::s_sgd) {
    policies::Plan plan;
    plan.version = PlanVersion{3};
    plan.global_batch = batch;
    plan.learning_rate = learning_rate;
    plan.synchronisation = synchronisation;
    return plan;
}

// A group of ranks and their replicas, which outlive any one group's communicators.
class TrainingRanks {
public:
    TrainingRanks(const kernels::DataSet& data, const kernels::ModelSpec& model,
                  kernels::OptimiserSettings optimiser, int size,
                  kernels::StepSettings settings = {})
        : data_(data), model_(kernels::make_model(model, data)), settings_(settings) {
        for (int rank = 0; rank < size; ++rank) {
            replicas.emplace_back(model_->initial_weights(11), optimiser);
        }
    }

    int size() const { return static_cast<int>(replicas.size()); }
    const kernels::Model& model() const { return *model_; }

    // `body(rank, communicator, step)` on a thread a rank, all at once.
    using Body = std::function<void(int, test::InProcessCommunicator&, kernels::TrainingStep&)>;
    void together(const Body& body,
                  std::chrono::milliseconds deadline = std::chrono::milliseconds(20'000)) {
        auto peers = test::in_process_communicators(size(), deadline);
        std::vector<std::thread> threads;
        for (int rank = 0; rank < size(); ++rank) {
            threads.emplace_back([&, rank] {
                auto own = std::move(peers[static_cast<std::size_t>(rank)]);
                kernels::TrainingStep step(*model_, data_, *own, settings_);
                body(rank, *own, step);
            });
        }
        for (std::thread& thread : threads) thread.join();
    }

    // Steps [step, step + count) of a job whose steps all have the Plan's number of samples.
    // Returns rank 0's result of each; `outcomes` has all ranks' last one.
    std::vector<kernels::StepResult> train(const policies::Plan& plan, std::int64_t count) {
        std::vector<kernels::StepResult> results;
        outcomes.assign(replicas.size(), kernels::Outcome::ok);
        const std::int64_t samples = policies::samples_per_step(plan, size());
        together([&](int rank, test::InProcessCommunicator&, kernels::TrainingStep& step) {
            for (std::int64_t i = 0; i < count; ++i) {
                kernels::StepResult result =
                    step.run(replica(rank), plan, 77, next_step_ + i, position_ + i * samples, 0);
                outcomes[static_cast<std::size_t>(rank)] = result.outcome;
                if (result.outcome != kernels::Outcome::ok) return;
                if (rank == 0) results.push_back(std::move(result));
            }
        });
        next_step_ += count;
        position_ += count * samples;
        return results;
    }

    // Of all samples of the data, with rank 0's weights.
    double accuracy() const {
        std::vector<std::uint32_t> all(static_cast<std::size_t>(data_.count));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
        const auto workspace = model_->make_workspace();
        return model_->evaluate(replicas[0].weights(), data_, all, *workspace).correct /
               static_cast<double>(data_.count);
    }

    kernels::Replica& replica(int rank) { return replicas[static_cast<std::size_t>(rank)]; }
    std::vector<std::uint64_t> digests() const {
        std::vector<std::uint64_t> found;
        for (const kernels::Replica& each : replicas) found.push_back(each.digest());
        return found;
    }

    std::vector<kernels::Replica> replicas;
    std::vector<kernels::Outcome> outcomes;

private:
    const kernels::DataSet& data_;
    std::unique_ptr<kernels::Model> model_;
    kernels::StepSettings settings_;
    std::int64_t next_step_ = 0;
    std::int64_t position_ = 0;
};

// The largest difference between two models, relative to the largest weight.
inline double distance(std::span<const float> a, std::span<const float> b) {
    double difference = 0;
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::abs(static_cast<double>(a[i]) - b[i]));
        largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    }
    return difference / largest;
}

inline bool all_ok(const TrainingRanks& ranks) {
    return std::ranges::all_of(ranks.outcomes,
                               [](kernels::Outcome each) { return each == kernels::Outcome::ok; });
}

inline bool all_equal(const std::vector<std::uint64_t>& digests) {
    return std::ranges::all_of(digests, [&](auto each) { return each == digests.front(); });
}

}  // namespace ukemi
