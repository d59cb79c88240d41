// observed_pace.hpp — how long steps and changes of the group really take, out of Observations.
//
// Steps: time between two questions that were asked while the same group trained under the same
// Plan, divided by what the steps made meanwhile were expected to take; a ratio for each number of
// workers. Changes: how long the group stood still for one, and how long machines that were asked
// for took to join. Each goes through a median of the last three, which a single outlier never
// passes, into an exponential average. With a decision clock changes fall between its ticks and are
// not measured; nor are they where moving the model between regions takes time of its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/quantity.hpp"
#include "policies/job_profile.hpp"
#include "policies/observation.hpp"

namespace ukemi::policies {

class SmoothedMedian {
public:
    void add(double value);
    bool known() const { return count_ > 0; }
    double value() const { return value_; }

private:
    std::array<double, 3> last_{};
    std::int64_t count_ = 0;
    double value_ = 0;
};

// What made the group stand still.
enum class GroupPause : std::uint8_t {
    start,   // nobody trained before
    grow,    // somebody joined, or took another's place
    shrink,  // somebody left
    retune,  // the same machines under another Plan
};
inline constexpr std::size_t group_pause_count = 4;

struct PaceTerms {  // under which an Observation was made
    PlanVersion plan{};
    std::optional<StepRate> expected;  // of the workers that train now
    Duration saving;
    Duration restoring;
    bool loses_work = false;
};

class ObservedPace {
public:
    void observe(const Observation& seen, const PaceTerms& terms);

    // Observed time of a step ÷ expected time: of the nearest number of workers that was measured.
    std::optional<double> step_ratio(std::int32_t workers) const;
    std::optional<Duration> pause(GroupPause kind) const;
    std::optional<Duration> arrival() const;  // from asking for a machine until its worker joins

private:
    struct Look {  // of the last question
        Instant now;
        JobPhase phase = JobPhase::waiting;
        std::int32_t workers = 0;
        std::int64_t steps = 0;
        std::int64_t samples_safe = 0;
        std::int64_t losses = 0;
        std::int32_t spot = 0;
        std::int32_t on_demand = 0;
        std::int32_t pending = 0;
        Duration remaining;
        PlanVersion plan{};
        std::optional<StepRate> rate;  // corrected
    };
    struct StepsSeen {
        double seen_s = 0;
        double expected_s = 0;
        std::int64_t steps = 0;
        SmoothedMedian ratio;
    };

    Look look_at(const Observation& seen, const PaceTerms& terms) const;
    Instant trained_until(const Look& now) const;
    void measure_steps(const Look& now, const PaceTerms& terms, bool clocked);
    void measure_changes(const Look& now, const PaceTerms& terms);
    void begin_change(const Look& now, Instant at);
    void end_change(const Look& now, const PaceTerms& terms);
    void joined(Instant at);

    std::optional<Look> last_;
    std::map<std::int32_t, StepsSeen> steps_;  // by the number of workers
    std::array<SmoothedMedian, group_pause_count> pauses_;
    SmoothedMedian arrivals_;
    std::optional<Instant> asked_at_;   // for machines that are on their way
    std::optional<Instant> change_at_;  // that the present change began
    std::int32_t workers_before_ = 0;   // it; zero: nobody trained
    PlanVersion plan_before_{};
};

}  // namespace ukemi::policies
