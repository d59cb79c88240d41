// registry.cpp — the schedulers of scheduler_table.def: their functions declared, and their table.
#include "schedulers/registry.hpp"

#include <array>

namespace ukemi::schedulers {

#define SCHEDULER(scheduler, ...) \
    std::unique_ptr<Scheduler> make_##scheduler(ConfigReader& parameters);
#include "schedulers/scheduler_table.def"
#undef SCHEDULER

namespace {

#define SCHEDULER(scheduler, other_name, what, rule, ...) \
    SchedulerEntry{.name = #scheduler,                    \
                   .alias = other_name,                   \
                   .summary = what,                       \
                   .source = rule,                        \
                   .make = make_##scheduler,              \
                   __VA_ARGS__},
constexpr std::array table{
#include "schedulers/scheduler_table.def"
};
#undef SCHEDULER

}  // namespace

std::span<const SchedulerEntry> all_schedulers() { return table; }

const SchedulerEntry* find_scheduler(std::string_view name) {
    for (const SchedulerEntry& entry : table) {
        if (entry.name == name || (!entry.alias.empty() && entry.alias == name)) return &entry;
    }
    return nullptr;
}

std::vector<std::string_view> scheduler_names() {
    std::vector<std::string_view> names;
    for (const SchedulerEntry& entry : table) names.push_back(entry.name);
    for (const SchedulerEntry& entry : table) {
        if (!entry.alias.empty()) names.push_back(entry.alias);
    }
    return names;
}

}  // namespace ukemi::schedulers
