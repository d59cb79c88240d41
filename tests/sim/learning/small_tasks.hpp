// small_tasks.hpp — tasks that are trained for real in tests, and how far learners get with them.
#pragma once

#include <tuple>

#include "sim/learning/real/real_gradients.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi {

struct TaskChoice {
    kernels::ModelSpec model = {};
    sim::SynchronisationSettings synchronisation = {};
    double momentum = 0;
};

inline std::shared_ptr<const sim::RealTask> task_of(const kernels::DataSet& all,
                                                    const TaskChoice& choice) {
    auto task = std::make_shared<sim::RealTask>();
    std::tie(task->training, task->test) = sim::split_data(all, 0.2);
    task->model = kernels::make_model(choice.model, task->training);
    task->optimiser.momentum = choice.momentum;
    task->synchronisation = choice.synchronisation;
    return task;
}

// With the synchronisation that the task's rule stands for.
inline sim::LearningStep on(const sim::RealTask& task, sim::LearningStep step) {
    step.synchronisation = sim::find_synchronisation_rule(task.synchronisation.rule)->kind;
    return step;
}
inline void step_on(sim::GroupState& state, sim::GroupStep& group, const sim::LearningStep& step) {
    sim::take_step(state, group, on(group.task(), step));
}

// Always there: uniform features, labels of a noisy linear teacher.
inline kernels::DataSet synthetic_data(std::int64_t samples = 1280, std::int32_t features = 16,
                                       std::int32_t classes = 5) {
    return kernels::load_data({"synthetic", {}, {}, samples, features, classes, 7});
}

struct Trained {
    sim::GroupState state;
    double accuracy = 0;  // on the test samples
    double loss = 0;      // mean over the training samples
};

// So many epochs of equal steps, from the seed's first weights.
inline Trained trained(const sim::RealTask& task, const sim::LearningStep& step, double epochs,
                       std::uint64_t seed) {
    sim::GroupStep group(task, seed);
    Trained result{sim::first_state(task, seed)};
    const auto samples =
        static_cast<std::int64_t>(epochs * static_cast<double>(task.training.count));
    while (result.state.position < samples) step_on(result.state, group, step);
    const kernels::BatchResult test = sim::evaluated(task, task.test, result.state.common);
    const kernels::BatchResult training = sim::evaluated(task, task.training, result.state.common);
    result.accuracy = test.correct / static_cast<double>(task.test.count);
    result.loss = training.loss_sum / static_cast<double>(task.training.count);
    return result;
}

}  // namespace ukemi
