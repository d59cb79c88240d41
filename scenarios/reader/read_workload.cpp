// read_workload.cpp — finds the files of a workload, and makes a job of them.
#include "scenarios/reader/read_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/file_kind.hpp"
#include "base/json_document.hpp"
#include "base/key_notes.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/chakra_workload.hpp"
#include "scenarios/reader/layer_workload.hpp"
#include "scenarios/reader/read_collective.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::scenarios {
namespace {

namespace fs = std::filesystem;

std::vector<RankTrace> read_traces(const ConfigReader& config, const fs::path& prefix,
                                   std::int32_t ranks) {
    for (const char* extension : {".et", ".json"}) {
        const auto file_of = [&](std::int32_t rank) {
            return fs::path(fmt::format("{}.{}{}", prefix.string(), rank, extension));
        };
        if (!is_file_named(file_of(0))) continue;
        std::vector<RankTrace> traces;
        std::size_t nodes = 0;
        for (std::int32_t rank = 0; rank < ranks; ++rank) {
            const fs::path file = file_of(rank);
            traces.push_back({file.string(), config.of_file("workload", [&] {
                                  return parse_chakra(read_text_file(file, chakra_bytes_max),
                                                      file.string());
                              })});
            nodes += traces.back().nodes.size();
            if (nodes > static_cast<std::size_t>(messages_most)) {
                config.fail("workload",
                            fmt::format("expected at most {} nodes in all traces", messages_most));
            }
        }
        if (is_file_named(file_of(ranks))) {
            config.fail("workload",
                        fmt::format("expected a trace for each of the job's {} workers, found {}",
                                    ranks, file_of(ranks).string()));
        }
        return traces;
    }
    return {};
}

CommGroups read_groups(const fs::path& file, std::int32_t ranks) {
    const nlohmann::json document =
        parse_json(read_file(file, astra_system_bytes_max), file.string());
    CommGroups groups;
    const auto refuse = [&](const std::string& path, const nlohmann::json& found) {
        throw InputError(file.string(), path,
                         fmt::format("expected ranks from 0 to {}, ascending, found {}", ranks - 1,
                                     describe(found)));
    };
    if (!document.is_object()) refuse("", document);
    for (const auto& [name, members] : document.items()) {
        const std::string path = "/" + pointer_token(name);
        if (!members.is_array() || members.empty()) refuse(path, members);
        std::vector<std::int32_t>& group = groups[name];
        for (const nlohmann::json& one : members) {
            const std::int64_t least = group.empty() ? 0 : group.back() + 1;
            const bool fits = one.is_number_integer() && one.get<std::int64_t>() >= least &&
                              one.get<std::int64_t>() < ranks;
            if (!fits) refuse(path, one);
            group.push_back(one.get<std::int32_t>());
        }
    }
    return groups;
}

sim::Workload read_files(const ConfigReader& config, const fs::path& path,
                         const std::string& groups_file, const AstraSystem& system,
                         std::int32_t ranks, std::span<const std::int32_t> grid) {
    std::optional<CommGroups> groups;
    if (!groups_file.empty()) {
        groups = config.of_file("comm_groups",
                                [&] { return read_groups(config.beside(groups_file), ranks); });
    }
    std::vector<RankTrace> traces;
    if (is_file_named(path)) {
        const std::string text =
            config.of_file("workload", [&] { return read_text_file(path, layer_text_bytes_max); });
        if (is_layer_workload(text)) {
            if (groups) config.fail("comm_groups", "is for Chakra's traces");
            const std::int64_t places =
                std::accumulate(grid.begin(), grid.end(), std::int64_t{1}, std::multiplies<>());
            const bool is_whole = !grid.empty() && places == ranks;
            return config.of_file("workload", [&] {
                return parse_layer_workload(text, path.string(), ranks,
                                            is_whole ? grid.front() : 0);
            });
        }
        traces.push_back({path.string(), config.of_file("workload", [&] {
                              return parse_chakra(text, path.string());
                          })});
    } else {
        traces = read_traces(config, path, ranks);
    }
    if (traces.empty()) {
        config.fail("workload", fmt::format("expected a file, or {0}.0.et or {0}.0.json and so on "
                                            "for each rank; found none",
                                            path.string()));
    }
    return config.of_file("workload",
                          [&] { return chakra_workload(traces, ranks, groups, system); });
}

// What a job's collective is chosen for: its largest all-reduce.
Bytes largest_sum(const sim::Workload& workload) {
    Bytes largest;
    for (const std::vector<sim::WorkNode>& program : workload.programs) {
        for (const sim::WorkNode& node : program) {
            const bool sum = node.kind == sim::WorkKind::collective &&
                             node.exchange == sim::ExchangeKind::all_reduce;
            if (sum) largest = std::max(largest, node.bytes);
        }
    }
    return largest;
}

// Whether a node that is not computing sends anything to anybody.
bool sends(const sim::Workload& workload, std::size_t rank, const sim::WorkNode& node) {
    if (node.bytes == Bytes{}) return false;
    if (node.kind != sim::WorkKind::collective) return true;
    const std::vector<std::int32_t>& groups = workload.families[node.family];
    const auto others = std::ranges::count(groups, groups[rank]);
    return others > 1;
}

bool takes_time(const sim::Workload& workload) {
    for (std::size_t rank = 0; rank < workload.program_of.size(); ++rank) {
        for (const sim::WorkNode& node : workload.programs[workload.program_of[rank]]) {
            if (node.time > Duration{} || sends(workload, rank, node)) return true;
        }
    }
    return false;
}

void count_times(sim::StepJob& job, StepJobEntry& entry, const ConfigReader& config) {
    const sim::Workload& workload = *job.workload;
    std::int64_t nodes = 0;
    for (const std::uint32_t program : workload.program_of) {
        Duration sum;
        for (const sim::WorkNode& node : workload.programs[program]) {
            if (sum < days(366)) sum += node.time;
        }
        nodes += static_cast<std::int64_t>(workload.programs[program].size());
        job.compute.push_back(sum);
    }
    const Duration longest = std::ranges::max(job.compute);
    if (!takes_time(workload)) {
        config.fail(
            "workload",
            fmt::format("expected a workload that takes time{}",
                        job.workers.size() == 1 ? ": one worker has nobody to send to" : ""));
    }
    if (nodes * job.steps > messages_most) {
        config.fail("steps", fmt::format("expected at most {} nodes in the steps of all ranks, "
                                         "found {}",
                                         messages_most, nodes * job.steps));
    }
    if (to_seconds(longest) * static_cast<double>(job.steps) > to_seconds(days(366))) {
        config.fail("steps", "expected at most a year of steps");
    }
    entry.alone_s = to_seconds(longest);
}

// Once the collective is known. A system file says it, or has none; NCCL's times begin with one of
// their own; and ASTRA-sim's networks have nothing but latencies.
void read_overhead(ConfigReader& config, const sim::Topology& topology, const AstraSystem* system,
                   sim::StepJob& job) {
    const bool machines = !topology.machines().front().preset.empty();
    if (system != nullptr) {
        job.launch.overhead = system->endpoint_delay;
    } else if (job.nccl || !machines) {
        job.launch.overhead = {};
    }
    auto launch = config.object_if_present("launch");
    if (!launch) return;
    job.launch.overhead = launch->duration("overhead", job.launch.overhead);
    launch->finish();
}

}  // namespace

