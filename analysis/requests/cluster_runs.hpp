// cluster_runs.hpp — from what somebody asks of `ukemi schedule` and `ukemi search` to the
// scenarios that are run: each variant with each seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/requests/prepared_runs.hpp"
#include "analysis/step_document.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "scenarios/reader/search_scenario.hpp"

namespace ukemi::analysis {

// What is empty is the run.json's, or the scenario's.
struct ClusterRequest {
    std::filesystem::path scenario;  // or run.json of results
    std::string schedulers;          // of a schedule: "a,b" in place of the scenario's
    VariationRequest variation;
    std::string seeds;
    std::string baseline;
    bool full = false;      // of a search
    bool live_run = false;  // of groups that train
};

// The document with what is asked for beside it. InputError for the run.json of a live run, unless
// it is to be lived again: a simulation of it would pass for the same.
StepDocument cluster_document(const ClusterRequest& request, std::string_view command);

// One variant: how its scenario is read from the document.
struct ClusterVariant {
    std::vector<ConfigOverride> overrides;
    std::vector<records::VariedValue> varied;
    std::uint64_t files_digest = 0;  // of what was in the files read with it
};
scenarios::ScheduleScenario read_schedule(const StepDocument& document,
                                          const ClusterVariant& variant,
                                          std::optional<std::uint64_t> seed);
scenarios::SearchScenario read_search(const StepDocument& document, const ClusterVariant& variant);

// Each variant in its order, with its scenario: a schedule's with the first of the document's
// seeds. What is complained of is the value that is to blame.
using VisitSchedule =
    std::function<void(const ClusterVariant& variant, scenarios::ScheduleScenario scenario)>;
void for_each_schedule(const ClusterRequest& request, const StepDocument& document,
                       const VisitSchedule& visit);
using VisitSearch =
    std::function<void(const ClusterVariant& variant, scenarios::SearchScenario scenario)>;
void for_each_search(const ClusterRequest& request, const StepDocument& document,
                     const VisitSearch& visit);

// Each variant with each seed, in that order.
std::vector<scenarios::ScheduleScenario> schedules_of(const ClusterRequest& request,
                                                      const StepDocument& document);
// Each variant; a search is told its seed.
std::vector<scenarios::SearchScenario> searches_of(const ClusterRequest& request,
                                                   const StepDocument& document);

}  // namespace ukemi::analysis
