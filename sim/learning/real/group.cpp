// group.cpp — samples, gradients and codecs of a step; what a rule does with them is in rules/.
#include "sim/learning/real/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"
#include "base/rng.hpp"
#include "kernels/bit_hash.hpp"
#include "sim/learning/real/group_codecs.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi::sim {

GroupStep::GroupStep(const RealTask& task, std::uint64_t seed)
    : task_(&task),
      seed_(seed),
      order_(seed, task.training.count),
      workspace_(task.model->make_workspace()),
      mean_(task.model->parameter_count(), 0.0F) {}

GroupStep::~GroupStep() = default;

void GroupStep::begin(const LearningStep& settings, std::int64_t step, std::int64_t position) {
    INVARIANT(settings.batch >= 1 && settings.workers >= 1 && settings.learners_per_worker >= 1);
    step_ = step;
    rate_ = static_cast<float>(settings.learning_rate);
    learners_ = settings.workers * settings.learners_per_worker;
    samples_.resize(static_cast<std::size_t>(settings.batch));
    order_.fill(position, samples_);
}

kernels::MomentumRule GroupStep::rule() const {
    return {static_cast<float>(task_->optimiser.momentum),
            static_cast<float>(task_->optimiser.weight_decay), rate_};
}

auto GroupStep::gradient(int part, int parts, std::span<const float> weights) -> Part {
    if (parts_.size() <= static_cast<std::size_t>(part)) {
        parts_.resize(static_cast<std::size_t>(part) + 1);
    }
    std::vector<float>& sum = parts_[static_cast<std::size_t>(part)];
    sum.assign(parameters(), 0.0F);
    const kernels::Share share = kernels::share_of(batch(), part, parts);
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

void GroupStep::note_noise(GroupState& state, std::span<const kernels::LocalNorm> norms) {
    const auto sample = kernels::noise_of_replicas(norms, squared_norm(mean_));
    if (sample) state.noise.add(*sample, task_->noise_smoothing);
}

// One learner's batch is halved, so that its noise can be measured.
std::span<const float> GroupStep::mean_gradient(std::span<const float> weights, GroupState& state,
                                                std::span<const int> counted) {
    const int parts = learners_ == 1 && batch() >= 2 ? 2 : learners_;
    std::vector<int> all(static_cast<std::size_t>(parts));
    std::iota(all.begin(), all.end(), 0);
    if (counted.empty()) counted = all;
    std::vector<kernels::LocalNorm> norms;
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

bool GroupStep::keeps_rest(policies::Codec codec) const {
    return task_->synchronisation.error_feedback && kernels::entry_of(codec).contracts;
}

void GroupStep::prepare_codecs(const GroupState& state) {
    if (codecs_ && codecs_->are(state.codec, state.codec_level, learners_)) return;
    codecs_ = std::make_unique<GroupCodecs>(*task_->model, state.codec, state.codec_level, seed_,
                                            learners_, keeps_rest(state.codec));
}

// A mean over learners, as what a codec makes of their gradients is.
void GroupStep::add_kept(GroupState& state) {
    for (const std::vector<float>& kept : state.kept) {
        const auto learners = static_cast<float>(learners_);
        for (std::size_t i = 0; i < kept.size(); ++i) mean_[i] += kept[i] / learners;
    }
    state.kept.clear();
}

// Each learner hands in its gradient times its share of the batch times their number, so that the
// mean over learners is that over samples.
void GroupStep::code_gradients(GroupState& state) {
    prepare_codecs(state);
    const auto parts = std::span(parts_).first(static_cast<std::size_t>(learners_));
    for (int learner = 0; learner < learners_; ++learner) {
        const auto index = static_cast<std::size_t>(learner);
        const kernels::Share share = kernels::share_of(batch(), learner, learners_);
        const float factor =
            static_cast<float>(share.count * learners_) / static_cast<float>(batch());
        if (factor != 1) {
            for (float& value : parts[index]) value *= factor;
        }
        if (state.kept.empty()) continue;
        for (std::size_t i = 0; i < parts[index].size(); ++i) {
            parts[index][i] += state.kept[index][i];
        }
    }
    state.codec_error = codecs_->exchange(step_, parts, state.codec_shared, mean_);
    if (keeps_rest(state.codec)) {
        state.kept.assign(parts.begin(), parts.end());
    } else {
        state.kept.clear();
    }
}

std::span<const float> GroupStep::exchanged_mean(std::span<const float> weights,
                                                 GroupState& state) {
    mean_gradient(weights, state);  // the parts, and what their norms say
    if (state.codec == policies::Codec::none) {
        add_kept(state);
    } else {
        if (learners_ == 1) gradient(0, 1, weights);
        code_gradients(state);
    }
    state.applied_squared_norm = squared_norm(mean_);
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

namespace {

// From one common model, at rest. Nobody has the mean of pairs: one learner's model is taken.
void begin_anew(GroupState& state) {
    const bool pairs = state.synchronisation == policies::Synchronisation::pair_averaging;
    if (pairs && !state.learners.empty()) state.common = state.learners.front().weights;
    state.learners.clear();
    state.server.reset();
    state.finish.clear();
    state.common_before = state.common;
}

bool are_others(const Members& before, const Members& now) {
    return before && now && !std::ranges::is_permutation(*before, *now);
}

// Where what learner `learner` of worker `worker` kept is; nothing for one that was not there.
std::optional<std::size_t> place_before(const GroupState& state, const Members& now,
                                        std::size_t worker, std::size_t learner) {
    const auto each = static_cast<std::size_t>(state.learners_per_worker);
    if (learner >= each) return std::nullopt;
    std::size_t place = worker;
    if (state.members && now) {
        const auto found = std::ranges::find(*state.members, (*now)[worker]);
        place = static_cast<std::size_t>(found - state.members->begin());
    }
    place = place * each + learner;
    return place < state.kept.size() ? std::optional(place) : std::nullopt;
}

void change_group(GroupState& state, const LearningStep& to) {
    const std::int32_t learners = to.workers * to.learners_per_worker;
    if (state.group != learners || are_others(state.members, to.members)) {
        begin_anew(state);
        std::vector<std::vector<float>> kept;
        if (!state.kept.empty()) {
            for (std::int32_t i = 0; i < learners; ++i) {
                const auto from = place_before(
                    state, to.members, static_cast<std::size_t>(i / to.learners_per_worker),
                    static_cast<std::size_t>(i % to.learners_per_worker));
                kept.push_back(from ? std::move(state.kept[*from])
                                    : std::vector<float>(state.common.size(), 0.0F));
            }
        }
        state.kept = std::move(kept);
        state.members = to.members;
    }
    if (!state.members) state.members = to.members;  // else the same, perhaps in another order
    state.group = learners;
    state.learners_per_worker = to.learners_per_worker;
}

// The noise scale is that of gradients at one model: other rules may not measure it.
void change_synchronisation(GroupState& state, policies::Synchronisation to) {
    if (state.synchronisation == to) return;
    begin_anew(state);
    std::ranges::fill(state.velocity, 0.0F);
    state.noise = {};
    state.synchronisation = to;
}

// A codec's warm start is its own.
void change_codec(GroupState& state, policies::Codec codec, double level) {
    level = kernels::level_meant(codec, level);
    if (state.codec == codec && state.codec_level == level) return;
    state.codec_shared.clear();
    state.codec = codec;
    state.codec_level = level;
}

}  // namespace

void take_step(GroupState& state, GroupStep& step, const LearningStep& settings) {
    step.begin(settings, state.steps, state.position);
    const SynchronisationRule& rule =
        rule_for(step.task().synchronisation, settings.synchronisation);
    change_synchronisation(state, settings.synchronisation);
    change_group(state, settings);
    change_codec(state, rule.codecs ? settings.codec : policies::Codec::none,
                 rule.codecs ? settings.codec_level : 0);
    if (!rule.codecs) state.kept.clear();
    state.codec_error = state.applied_squared_norm = 0;
    rule.step(state, step);
    state.rate = settings.learning_rate;
    state.position += settings.batch;
    ++state.steps;
}

std::uint64_t digest_of(const GroupState& state) {
    kernels::BitHash hash;
    const auto add_values = [&](std::span<const float> values) { hash.add(std::as_bytes(values)); };
    const auto add_number = [&](auto number) { hash.add(std::bit_cast<std::uint64_t>(number)); };
    add_number(state.steps);
    add_number(state.position);
    add_number(state.rate);
    add_number(state.noise.squared_norm);
    add_number(state.noise.covariance_trace);
    add_number(state.noise.samples);
    add_number(std::int64_t{state.group});
    add_number(std::int64_t{state.learners_per_worker});
    add_number(static_cast<std::uint64_t>(state.synchronisation));
    add_number(static_cast<std::uint64_t>(state.codec));
    add_number(state.codec_level);
    for (const auto* values :
         {&state.common, &state.velocity, &state.common_before, &state.codec_shared}) {
        add_values(*values);
    }
    for (const GroupState::Learner& one : state.learners) {
        add_values(one.weights);
        add_values(one.velocity);
    }
    for (const std::vector<float>& kept : state.kept) add_values(kept);
    if (state.server) {
        add_values(state.server->weights());
        add_number(state.server->digest());
    }
    hash.add(std::as_bytes(std::span(state.finish)));
    return hash.value();
}

kernels::BatchResult evaluated(const RealTask& task, const kernels::DataSet& data,
                               std::span<const float> weights) {
    std::vector<std::uint32_t> all(static_cast<std::size_t>(data.count));
    std::iota(all.begin(), all.end(), 0U);
    const auto workspace = task.model->make_workspace();
    return task.model->evaluate(weights, data, all, *workspace);
}

}  // namespace ukemi::sim
