// sweep_runs.hpp — runs into a database: those that it does not have yet.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>

#include "analysis/database/rank_group.hpp"
#include "analysis/database/run_maker.hpp"

namespace ukemi::analysis {

struct SweepSetup {
    std::filesystem::path database;  // made where there is none
    bool resume = false;             // else one with runs in it is refused
    std::size_t shard = 1;           // the I-th of N parts of about equal size
    std::size_t shards = 1;
    std::function<bool()> stopped;  // from any thread, before each run: true ends the sweep
    // Called from any thread, one at a time, after each run. May be empty.
    std::function<void(std::size_t done, std::size_t total)> progress = nullptr;
};

struct SweepEnd {
    std::size_t there = 0;       // runs of this part that the database had before
    std::size_t wanted = 0;      // the others
    std::size_t made = 0;        // of those, what it has now as well
    double wall_s = 0;           // that they took
    std::exception_ptr failure;  // why there are not more, if somebody has not stopped it
};

// For the first of the ranks, who makes runs as the others do. InputError before the first run for
// what cannot be written to, or has other runs than ours.
SweepEnd sweep_runs(RunMaker& maker, const SweepSetup& sweep, RankGroup& ranks);

// For the other ranks: makes what the first hands out, and sends it there.
void help_sweep(RunMaker& maker, const std::function<bool()>& stopped, RankGroup& ranks);

}  // namespace ukemi::analysis
