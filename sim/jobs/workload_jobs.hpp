// workload_jobs.hpp — the jobs of a workload in the order of arrival, wherever somebody keeps them.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <span>

#include "sim/jobs/packed_jobs.hpp"

namespace ukemi::sim {

// A view: what it is of outlives it.
class WorkloadJobs {
public:
    WorkloadJobs() = default;
    template <class Rows>
        requires std::convertible_to<const Rows&, std::span<const SharingJob>>
    WorkloadJobs(const Rows& rows) : rows_(rows) {}
    WorkloadJobs(const PackedJobs& packed) : packed_(&packed) {}

    std::size_t size() const { return packed_ != nullptr ? packed_->size() : rows_.size(); }
    bool empty() const { return size() == 0; }
    Instant arrival(std::size_t job) const {
        return packed_ != nullptr ? packed_->arrival(job) : rows_[job].arrival;
    }
    std::unique_ptr<const SharingJob> made(std::size_t job) const {
        return packed_ != nullptr ? std::make_unique<const SharingJob>((*packed_)[job])
                                  : std::make_unique<const SharingJob>(rows_[job]);
    }
    bool have_budgets() const {
        const auto has = [](const SharingJob& job) { return job.budget.has_value(); };
        return packed_ != nullptr ? packed_->have_budgets() : std::ranges::any_of(rows_, has);
    }

private:
    std::span<const SharingJob> rows_;
    const PackedJobs* packed_ = nullptr;
};

}  // namespace ukemi::sim
