#include "cli/train_resume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/input_error.hpp"
#include "cli/progress_line.hpp"
#include "kernels/checkpoint_file.hpp"
#include "runtime/run_account.hpp"
#include "runtime/run_journal.hpp"
#include "runtime/saved_checkpoints.hpp"

namespace ukemi::cli {

namespace fs = std::filesystem;

namespace {

// Time and money of the pieces before: of one that was left by its coordinator they are where that
// one began, and the rest is in its journal.
std::optional<runtime::RunAccount> account_of(const fs::path& checkpoint, std::uint64_t job,
                                              const std::optional<runtime::JournalHeader>& left,
                                              const fs::path& folder) {
    if (!left && checkpoint.empty()) return std::nullopt;
    if (!left) return runtime::account_beside(checkpoint, job);
    if (left->before.empty()) return std::nullopt;
    return runtime::account_from_text(left->before, folder / "journal");
}

// The newest that is whole, of those that the account there knows. Who succeeds a coordinator,
// whose workers still have the model, needs none.
std::optional<runtime::WholeCheckpoint> checkpoint_in(
    const std::string& folder, bool succeeds, const std::optional<runtime::RunAccount>& account) {
    try {
        auto whole =
            runtime::newest_whole_checkpoint(folder, account ? &account->saved_steps : nullptr);
        if (whole || succeeds) return whole;
    } catch (const InputError& error) {
        if (!succeeds) throw;
        say_on_the_way(fmt::format("{}\n", error.what()));
        return std::nullopt;
    }
    throw InputError(folder, "", "expected a checkpoint in this folder, found none");
}

// One that is not the checkpoint's is none.
void note_account(std::int64_t steps, Resumed& resumed) {
    if (!resumed.before) {
        const bool is_there = runtime::account_in(resumed.checkpoint.parent_path()).has_value();
        if (is_there) resumed.why_none = "the account.json beside it is of another training";
        return;
    }
    if (resumed.before->is_of(steps)) return;
    resumed.why_none = fmt::format(
        "the account.json beside it is of a run that has not written it, but checkpoints of {} "
        "steps",
        fmt::join(resumed.before->saved_steps, ", "));
    resumed.before.reset();
}

}  // namespace

Resumed resumed_run(const TrainOptions& options, const scenarios::Scenario& scenario,
                    std::uint64_t seed, const runtime::RunLease* lease) {
    Resumed resumed;
    if (options.resume.empty()) return resumed;
    const bool is_folder = fs::is_directory(options.resume);
    const bool succeeds = lease != nullptr && lease->is_successor();
    const auto left = lease != nullptr && is_folder ? runtime::last_journal(options.resume)
                                                    : std::optional<runtime::JournalHeader>();
    resumed.has_journal = left.has_value();
    resumed.checkpoint = options.resume;
    if (is_folder) {
        const auto account =
            left ? std::optional<runtime::RunAccount>() : runtime::account_in(options.resume);
        const auto whole = checkpoint_in(options.resume, succeeds, account);
        resumed.checkpoint = whole ? whole->file : fs::path();
        if (whole && !left) resumed.remark = whole->remark();
    }
    const std::uint64_t job = runtime::live_job_identity(scenario, seed);
    resumed.before = account_of(resumed.checkpoint, job, left, options.resume);
    if (resumed.checkpoint.empty() || left) return resumed;
    const kernels::Checkpoint saved = kernels::read_checkpoint(resumed.checkpoint);
    resumed.of_another = saved.job != job;
    note_account(saved.step, resumed);
    resumed.finished = !resumed.of_another && saved.position >= scenario.job.samples_total;
    if (resumed.finished) {
        say_on_the_way(
            fmt::format("the job is finished: {} has all {} samples of it, in {} steps; nothing is "
                        "bought, and nothing trained\n",
                        resumed.checkpoint.string(), scenario.job.samples_total, saved.step));
    }
    return resumed;
}

void say_what_was_before(const Resumed& resumed) {
    const bool is_silent = resumed.checkpoint.empty() || resumed.has_journal || resumed.of_another;
    if (is_silent) return;
    const std::string file = resumed.checkpoint.string();
    if (!resumed.remark.empty()) say_on_the_way(resumed.remark + "\n");
    if (!resumed.before) {
        say_on_the_way(
            fmt::format("{}: nothing is known of the time and the money before it ({}): clock, "
                        "deadline, market, budget and bill begin anew, and what the results say of "
                        "time and money is of this piece of the run\n",
                        file, resumed.why_none));
        return;
    }
    const records::RunResult& before = resumed.before->totals;
    say_on_the_way(fmt::format(
        "{}: goes on after {:.3f} s and {:.6f} USD; clock, deadline, market, budget and bill go on "
        "from there\n",
        file, to_seconds(before.duration), to_dollars(before.cost)));
}

fs::path checkpoint_folder(const TrainOptions& options, const fs::path& results) {
    if (fs::is_directory(options.resume)) return options.resume;
    return results.string() + "-checkpoints";
}

OwnCheckpoints::OwnCheckpoints(const TrainOptions& options, const fs::path& folder)
    : folder_(folder) {
    const auto whole_name = [](const fs::path& one) {
        return fs::absolute(one / ".").lexically_normal();
    };
    const fs::path from = options.resume;
    const bool goes_on = !from.empty() && (fs::is_directory(from) ||
                                           whole_name(from.parent_path()) == whole_name(folder));
    replaces_ = !goes_on && options.force;
    // A journal of workers that may still train is a reason of its own: lend() says it.
    const bool has_journal =
        !options.agents.empty() && fs::is_directory(folder) && runtime::last_journal(folder);
    if (!goes_on && !options.force && !has_journal) runtime::expect_no_checkpoints(folder);
}

void OwnCheckpoints::note(const runtime::LiveRecord& record) {
    if (!replaces_ || (record.steps.empty() && record.saved_steps.empty())) return;
    replaces_ = false;
    runtime::remove_checkpoints(folder_, record.saved_steps);
    if (record.saved_steps.empty()) runtime::remove_account(folder_);
}

}  // namespace ukemi::cli
