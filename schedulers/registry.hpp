// registry.hpp — the table of all schedulers.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "schedulers/scheduler.hpp"

namespace ukemi::schedulers {

struct SchedulerEntry {
    std::string_view name;
    std::string_view alias;    // as others call it; or empty
    std::string_view summary;  // one line, for `ukemi list schedulers`
    std::string_view source;   // where its rule comes from
    // The parameters are the keys of the scheduler's object in the scenario.
    std::unique_ptr<Scheduler> (*make)(ConfigReader& parameters);
    bool needs_service = false;  // asks for forecasts that only known service times give
    bool needs_deadline = false;
    bool divides = false;          // gives parts of GPUs
    bool chooses_exactly = false;  // over free GPUs (multiple_choice.hpp), which must be few enough
    bool knows_types = false;      // several groups of machines
    bool one_gpu_each = false;     // asks for jobs of one GPU
    bool needs_prices = false;     // of every group of machines
    bool follows_machines = false;   // that come and are taken away
    bool weighs_priorities = false;  // of jobs; to others all are alike
};

// In the order of scheduler_table.def.
std::span<const SchedulerEntry> all_schedulers();

// By name or alias; null if there is none.
const SchedulerEntry* find_scheduler(std::string_view name);

// All names, then all aliases.
std::vector<std::string_view> scheduler_names();

}  // namespace ukemi::schedulers
