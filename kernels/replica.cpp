// replica.cpp — the updates, and the state as bytes.
#include "kernels/replica.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "kernels/bit_hash.hpp"
#include "kernels/replica_state.hpp"

namespace ukemi::kernels {
namespace {

// What state() begins with; weights and velocity follow, then the two central models if averaging,
// then what a codec shares.
struct ReplicaHeader {
    std::uint64_t parameters = 0;
    std::uint64_t arrays = 0;
    std::int64_t steps = 0;
    std::uint64_t synchronisation = 0;
    double learning_rate = 0;
    double noise_squared_norm = 0;
    double noise_covariance_trace = 0;
    std::int64_t noise_samples = 0;
    std::uint64_t codec = 0;
    double codec_level = 0;
    std::uint64_t codec_values = 0;
};
static_assert(sizeof(ReplicaHeader) == 88);  // no padding: its bytes are hashed

template <class State>
std::vector<const std::vector<float>*> arrays_of(const State& state) {
    if (state.central.empty()) return {&state.weights, &state.velocity};
    return {&state.weights, &state.velocity, &state.central, &state.central_previous};
}

template <class State>
ReplicaHeader header_of(const State& state) {
    return {.parameters = state.weights.size(),
            .arrays = arrays_of(state).size(),
            .steps = state.steps,
            .synchronisation = static_cast<std::uint64_t>(state.synchronisation),
            .learning_rate = state.learning_rate,
            .noise_squared_norm = state.noise.squared_norm,
            .noise_covariance_trace = state.noise.covariance_trace,
            .noise_samples = state.noise.samples,
            .codec = static_cast<std::uint64_t>(state.codec.codec),
            .codec_level = state.codec.level,
            .codec_values = state.codec.shared.size()};
}

constexpr std::string_view no_file = "replica state";

// The bytes hold what the header says, and it is a state of so many parameters.
ReplicaHeader checked_header(std::span<const std::byte> state, std::size_t parameters,
                             std::string_view file = no_file) {
    const auto refuse = [&](std::string_view problem) { throw InputError(file, "", problem); };
    ReplicaHeader header;
    if (state.size() < sizeof header) {
        refuse(fmt::format("expected at least {} bytes, found {}", sizeof header, state.size()));
    }
    std::memcpy(&header, state.data(), sizeof header);
    if (header.parameters != parameters) {
        refuse(fmt::format("expected a model of {} parameters, found one of {}", parameters,
                           header.parameters));
    }
    if (header.arrays != 2 && header.arrays != 4) {
        refuse(fmt::format("expected 2 or 4 arrays, found {}", header.arrays));
    }
    if (header.codec >= policies::codec_count || header.codec_values > parameters) {
        refuse(fmt::format("expected a codec's memory of at most {} numbers, found {} of codec {}",
                           parameters, header.codec_values, header.codec));
    }
    const std::size_t expected =
        sizeof header + (header.arrays * parameters + header.codec_values) * sizeof(float);
    if (state.size() != expected) {
        refuse(fmt::format("expected {} bytes, found {}", expected, state.size()));
    }
    if (header.steps < 0 || header.noise_samples < 0) {
        refuse("expected counts that are not negative");
    }
    if (header.synchronisation >= policies::synchronisation_names().size()) {
        refuse(fmt::format("expected a synchronisation from 0 to {}, found {}",
                           policies::synchronisation_names().size() - 1, header.synchronisation));
    }
    return header;
}

}  // namespace

Replica::Replica(std::vector<float> weights, OptimiserSettings settings) : settings_(settings) {
    now_.velocity.assign(weights.size(), 0.0F);
    now_.weights = std::move(weights);
}

MomentumRule Replica::rule(double learning_rate) const {
    return {.momentum = static_cast<float>(settings_.momentum),
            .weight_decay = static_cast<float>(settings_.weight_decay),
            .rate = static_cast<float>(learning_rate)};
}

std::size_t Replica::size() const { return now_.weights.size(); }
std::span<const float> Replica::weights() const { return now_.weights; }
std::span<const float> Replica::central() const {
    return now_.central.empty() ? now_.weights : now_.central;
}
std::span<const float> Replica::central_previous() const {
    return now_.central.empty() ? now_.weights : now_.central_previous;
}
std::int64_t Replica::steps() const { return now_.steps; }
policies::Synchronisation Replica::synchronisation() const { return now_.synchronisation; }
double Replica::learning_rate() const { return now_.learning_rate; }
const NoiseAverages& Replica::noise() const { return now_.noise; }
const CodecMemory& Replica::codec_memory() const { return now_.codec; }

// Afterwards now_ is what the step writes and before() what it reads. They are one and the same
// after a restart: every update reads an element before it writes it.
Replica::State& Replica::begin_step(policies::Synchronisation synchronisation,
                                    double learning_rate) {
    if (!restarted_) std::swap(now_, other_);
    const State& old = before();
    now_.steps = old.steps + 1;
    now_.noise = old.noise;
    now_.codec = {};
    now_.synchronisation = synchronisation;
    now_.learning_rate = learning_rate;
    now_.weights.resize(old.weights.size());
    now_.velocity.resize(old.weights.size());
    if (synchronisation != policies::Synchronisation::synchronous_averaging) {
        now_.central.clear();
        now_.central_previous.clear();
    }
    can_undo_ = true;
    return now_;
}

void Replica::apply_gradient(std::span<const float> mean_gradient, double learning_rate) {
    INVARIANT(mean_gradient.size() == size());
    const MomentumRule local = rule(learning_rate);
    State& next = begin_step(policies::Synchronisation::s_sgd, learning_rate);
    const State& old = before();
    for (std::size_t i = 0; i < mean_gradient.size(); ++i) {
        const float weight = old.weights[i];
        const float velocity = local.velocity(old.velocity[i], mean_gradient[i], weight);
        next.velocity[i] = velocity;
        next.weights[i] = local.weight(weight, velocity);
    }
    restarted_ = false;
}

void Replica::correction(std::span<float> out) const {
    INVARIANT(out.size() == size());
    const auto rate = static_cast<float>(settings_.averaging_rate);
    const std::span<const float> average = central();
    for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = averaging_correction(now_.weights[i], average[i], rate);
    }
}

