// run_result.hpp — what is known of a run when it is over, the same for every world.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.hpp"
#include "records/ledger.hpp"
#include "records/timeline.hpp"
#include "records/transition_phases.hpp"

namespace ukemi::records {

// A key of the scenario that other runs beside this one have another value of.
struct VariedValue {
    std::string pointer;  // "/job/deadline"
    std::string value;    // as it was given: JSON, or else text
    friend bool operator==(const VariedValue&, const VariedValue&) = default;
};

// What became of the pipelines of a job that trains in some.
struct PipelineCounts {
    std::int64_t meetings = 0;  // at which all machines found their places
    std::int64_t takeovers = 0;
    std::int64_t fatal_failures = 0;
    friend bool operator==(const PipelineCounts&, const PipelineCounts&) = default;
};

struct RunResult {
    // Which run.
    std::string scenario;
    std::string trace;   // name of the market's series
    std::string record;  // the zone or generated market that the trace is of; of several, one name
    Duration start;      // where in the trace the run begins
    std::int64_t stretch = 0;  // of the trace; runs that begin in one have something in common
    std::string policy;        // "greedy+daly"
    std::uint64_t seed = 0;
    bool oracle = false;              // a policy knew the future
    std::string predictor = "exact";  // what policies asked how long things take
    std::vector<VariedValue> varied;
    std::optional<Duration> deadline;

    // What came of it.
    bool finished = false;
    std::string unfinished_because;  // empty if it finished
    bool stuck = false;              // it ended because nothing to come could have brought it on
    bool deadline_met = false;       // where there is one
    Duration duration;               // until the work was done, or the run gave up
    std::int64_t ticks = 0;          // of the job's clock, the first at zero; 0 without a clock
    std::int64_t samples_done = 0;
    std::int64_t samples_total = 0;
    bool work_is_time = false;  // samples are nanoseconds of it
    CauseTotals causes;
    Duration held;         // instance-time paid for, by lease; equals the sum over causes
    Duration worker_time;  // of `held`, what machines were in the group that trains
    Dollars cost;          // of instances, by cause, and of egress
    Dollars egress;        // for moving the model between regions
    MarketTotals spot;     // of `held` and of `cost`, with on_demand all but egress
    MarketTotals on_demand;
    std::int64_t launches = 0;
    std::int64_t launch_failures = 0;    // spot requests that came to nothing
    std::int64_t revocations = 0;        // spot instances taken away, or given back after a notice
    std::int64_t revocation_events = 0;  // instants at which any was
    std::int64_t failures = 0;           // of live workers, alone or with their machines
    std::int64_t transitions = 0;
    std::int64_t checkpoints = 0;
    std::int64_t plans = 0;      // committed
    std::int64_t discarded = 0;  // proposed and not carried out
    std::int64_t refused = 0;    // decisions outside what the world can do
    std::string first_refusal;   // why the first of them; empty: there is none
    std::int64_t events = 0;
    std::string event_hash;

    // What the work would have cost somebody who knew this market beforehand: the least that any
    // schedule pays that is in time, or a lower bound. Empty: nothing is in time, or it is not
    // known.
    std::optional<Dollars> optimum;
    std::string optimum_kind;  // "exact", "bound", "impossible", "unknown"; empty: nobody asked

    // What makes its market or its job doubtful, where somebody looked.
    std::vector<std::string> doubts;

    // What only a run with a real or modelled network and data can say; else nothing.
    std::optional<std::int64_t> steps;  // that count in the end
    std::optional<Duration> step_mean;  // of the steps taken, torn ones left out
    std::optional<double> loss;         // mean over the last step's samples; may be NaN
    std::optional<double> learned;      // share of the way to what the job is to learn
    std::optional<double> accuracy;     // at the end, from 0 to 1

    std::optional<PhaseCosts> phases;  // of transitions, where they are told apart
    std::optional<PipelineCounts> pipelines;
    std::optional<std::pair<Duration, Duration>> trained;  // from the first group to the last step

    Timeline timeline;  // only if asked for

    bool in_time() const { return finished && (!deadline || deadline_met); }
    // How much more was paid than the optimum, in %. Empty for a run that was not in time: who does
    // less may pay less.
    std::optional<double> regret_percent() const {
        if (!in_time() || !optimum || *optimum <= Dollars{}) return std::nullopt;
        return 100 * (cost / *optimum - 1);
    }
};

}  // namespace ukemi::records
