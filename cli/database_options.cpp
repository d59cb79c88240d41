#include "cli/database_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::cli {

void add_database_options(CLI::App& command, DatabaseOptions& options) {
    command
        .add_option("--by", options.by,
                    "a row for each value of these columns of `runs` (policy,trace, or a varied "
                    "key by its pointer: /job/deadline; default: scenario, variant and policy, "
                    "scheduler or searcher)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command
        .add_option("--metric", options.metrics,
                    "columns that hold numbers (default: cost_usd,duration_s; of schedules "
                    "completion_s_mean,makespan_s; of searches metric,gpu_h)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--baseline", options.baseline,
                       "compare each policy, scheduler or searcher with this one, pair by pair");
    command.add_option("--build", options.build,
                       "of the runs of this build, by a part of its name (default: the last)");
    command
        .add_option("--where", options.where,
                    "only runs with these values: policy=greedy,on_demand, /job/deadline=72h")
        ->type_name("COLUMN=VALUE,…")
        ->allow_extra_args(false);
}

std::string_view given_database_option(const CLI::App& command) {
    for (const std::string_view name : {"--by", "--metric", "--baseline", "--build", "--where"}) {
        if (command.get_option(std::string(name))->count() > 0) return name;
    }
    return {};
}

}  // namespace ukemi::cli