void Replica::apply_averaged(std::span<const float> mean_gradient, double learning_rate,
                             std::span<const float> correction_sum) {
    INVARIANT(mean_gradient.size() == size() && correction_sum.size() == size());
    const MomentumRule local = rule(learning_rate);
    const auto pull = static_cast<float>(settings_.averaging_rate);
    const auto momentum = static_cast<float>(settings_.averaging_momentum);
    State& next = begin_step(policies::Synchronisation::synchronous_averaging, learning_rate);
    const State& old = before();
    const bool first = old.central.empty();  // then z and z_prev are the weights
    next.central.resize(next.weights.size());
    next.central_previous.resize(next.weights.size());
    for (std::size_t i = 0; i < mean_gradient.size(); ++i) {
        const float weight = old.weights[i];
        const float central = first ? weight : old.central[i];
        const float previous = first ? weight : old.central_previous[i];
        const float velocity = local.velocity(old.velocity[i], mean_gradient[i], weight);
        next.velocity[i] = velocity;
        next.weights[i] =
            local.weight(weight, velocity) - averaging_correction(weight, central, pull);
        next.central[i] = central_step(central, previous, correction_sum[i], momentum);
        next.central_previous[i] = central;
    }
    restarted_ = false;
}

void Replica::apply_learners(double learning_rate, std::span<const float> correction_sum) {
    INVARIANT(correction_sum.size() == size());
    const auto momentum = static_cast<float>(settings_.averaging_momentum);
    State& next = begin_step(policies::Synchronisation::synchronous_averaging, learning_rate);
    const State& old = before();
    const bool first = old.central.empty();
    next.central.resize(next.weights.size());
    next.central_previous.resize(next.weights.size());
    for (std::size_t i = 0; i < correction_sum.size(); ++i) {
        const float central = first ? old.weights[i] : old.central[i];
        const float previous = first ? old.weights[i] : old.central_previous[i];
        next.central[i] = central_step(central, previous, correction_sum[i], momentum);
        next.central_previous[i] = central;
        next.weights[i] = next.central[i];
        next.velocity[i] = 0;
    }
    restarted_ = false;
}

bool Replica::is_at_central() const {
    return !now_.central.empty() && now_.weights == now_.central &&
           std::ranges::all_of(now_.velocity, [](float value) { return value == 0; });
}

void Replica::apply_paired(std::span<const float> mean_gradient, double learning_rate,
                           std::span<const float> peer_weights) {
    INVARIANT(mean_gradient.size() == size() && peer_weights.size() == size());
    const MomentumRule local = rule(learning_rate);
    State& next = begin_step(policies::Synchronisation::pair_averaging, learning_rate);
    const State& old = before();
    for (std::size_t i = 0; i < mean_gradient.size(); ++i) {
        const float weight = old.weights[i];
        const float velocity = local.velocity(old.velocity[i], mean_gradient[i], weight);
        next.velocity[i] = velocity;
        next.weights[i] = local.weight(middle_of(weight, peer_weights[i]), velocity);
    }
    restarted_ = false;
}

