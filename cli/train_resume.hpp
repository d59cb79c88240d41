// train_resume.hpp — what `ukemi train` goes on from, and where checkpoints of a new run go.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/train_options.hpp"
#include "runtime/live_run.hpp"
#include "runtime/run_account.hpp"
#include "runtime/run_lease.hpp"
#include "scenarios/reader/scenario.hpp"

namespace ukemi::cli {

// What a run goes on from.
struct Resumed {
    std::filesystem::path checkpoint;  // empty: none, or that of a coordinator's workers
    std::optional<runtime::RunAccount> before;
    std::string why_none = "no account.json beside it";  // where nothing is known of before
    bool has_journal = false;                            // which says what was before
    bool of_another = false;                             // training: it will be refused
    bool finished = false;                               // there is nothing left to train
    std::string remark;                                  // on newer checkpoints that are left
};

Resumed resumed_run(const TrainOptions& options, const scenarios::Scenario& scenario,
                    std::uint64_t seed, const runtime::RunLease* lease);

// Where clock and bill of a run that goes on begin.
void say_what_was_before(const Resumed& resumed);

// Where checkpoints go: a run that goes on from a folder of them goes on there.
std::filesystem::path checkpoint_folder(const TrainOptions& options,
                                        const std::filesystem::path& results);

// That a run which does not go on with what its folder of checkpoints holds has it for itself.
class OwnCheckpoints {
public:
    // InputError if there are others', unless --force replaces them.
    OwnCheckpoints(const TrainOptions& options, const std::filesystem::path& folder);
    // Others' go once the new run is under way, and not before: it may yet be refused.
    void note(const runtime::LiveRecord& record);

private:
    std::filesystem::path folder_;
    bool replaces_;
};

}  // namespace ukemi::cli
