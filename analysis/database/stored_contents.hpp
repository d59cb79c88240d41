// stored_contents.hpp — what the runs of a database are of: scenarios, traces, policies, seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ukemi::analysis {

struct StoredScenario {
    std::string name;
    std::string variant;                // "/job/deadline=60 h", or empty
    std::vector<std::string> pointers;  // of the varied keys
    std::string resolved;               // the whole document, JSON
};

// Of one build; names in the order in which they were added.
struct StoredContents {
    std::int64_t runs = 0;
    std::vector<StoredScenario> scenarios;
    std::vector<std::string> deciders;  // policies, schedulers or searchers
    std::vector<std::string> traces;    // one without a name where runs have none
    std::int64_t seeds = 0;             // different ones
    std::int64_t first_seed = 0;
    std::int64_t last_seed = 0;
};

StoredContents stored_contents(const std::filesystem::path& database, const std::string& build);

// The runs on markets of one build, as the array of runs.json has them but in the order of their
// scenarios, traces, beginnings, policies and seeds: for as many as fit into memory.
nlohmann::json stored_runs_json(const std::filesystem::path& database, const std::string& build);

}  // namespace ukemi::analysis
