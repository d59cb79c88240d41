// group.cpp — samples, gradients and codecs of a step; what a rule does with them is in rules/.
#include "sim/learning/real/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi {

GroupStep::GroupStep(const RealTask& task, std::uint64_t seed)
    : task_(&task),
      seed_(seed),
      order_(seed, task.training.count),
      workspace_(task.model->make_workspace()),
      mean_(task.model->parameter_count(), 0.0F) {}

void GroupStep::begin(const LearningStep& settings, std::int64_t step, std::int64_t position) {
    INVARIANT(settings.batch >= 1 && settings.workers >= 1 && settings.learners_per_worker >= 1);
    step_ = step;
    rate_ = static_cast<float>(settings.learning_rate);
    learners_ = settings.workers * settings.learners_per_worker;
    samples_.resize(static_cast<std::size_t>(settings.batch));
    order_.fill(position, samples_);
}

MomentumRule GroupStep::rule() const {
    return {static_cast<float>(task_->optimiser.momentum),
            static_cast<float>(task_->optimiser.weight_decay), rate_};
}

auto GroupStep::gradient(int part, int parts, std::span<const float> weights) -> Part {
    if (parts_.size() <= static_cast<std::size_t>(part)) {
        parts_.resize(static_cast<std::size_t>(part) + 1);
    }
    std::vector<float>& sum = parts_[static_cast<std::size_t>(part)];
    sum.assign(parameters(), 0.0F);
    const Share share = share_of(batch(), part, parts);
    if (share.count == 0) return {sum, 0};
    task_->model->gradient(weights, task_->training,
                           std::span(samples_).subspan(static_cast<std::size_t>(share.begin),
                                                       static_cast<std::size_t>(share.count)),
                           sum, *workspace_, {});
    const auto count = static_cast<float>(share.count);
    for (float& value : sum) value /= count;
    return {sum, share.count};
}

double squared_norm(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) {
        sum += static_cast<double>(value) * static_cast<double>(value);
    }
    return sum;
}

void GroupStep::note_noise(GroupState& state, std::span<const LocalNorm> norms) {
    const auto sample = noise_of_replicas(norms, squared_norm(mean_));
    if (sample) state.noise.add(*sample, task_->noise_smoothing);
}

// One learner's batch is halved, so that its noise can be measured.
std::span<const float> GroupStep::mean_gradient(std::span<const float> weights, GroupState& state,
                                                std::span<const int> counted) {
    const int parts = learners_ == 1 && batch() >= 2 ? 2 : learners_;
    std::vector<int> all(static_cast<std::size_t>(parts));
    std::iota(all.begin(), all.end(), 0);
    if (counted.empty()) counted = all;
    std::vector<LocalNorm> norms;
    std::int64_t samples = 0;
    std::ranges::fill(mean_, 0.0F);
    for (const int part : counted) {
        const Part one = gradient(part, parts, weights);
        norms.push_back({one.samples, squared_norm(one.mean)});
        samples += one.samples;
        const auto weight = static_cast<float>(one.samples);
        for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] += weight * one.mean[i];
    }
    const auto count = static_cast<float>(std::max<std::int64_t>(samples, 1));
    for (float& value : mean_) value /= count;
    note_noise(state, norms);
    return mean_;
}

std::vector<TensorShape> tensor_shapes(const Model& model) {
    std::vector<TensorShape> shapes;
    const auto tensors = model.tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const auto count = static_cast<std::int64_t>(tensors[t].count);
        const bool weight = t % 2 == 0 && t + 1 < tensors.size();
        const auto outputs = weight ? static_cast<std::int64_t>(tensors[t + 1].count) : 1;
        shapes.push_back({count / outputs, outputs});
    }
    return shapes;
}

void GroupStep::make_codecs() {
    const SynchronisationSettings& settings = task_->synchronisation;
    const std::vector<TensorShape> shapes = tensor_shapes(*task_->model);
    codecs_.clear();
    codecs_.resize(shapes.size());
    layouts_.clear();
    for (std::size_t t = 0; t < shapes.size(); ++t) {
        layouts_.push_back(
            codec_layout(settings.codec, settings.codec_level, shapes[t], learners_));
        for (int learner = 0; learner < learners_; ++learner) {
            codecs_[t].push_back(
                make_codec(settings.codec, {settings.codec_level, settings.error_feedback, seed_},
                           {shapes[t], static_cast<std::int64_t>(t), learner, learners_}));
        }
    }
    fresh_memory_ = memory_of_codecs();
}

