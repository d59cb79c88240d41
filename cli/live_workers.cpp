#include "cli/live_workers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/plugin_library.hpp"
#include "base/read_file.hpp"
#include "cli/backends.hpp"
#include "cli/program_on_path.hpp"
#include "cli/stop_signals.hpp"
#include "runtime/program_call.hpp"
#include "scenarios/reader/live_costs.hpp"

namespace ukemi::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_name = ".ukemi-lock";

// The lock of a scratch folder, locked; nothing if somebody else has it, or it cannot be opened.
std::optional<int> take_lock(const fs::path& scratch, int how) {
    const int lock = ::open((scratch / lock_name).c_str(), O_RDWR | O_CLOEXEC | how, 0666);
    if (lock < 0) return std::nullopt;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return lock;
    ::close(lock);
    return std::nullopt;
}

// An interpreter loads PyTorch and the script's data for seconds, holds its lock for moments, and a
// step is as long as the script makes it. A member that dies is noticed at once all the same.
runtime::CrewDeadlines script_deadlines() {
    using namespace std::chrono_literals;
    runtime::CrewDeadlines deadlines;
    deadlines.spawn = 120s;
    deadlines.heartbeat = 10s;
    deadlines.collective = 60s;
    deadlines.transition = 60s;
    deadlines.checkpoint = 120s;
    deadlines.farewell = 5s;
    return deadlines;
}

// What workers of a script import, looked for without importing it: said once, before any of them
// starts. A Python that does not answer is left to say itself what is wrong.
void expect_modules(const fs::path& python) {
    constexpr const char* look =
        "import importlib.util as u\n"
        "print(*[m for m in ('torch', 'ukemi') if u.find_spec(m) is None], sep=', ')\n";
    constexpr std::chrono::milliseconds patience = std::chrono::seconds(20);
    runtime::ProgramCall call(python.string(), look, {patience, 4096});
    std::optional<runtime::ProgramCall::Answer> answer;
    while (!(answer = call.look())) call.wait(patience);
    if (!answer->problem.empty()) return;
    const std::string_view said = answer->text;
    const std::string_view missing = said.substr(0, said.find('\n'));
    for (const char* const all : {"torch", "ukemi", "torch, ukemi"}) {
        if (missing != all) continue;
        throw InputError("--python", "",
                         fmt::format("{} cannot import {}: expected a Python that has torch and "
                                     "ukemi, which workers of a script need",
                                     python.string(), missing));
    }
}

// The words after the workers' program: ours.
std::vector<std::string> arguments_of_ours(const LiveWorkerOptions& options, bool scripted) {
    std::vector<std::string> words{"worker"};
    if (scripted) words.insert(words.end(), {"--python", options.python});
    if (!scripted) words.insert(words.end(), {"--backend", options.backend});
    if (options.network.trusted_network) words.emplace_back("--trusted-network");
    return words;
}

// A folder of results stands for the run.json in it, which other commands run again.
void expect_no_results(const fs::path& file) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return;
    const auto about = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!about.is_object() || !about.contains("scenario") || !about.contains("ukemi")) return;
    const std::string typed = about.value("typed", std::string());
    throw InputError(file.string(), "",
                     fmt::format("is of results: expected a scenario, such as theirs, {}{}",
                                 one_line(about.value("scenario_file", std::string())),
                                 typed.empty() ? "" : "; they were made by: " + one_line(typed)));
}

// What sched_setaffinity would refuse a worker, which then ran anywhere.
void expect_cores(const std::vector<int>& cores) {
    if (cores.empty()) return;
    cpu_set_t ours;
    CPU_ZERO(&ours);
    if (::sched_getaffinity(0, sizeof ours, &ours) != 0) return;  // more than the set holds
    for (const int core : cores) {
        if (core < CPU_SETSIZE && CPU_ISSET(static_cast<std::size_t>(core), &ours)) continue;
        std::vector<std::string> there;
        for (int i = 0; i < CPU_SETSIZE; ++i) {
            if (CPU_ISSET(static_cast<std::size_t>(i), &ours)) there.push_back(std::to_string(i));
        }
        throw InputError("--cores", "",
                         fmt::format("expected cores that this process may use ({}), found {}",
                                     fmt::join(there, ","), core));
    }
}

void limit_to(int workers, const char* option, bool keeps_least, const fs::path& file,
              sim::JobSpec& job) {
    if (keeps_least && workers < job.workers_min) {
        throw InputError(option, "",
                         fmt::format("{} worker{} fewer than the least number of the scenario, {} "
                                     "(count_min at /cluster in {}): expected as many, or --set "
                                     "/cluster/count_min={}",
                                     workers, workers == 1 ? " is" : "s are", job.workers_min,
                                     file.string(), workers));
    }
    scenarios::limit_workers(job, workers);
}

}  // namespace

bool runs_script(const scenarios::Scenario& scenario) {
    return scenario.training && !scenario.training->script.empty();
}

