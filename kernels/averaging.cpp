// averaging.cpp — the loops over elements, and the server's clocks.
#include "kernels/averaging.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/bit_hash.hpp"

namespace ukemi::kernels {

void local_step(const MomentumRule& rule, std::span<const float> gradient, std::span<float> weights,
                std::span<float> velocity) {
    INVARIANT(gradient.size() == weights.size() && velocity.size() == weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        velocity[i] = rule.velocity(velocity[i], gradient[i], weights[i]);
        weights[i] = rule.weight(weights[i], velocity[i]);
    }
}

void mean_of_replicas(std::span<const std::span<const float>> replicas, std::span<float> mean) {
    INVARIANT(!replicas.empty());
    const auto count = static_cast<float>(replicas.size());
    for (const auto replica : replicas) INVARIANT(replica.size() == mean.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
        float sum = replicas.front()[i];
        for (const auto replica : replicas.subspan(1)) sum += replica[i];
        mean[i] = sum / count;
    }
}

void averaged_learner_step(const MomentumRule& rule, float pull, std::span<const float> central,
                           std::span<const float> gradient, std::span<float> weights,
                           std::span<float> velocity, std::span<float> correction_sum) {
    INVARIANT(central.size() == weights.size() && gradient.size() == weights.size());
    INVARIANT(velocity.size() == weights.size() && correction_sum.size() == weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const float correction = averaging_correction(weights[i], central[i], pull);
        velocity[i] = rule.velocity(velocity[i], gradient[i], weights[i]);
        weights[i] = rule.weight(weights[i], velocity[i]) - correction;
        correction_sum[i] += correction;
    }
}

CentralModel::CentralModel(std::vector<float> weights)
    : now_(std::move(weights)), previous_(now_) {}

CentralModel::CentralModel(std::vector<float> weights, std::vector<float> previous)
    : now_(std::move(weights)), previous_(std::move(previous)) {
    INVARIANT(now_.size() == previous_.size());
}

void CentralModel::step(std::span<const float> correction_sum, float momentum) {
    INVARIANT(correction_sum.size() == now_.size());
    for (std::size_t i = 0; i < now_.size(); ++i) {
        const float before = now_[i];
        now_[i] = central_step(before, previous_[i], correction_sum[i], momentum);
        previous_[i] = before;
    }
}

void CentralModel::restart() { previous_ = now_; }

void CentralModel::restart_learner(std::span<float> weights, std::span<float> velocity) const {
    INVARIANT(weights.size() == now_.size() && velocity.size() == now_.size());
    std::ranges::copy(now_, weights.begin());
    std::ranges::fill(velocity, 0.0F);
}

void pull_to_mean(float pull, std::span<const float> mean, std::span<float> weights) {
    INVARIANT(mean.size() == weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = pulled_to(weights[i], mean[i], pull);
    }
}

void pair_with(std::span<const float> peer, std::span<float> weights) {
    INVARIANT(peer.size() == weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = middle_of(weights[i], peer[i]);
}

int kungfu_peer(RandomStream& random, int rank, int size) {
    INVARIANT(size >= 2 && rank >= 0 && rank < size);
    const auto drawn = static_cast<int>(random.integer(0, size - 1));
    return drawn == rank ? (rank + 1) % size : drawn;
}

int uniform_peer(RandomStream& random, int rank, int size) {
    INVARIANT(size >= 2 && rank >= 0 && rank < size);
    const auto drawn = static_cast<int>(random.integer(0, size - 2));
    return drawn < rank ? drawn : drawn + 1;
}

ParameterServer::ParameterServer(std::vector<float> weights, int workers, ServerSettings settings)
    : weights_(std::move(weights)), settings_(settings) {
    INVARIANT(workers >= 1 && settings.clock_lead_max >= 0);
    workers_.resize(static_cast<std::size_t>(workers));
}

std::size_t ParameterServer::index(int worker) const {
    INVARIANT(worker >= 0 && static_cast<std::size_t>(worker) < workers_.size());
    return static_cast<std::size_t>(worker);
}

std::int64_t ParameterServer::clock(int worker) const { return workers_[index(worker)].clock; }

bool ParameterServer::may_pull(int worker) const {
    const Worker& own = workers_[index(worker)];
    INVARIANT(own.here);
    return std::ranges::none_of(workers_, [&](const Worker& other) {
        return other.here && own.clock - other.clock > settings_.clock_lead_max;
    });
}

void ParameterServer::pull(int worker, std::span<float> weights) {
    INVARIANT(may_pull(worker) && weights.size() == weights_.size());
    Worker& own = workers_[index(worker)];
    own.pulled_at = updates_;
    own.pulled = true;
    std::ranges::copy(weights_, weights.begin());
}

std::int64_t ParameterServer::push(int worker, std::span<const float> gradient, float rate) {
    Worker& own = workers_[index(worker)];
    INVARIANT(own.here && own.pulled && gradient.size() == weights_.size());
    const std::int64_t staleness = updates_ - own.pulled_at;
    if (settings_.by_staleness && staleness > 1) rate /= static_cast<float>(staleness);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] -= rate * gradient[i];
    ++updates_;
    ++own.clock;
    own.pulled = false;
    return staleness;
}

std::uint64_t ParameterServer::digest() const {
    BitHash hash;
    hash.add(static_cast<std::uint64_t>(updates_));
    for (const Worker& worker : workers_) {
        hash.add(static_cast<std::uint64_t>(worker.clock));
        hash.add(static_cast<std::uint64_t>(worker.pulled_at));
        hash.add(std::uint64_t{worker.pulled} * 2 + std::uint64_t{worker.here});
    }
    return hash.value();
}

void ParameterServer::leave(int worker) { workers_[index(worker)].here = false; }

FirstFinished first_finished(std::span<const Duration> times, int needed) {
    INVARIANT(needed >= 1 && static_cast<std::size_t>(needed) <= times.size());
    FirstFinished first;
    first.ranks.resize(times.size());
    std::iota(first.ranks.begin(), first.ranks.end(), 0);
    const auto time_of = [&](int rank) { return times[static_cast<std::size_t>(rank)]; };
    std::ranges::stable_sort(first.ranks, {}, time_of);
    first.ranks.resize(static_cast<std::size_t>(needed));
    first.step = time_of(first.ranks.back());
    std::ranges::sort(first.ranks);
    return first;
}

}  // namespace ukemi::kernels