StepJobEntry read_workload_job(ConfigReader config, const sim::Topology& topology,
                               std::span<const std::int32_t> grid, WorkersLeft& own) {
    StepJobEntry entry;
    std::vector<sim::DeviceId>& left = own.workers;
    sim::StepJob& job = entry.job;
    const std::string name = config.text("workload");
    const fs::path path = config.beside(name);
    entry.model = name.empty() ? "workload" : path.filename().string();
    job.name = config.text("name", entry.model);
    if (job.name.empty()) config.fail("name", "expected a name, found \"\"");
    const auto most = static_cast<std::int64_t>(left.size());
    if (most == 0) config.fail("workers", "no worker of the cluster is left for this job");
    const std::int64_t ranks = config.integer("workers", 1, most, most);
    job.workers.assign(left.begin(), left.begin() + ranks);
    left.erase(left.begin(), left.begin() + ranks);
    job.steps = config.integer("steps", 1, steps_most, 1);
    const std::string_view usual = usual_collective(topology, job.workers, own.nccl_log, "ring");
    const std::string system_file = config.text("system", "");
    const std::string groups_file = config.text("comm_groups", "");
    if (KeyExplorer::of(config.file()) != nullptr) {  // only keys are looked for, and no files
        job.compute.resize(job.workers.size());
        read_collective(config, topology, usual, entry);
        return entry;
    }
    AstraSystem system;
    std::vector<std::int32_t> sizes(grid.begin(), grid.end());
    if (sizes.empty() || ranks != most) sizes = {static_cast<std::int32_t>(ranks)};
    if (!system_file.empty()) {
        const fs::path file = config.beside(system_file);
        system = config.of_file("system", [&] {
            return parse_astra_system(read_file(file, astra_system_bytes_max), file.string(),
                                      sizes);
        });
    }
    job.workload = std::make_shared<const sim::Workload>(
        read_files(config, path, groups_file, system, static_cast<std::int32_t>(ranks), grid));
    count_times(job, entry, config);
    if (config.has("collective") || system_file.empty()) {
        const Bytes largest = largest_sum(*job.workload);
        if (largest > Bytes{}) job.buckets = {{"largest all-reduce", largest}};
        read_collective(config, topology, usual, entry);
        job.buckets.clear();
    } else {
        job.collective = system.collective;
        job.axes = system.axes;
        job.per_host = sim::workers_per_machine(topology, job.workers);
    }
    read_overhead(config, topology, system_file.empty() ? nullptr : &system, job);
    entry.curve = fmt::format("{}, {} nodes of rank 0", job.workload->source,
                              job.workload->programs.front().size());
    entry.gradient = largest_sum(*job.workload);
    config.finish();
    return entry;
}

}  // namespace ukemi::scenarios
