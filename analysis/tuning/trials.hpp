// trials.hpp — runs of many policies on chosen markets, made when somebody asks for them.
//
// What runs are on is one place: a trace, a window of it and a seed. Every policy that is tried on
// a place meets the same market there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "records/run_result.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::analysis {

struct TrialPlace {
    std::size_t trace = 0;
    scenarios::TraceWindow window;
    std::uint64_t seed = 0;
    std::size_t window_number = 0;
};

// All places of an experiment of one case, in the order of its runs. No run is made.
std::vector<TrialPlace> places_of(const scenarios::ExperimentCase& of,
                                  const scenarios::ExperimentSetup& setup);

// In an order drawn from the stream "tune/places" of the seed, in which the first few are of as
// many traces as can be.
void spread_places(std::vector<TrialPlace>& places, std::uint64_t seed);

class Trials {
public:
    // Nothing of the setup but its markets, its beginnings and its threads is looked at.
    Trials(const scenarios::ExperimentCase& of, scenarios::ExperimentSetup setup,
           std::vector<TrialPlace> places);

    std::size_t place_count() const { return places_.size(); }
    // Makes the runs of these policies (by their numbers) on the first so many places; those that
    // were made before are there already. With `judged`, runs know the optimum of their market.
    void make(std::span<const std::size_t> policies, std::size_t places, bool judged);
    // On the first so many places, in their order: runs that were made.
    std::vector<records::RunResult> results(std::size_t policy, std::size_t places) const;

private:
    const scenarios::ExperimentCase& of_;
    scenarios::ExperimentSetup setup_;
    std::vector<TrialPlace> places_;
    std::map<std::pair<std::size_t, std::size_t>, records::RunResult> made_;  // policy, place
};

}  // namespace ukemi::analysis
