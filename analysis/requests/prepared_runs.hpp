// prepared_runs.hpp — from what somebody asks for to the runs that are to be made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/run_inputs.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

// Changes of a scenario: "/json/pointer=VALUE", and "/json/pointer=VALUE,VALUE…" or "policy=a,b+c".
struct VariationRequest {
    std::vector<std::string> settings;
    std::vector<std::string> varied;
};

// Which runs there are, as command lines say it. What is empty is the scenario's.
struct RunRequest {
    std::vector<std::filesystem::path> scenarios;    // or run.json of results
    std::string traces;                              // a pattern
    std::vector<std::filesystem::path> trace_files;  // or these
    bool zones = false;                              // the traces are of one market
    std::string policies;
    VariationRequest variation;
    std::string seeds;
    std::string starts;
    std::string baseline;
    int threads = 0;  // as many as there are cores
};

// `cases` and `inputs` point into `scenarios`.
struct PreparedRuns {
    std::vector<scenarios::Scenario> scenarios;
    std::vector<scenarios::ExperimentCase> cases;
    scenarios::ExperimentSetup setup;
    ReplayInputs inputs;
};

// Reads and checks everything that the request names. What it says comes before what a run.json
// says, and that before the scenario. With `windows_of_records`, recorded traces are replayed from
// several beginnings unless somebody says otherwise; else from their first. InputError, by the
// names of the commands' options, for what has no effect beside something else.
PreparedRuns prepare_runs(const RunRequest& request, bool windows_of_records);

}  // namespace ukemi::analysis
