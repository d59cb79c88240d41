#include "cli/live_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "base/input_error.hpp"
#include "cli/backends.hpp"

namespace ukemi {

namespace fs = std::filesystem;

namespace {

std::atomic<bool> interrupted{false};
void note_interrupt(int) { interrupted.store(true); }

}  // namespace

void LiveWorkerOptions::add_to(CLI::App& command) {
    command.add_option("SCENARIO", scenario, "a scenario file with a section \"training\"")
        ->required();
    command
        .add_option("--backend", backend, "what the workers compute on: cpu | cuda (default: cpu)")
        ->check(CLI::IsMember(backend_names()));
    command.add_option("--workers", workers, "at most so many (default: the scenario's count)")
        ->check(CLI::Range(1, 256));
    command.add_option("--cores", cores, "pin worker k to the k-th of these cores, as in 0,1")
        ->delimiter(',')
        ->check(CLI::Range(0, 4095));
    command.add_option("--set", settings, "change the scenario: /json/pointer=VALUE")
        ->allow_extra_args(false);
}

Scenario LiveWorkerOptions::read_scenario() const {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : settings) overrides.push_back(parse_override(setting));
    Scenario read = ukemi::read_scenario(scenario, overrides);
    if (!workers) return read;
    JobSpec& job = read.job;
    const bool starts_full = job.plan.workers_max == job.instances_max;
    job.instances_max = *workers;
    job.plan.workers_max = starts_full ? *workers : std::min(job.plan.workers_max, *workers);
    job.workers_min = std::min(job.workers_min, *workers);
    for (FleetLine& line : job.plan.fleet) line.count = job.plan.workers_max;
    return read;
}

std::string LiveWorkerOptions::device() const {
    const ComputeBackend& chosen = backend_named(backend);
    expect_backend(chosen);
    return device_with(chosen);
}

LiveOptions LiveWorkerOptions::live_options(const fs::path& folder) const {
    LiveOptions options;
    options.worker_program = fs::read_symlink("/proc/self/exe");
    options.worker_arguments = {"worker", "--backend", backend};
    fs::create_directories(folder);
    options.folder = folder;
    options.cores = cores;
    options.interrupted = &interrupted;
    std::signal(SIGINT, note_interrupt);
    std::signal(SIGTERM, note_interrupt);
    return options;
}

void expect_no_folder(const fs::path& scratch) {
    if (!fs::exists(scratch)) return;
    throw InputError(scratch.string(), "",
                     "is there already, and what runs here would remove it: move it away");
}

}  // namespace ukemi