void Replica::restart_from(std::span<const float> weights) {
    INVARIANT(weights.size() == size());
    // `weights` may be a part of this replica: copied first, and a swap moves no elements.
    std::vector<float> model(weights.begin(), weights.end());
    if (!restarted_) {
        std::swap(now_, other_);
        now_.steps = other_.steps;
        now_.synchronisation = other_.synchronisation;
        now_.learning_rate = other_.learning_rate;
        now_.noise = other_.noise;
    }
    now_.codec = {};
    now_.velocity.assign(model.size(), 0.0F);
    now_.weights = std::move(model);
    now_.central.clear();
    now_.central_previous.clear();
    can_undo_ = true;
    restarted_ = true;
}

void Replica::note_noise(const NoiseAverages& noise) {
    INVARIANT(can_undo_ && !restarted_);  // it belongs to a step
    now_.noise = noise;
}

void Replica::note_codec(CodecMemory memory) {
    INVARIANT(can_undo_ && !restarted_);
    INVARIANT(memory.kept.empty() || memory.kept.size() == size());
    INVARIANT(memory.shared.size() <= size());
    now_.codec = std::move(memory);
}

bool Replica::can_undo() const { return can_undo_; }

void Replica::undo() {
    INVARIANT(can_undo_);
    std::swap(now_, other_);
    can_undo_ = false;
    restarted_ = false;
}

std::uint64_t Replica::digest() const {
    const ReplicaHeader header = header_of(now_);
    BitHash hash;
    hash.add(std::as_bytes(std::span(&header, 1)));
    for (const std::vector<float>* array : arrays_of(now_)) {
        hash.add(std::as_bytes(std::span(*array)));
    }
    hash.add(std::as_bytes(std::span(now_.codec.shared)));
    return hash.value();
}

std::vector<std::byte> Replica::state() const {
    const ReplicaHeader header = header_of(now_);
    const std::size_t array_bytes = size() * sizeof(float);
    const auto shared = std::as_bytes(std::span(now_.codec.shared));
    std::vector<std::byte> bytes(sizeof header + header.arrays * array_bytes + shared.size());
    std::byte* place = bytes.data();
    std::memcpy(place, &header, sizeof header);
    place += sizeof header;
    for (const std::vector<float>* array : arrays_of(now_)) {
        if (array_bytes > 0) std::memcpy(place, array->data(), array_bytes);
        place += array_bytes;
    }
    if (!shared.empty()) std::memcpy(place, shared.data(), shared.size());
    return bytes;
}

void Replica::restore(std::span<const std::byte> state) {
    const ReplicaHeader header = checked_header(state, size());
    State restored;
    restored.steps = header.steps;
    restored.synchronisation = static_cast<policies::Synchronisation>(header.synchronisation);
    restored.learning_rate = header.learning_rate;
    restored.noise = {header.noise_squared_norm, header.noise_covariance_trace,
                      header.noise_samples};
    state = state.subspan(sizeof header);
    const std::array all{&restored.weights, &restored.velocity, &restored.central,
                         &restored.central_previous};
    for (std::size_t k = 0; k < header.arrays; ++k) {
        all[k]->resize(size());
        if (state.empty()) continue;  // a model without parameters
        std::memcpy(all[k]->data(), state.data(), size() * sizeof(float));
        state = state.subspan(size() * sizeof(float));
    }
    restored.codec.codec = static_cast<policies::Codec>(header.codec);
    restored.codec.level = header.codec_level;
    restored.codec.shared.resize(header.codec_values);
    if (!state.empty()) std::memcpy(restored.codec.shared.data(), state.data(), state.size());
    now_ = std::move(restored);
    can_undo_ = false;
    restarted_ = false;
}

void expect_trainable_state(std::span<const std::byte> state, std::size_t parameters,
                            std::string_view file) {
    const ReplicaHeader header = checked_header(state, parameters, file);
    for (const double setting : {header.learning_rate, header.noise_squared_norm,
                                 header.noise_covariance_trace, header.codec_level}) {
        if (std::isfinite(setting)) continue;
        throw InputError(file, "", fmt::format("expected finite numbers, found {}", setting));
    }
    state = state.subspan(sizeof header);
    constexpr std::array names{"weight", "velocity", "central weight", "central weight before it"};
    for (std::size_t i = 0; i < state.size() / sizeof(float); ++i) {
        float value = 0;
        std::memcpy(&value, state.data() + i * sizeof value, sizeof value);
        if (std::isfinite(value)) continue;
        const std::size_t array = parameters > 0 ? i / parameters : header.arrays;
        throw InputError(file, "",
                         fmt::format("expected finite numbers, found {} as {} {} of {}", value,
                                     array < header.arrays ? names.at(array) : "codec's number",
                                     parameters > 0 ? i % parameters : i, parameters));
    }
}

}  // namespace ukemi::kernels
