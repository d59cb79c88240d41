// recorded_run.hpp — a run of jobs beside the one that a peer recorded.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>

#include "analysis/schedule_results.hpp"

namespace ukemi {

// Every completion time and number of restarts, the mean, the makespan and the rounds, exactly.
template <class Json>  // the callers have it: its header costs 3 s
void check_recorded_run(const analysis::ScheduledRun& run, const Json& expected) {
    REQUIRE(run.jobs.size() == expected["jobs"].template get<std::size_t>());
    for (const analysis::ScheduledJob& one : run.jobs) {
        CAPTURE(one.job->name);
        CHECK(one.completion_time ==
              whole_seconds(expected["jcts"][one.job->name].template get<std::int64_t>()));
        CHECK(one.restarts == expected["restarts"][one.job->name].template get<std::int64_t>());
    }
    CHECK(run.completion_s.mean ==
          Approx(expected["avg_jct"].template get<double>()).epsilon(1e-12));
    CHECK(run.outcome.end.since_start() ==
          whole_seconds(expected["makespan"].template get<std::int64_t>()));
    CHECK(run.outcome.rounds == expected["rounds"].template get<std::int64_t>());
}

}  // namespace ukemi
