// scheduled.hpp — jobs and schedulers of tests, without a file.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/registry.hpp"
#include "sim/jobs/schedule_run.hpp"

namespace ukemi {

inline std::unique_ptr<schedulers::Scheduler> scheduler_named(std::string_view name,
                                                              std::string_view parameters = "{}") {
    ConfigReader reader = ConfigReader::from_text(parameters, name);
    return schedulers::find_scheduler(name)->make(reader);
}

inline sim::SharingJob plain_job(Duration arrival, std::int32_t gpus, Duration service) {
    sim::SharingJob job;
    job.arrival = Instant::at(arrival);
    job.gpus = gpus;
    job.service = service;
    return job;
}

inline sim::ScheduleOutcome scheduled(const std::vector<sim::SharingJob>& jobs, std::int32_t gpus,
                                      std::string_view name, std::string_view parameters = "{}") {
    const auto scheduler = scheduler_named(name, parameters);
    return sim::run_schedule({{1, gpus}, {}, jobs}, *scheduler);
}

}  // namespace ukemi
