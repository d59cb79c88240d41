// live_run.hpp — one run with real workers: the scenario's job, policies and market, lived through.
//
// The World is the simulator's own, with a LiveTrainer in it: what the market does and what the
// policies are asked comes from the same code. What differs is who trains, and that time passes.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/live_trainer.hpp"
#include "runtime/run_account.hpp"
#include "scenarios/experiment/experiment.hpp"

namespace ukemi::runtime {

struct LiveOptions {
    double time_scale = 1;
    std::filesystem::path worker_program;  // started with `worker_arguments` for each worker
    std::vector<std::string> worker_arguments;
    std::filesystem::path folder;       // for checkpoints; exists
    std::filesystem::path resume_from;  // a checkpoint, or empty
    // What the run came to before it: clock, deadline, market, bill and budget go on from there.
    std::optional<RunAccount> before;
    bool keeps_account = false;  // beside its checkpoints, for who goes on from one
    CrewDeadlines deadlines;
    std::vector<int> cores;  // who has place k runs on cores[k mod n]; empty: anywhere
    // As in CrewSetup:
    std::string listen = "127.0.0.1";
    RemoteStart remote;
    bool scripts_by_relay = false;
    std::optional<AgentDoor> agents;
    std::optional<ProviderSetup> provider;  // of the agents' machines
    JobShare* share = nullptr;              // as in LiveSetup
    // Every so many steps links between hosts are measured (StepSettings). Nothing: as often as
    // suits policies that look at them, and never without one.
    std::optional<std::int64_t> link_steps;
    std::function<void(const std::vector<std::string>&)> on_agents;
    std::function<void()> on_open;  // nothing refuses the run any more: agents may come
    std::function<std::optional<std::string>()> lost_to;
    std::function<std::optional<std::string>()> remarks;
    std::optional<Dollars> budget;
    std::optional<WorldTime> stop_at;
    scenarios::RunOptions keep;
    // As in LiveSetup:
    const std::atomic<int>* stop_requests = nullptr;
    std::chrono::milliseconds stop_within{20'000};
    std::function<std::optional<HostNotice>()> host_loss;
    std::chrono::milliseconds first_pause{100};
    std::function<LiveClock::Wall::time_point()> wall;
    std::function<void(const LiveRecord&)> on_progress;  // whenever the record has grown
};

struct LiveRun {
    scenarios::FinishedRun run;
    LiveRecord record;
    std::string provider;      // its log, a line of JSON an event
    bool interrupted = false;  // told to stop, or its machine goes, and the work is not done
    // What broke the run off after its first step, whose record is here all the same.
    std::exception_ptr failure;
};

// What live workers can turn, whatever they compute on; `scripted`: PyTorch's workers.
policies::Capabilities live_capabilities(const sim::MarketData& market, const sim::JobSpec& job,
                                         bool scripted = false);

// What a checkpoint of such a run remembers of its job (job_identity).
std::uint64_t live_job_identity(const scenarios::Scenario& scenario, std::uint64_t seed);

// What is wrong with a run, as run_live would say it, before anything starts.
void expect_live(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market,
                 const scenarios::PolicyList& list);

// Throws InputError for a scenario without "training", or one that this world cannot run. However
// else a run ends, what its workers have learned is saved if any of them still has it.
LiveRun run_live(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market,
                 const scenarios::PolicyList& list, std::uint64_t seed, const LiveOptions& options);

// The steps of a live run, and what was measured in each: steps.csv.
std::string steps_csv(const LiveRecord& record);
// Everything else that a live run measured, as JSON: live.json.
std::string live_json(const LiveRecord& record);

}  // namespace ukemi::runtime
