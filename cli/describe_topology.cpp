// describe_topology.cpp — counts of devices, kinds of links, rings; the figure.
#include "cli/describe_topology.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>

#include "base/plain_text.hpp"
#include "base/unit_text.hpp"
#include "cli/command.hpp"
#include "plots/figures.hpp"
#include "sim/cluster/cluster_file.hpp"
#include "sim/cluster/nccl/nccl_times.hpp"
#include "sim/cluster/nic_choice.hpp"
#include "sim/cluster/rings.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi::cli {

namespace {

constexpr std::size_t ring_rows_max = 16;

std::string devices_text(const sim::Topology& topology) {
    std::string text = fmt::format("machines {}", topology.machines().size());
    for (const sim::DeviceKind kind :
         {sim::DeviceKind::gpu, sim::DeviceKind::cpu, sim::DeviceKind::pcie_switch,
          sim::DeviceKind::nvswitch, sim::DeviceKind::nic, sim::DeviceKind::network_switch}) {
        const std::size_t count = topology.devices_of(kind).size();
        if (count > 0) text += fmt::format(", {} {}", sim::to_string(kind), count);
    }
    std::int64_t ports_left = 0;
    for (const sim::Machine& machine : topology.machines()) ports_left += machine.nic_ports_left;
    text += sim::words_of_ports_left(ports_left);
    text += fmt::format("\n\n{:<10}{:>7}{:>7}{:>12}{:>12}\n", "link", "cables", "lanes", "GB/s",
                        "latency");
    std::map<std::tuple<sim::LinkKind, std::uint32_t, double, Duration>, std::size_t> kinds;
    for (const sim::Link& link : topology.links()) {
        ++kinds[{link.kind, link.lanes, link.bandwidth.raw(), link.latency}];
    }
    for (const auto& [kind, count] : kinds) {
        const auto& [link, lanes, bandwidth, latency] = kind;
        text += fmt::format("{:<10}{:>7}{:>7}{:>12.4g}{:>12}\n", sim::to_string(link), count / 2,
                            lanes, bandwidth / 1e9, format_duration(latency));
    }
    return text;
}

std::string rings_text(const sim::Topology& topology) {
    const std::vector<sim::DeviceId> gpus = topology.workers();
    if (topology.machines().size() != 1 || gpus.size() < 2) return {};
    const bool switched = !topology.devices_of(sim::DeviceKind::nvswitch).empty();
    const std::string& gpu = topology.machines().front().gpu;
    const sim::RingEfficiency& efficiency = sim::ring_efficiency(gpu, switched);
    // Of links that nobody has said the share of.
    const bool is_known = !gpu.empty() && efficiency.links != sim::ring_efficiency("", false).links;
    std::string rows;
    bool on_nvlink = false;  // shares are of NVLink: nothing is estimated of rings on other links
    for (std::size_t count = 2; count <= std::min(gpus.size(), ring_rows_max); ++count) {
        const sim::RingPlan plan = sim::find_rings(topology, std::span(gpus).first(count));
        rows += fmt::format("{:>4} GPUs {:>4} {:<8}{:>9.4g} GB/s", count, plan.rings.size(),
                            sim::to_string(plan.kind), plan.bandwidth.raw() / 1e9);
        on_nvlink = on_nvlink || plan.kind != sim::RingKind::routed;
        if (is_known && plan.kind != sim::RingKind::routed) {
            rows += fmt::format("{:>9.4g} GB/s",
                                sim::ring_bus_bandwidth(plan, count, efficiency).raw() / 1e9);
        }
        rows += "\n";
    }
    const std::string estimate =
        !on_nvlink ? ""
                   : fmt::format("; estimated bus bandwidth, {}",
                                 is_known ? efficiency.source : "unknown for these GPUs");
    return fmt::format("\nrings of an all-reduce over the first GPUs (line rate{})\n{}", estimate,
                       rows);
}

// What NCCL picks, and how long that takes, over all GPUs; nothing where it cannot run.
std::string nccl_text(const sim::Topology& topology) {
    const std::vector<sim::DeviceId> gpus = topology.workers();
    if (gpus.size() < 2) return {};
    sim::Routes routes(topology);
    sim::NcclPlace place;
    try {
        place = sim::nccl_place(topology, routes, gpus, "nccl");
    } catch (const InputError&) {
        return {};
    }
    std::string text =
        fmt::format("\nNCCL's all-reduce over {} GPUs (expected; {})\n", gpus.size(), place.reach);
    const double ranks = place.ranks();
    for (std::int64_t size = 1024; size <= std::int64_t{1} << 33; size *= 8) {
        const sim::NcclChoice choice = sim::nccl_choice(place, bytes(size));
        const double seconds = sim::nccl_seconds(place, choice, bytes(size));
        text += fmt::format("{:>10} KiB  {:<16}{:>12.5g} us{:>10.4g} GB/s bus bandwidth\n",
                            size / 1024, to_string(choice), seconds * 1e6,
                            2 * (ranks - 1) / ranks * static_cast<double>(size) / seconds / 1e9);
    }
    return text;
}

plots::TopologyInput figure_of(const sim::Topology& topology, const std::string& title) {
    plots::TopologyInput input;
    input.title = title;
    for (const sim::Device& device : topology.devices()) {
        const int machine =
            device.machine == sim::no_machine ? -1 : static_cast<int>(index_of(device.machine));
        input.devices.push_back({std::string(sim::to_string(device.kind)), device.name, machine});
    }
    for (std::size_t i = 0; i < topology.links().size(); i += 2) {  // one direction of each cable
        const sim::Link& link = topology.links()[i];
        input.cables.push_back({static_cast<int>(index_of(link.from)),
                                static_cast<int>(index_of(link.to)),
                                std::string(sim::to_string(link.kind)),
                                static_cast<int>(link.lanes), link.bandwidth.raw() / 1e9});
    }
    return input;
}

}  // namespace

void describe_topology(const std::string& name_or_file, std::uint32_t machines,
                       analysis::OutputFolder* out, const OutputOptions& output) {
    const sim::Topology topology = sim::topology_of(name_or_file, machines, "--machines");
    sim::check_connected(topology);
    const std::string title =
        machines > 1 ? fmt::format("{} x {}", machines, name_or_file) : name_or_file;
    const std::string text =
        fmt::format("{}: {}{}", one_line(title), devices_text(topology), rings_text(topology)) +
        nccl_text(topology);
    if (out == nullptr) return fmt::print("{}", text);
    plots::FigureInput input;
    input.topology = figure_of(topology, "devices and cables of " + title);
    plots::FigureResult figure =
        plots::draw_topology(input, out->staging(), figure_options(output.figures));
    out->commit();
    figure = out->settled(figure);
    if (figure.problem.empty() || figure.skipped) fmt::print("{}", text);
    say_results(output, out->path(), figure);
    if (!analysis::say_figures(figure)) throw ExitWith{exit_machine_failed};
}

}  // namespace ukemi::cli
