#include "cli/train_agents.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <system_error>

#include "base/socket_address.hpp"
#include "cli/program_on_path.hpp"
#include "runtime/agent_secret.hpp"
#include "runtime/folder_lease.hpp"
#include "runtime/redis_lease.hpp"
#include "runtime/run_journal.hpp"
#include "sim/market/lease_bill.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

// Tells the next coordinator for whom to wait. A run goes on without.
void keep_agents(runtime::RunLease& lease, const std::vector<std::string>& names) {
    try {
        lease.note_agents(names);
    } catch (const std::system_error& error) {
        std::fputs(fmt::format("incident: {}\n", error.what()).c_str(), stderr);
    }
}

// Takes the place of another option's value.
void set_by_provider(std::string& value, const char* option, const std::string& given) {
    if (!value.empty()) {
        throw InputError(option, "", "--provider says the same: expected one of the two");
    }
    value = given;
}

}  // namespace

TrainOptions with_provider(TrainOptions options) {
    constexpr std::string_view hosts = "static:";
    constexpr std::string_view play = "trace:";
    const std::string given = options.provider;
    const bool is_static = given.starts_with(hosts) && given.size() > hosts.size();
    const bool is_play = given.starts_with(play) && given.size() > play.size();
    std::string& named = options.live.network.hosts;
    if (is_static) set_by_provider(named, "--hosts", given.substr(hosts.size()));
    if (is_play) set_by_provider(options.revocations, "--revocations", given.substr(play.size()));
    if (is_static || is_play) options.provider.clear();
    options.live.by_agents = !options.agents.empty();
    return options;
}

std::optional<runtime::AgentDoor> agents_of(const TrainOptions& options,
                                            const scenarios::Scenario& scenario) {
    if (options.agents.empty()) {
        const bool meets = !options.rendezvous.empty();
        if (options.secret_file.empty() && !options.ranks && !meets) return std::nullopt;
        throw InputError(meets           ? "--rendezvous"
                         : options.ranks ? "--ranks"
                                         : "--secret-file",
                         "", "is for --agents: expected both");
    }
    const std::vector<std::pair<const char*, bool>> others{
        {"--hosts", !options.live.network.hosts.empty()},
        {"--address", !options.live.network.address.empty()},
        {"--cores", !options.live.cores.empty()},
        {"--costs", !options.costs.empty()},
        {"--revocations", !options.revocations.empty()},
        {"--dry-run", options.dry_run},
    };
    for (const auto& [name, is_there] : others) {
        if (!is_there) continue;
        throw InputError(name, "", "agents bring their machines: expected none beside --agents");
    }
    if (runs_script(scenario)) options.live.network.expect_script_may("--agents");
    runtime::AgentDoor door;
    door.address = agent_address(options.agents, "--agents");
    door.secret = runtime::read_agent_secret(options.secret_file);
    return door;
}

std::optional<runtime::ProviderSetup> provider_of(const TrainOptions& options,
                                                  const scenarios::NamedMarket& market) {
    if (options.provider.empty()) return std::nullopt;
    constexpr std::string_view kind = "command:";
    if (!options.provider.starts_with(kind) || options.provider.size() == kind.size()) {
        throw InputError(
            "--provider", "",
            fmt::format("expected command:PROGRAM, static:HOSTS or trace:FILE, found \"{}\"",
                        options.provider));
    }
    if (options.agents.empty() || options.ranks) {
        throw InputError("--provider", "",
                         "its machines join as agents: expected --agents, and no --ranks");
    }
    const sim::MarketRules& rules = market.data.rules;
    for (const records::BillingRule& rule : {rules.spot_billing, rules.on_demand_billing}) {
        if (!sim::needs_price_history(rule, rules.bidding)) continue;
        throw InputError("--provider", "",
                         "prices are known when they are told: expected a scenario whose bills "
                         "do not go by past prices (\"billing\")");
    }
    runtime::ProviderSetup setup;
    setup.program = options.provider.substr(kind.size());
    program_on_path(setup.program, "--provider");
    setup.join = options.agents;
    for (const sim::ZoneData& zone : market.data.zones) setup.zones.push_back(zone.name);
    setup.run = fmt::format("ukemi-{:x}-{}", std::time(nullptr), ::getpid());
    return setup;
}

void end_run(runtime::RunLease& lease, const fs::path& folder) {
    lease.run_has_ended();
    runtime::remove_journals(folder);
}

std::unique_ptr<runtime::RunLease> lend(const TrainOptions& options, std::uint64_t job,
                                        runtime::LiveOptions& live) {
    runtime::LeaseClaim claim;
    claim.job = job;
    claim.goes_on = fs::is_directory(options.resume);
    claim.address = options.agents;
    if (!claim.goes_on && !options.force && runtime::last_journal(live.folder)) {
        throw InputError(live.folder.string(), "",
                         fmt::format("has the journal of a run that has not ended, whose workers "
                                     "may still train: --resume {} goes on with it, --force "
                                     "begins anew",
                                     live.folder.string()));
    }
    std::unique_ptr<runtime::RunLease> lease;
    if (options.rendezvous.empty()) {
        lease = std::make_unique<runtime::FolderLease>(live.folder, claim);
    } else {
        if (const auto known = claim.goes_on ? runtime::last_journal(live.folder) : std::nullopt) {
            claim.known_run = known->run;
            claim.known_term = known->term;
        }
        lease = std::make_unique<runtime::RedisLease>(
            place_of(options.rendezvous, options.redis_password_file, live.agents->secret), claim);
        if (!lease->is_successor()) runtime::remove_journals(live.folder);
        live.lost_to = [&held = *lease] { return held.lost_to(); };
        live.remarks = [&held = *lease] { return held.take_problem(); };
    }
    live.agents->run = lease->run();
    live.agents->term = lease->term();
    live.on_agents = [&held = *lease](const std::vector<std::string>& names) {
        keep_agents(held, names);
    };
    return lease;
}

void be_agent_of_rank(const TrainOptions& options, const runtime::AgentDoor& door) {
    runtime::AgentSetup setup = agent_setup({door.address}, door.secret);
    setup.name = fmt::format("rank {}", own_rank());
    setup.trusts_network = options.live.network.trusted_network;
    setup.python = options.live.python;
    setup.stop_within =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.stop_within_s));
    be_agent(setup);
}

FileDescriptor hold_door(const runtime::AgentDoor& door) {
    try {
        return bound_socket(door.address);
    } catch (const std::system_error& error) {
        throw InputError("--agents", "",
                         fmt::format("expected an address of this machine and a free port, found "
                                     "{}: {}",
                                     door.address.text(), error.code().message()));
    }
}

}  // namespace ukemi::cli
