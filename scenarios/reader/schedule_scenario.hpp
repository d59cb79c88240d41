// schedule_scenario.hpp — a scenario of jobs that share a cluster, as `ukemi schedule` reads it.
//
// Sections: "cluster" (machines and GPUs on each, or a list of these by GPU type), "jobs" (a list
// by hand, or a recorded workload with the tables of its applications), "schedulers", and
// optionally "round", "restart", "transition", "checkpoint", "network", "trains", "time_scale",
// "ignore" and "seed". As strict as other scenarios; also refused: a job that asks for more GPUs
// than there are, and a scheduler that asks for what the jobs cannot say.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "records/run_result.hpp"
#include "scenarios/reader/placed_steps.hpp"
#include "scenarios/reader/scenario.hpp"
#include "schedulers/registry.hpp"
#include "sim/jobs/schedule_run.hpp"

namespace ukemi::scenarios {

using RecordedBatches = std::map<std::string, std::vector<traces::RecordedBatch>>;  // by job

// What a scenario has and leaves out: the rest is as published simulators count.
struct IgnoredParts {
    bool losses = false;  // of machines
    bool links = false;   // that jobs share
    bool phases = false;  // of transitions: each takes "restart"
    bool prices = false;
    bool checkpoints = false;
};

struct ScheduleScenario {
    std::string name;
    std::filesystem::path file;
    sim::SharedCluster cluster;
    Duration round;
    std::shared_ptr<const traces::ApplicationTables> tables;  // null: service times are known
    std::shared_ptr<const RecordedBatches> batches;
    sim::PackedJobs jobs;                                  // in the order of arrival
    std::vector<std::shared_ptr<const Scenario>> trained;  // what jobs train: number 1 first
    double time_scale = 1;  // live: seconds of the scenario in a second of the clock
    std::vector<std::unique_ptr<schedulers::Scheduler>> schedulers;  // each for one run
    std::string resolved;
    std::vector<records::VariedValue> varied;  // of the document that this is a variant of
    IgnoredParts ignored;

    std::shared_ptr<PlacedSteps> links;  // null: links never hold anybody up

    sim::ScheduledWorkload workload() const {
        return {cluster, round, jobs, true, nullptr, links.get(), nullptr, false, false, nullptr};
    }
};

// Parts that scenarios of searches have, too. One kind of machines, or a list of kinds with names:
enum class GroupKeys : std::uint8_t { machines_only, with_markets };
void read_shared_cluster(ConfigReader& root, const std::filesystem::path& file, GroupKeys keys,
                         sim::SharedCluster& cluster);
// The scheduler of a section, by its name and with its parameters; refused if it asks for what the
// scenario's cluster, round or jobs do not have.
std::unique_ptr<schedulers::Scheduler> read_scheduler(ConfigReader& section,
                                                      const ScheduleScenario& scenario);
// Of "round", "restart" and their like: products of times, GPUs and numbers of jobs stay exact.
Duration bounded_time(ConfigReader& section, std::string_view key, Duration value);

// Whether a file is meant as one: it has "schedulers". InputError if it is no JSON object.
bool is_schedule_scenario(const std::filesystem::path& file);

// For readers of other kinds of scenarios: refuses one of these, and says which command runs it.
void expect_no_schedulers(const ConfigReader& root);  // nor a search
void expect_no_searchers(const ConfigReader& root);

ScheduleScenario read_schedule_scenario(const std::filesystem::path& file);
ScheduleScenario schedule_scenario_from_text(std::string_view text,
                                             const std::filesystem::path& file,
                                             std::span<const ConfigOverride> overrides = {});

}  // namespace ukemi::scenarios
