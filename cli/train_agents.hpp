// train_agents.hpp — a live run whose workers run where agents are: who joins, who is asked for
// machines, and who leads the run after whom.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "base/socket_address.hpp"
#include "cli/agent_options.hpp"
#include "cli/train_options.hpp"
#include "runtime/live_run.hpp"
#include "runtime/run_lease.hpp"

namespace ukemi::cli {

// Other names of what other options say: --provider static:HOSTS is --hosts HOSTS, and trace:FILE
// is --revocations FILE.
TrainOptions with_provider(TrainOptions options);

// Where agents join, and with what.
std::optional<runtime::AgentDoor> agents_of(const TrainOptions& options,
                                            const scenarios::Scenario& scenario);

// Who is asked for the agents' machines.
std::optional<runtime::ProviderSetup> provider_of(const TrainOptions& options,
                                                  const scenarios::NamedMarket& market);

// Whose agents these are from now on: a new run's, or that of a coordinator that is gone.
std::unique_ptr<runtime::RunLease> lend(const TrainOptions& options, std::uint64_t job,
                                        runtime::LiveOptions& live);

// What the next coordinator would need goes, once the results are there.
void end_run(runtime::RunLease& lease, const std::filesystem::path& folder);

// A rank of mpirun or srun beside the first.
void be_agent_of_rank(const TrainOptions& options, const runtime::AgentDoor& door);

// InputError if nobody can listen there. As long as this is there nobody else's connection is given
// that port, and the run can listen.
FileDescriptor hold_door(const runtime::AgentDoor& door);

// The first rank is an agent, too, beside the run that it leads.
class OwnAgent {
public:
    OwnAgent(const TrainOptions& options, const runtime::AgentDoor& door)
        : setup_(agent_setup({door.address}, door.secret)) {
        setup_.name = "rank 0";
        setup_.trusts_network = options.live.network.trusted_network;
        setup_.python = options.live.python;
        setup_.stop_requests = &ends_;
        setup_.say = {};
        thread_ = std::thread([this] { runtime::run_agent(setup_); });
    }
    ~OwnAgent() {
        ends_ = 2;
        thread_.join();
    }
    OwnAgent(const OwnAgent&) = delete;
    OwnAgent& operator=(const OwnAgent&) = delete;

private:
    runtime::AgentSetup setup_;
    std::atomic<int> ends_{0};
    std::thread thread_;
};

}  // namespace ukemi::cli
