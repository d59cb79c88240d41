#include "runtime/live_journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/input_error.hpp"
#include "base/text_digest.hpp"

namespace ukemi::runtime {

namespace {

std::int64_t ns_of(WorldTime time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// What is not the run that was left there is refused.
void expect_same(const JournalHeader& before, const JournalHeader& now,
                 const std::filesystem::path& folder) {
    if (before.identity != now.identity) {
        throw InputError(folder.string(), "",
                         "the run that was left there has another scenario, policies, seed or "
                         "time scale: expected the same words as then");
    }
    if (before.machines.empty() != now.machines.empty()) {
        throw InputError("--provider", "",
                         before.machines.empty()
                             ? "the run that was left there has none: expected none"
                             : "the run that was left there has one: expected it here, too");
    }
}

}  // namespace

std::unique_ptr<Journaled> begin_journal(const LiveOptions& options, const std::string& what_it_is,
                                         LiveSetup& live, std::optional<ProviderSetup>& provider) {
    if (!options.agents) return nullptr;
    auto journaled = std::make_unique<Journaled>();
    JournalHeader header;
    header.identity = text_digest(fmt::format("{}{}", what_it_is, options.time_scale));
    header.started_ns = ns_of(std::chrono::system_clock::now());
    header.resume_from = live.resume_from;
    header.resume_samples = live.resume_samples;
    header.resume_steps = live.resume_steps;
    if (options.before) header.before = account_json(*options.before);
    if (provider) header.machines = provider->run;
    journaled->past = RunPast::read(options.folder, options.agents->term);
    if (journaled->past) {
        const JournalHeader& before = journaled->past->header();
        expect_same(before, header, options.folder);
        header = before;
        header.follows = before.term;
        header.follows_bytes = journaled->past->bytes();
        live.past = &*journaled->past;
        live.passed = std::chrono::nanoseconds(
            std::max<std::int64_t>(ns_of(std::chrono::system_clock::now()) - before.started_ns, 0));
        live.resume_from = before.resume_from;
        live.resume_samples = before.resume_samples;
        live.resume_steps = before.resume_steps;
    }
    header.run = options.agents->run;
    header.term = options.agents->term;
    // Hard stops hold for who comes next, too, unless that one is told others.
    if (live.budget) header.budget_nano_usd = live.budget->raw();
    if (header.budget_nano_usd) live.budget = Dollars::of(*header.budget_nano_usd);
    if (live.stop_at) header.stop_at_ns = ns_of(*live.stop_at);
    if (header.stop_at_ns) live.stop_at = WorldTime(std::chrono::nanoseconds(*header.stop_at_ns));
    live.journal = &journaled->journal.emplace(options.folder, header);
    const auto open = [journal = live.journal, on_open = options.on_open] {
        journal->keep();
        if (on_open) on_open();
    };
    if (journaled->past) {
        live.on_past_relived = open;
    } else {
        open();
    }
    if (!provider) return journaled;
    provider->run = header.machines;
    provider->relives = journaled->past.has_value();
    provider->journal = live.journal;
    return journaled;
}

}  // namespace ukemi::runtime
