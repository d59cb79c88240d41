// saved_checkpoints.hpp — the checkpoints of a folder: the newest that is whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ukemi::runtime {

struct WholeCheckpoint {
    std::filesystem::path file;
    std::uint64_t job = 0;
    std::int64_t step = 0;  // the next one
    std::int64_t position = 0;
    std::vector<std::string> left;  // why each newer one is not it, the newest first
    std::int64_t steps_lost = 0;    // that the newest damaged one of those had more, by its name
    // "FILE: is cut short: …; FILE beside it is used, and 12 steps are made again"; empty where
    // it is the newest.
    std::string remark() const;
};

// Reads them whole, from the newest on, until one is as it was written. Nothing for a folder
// without any; InputError, of the newest, if none is whole, and for a folder that cannot be listed.
// An empty path is the present folder: the parent_path() of a bare name. Where `known` is given,
// the steps of those that an account knows (RunAccount::saved_steps), others are left.
std::optional<WholeCheckpoint> newest_whole_checkpoint(
    const std::filesystem::path& folder, const std::vector<std::int64_t>* known = nullptr);

// How many steps the checkpoints of a folder hold, by their names; none of what is named otherwise.
std::vector<std::int64_t> steps_saved_in(const std::filesystem::path& folder);

// InputError if the folder, which need not be there, has checkpoints of a run: a new one would
// leave its own among them.
void expect_no_checkpoints(const std::filesystem::path& folder);

// Removes those whose names a run gives, but for these steps: what an earlier run has left.
void remove_checkpoints(const std::filesystem::path& folder,
                        const std::vector<std::int64_t>& but_for);

}  // namespace ukemi::runtime
