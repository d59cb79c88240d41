// run_account.hpp — the time and the money of a run that is trained in several pieces.
//
// Beside its checkpoints a run keeps a file, account.json, of what it has come to so far: replaced
// as a whole with every checkpoint and at the end of the run. A run that goes on from one of these
// checkpoints begins with it, so that its clock, its bill and all that is counted go on. What a
// piece that was killed at once did after its last checkpoint is not in it, and neither is the
// time between two pieces.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "records/run_result.hpp"

namespace ukemi::runtime {

struct RunAccount {
    std::uint64_t job = 0;    // job_identity of what was trained
    std::int64_t pieces = 1;  // that the run had until then
    // Which checkpoints of its folder are the run's own: how many steps each holds, the fewest
    // first. Others of the same job may lie beside them, that somebody has put there.
    std::vector<std::int64_t> saved_steps;
    bool is_of(std::int64_t step) const;  // the run's own checkpoint of so many steps
    // Of all pieces: time, held time and dollars, by cause and by market, and what was counted.
    // What it does not hold is as in a new RunResult.
    records::RunResult totals;
};

std::string account_json(const RunAccount& account);
// InputError about the file for what no run has written.
RunAccount account_from_text(std::string_view text, const std::filesystem::path& file);

// That of a folder of checkpoints; nothing if there is none.
std::optional<RunAccount> account_in(const std::filesystem::path& folder);
// That of the folder of this checkpoint; nothing if there is none, or if it is of another training.
std::optional<RunAccount> account_beside(const std::filesystem::path& checkpoint,
                                         std::uint64_t job);
void write_account(const std::filesystem::path& folder, const RunAccount& account);
void remove_account(const std::filesystem::path& folder);  // if there is one

// To the results of a piece, those of all before it.
void add_earlier(const records::RunResult& earlier, records::RunResult& result);

}  // namespace ukemi::runtime
