// step_job.cpp — draws of stragglers.
#include "sim/step/step_job.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "base/exact_math.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

// Lognormal with mean 1: the variance of its logarithm is log(1 + cv²).
double factor(RandomStream& stream, double variation) {
    if (variation == 0) return 1;
    const double variance = exact::log1p(variation * variation);
    return stream.lognormal(-variance / 2, std::sqrt(variance));
}

// After a departure, the draws of those who are left are others.
std::string stream_name(const StepJob& job, const char* what) {
    const std::string name = "step/" + job.name + what;
    return job.departures == 0 ? name : name + "/" + std::to_string(job.departures);
}

}  // namespace

std::int64_t StepJob::replicas() const {
    return layout ? layout->degrees.data : static_cast<std::int64_t>(workers.size());
}

std::int64_t StepJob::samples_per_step() const {
    std::int64_t samples = 0;
    INVARIANT(!__builtin_mul_overflow(batch, accumulation, &samples));
    INVARIANT(!__builtin_mul_overflow(samples, replicas(), &samples));
    INVARIANT(!__builtin_mul_overflow(samples, learners, &samples));
    return samples;
}

Duration StepJob::validation_time() const {
    const auto forward = [&](std::size_t rank) {
        return Duration::of(round_nearest(static_cast<double>(compute[rank].raw()) *
                                          validation_share.value_or(forward_share)));
    };
    const auto batches = [&](std::int64_t samples) {
        return (validation.samples + samples - 1) / samples;
    };
    const std::int64_t at_once = batch * learners;
    if (!validation.distributed) return batches(at_once) * forward(0);
    Duration slowest;
    for (std::size_t rank = 0; rank < workers.size(); ++rank) {
        slowest = std::max(slowest, forward(rank));
    }
    return batches(at_once * replicas()) * slowest;
}

StragglerDraws::StragglerDraws(const StepJob& job, const Topology& topology, std::uint64_t seed)
    : rule_(job.stragglers),
      worker_(seed, stream_name(job, "/worker")),
      machine_(seed, stream_name(job, "/machine")) {
    RandomStream persistent(seed, "step/" + job.name + "/worker/persistent");
    std::map<MachineId, std::size_t> machines;
    std::int32_t drawn = 0;  // of the ranks at the start, those who have gone included
    for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
        const DeviceId worker = job.workers[rank];
        const std::int32_t first =
            job.first_ranks.empty() ? static_cast<std::int32_t>(rank) : job.first_ranks[rank];
        for (; drawn < first; ++drawn) factor(persistent, job.stragglers.persistent);
        ++drawn;
        persistent_.push_back(factor(persistent, job.stragglers.persistent));
        const MachineId machine = topology.device(worker).machine;
        const bool as_before =
            rank > 0 && topology.device(job.workers[rank - 1]).machine == machine;
        machine_of_.push_back(as_before
                                  ? machine_of_.back()
                                  : machines.try_emplace(machine, machines.size()).first->second);
    }
    machine_count_ = machines.size();
}

Duration StragglerDraws::slowest_compute(const StepJob& job) const {
    double slowest_s = 0;
    for (std::size_t rank = 0; rank < persistent_.size(); ++rank) {
        slowest_s = std::max(slowest_s, persistent_[rank] * to_seconds(job.compute[rank]));
    }
    return seconds(slowest_s);
}

std::vector<double> StragglerDraws::next_factors() {
    std::vector<double> machines(machine_count_);
    for (double& one : machines) one = factor(machine_, rule_.machine);
    std::vector<double> factors;
    factors.reserve(persistent_.size());
    for (std::size_t rank = 0; rank < persistent_.size(); ++rank) {
        factors.push_back(factor(worker_, rule_.independent) * persistent_[rank] *
                          machines[machine_of_[rank]]);
    }
    return factors;
}

std::vector<Duration> StragglerDraws::next(const StepJob& job) {
    const std::vector<double> factors = next_factors();
    std::vector<Duration> times;
    times.reserve(factors.size());
    for (std::size_t rank = 0; rank < factors.size(); ++rank) {
        const Duration once = job.compute[rank];
        const auto scaled = static_cast<double>(once.raw()) * factors[rank];
        // What takes time takes a nanosecond at least.
        const Duration time =
            std::max(Duration::of(round_nearest(scaled)), std::min(once, nanoseconds(1)));
        times.push_back(job.accumulation * time);
    }
    return times;
}

}  // namespace ukemi::sim