std::vector<float> GroupStep::memory_of_codecs() {
    std::vector<float> memory;
    for (auto& tensor : codecs_) {
        for (auto& codec : tensor) {
            for (const std::span<float> part : codec->memory()) {
                memory.insert(memory.end(), part.begin(), part.end());
            }
        }
    }
    return memory;
}

void GroupStep::load_codecs(std::span<const float> memory) {
    for (auto& tensor : codecs_) {
        for (auto& codec : tensor) {
            for (const std::span<float> part : codec->memory()) {
                INVARIANT(part.size() <= memory.size());
                std::ranges::copy(memory.first(part.size()), part.begin());
                memory = memory.subspan(part.size());
            }
        }
    }
    INVARIANT(memory.empty());
}

// Each learner hands in its gradient times its share of the batch times their number, so that the
// mean over learners is that over samples.
std::span<const float> GroupStep::coded_mean(std::span<const float> weights, GroupState& state) {
    if (codecs_.empty() || std::ssize(codecs_.front()) != learners_) make_codecs();
    load_codecs(state.codec_memory.empty() ? fresh_memory_ : state.codec_memory);
    mean_gradient(weights, state);  // the parts, and what their norms say
    if (learners_ == 1) gradient(0, 1, weights);
    for (int learner = 0; learner < learners_; ++learner) {
        const Share share = share_of(batch(), learner, learners_);
        const float factor =
            static_cast<float>(share.count * learners_) / static_cast<float>(batch());
        if (factor == 1) continue;
        for (float& value : parts_[static_cast<std::size_t>(learner)]) value *= factor;
    }
    const auto tensors = task_->model->tensors();
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        std::vector<TensorCodec*> ranks;
        std::vector<std::span<const float>> gradients;
        for (int learner = 0; learner < learners_; ++learner) {
            const auto index = static_cast<std::size_t>(learner);
            ranks.push_back(codecs_[t][index].get());
            gradients.push_back(
                std::span(parts_[index]).subspan(tensors[t].begin, tensors[t].count));
        }
        exchange_step(layouts_[t], ranks, step_, gradients,
                      std::span(mean_).subspan(tensors[t].begin, tensors[t].count));
    }
    state.codec_memory = memory_of_codecs();
    return mean_;
}

// Lognormal with mean 1: σ² = log(1 + CV²), μ = −σ² ÷ 2.
std::int64_t GroupStep::step_time(int learner, std::int64_t step) const {
    constexpr std::int64_t mean = 1'000'000;
    const double variation = task_->synchronisation.straggling;
    if (variation <= 0) return mean;
    RandomStream random(seed_, fmt::format("straggling/{}/{}", learner, step));
    const double variance = exact::log1p(variation * variation);
    return std::max<std::int64_t>(
        1, round_nearest(mean * random.lognormal(-variance / 2, std::sqrt(variance))));
}

GroupState first_state(const RealTask& task, std::uint64_t seed) {
    GroupState state;
    state.common = task.model->initial_weights(seed);
    state.common_before = state.common;
    state.velocity.assign(state.common.size(), 0.0F);
    return state;
}

void take_step(GroupState& state, GroupStep& step, const LearningStep& settings) {
    step.begin(settings, state.steps, state.position);
    if (state.group != step.learners()) {
        state.learners.clear();
        state.codec_memory.clear();
        state.server.reset();
        state.finish.clear();
        state.common_before = state.common;
        state.group = step.learners();
    }
    const SynchronisationRule* rule = find_synchronisation_rule(step.task().synchronisation.rule);
    INVARIANT(rule != nullptr);
    rule->step(state, step);
    state.rate = settings.learning_rate;
    state.position += settings.batch;
    ++state.steps;
}

BatchResult evaluated(const RealTask& task, const DataSet& data, std::span<const float> weights) {
    std::vector<std::uint32_t> all(static_cast<std::size_t>(data.count));
    std::iota(all.begin(), all.end(), 0U);
    const auto workspace = task.model->make_workspace();
    return task.model->evaluate(weights, data, all, *workspace);
}

}  // namespace ukemi
