// step_scenario.cpp — reads a scenario of steps.
#include "scenarios/reader/step_scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/complaint_list.hpp"
#include "base/key_notes.hpp"
#include "scenarios/reader/read_efficiency.hpp"
#include "scenarios/reader/read_step_events.hpp"
#include "scenarios/reader/read_step_job.hpp"
#include "scenarios/reader/read_workload.hpp"
#include "scenarios/reader/scenario_keys.hpp"
#include "scenarios/reader/schedule_scenario.hpp"
#include "sim/cluster/cluster_file.hpp"
#include "sim/cluster/nic_choice.hpp"

namespace ukemi::scenarios {

namespace {

// "machines" of a job, a number for each of its workers, which are some of those that are left.
std::vector<sim::DeviceId> placed_workers(ConfigReader& section, const sim::Topology& topology,
                                          std::vector<sim::DeviceId> left) {
    constexpr double machines_most = 65'536;
    std::ptrdiff_t placed = 0;
    const auto machine_of = [&](sim::DeviceId device) { return topology.device(device).machine; };
    const auto refuse = [&](const std::string& problem) {
        throw InputError(section.file(), fmt::format("{}/machines/{}", section.path(), placed),
                         problem);
    };
    for (const double number : section.numbers("machines", 0, machines_most)) {
        const auto machine = static_cast<sim::MachineId>(round_nearest(number));
        const auto worker =
            std::ranges::find(left.begin() + placed, left.end(), machine, machine_of);
        if (KeyExplorer::of(section.file()) != nullptr) return left;
        const std::size_t machines = topology.machines().size();
        if (number != static_cast<double>(round_nearest(number)) ||
            number >= static_cast<double>(machines)) {
            refuse(fmt::format("expected the number of a machine, 0 to {}, found {}", machines - 1,
                               number));
        }
        if (worker == left.end()) {
            refuse(
                fmt::format("expected as many of machine {0} as it has workers that no other "
                            "job has, {1}, found {0} once more",
                            number, std::ranges::count(left, machine, machine_of)));
        }
        std::rotate(left.begin() + placed++, worker, worker + 1);
    }
    if (placed == 0) section.fail("machines", "expected at least one");
    left.resize(static_cast<std::size_t>(placed));
    return left;
}

// Those that no later job may have: a job's workers, and all of machines that are its servers
// alone.
void take_from(std::vector<sim::DeviceId>& left, const sim::Topology& topology,
               const sim::StepJob& job, std::vector<sim::MachineId>& shared) {
    const auto machine_of = [&](sim::DeviceId device) { return topology.device(device).machine; };
    const std::set<sim::DeviceId> workers(job.workers.begin(), job.workers.end());
    std::set<sim::MachineId> machines;
    for (const sim::DeviceId worker : workers) machines.insert(machine_of(worker));
    std::set<sim::MachineId> servers;
    for (const sim::DeviceId server : job.servers) {
        if (!machines.contains(machine_of(server))) servers.insert(machine_of(server));
    }
    std::erase_if(left, [&](sim::DeviceId device) {
        return workers.contains(device) || servers.contains(machine_of(device));
    });
    shared.insert(shared.end(), machines.begin(), machines.end());
}

void read_jobs(ConfigReader& root, MemoryCheck memory, std::span<const std::int32_t> grid,
               StepScenario& scenario) {
    const bool one = root.has("job");
    if (one == root.has("jobs")) {
        root.fail("", fmt::format("expected either \"job\" or \"jobs\" (a list), found {}",
                                  one ? "both" : "neither"));
    }
    std::vector<ConfigReader> sections;
    if (one) {
        sections.push_back(root.object("job"));
    } else {
        sections = root.objects("jobs");
    }
    if (sections.empty()) root.fail("jobs", "expected at least one job");
    std::vector<sim::DeviceId> left = scenario.topology.workers();
    std::vector<sim::MachineId> shared;  // of jobs' workers
    std::int64_t messages = 0;
    for (ConfigReader& section : sections) {
        const bool is_placed = section.has("machines");
        WorkersLeft own{is_placed ? placed_workers(section, scenario.topology, left) : left, shared,
                        is_placed, !scenario.fitted.empty()};
        const std::size_t placed = own.workers.size();
        StepJobEntry entry = section.has("workload")
                                 ? read_workload_job(section, scenario.topology, grid, own)
                                 : read_step_job(section, scenario.topology, memory, own);
        if (is_placed && !own.workers.empty()) {
            section.fail("machines", fmt::format("expected one for each of the {} workers, found "
                                                 "{}",
                                                 placed - own.workers.size(), placed));
        }
        take_from(left, scenario.topology, entry.job, shared);
        const bool twice = std::ranges::any_of(scenario.jobs, [&](const StepJobEntry& other) {
            return other.job.name == entry.job.name;
        });
        if (twice) section.fail("name", fmt::format("\"{}\" stands there twice", entry.job.name));
        messages += messages_a_step(entry.job) * entry.job.steps;
        if (messages > messages_most) {
            section.fail("steps", fmt::format("expected at most {} buckets and blocks in the steps "
                                              "of all jobs, found {}",
                                              messages_most, messages));
        }
        scenario.jobs.push_back(std::move(entry));
    }
}

void read_cross_traffic(ConfigReader& root, StepScenario& scenario) {
    if (!root.has("cross_traffic")) return;
    for (ConfigReader& config : root.objects("cross_traffic")) {
        const auto machines = static_cast<std::int64_t>(scenario.topology.machines().size());
        const auto worker_of = [&](std::string_view key) {
            const auto machine = static_cast<sim::MachineId>(config.integer(key, 0, machines - 1));
            const std::vector<sim::DeviceId> gpus =
                scenario.topology.devices_of(sim::DeviceKind::gpu, machine);
            if (gpus.empty()) config.fail(key, "expected a machine with GPUs");
            return gpus.front();
        };
        sim::CrossTraffic traffic;
        traffic.from = worker_of("from");
        traffic.to = worker_of("to");
        if (traffic.from == traffic.to) config.fail("to", "expected another machine than \"from\"");
        traffic.flows = config.integer("flows", 1, 10'000, 1);
        config.finish();
        scenario.cross_traffic.push_back(traffic);
    }
}

sim::NetworkRule read_network_rule(ConfigReader& root) {
    sim::NetworkRule rule;
    rule.fidelity =
        root.choice<sim::NetworkFidelity>("fidelity", sim::network_fidelity_names, "automatic");
    constexpr std::int64_t any = 1'000'000;
    rule.window_chunks = static_cast<std::int32_t>(root.integer("window_chunks", 0, any, 0));
    if (rule.window_chunks > 0 && rule.fidelity == sim::NetworkFidelity::fluid) {
        root.fail("window_chunks",
                  "is for transfers that are played one by one: \"fidelity\": "
                  "\"exact\" or \"automatic\"");
    }
    return rule;
}

std::string description_of(const sim::ClusterSpec& spec) {
    std::string text;
    for (const sim::ZoneSpec& zone : spec.zones) {
        text += fmt::format("{}{} x {} on {}", text.empty() ? "" : "; ", zone.count, zone.machine,
                            sim::fabric_names[static_cast<std::size_t>(zone.fabric.kind)]);
        if (zone.described_gpu) text += fmt::format(" with {}", zone.described_gpu->name);
        if (zone.inside == nullptr) continue;
        const sim::Machine& machine = zone.inside->machines().front();
        if (machine.described_gpu) text += fmt::format(" with {}", machine.described_gpu->name);
        if (machine.gpu_assumed) text += fmt::format(", GPUs taken for {}", machine.gpu);
        text += sim::words_of_ports_left(machine.nic_ports_left);
    }
    if (spec.whole != nullptr) text = fmt::format("{} NPUs", fmt::join(spec.grid, " x "));
    return text;
}

void read_step_parts(ConfigReader& root, MemoryCheck memory, StepScenario& scenario) {
    scenario.name = root.text("name");
    if (scenario.name.empty()) root.fail("name", "expected a name, found \"\"");
    root.text("description", "");
    if (root.has("$schema")) root.text("$schema");  // for editors
    scenario.seed = static_cast<std::uint64_t>(
        root.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
    ConfigReader cluster = root.object("cluster");
    if (!sim::names_machines(cluster) && root.has("market")) {
        root.fail("market",
                  "this is a job on a market: `ukemi replay` runs it; `ukemi simulate` "
                  "runs steps on a \"cluster\" of machines");
    }
    const sim::ClusterSpec spec = sim::read_cluster(cluster);
    scenario.cluster = description_of(spec);
    scenario.topology =
        sim::build_cluster(spec, fmt::format("{}: at {}", cluster.file(), cluster.path()));
    scenario.fitted = read_efficiency(root, scenario.topology);
    scenario.network = read_network_rule(root);
    read_jobs(root, memory, spec.grid, scenario);
    read_cross_traffic(root, scenario);
    scenario.events = read_step_events(root, scenario);
    const auto fewest = std::ranges::min(scenario.jobs, {}, [](const StepJobEntry& entry) {
                            return entry.job.steps;
                        }).job.steps;
    scenario.warm_up =
        root.integer("warm_up", 0, steps_most - 1, std::min<std::int64_t>(2, fewest - 1));
    root.finish();
    if (scenario.warm_up >= fewest) {  // thrown: nothing is said where the steps were complained of
        root.fail("warm_up", fmt::format("expected an integer from 0 to {}, found {}", fewest - 1,
                                         scenario.warm_up));
    }
}

StepScenario read_step_root(ConfigReader& root, const std::filesystem::path& file,
                            MemoryCheck memory = MemoryCheck::refuse) {
    StepScenario scenario;
    scenario.file = file;
    expect_no_schedulers(root);
    ComplaintList complaints(root.file());
    complaints.attempt([&] { read_step_parts(root, memory, scenario); });
    complaints.throw_all();
    scenario.resolved = root.resolved();
    return scenario;
}

StepScenario read_whole_steps(ConfigReader root, const std::filesystem::path& file,
                              MemoryCheck memory) {
    return read_step_root(root, file, memory);
}

}  // namespace

std::int64_t messages_a_step(const sim::StepJob& job) {
    auto count = static_cast<std::int64_t>(job.buckets.size());
    if (job.pair_model > Bytes{}) ++count;
    if (job.asynchronous) count *= static_cast<std::int64_t>(job.workers.size());
    if (!job.layout) return count;
    const std::int64_t passes = job.accumulation * job.layout->degrees.data;
    if (job.layout->words > Bytes{}) count += job.layout->degrees.data * job.layout->cell();
    for (const sim::StageWork& stage : job.layout->stages) {
        count += passes * static_cast<std::int64_t>(stage.forward.size() + stage.backward.size() +
                                                    stage.weights.size());
        count += static_cast<std::int64_t>(stage.buckets.size() + stage.expert_buckets.size()) *
                 (job.layout->sends_every_pass ? job.accumulation : 1) *
                 std::max(job.layout->degrees.tensor, job.layout->degrees.data);
    }
    return count;
}

bool is_step_scenario(const std::filesystem::path& file) {
    ConfigReader root = ConfigReader::from_file(file);
    return root.is_object("cluster") && sim::names_machines(root.object("cluster"));
}

StepScenario read_step_scenario(const std::filesystem::path& file,
                                std::span<const ConfigOverride> overrides, MemoryCheck memory) {
    return read_whole_steps(ConfigReader::from_file(file, overrides), file, memory);
}

StepScenario step_scenario_from_text(std::string_view text, const std::filesystem::path& file,
                                     std::span<const ConfigOverride> overrides,
                                     MemoryCheck memory) {
    return read_whole_steps(ConfigReader::from_text(text, file.string(), overrides), file, memory);
}

std::vector<KeyNote> step_scenario_keys(std::span<const std::string> examples) {
    return keys_of(examples, [](ConfigReader& root) { read_step_root(root, "example.json"); });
}

}  // namespace ukemi::scenarios
