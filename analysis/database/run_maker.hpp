// run_maker.hpp — what makes the runs of a sweep, whatever they are of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/database/run_kinds.hpp"
#include "analysis/database/swept_run.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

// A scenario or one variant of it, as its row in a database has it.
struct SweptScenario {
    std::uint64_t digest = 0;
    std::string name;
    std::vector<records::VariedValue> varied;
    std::string resolved;  // the whole document, JSON
};

// Who takes the runs one by one. What may be empty is not asked.
struct SweepTaker {
    // Before the first run: which are to be made at all. May be empty.
    std::function<bool(std::int64_t key, std::size_t group)> wanted;
    // How many of them there are. May be empty.
    std::function<void(std::size_t wanted)> begin;
    // From any thread: the group that is made next, until there is none.
    std::function<std::optional<std::size_t>()> next_group;
    // From any thread, several at a time. A run's scenario is its number among the scenarios.
    std::function<void(SweptRun run)> take;
    std::function<bool()> stopped;  // from any thread, before each run: true ends it
};

class RunMaker {
public:
    virtual ~RunMaker() = default;
    virtual const RunKind& kind() const = 0;
    virtual std::uint64_t digest() const = 0;  // of all that the runs are a function of
    virtual std::vector<SweptScenario> scenarios() const = 0;
    // Throws the first failure in the order of the groups; runs that were taken before stay taken.
    virtual void make(const SweepTaker& taker) = 0;
};

}  // namespace ukemi::analysis
