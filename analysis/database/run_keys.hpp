// run_keys.hpp — what a run is known by: a hash of all that its result is a function of.
//
// That is the resolved scenario (without its description and its list of what to replay), how
// it was varied, what was in the files that it names, the beginnings that were asked for; the
// trace, by name and content; the window, the policies, the seed; and the build. A build is known
// by version, commit and compiler: two of sources that were not committed look alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scenarios/experiment/experiment.hpp"

namespace ukemi::analysis {

class RunKeys {
public:
    // Reads the files of the traces. InputError where one cannot be read.
    RunKeys(std::span<const scenarios::ExperimentCase> cases,
            const scenarios::ExperimentSetup& setup);

    std::uint64_t scenario_digest(std::size_t case_number) const { return cases_[case_number]; }
    // Of one of the setup's traces; where it has none, the scenario names what it runs on.
    std::uint64_t trace_digest(std::size_t trace) const { return traces_[trace]; }
    std::int64_t key_of(const scenarios::PlannedRun& run) const;
    // Of all that the keys of an experiment's runs are made of.
    std::uint64_t digest() const;

private:
    std::uint64_t digest_of(const scenarios::Scenario& scenario, const std::string& starts);
    std::uint64_t content_of(const std::filesystem::path& file, bool needed);

    std::map<std::filesystem::path, std::uint64_t> contents_;
    std::vector<std::uint64_t> cases_;
    std::vector<std::uint64_t> traces_;
    std::string build_;
};

}  // namespace ukemi::analysis
