#include "kernels/learners/learner_group.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::kernels {

LearnerGroup::LearnerGroup(const DataSet& data, MakeDevice make_device, int input_threads)
    : data_(data), make_device_(std::move(make_device)), input_threads_(input_threads) {}
LearnerGroup::~LearnerGroup() = default;

bool LearnerGroup::is_there(const LearnerOrder& order) const {
    return !order.restart && steps_done_ == order.steps_done &&
           std::ranges::equal(central_, order.central) &&
           std::ranges::equal(central_previous_, order.central_previous);
}

// Input that goes on where it was serves on; else it and the engine are made anew.
void LearnerGroup::prepare(const LearnerOrder& order) {
    const bool goes_on = engine_ && order.position == next_position_ &&
                         order.learners == last_.learners && order.batch == last_.batch &&
                         order.samples_of_all == last_.samples_of_all && order.seed == last_.seed;
    if (goes_on) {
        engine_->set_step(order.step, order.central_momentum);
        return;
    }
    engine_.reset();
    input_.reset();
    InputSettings settings;
    settings.batch = order.batch;
    settings.threads = input_threads_;
    settings.ready_most = 2 * order.learners + 2;
    settings.seed = order.seed;
    settings.first = order.position;
    settings.together = order.learners;
    settings.stride = order.samples_of_all;
    input_ = std::make_unique<InputPipeline>(
        data_, settings, [this](std::size_t bytes) { return device_->pinned(bytes); });
    EngineSettings engine;
    engine.learners_per_gpu = order.learners;
    engine.binding = Binding::fixed;
    engine.step = order.step;
    engine.central_momentum = order.central_momentum;
    engine.exchange = [this](std::span<float> sum) {
        return exchange_ ? (*exchange_)(sum) : Outcome::ok;
    };
    engine_ = std::make_unique<LearnerEngine>(*device_, *input_, engine);
    last_ = order;
}

LearnersDone LearnerGroup::run(const LearnerOrder& order, const LearnerDevice::Exchange& exchange) {
    INVARIANT(order.learners >= 1 && order.batch >= 1 && order.samples_of_all >= 1);
    if (!device_) device_ = make_device_(order.central);
    const bool restarts = !is_there(order);
    steps_done_.reset();  // until it is committed
    if (restarts) device_->restart(order.central, order.central_previous);
    prepare(order);
    next_position_ = -1;  // an error on the way leaves the input somewhere
    exchange_ = &exchange;
    const EngineReport report = engine_->run(1);
    exchange_ = nullptr;
    next_position_ = order.position + order.samples_of_all;
    return {report.outcome, report.sum, report.input_waited};
}

void LearnerGroup::committed(std::int64_t steps_done, std::span<const float> central,
                             std::span<const float> central_previous) {
    steps_done_ = steps_done;
    central_.assign(central.begin(), central.end());
    central_previous_.assign(central_previous.begin(), central_previous.end());
}

LearnerGroup::MakeDevice cpu_learners(const Model& model, const DataSet& data) {
    return [&model, features = data.features, classes = data.classes](auto weights) {
        return make_cpu_device(model, features, classes, weights);
    };
}

}  // namespace ukemi::kernels
