// live_workers.hpp — the options that every command with live workers has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/host_options.hpp"
#include "runtime/live_run.hpp"

namespace ukemi::cli {

struct LiveWorkerOptions {
    std::filesystem::path scenario;
    std::vector<std::string> settings;
    std::string backend = "cpu";     // of backend_names()
    std::string script;              // makes model and data in PyTorch's workers; empty: ours
    std::string python = "python3";  // what runs them
    std::optional<std::int32_t> workers;
    std::vector<int> cores;
    HostOptions network;
    bool by_agents = false;  // they start the workers
    // Whether fewer workers than the scenario's least number are refused. Who measures may.
    bool keeps_least = false;

    void add_to(CLI::App& command);
    // The scenario with --set and --workers carried out, and no more workers than hosts hold.
    scenarios::Scenario read_scenario() const;
    // The machine, or its hosts, with what workers compute on: what costs belong to. Throws like
    // expect_backend, so that a bad backend is refused before anything starts.
    std::string device(const scenarios::Scenario& trained) const;
    // This very program as the workers' program, told the backend; Python for a scenario of a
    // script, with deadlines for what may take long there.
    runtime::LiveOptions worker_options(const scenarios::Scenario& trained) const;
    // The same for a run. Makes the folder for checkpoints.
    // From then on SIGINT, SIGTERM and SIGHUP only count as `stop_requests`, and what runs comes to
    // its end.
    runtime::LiveOptions live_options(const scenarios::Scenario& trained,
                                      const std::filesystem::path& folder) const;
};

// Whether workers of PyTorch train it.
bool runs_script(const scenarios::Scenario& scenario);

// InputError if there is one, unless a command that was killed has left it: it would be taken away.
void expect_no_folder(const std::filesystem::path& scratch);

// A folder for what a command needs only while it runs. It is locked as long, so that what a killed
// command has left can be told from one that is in use, and from what was never ours; it is taken
// away in the end, however that comes. expect_no_folder comes first.
class CommandScratch {
public:
    explicit CommandScratch(std::filesystem::path folder);
    ~CommandScratch();
    CommandScratch(const CommandScratch&) = delete;
    CommandScratch& operator=(const CommandScratch&) = delete;

private:
    std::filesystem::path folder_;
    int lock_ = -1;
};

}  // namespace ukemi::cli