void LiveWorkerOptions::add_to(CLI::App& command) {
    command.add_option("SCENARIO", scenario, "a scenario file with a section \"training\"")
        ->required();
    command
        .add_option("--backend", backend, "what the workers compute on: cpu | cuda (default: cpu)")
        ->check(CLI::IsMember(backend_names()));
    command.add_option("--script", script,
                       "a Python file that makes model, optimizer and data: PyTorch's workers "
                       "train it (default: the scenario's training.script, under "
                       "`ukemi --allow-plugins`)");
    command.add_option("--python", python,
                       "the Python that has ukemi and torch (default: python3)");
    command
        .add_option("--workers", workers,
                    "at most so many, in place of the scenario's count_max (default: that)")
        ->check(CLI::Range(1, 256));
    command.add_option("--cores", cores, "pin worker k to the k-th of these cores, as in 0,1")
        ->delimiter(',')
        ->check(CLI::Range(0, 4095));
    command.add_option("--set", settings, "change the scenario: /json/pointer=VALUE")
        ->allow_extra_args(false);
}

scenarios::Scenario LiveWorkerOptions::read_scenario() const {
    std::vector<ConfigOverride> overrides;
    for (const std::string& setting : settings) overrides.push_back(parse_override(setting));
    if (!script.empty()) {
        // As JSON, for a name may look like a number; from here, and not from the scenario.
        const std::string path = nlohmann::json(fs::absolute(script).string()).dump();
        overrides.push_back({"/training/script", path, "--script"});
    }
    expect_no_results(scenario);
    scenarios::Scenario read = ukemi::scenarios::read_scenario(scenario, overrides);
    if (runs_script(read) && script.empty() && !plugins_are_allowed()) {
        throw InputError(scenario.string(), "/training/script",
                         "a scenario may be somebody else's, and a script does what it likes: "
                         "expected --script FILE, or `ukemi --allow-plugins COMMAND ...`");
    }
    expect_cores(cores);
    if (workers) limit_to(*workers, "--workers", keeps_least, scenario, read.job);
    if (!network.hosts.empty()) {
        if (runs_script(read)) network.expect_script_may("--hosts");
        const int slots = runtime::slots_of(runtime::parse_hosts(network.hosts, "--hosts"));
        if (slots < read.job.instances_max) {
            limit_to(slots, "--hosts", keeps_least, scenario, read.job);
        }
    }
    return read;
}

std::string LiveWorkerOptions::device(const scenarios::Scenario& trained) const {
    const std::string where =
        network.hosts.empty() ? "" : fmt::format(" on hosts {}", network.hosts);
    if (runs_script(trained)) {
        if (backend == "cpu") return scenarios::this_device() + where;
        throw InputError("--backend", "", "a script says itself on what it computes: leave it out");
    }
    const kernels::ComputeBackend& chosen = backend_named(backend);
    expect_backend(chosen);
    return device_with(chosen) + where;
}

runtime::LiveOptions LiveWorkerOptions::worker_options(const scenarios::Scenario& trained) const {
    runtime::LiveOptions options;
    const bool scripted = runs_script(trained);
    const bool elsewhere = by_agents || !network.hosts.empty();
    if (network.trusted_network && !elsewhere) {
        throw InputError("--trusted-network", "", "is for --hosts and --agents: expected one");
    }
    if (!network.hosts.empty() && !cores.empty()) {
        throw InputError("--cores", "", "are this machine's: expected none beside --hosts");
    }
    options.worker_program = fs::read_symlink("/proc/self/exe");
    options.worker_arguments = arguments_of_ours(*this, scripted);
    if (scripted && !elsewhere) {
        options.worker_program = program_on_path(python, "--python");
        options.worker_arguments = {"-m", "ukemi.torch.worker"};
    }
    if (scripted) options.deadlines = script_deadlines();
    options.remote = network.remote();
    options.scripts_by_relay = elsewhere;
    if (!network.address.empty()) options.listen = network.address;
    return options;
}

runtime::LiveOptions LiveWorkerOptions::live_options(const scenarios::Scenario& trained,
                                                     const fs::path& folder) const {
    runtime::LiveOptions options = worker_options(trained);
    if (runs_script(trained) && !options.scripts_by_relay) expect_modules(options.worker_program);
    fs::create_directories(folder);
    options.folder = folder;
    options.cores = cores;
    options.stop_requests = &watch_stop_signals(SecondSignal::counts);
    return options;
}

void expect_no_folder(const fs::path& scratch) {
    if (!fs::exists(scratch)) return;
    if (!fs::exists(scratch / lock_name)) {
        throw InputError(scratch.string(), "",
                         "is there already, and what runs here would remove it: move it away");
    }
    const std::optional<int> lock = take_lock(scratch, 0);
    if (!lock) throw InputError(scratch.string(), "", "is in use by a command that still runs");
    ::close(*lock);
}

CommandScratch::CommandScratch(fs::path folder) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    const std::optional<int> lock = take_lock(folder_, O_CREAT);
    if (!lock) {
        throw std::runtime_error(
            fmt::format("{}: cannot be locked, or another command uses it", folder_.string()));
    }
    lock_ = *lock;
    for (const auto& left : fs::directory_iterator(folder_)) {  // by one that was killed
        if (left.path().filename() != lock_name) fs::remove_all(left.path());
    }
}

CommandScratch::~CommandScratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    ::close(lock_);
}

}  // namespace ukemi::cli
