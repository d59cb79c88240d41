#include "sim/jobs/packed_jobs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ukemi::sim {

void TextColumn::add(std::string_view text) {
    text_ += text;
    INVARIANT(text_.size() <= std::numeric_limits<std::uint32_t>::max());
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
}

void PackedJobs::add(const SharingJob& job) {
    ++count_;
    name_.add(job.name);
    arrival_.add(job.arrival);
    gpus_.add(job.gpus);
    restart_.add(job.restart);
    transition_.add(job.transition);
    deadline_.add(job.deadline);
    service_.add(job.service);
    speeds_.add(job.speeds);
    speed_of_group_.add(job.speed_of_group);
    application_.add(job.application);
    batch_.add(job.batch);
    predictor_.add(job.predictor);
    recorded_.add(job.recorded_batches.data());
    recorded_count_.add(job.recorded_batches.size());
    saves_.add(job.saves);
    step_.add(job.step);
    trains_.add(job.trains);
    samples_.add(job.samples);
    controlled_.add(job.controlled);
    user_.add(job.user);
    priority_.add(job.priority);
    budget_.add(job.budget);
}

void PackedJobs::read(std::size_t job, SharingJob& into) const {
    into.name = name_[job];
    into.arrival = arrival_[job];
    into.gpus = gpus_[job];
    into.restart = restart_[job];
    into.transition = transition_[job];
    into.deadline = deadline_[job];
    into.service = service_[job];
    into.speeds = speeds_[job];
    into.speed_of_group = speed_of_group_[job];
    into.application = application_[job];
    into.batch = batch_[job];
    into.predictor = predictor_[job];
    into.recorded_batches = {recorded_[job], recorded_count_[job]};
    into.saves = saves_[job];
    into.step = step_[job];
    into.trains = trains_[job];
    into.samples = samples_[job];
    into.controlled = controlled_[job];
    into.user = user_[job];
    into.priority = priority_[job];
    into.budget = budget_[job];
}

SharingJob PackedJobs::operator[](std::size_t job) const {
    SharingJob made;
    read(job, made);
    return made;
}

std::vector<SharingJob> PackedJobs::all() const {
    std::vector<SharingJob> jobs;
    for (const SharingJob& job : *this) jobs.push_back(job);
    return jobs;
}

bool PackedJobs::have_budgets() const {
    const auto* const of_all = budget_.of_all();
    return of_all == nullptr || of_all->has_value();
}

bool PackedJobs::have_applications() const {
    const auto* const of_all = application_.of_all();
    return of_all == nullptr || *of_all != nullptr;
}

void PackedJobs::change(const std::function<void(SharingJob&)>& change) {
    PackedJobs changed;
    for (SharingJob job : *this) {
        change(job);
        changed.add(job);
    }
    *this = std::move(changed);
}

void PackedJobs::sort_by_arrival() {
    std::vector<std::uint32_t> order(count_);
    std::iota(order.begin(), order.end(), 0U);
    const auto arrival = [&](std::uint32_t job) { return arrival_[job]; };
    if (std::ranges::is_sorted(order, {}, arrival)) return;
    std::ranges::stable_sort(order, {}, arrival);
    PackedJobs sorted;
    for (const std::uint32_t job : order) sorted.add((*this)[job]);
    *this = std::move(sorted);
}

void PackedJobs::set_clock_back(Duration by) {
    arrival_.change([&](Instant& at) { at = at - by; });
    deadline_.change([&](Instant& at) { at = at < Instant::never() ? at - by : at; });
}

}  // namespace ukemi::sim
