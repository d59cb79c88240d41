// trained_jobs.hpp — jobs of a shared cluster that train what a scenario of a job says ("trains"):
// how much work that is, and how fast it goes on how many GPUs, by that scenario's own profile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config_reader.hpp"
#include "scenarios/reader/scenario.hpp"
#include "sim/jobs/job_work.hpp"

namespace ukemi::scenarios {

class TrainedJobs {
public:
    // Files are beside `folder`. Of a job whose costs were measured, in time that runs
    // `time_scale` times as fast as the wall's.
    TrainedJobs(std::filesystem::path folder, double time_scale)
        : folder_(std::move(folder)), time_scale_(time_scale) {}

    // The scenario of the section's "trains", read once, and its number from 1; 0: it has none.
    std::size_t read(ConfigReader& section);
    // Its work: so many samples, or nothing: as many as take job.service on its GPUs, or, if there
    // is none, as the scenario has. Fills in service, speeds and samples.
    void set_work(ConfigReader& section, std::size_t trains, std::optional<std::int64_t> samples,
                  std::int32_t cluster_gpus, sim::SharingJob& job) const;
    // From GPUs to the first step on them, by its profile: its workers start, then they meet.
    Duration start_of(std::size_t trains) const;

    std::vector<std::shared_ptr<const Scenario>> take() { return std::move(all_); }

private:
    const Scenario& at(std::size_t trains) const { return *all_[trains - 1]; }
    std::filesystem::path folder_;
    double time_scale_;
    std::map<std::string, std::size_t> numbers_;
    std::vector<std::shared_ptr<const Scenario>> all_;
};

}  // namespace ukemi::scenarios
