// schedule_sums.hpp — what jobs that share a cluster came to, summed up as they are told of one
// after the other. Of each it keeps how long it took, for quantiles; of each user his sums.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/scheduled_runs.hpp"
#include "base/text_digest.hpp"

namespace ukemi::analysis {

// Jobs of one application, batch and size take the same time alone.
class TimesAlone {
public:
    // It outlives this.
    explicit TimesAlone(const scenarios::ScheduleScenario& scenario) : scenario_(scenario) {}
    std::optional<Duration> of(const sim::SharingJob& job);

private:
    const scenarios::ScheduleScenario& scenario_;
    std::map<std::tuple<const traces::Application*, std::int64_t, std::int32_t>,
             std::optional<Duration>>
        known_;
    std::map<const sim::ControlledJob*, std::optional<Duration>> controlled_;
};

class ScheduleSums {
public:
    // All of them outlive it; the run is told what it is of.
    ScheduleSums(const scenarios::ScheduleScenario& scenario, TimesAlone& alone,
                 std::string_view scheduler, ScheduledRun& run);
    // In the order of the workload. What comes back points to both.
    ScheduledJob add(const sim::SharingJob& job, const sim::JobOutcome& outcome);
    // All were added, and what else came of the run is in its outcome.
    void end();

private:
    ScheduledJob seen(const sim::SharingJob& job, const sim::JobOutcome& outcome);
    void add_time(const ScheduledJob& one);
    void add_to_user(const ScheduledJob& one);
    void add_to_digest(const sim::JobOutcome& job);
    void end_times();
    void end_users();

    const scenarios::ScheduleScenario& scenario_;
    TimesAlone& alone_;
    ScheduledRun& run_;
    std::size_t count_ = 0;
    std::vector<double> times_s_;
    double gpu_s_ = 0;
    std::int64_t restarts_ = 0;
    // Of finish-time ratios.
    std::size_t ratios_ = 0;
    double ratio_sum_ = 0;
    double ratio_squares_ = 0;
    double ratio_max_ = 0;
    std::map<std::string, std::size_t, std::less<>> users_;  // places among the run's
    bool have_users_ = false;
    std::uint64_t digest_ = text_digest_begin;
};

}  // namespace ukemi::analysis
