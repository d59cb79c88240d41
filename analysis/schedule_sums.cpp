#include "analysis/schedule_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>

#include "analysis/schedule_columns.hpp"
#include "sim/jobs/time_alone.hpp"

namespace ukemi::analysis {

namespace {

double jain_index(double sum, double squares, std::size_t count) {
    return sum * sum / (static_cast<double>(count) * squares);
}

// In integers, so that it is the same on every machine.
std::uint64_t digest_with(std::initializer_list<std::int64_t> values, std::uint64_t digest) {
    for (const std::int64_t value : values) {
        const auto bytes = std::bit_cast<std::array<char, sizeof(value)>>(value);
        digest = text_digest({bytes.data(), bytes.size()}, digest);
    }
    return digest;
}

}  // namespace

std::optional<Duration> TimesAlone::of(const sim::SharingJob& job) {
    const auto ask = [&] { return sim::time_alone(scenario_.cluster, scenario_.round, job); };
    if (job.controlled) {
        const auto known = controlled_.find(job.controlled.get());
        if (known != controlled_.end()) return known->second;
        return controlled_[job.controlled.get()] = ask();
    }
    if (job.application == nullptr) return ask();
    const std::tuple key{job.application, job.batch, job.gpus};
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_[key] = ask();
}

ScheduleSums::ScheduleSums(const scenarios::ScheduleScenario& scenario, TimesAlone& alone,
                           std::string_view scheduler, ScheduledRun& run)
    : scenario_(scenario), alone_(alone), run_(run) {
    run.varied = scenario.varied;
    run.cluster = &scenario.cluster;
    run.scheduler = scheduler;
    run.seed = scenario.cluster.seed;
    run.job_count = scenario.jobs.size();
    times_s_.reserve(run.job_count);
}

ScheduledJob ScheduleSums::seen(const sim::SharingJob& job, const sim::JobOutcome& outcome) {
    ScheduledJob one;
    one.job = &job;
    one.outcome = &outcome;
    const bool has_deadline = job.deadline < Instant::never();
    if (has_deadline && (outcome.stuck || outcome.out_of_budget)) one.in_time = false;
    if (!outcome.is_complete()) return one;
    one.completion_time = outcome.completion - job.arrival;
    one.restarts = outcome.starts - 1;
    if (has_deadline) one.in_time = outcome.completion <= job.deadline;
    const std::optional<Duration> time = alone_.of(job);
    if (!time) return one;
    const double share = static_cast<double>(job.gpus) *
                         static_cast<double>(scenario_.jobs.size()) / scenario_.cluster.gpus();
    one.finish_time_ratio = one.completion_time / *time / std::max(1.0, share);
    return one;
}

ScheduledJob ScheduleSums::add(const sim::SharingJob& job, const sim::JobOutcome& outcome) {
    const ScheduledJob one = seen(job, outcome);
    gpu_s_ += outcome.gpu_s;
    run_.refused += outcome.refused() ? 1 : 0;
    run_.stuck += outcome.stuck ? 1 : 0;
    run_.out_of_budget += outcome.out_of_budget ? 1 : 0;
    run_.late += one.in_time == false ? 1 : 0;
    run_.has_deadlines = run_.has_deadlines || job.deadline < Instant::never();
    run_.says_priorities = run_.says_priorities || job.priority != 1;
    for (std::size_t cause = 0; cause < outcome.gpu_time.size(); ++cause) {
        run_.gpu_time[cause] += outcome.gpu_time[cause];
    }
    if (outcome.is_complete()) add_time(one);
    add_to_user(one);
    add_to_digest(outcome);
    add_loss(one, run_);
    if (outcome.controlled != nullptr)
        run_.controlled.push_back({count_, job.name, outcome.controlled});
    ++count_;
    return one;
}

void ScheduleSums::add_time(const ScheduledJob& one) {
    times_s_.push_back(to_seconds(one.completion_time));
    restarts_ += one.restarts;
    if (!one.finish_time_ratio) return;
    const double ratio = *one.finish_time_ratio;
    ratio_max_ = ratios_++ == 0 ? ratio : std::max(ratio_max_, ratio);
    ratio_sum_ += ratio;
    ratio_squares_ += ratio * ratio;
}

void ScheduleSums::add_to_user(const ScheduledJob& one) {
    have_users_ = have_users_ || !one.job->user.empty();
    auto place = users_.find(one.job->user);
    if (place == users_.end()) {
        place = users_.emplace(one.job->user, run_.users.size()).first;
        run_.users.emplace_back().name = one.job->user;
    }
    UserSums& user = run_.users[place->second];
    ++user.jobs;
    user.gpu_s += one.outcome->gpu_s;
    user.cost += one.outcome->cost;
    user.late += one.in_time == false ? 1 : 0;
    user.refused += one.outcome->refused() ? 1 : 0;
    user.out_of_budget += one.outcome->out_of_budget ? 1 : 0;
    if (!one.outcome->is_complete()) return;
    ++user.complete;
    user.completion_s_sum += to_seconds(one.completion_time);
    if (!one.finish_time_ratio) return;
    ++user.ratios;
    user.finish_time_ratio_sum += *one.finish_time_ratio;
}

void ScheduleSums::add_to_digest(const sim::JobOutcome& job) {
    const std::int64_t why_not = job.out_of_budget ? 2 : std::int64_t{job.stuck};
    digest_ = digest_with(
        {job.completion.raw(), why_not, job.starts, job.held.raw(), job.losses, job.cost.raw()},
        digest_);
    for (const Int128 time : job.gpu_time) {
        digest_ = digest_with({static_cast<std::int64_t>(time)}, digest_);
    }
}

void ScheduleSums::end() {
    const sim::ScheduleOutcome& outcome = run_.outcome;
    const double span_s = to_seconds(outcome.end - scenario_.jobs.arrival(0));
    if (span_s > 0) run_.gpu_use = gpu_s_ / (span_s * scenario_.cluster.gpus());
    end_times();
    end_users();
    const std::uint64_t digest = digest_with(
        {outcome.decisions, outcome.rounds, outcome.fleet_cost.raw(), outcome.unused_cost.raw(),
         outcome.machine_time.raw(), outcome.machines_lost, outcome.shared_losses},
        digest_);
    run_.outcome_hash = fmt::format("{:016x}", digest);
}

void ScheduleSums::end_times() {
    if (times_s_.empty()) return;
    run_.completion_s = summarise(times_s_);
    std::ranges::sort(times_s_);
    run_.completion_s_p99 = quantile(times_s_, 0.99);
    run_.restarts_per_job = static_cast<double>(restarts_) / static_cast<double>(times_s_.size());
    if (ratios_ < times_s_.size()) return;
    run_.finish_time_ratio_mean = ratio_sum_ / static_cast<double>(ratios_);
    run_.finish_time_ratio_max = ratio_max_;
    run_.jain_fairness = jain_index(ratio_sum_, ratio_squares_, ratios_);
}

void ScheduleSums::end_users() {
    if (!have_users_) return run_.users.clear();
    double sum = 0;
    double squares = 0;
    for (const UserSums& user : run_.users) {
        if (user.ratios == 0) return;
        const double ratio = user.finish_time_ratio_sum / static_cast<double>(user.ratios);
        sum += ratio;
        squares += ratio * ratio;
    }
    run_.user_jain_fairness = jain_index(sum, squares, run_.users.size());
}

}  // namespace ukemi::analysis
