#include "analysis/database/sweep_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "analysis/database/run_database.hpp"
#include "analysis/database/run_keys.hpp"
#include "analysis/database/run_writer.hpp"
#include "base/input_error.hpp"

namespace ukemi::analysis {

namespace {

std::vector<std::int64_t> scenario_rows(RunDatabase& database, const RunKeys& keys,
                                        std::span<const scenarios::ExperimentCase> cases) {
    std::vector<std::int64_t> rows;
    database.begin();
    for (const scenarios::ExperimentCase& one : cases) {
        rows.push_back(database.scenario_row(*one.scenario, keys.scenario_digest(rows.size())));
    }
    database.commit();
    return rows;
}

}  // namespace

SweepEnd sweep_runs(std::span<const scenarios::ExperimentCase> cases,
                    const scenarios::ExperimentSetup& setup, const SweepSetup& sweep) {
    const RunKeys keys(cases, setup);
    RunDatabase database(sweep.database);
    const std::vector<std::int64_t> known = database.keys();
    if (!known.empty() && !sweep.resume) {
        throw InputError(
            sweep.database.string(), "",
            fmt::format("holds {} runs already: --resume adds what is missing", known.size()));
    }
    const std::vector<std::int64_t> rows = scenario_rows(database, keys, cases);
    SweepEnd end;
    RunWriter writer(database);
    scenarios::RunTaker taker;
    taker.wanted = [&](const scenarios::PlannedRun& run) {
        if (run.group % sweep.shards != sweep.shard - 1) return false;
        const bool is_there = std::ranges::binary_search(known, keys.key_of(run));
        end.there += is_there;
        return !is_there;
    };
    taker.begin = [&](std::size_t, std::size_t wanted) { end.wanted = wanted; };
    taker.take = [&](const scenarios::PlannedRun& run, scenarios::FinishedRun finished) {
        writer.add({keys.key_of(run), rows[run.case_number], keys.trace_digest(run.trace),
                    std::move(finished.result), finished.wall_s});
    };
    taker.stopped = [&] { return writer.has_failed() || (sweep.stopped && sweep.stopped()); };
    const auto begun = std::chrono::steady_clock::now();
    try {
        scenarios::run_experiment(cases, setup, taker);
    } catch (...) {
        end.failure = std::current_exception();
    }
    try {
        writer.finish();
    } catch (...) {
        end.failure = std::current_exception();
    }
    end.made = static_cast<std::size_t>(writer.committed());
    end.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return end;
}

}  // namespace ukemi::analysis
