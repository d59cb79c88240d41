#include "runtime/live_pieces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/input_error.hpp"
#include "base/unit_text.hpp"
#include "runtime/saved_checkpoints.hpp"
#include "scenarios/experiment/starts.hpp"

namespace ukemi::runtime {

scenarios::Scenario scenario_after(const RunAccount& before, scenarios::Scenario scenario) {
    const Duration passed = before.totals.duration;
    // One that is over stays a deadline: policies divide by what it gives.
    if (scenario.job.deadline < Instant::never()) {
        scenario.job.deadline =
            std::max(scenario.job.deadline - passed, Instant{} + nanoseconds(1));
    }
    if (!scenario.give_up_after) return scenario;
    if (*scenario.give_up_after <= passed) {
        throw InputError(
            scenario.file.string(), "/job/give_up_after",
            fmt::format("the run gives up after {}, and its pieces so far took {:.3f} s",
                        format_duration(*scenario.give_up_after), to_seconds(passed)));
    }
    *scenario.give_up_after -= passed;
    return scenario;
}

scenarios::NamedMarket market_after(const RunAccount& before, scenarios::NamedMarket market) {
    market.data = scenarios::begun_later(market.data, before.totals.duration);
    return market;
}

void expect_money_left(const LiveOptions& options) {
    if (!options.before || !options.budget || options.before->totals.cost < *options.budget) return;
    throw InputError(
        "--budget", "",
        fmt::format("{} USD are spent already, by the run's pieces so far: expected "
                    "more, found {} USD",
                    format_dollars(options.before->totals.cost), format_dollars(*options.budget)));
}

void make_whole(const RunAccount& before, const sim::JobSpec& job, LiveRun& live_run) {
    const Duration passed = before.totals.duration;
    add_earlier(before.totals, live_run.run.result);
    if (job.deadline < Instant::never()) live_run.run.result.deadline = job.deadline.since_start();
    LiveRecord& record = live_run.record;
    for (LiveRecord::Step& step : record.steps) step.at = step.at + passed;
    for (LiveRecord::Transition& one : record.transitions) one.at = one.at + passed;
    for (LiveRecord::Takeover& one : record.takeovers) {
        one.since = one.since + passed;
        one.at = one.at + passed;
    }
    for (auto& [hosts, link] : record.links) link.at = link.at + passed;
}

namespace {

namespace fs = std::filesystem;

fs::path whole_name(const fs::path& folder) {
    return fs::absolute(folder / ".").lexically_normal();  // an empty one is this one
}

// Of the checkpoints in this folder, those that the run has written, in all its pieces.
std::vector<std::int64_t> own_steps(const LiveOptions& options, const LiveRecord& record,
                                    const fs::path& folder) {
    std::vector<std::int64_t> own = record.saved_steps;
    const bool same = record.resumed && whole_name(record.resumed->folder) == whole_name(folder);
    if (same && options.before) {
        own.insert(own.end(), options.before->saved_steps.begin(),
                   options.before->saved_steps.end());
    }
    const std::vector<std::int64_t> there = steps_saved_in(folder);
    std::erase_if(
        own, [&](std::int64_t steps) { return std::ranges::find(there, steps) == there.end(); });
    if (same) own.push_back(record.resumed->steps);  // whatever its name
    std::ranges::sort(own);
    const auto again = std::ranges::unique(own);
    own.erase(again.begin(), again.end());
    return own;
}

}  // namespace

void keep_account(const LiveOptions& options, std::uint64_t job, records::RunResult so_far,
                  LiveRecord& record) {
    if (!options.keeps_account || record.last_checkpoint.empty() || record.replaced) return;
    RunAccount account;
    account.job = job;
    if (options.before) {
        account.pieces = options.before->pieces + 1;
        add_earlier(options.before->totals, so_far);
    }
    account.totals = std::move(so_far);
    try {
        const fs::path folder = record.last_checkpoint.parent_path();
        account.saved_steps = own_steps(options, record, folder);
        write_account(folder, account);
    } catch (const std::exception& error) {
        if (std::exchange(record.account_fails, true)) return;  // it has been said
        record.incidents.push_back(
            fmt::format("its time and money are not written down for who goes on from its last "
                        "checkpoint: {}",
                        error.what()));
    }
}

}  // namespace ukemi::runtime
