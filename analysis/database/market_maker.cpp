#include "analysis/database/market_maker.hpp"

#include <utility>

namespace ukemi::analysis {

namespace {

// The columns that a run has to itself, in the order of its kind's.
const std::vector<const records::RunColumn*>& own_columns() {
    static const std::vector<const records::RunColumn*> columns = [] {
        std::vector<const records::RunColumn*> own;
        for (const NamedColumn& wanted : market_runs().columns) {
            for (const records::RunColumn& column : records::run_columns()) {
                if (column.name == wanted.name) own.push_back(&column);
            }
        }
        return own;
    }();
    return columns;
}

SweptRun swept(const RunKeys& keys, const scenarios::PlannedRun& run,
               scenarios::FinishedRun finished) {
    SweptRun swept{keys.key_of(run),
                   static_cast<std::int64_t>(run.case_number),
                   keys.trace_digest(run.trace),
                   std::move(finished.result.trace),
                   std::move(finished.result.policy),
                   {},
                   std::move(finished.result.doubts),
                   finished.wall_s};
    swept.values.reserve(own_columns().size());
    for (const records::RunColumn* column : own_columns()) {
        swept.values.push_back(column->of(finished.result));
    }
    return swept;
}

}  // namespace

std::vector<SweptScenario> MarketMaker::scenarios() const {
    std::vector<SweptScenario> all;
    for (const scenarios::ExperimentCase& one : cases_) {
        all.push_back({keys_.scenario_digest(all.size()), one.scenario->name, one.scenario->varied,
                       one.scenario->resolved});
    }
    return all;
}

void MarketMaker::make(const SweepTaker& taker) {
    scenarios::RunTaker runs;
    if (taker.wanted) {
        runs.wanted = [&](const scenarios::PlannedRun& run) {
            return taker.wanted(keys_.key_of(run), run.group);
        };
    }
    if (taker.begin) {
        runs.begin = [&](std::size_t, std::size_t wanted) { taker.begin(wanted); };
    }
    runs.next_group = taker.next_group;
    runs.take = [&](const scenarios::PlannedRun& run, scenarios::FinishedRun finished) {
        taker.take(swept(keys_, run, std::move(finished)));
    };
    runs.stopped = taker.stopped;
    scenarios::run_experiment(cases_, setup_, runs);
}

}  // namespace ukemi::analysis
