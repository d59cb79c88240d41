// search_scenario.hpp — a scenario of a hyper-parameter search, as `ukemi search` reads it.
//
// Sections: "trial" (what is trained: "job", "cluster", "training" and "learning" as in a scenario
// of a job on a market), "space" (its keys that are searched), "searchers", and as in a scenario of
// jobs "cluster", "round", "restart" and one "scheduler". A trial is read and checked as a variant
// of the scenario: no value is tried that a scenario may not have.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"
#include "records/run_result.hpp"
#include "scenarios/reader/scenario.hpp"
#include "schedulers/scheduler.hpp"
#include "sim/search/search_run.hpp"

namespace ukemi::scenarios {

struct NamedSearcher {
    const sim::SearcherEntry* entry = nullptr;
    std::string parameters;  // its object, JSON
    std::unique_ptr<sim::Searcher> make() const;
};

// A trial as a job that real workers train, as many as it is given.
struct LiveTrial {
    Scenario scenario;           // its data are the first samples of all
    kernels::DataSpec all_data;  // the others test it
};

struct SearchScenario {
    std::string name;
    std::filesystem::path file;
    std::uint64_t seed = 0;
    sim::SearchCluster where;
    sim::SearchSpace space;
    std::size_t trials = 1;
    std::int64_t units = 1;
    std::string scheduler;  // its object, JSON
    std::vector<NamedSearcher> searchers;
    sim::MakeTrial make_trial;
    std::string resolved;
    std::vector<records::VariedValue> varied;  // of the document that this is a variant of

    std::unique_ptr<schedulers::Scheduler> make_scheduler() const;
    // InputError for one that does not learn by true gradients.
    LiveTrial live_trial(const sim::TrialSettings& settings) const;
};

// Whether a file is meant as one: it has "searchers". InputError if it is no JSON object.
bool is_search_scenario(const std::filesystem::path& file);

SearchScenario read_search_scenario(const std::filesystem::path& file);
SearchScenario search_scenario_from_text(std::string_view text, const std::filesystem::path& file,
                                         std::span<const ConfigOverride> overrides = {});

}  // namespace ukemi::scenarios
