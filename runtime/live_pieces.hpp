// live_pieces.hpp — a run that is trained in several pieces: what the later ones have left of its
// time and its money, and results that are the whole run's.
//
// The World of each piece begins at its own zero, so all that the scenario and the market say of
// moments comes sooner, by what the pieces before it took.
#pragma once

#include "runtime/live_run.hpp"

namespace ukemi::runtime {

// InputError where the run has given up already.
scenarios::Scenario scenario_after(const RunAccount& before, scenarios::Scenario scenario);
scenarios::NamedMarket market_after(const RunAccount& before, scenarios::NamedMarket market);

// InputError if the budget is spent.
void expect_money_left(const LiveOptions& options);

// The results are the whole run's: what the World has counted is this piece of it.
void make_whole(const RunAccount& before, const sim::JobSpec& job, LiveRun& live_run);

// Beside the run's last checkpoint, for who goes on from that. A run goes on without, whatever
// the reason, and says so once.
void keep_account(const LiveOptions& options, std::uint64_t job, records::RunResult so_far,
                  LiveRecord& record);

}  // namespace ukemi::runtime
