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
#include "sim/cluster/rings.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi {

namespace {

constexpr std::size_t ring_rows_max = 16;

std::string devices_text(const Topology& topology) {
    std::string text = fmt::format("machines {}", topology.machines().size());
    for (const DeviceKind kind :
         {DeviceKind::gpu, DeviceKind::cpu, DeviceKind::pcie_switch, DeviceKind::nvswitch,
          DeviceKind::nic, DeviceKind::network_switch}) {
        const std::size_t count = topology.devices_of(kind).size();
        if (count > 0) text += fmt::format(", {} {}", to_string(kind), count);
    }
    text += fmt::format("\n\n{:<10}{:>7}{:>7}{:>12}{:>12}\n", "link", "cables", "lanes", "GB/s",
                        "latency");
    std::map<std::tuple<LinkKind, std::uint32_t, double, Duration>, std::size_t> kinds;
    for (const Link& link : topology.links()) {
        ++kinds[{link.kind, link.lanes, link.bandwidth.raw(), link.latency}];
    }
    for (const auto& [kind, count] : kinds) {
        const auto& [link, lanes, bandwidth, latency] = kind;
        text += fmt::format("{:<10}{:>7}{:>7}{:>12.4g}{:>12}\n", to_string(link), count / 2, lanes,
                            bandwidth / 1e9, format_duration(latency));
    }
    return text;
}

// What was fitted for its GPUs, if anything was.
std::optional<RingEfficiency> efficiency_of(const Topology& topology) {
    const std::string& preset = topology.machines().front().preset;
    if (preset.empty()) return std::nullopt;
    const std::string_view gpu = machine_named(preset, "topology").gpu;
    if (gpu.starts_with("v100_sxm2")) return v100_ring_efficiency();
    if (gpu.starts_with("a100_sxm4")) return a100_ring_efficiency();
    return std::nullopt;
}

std::string rings_text(const Topology& topology) {
    const std::vector<DeviceId> gpus = topology.workers();
    if (topology.machines().size() != 1 || gpus.size() < 2) return {};
    const auto efficiency = efficiency_of(topology);
    std::string text = fmt::format(
        "\nrings of an all-reduce over the first GPUs (line rate; estimated bus bandwidth{})\n",
        efficiency ? fmt::format(", fitted to {}", efficiency->fitted_to)
                   : std::string(": nothing fitted to this GPU"));
    for (std::size_t count = 2; count <= std::min(gpus.size(), ring_rows_max); ++count) {
        const RingPlan plan = find_rings(topology, std::span(gpus).first(count));
        text += fmt::format("{:>4} GPUs {:>4} {:<8}{:>9.4g} GB/s", count, plan.rings.size(),
                            to_string(plan.kind), plan.bandwidth.raw() / 1e9);
        if (efficiency && plan.kind != RingKind::routed) {
            text += fmt::format("{:>9.4g} GB/s",
                                ring_bus_bandwidth(plan, count, *efficiency).raw() / 1e9);
        }
        text += "\n";
    }
    return text;
}

TopologyInput figure_of(const Topology& topology, const std::string& title) {
    TopologyInput input;
    input.title = title;
    for (const Device& device : topology.devices()) {
        const int machine =
            device.machine == no_machine ? -1 : static_cast<int>(index_of(device.machine));
        input.devices.push_back({std::string(to_string(device.kind)), device.name, machine});
    }
    for (std::size_t i = 0; i < topology.links().size(); i += 2) {  // one direction of each cable
        const Link& link = topology.links()[i];
        input.cables.push_back({static_cast<int>(index_of(link.from)),
                                static_cast<int>(index_of(link.to)),
                                std::string(to_string(link.kind)), static_cast<int>(link.lanes),
                                link.bandwidth.raw() / 1e9});
    }
    return input;
}

}  // namespace

void describe_topology(const std::string& name_or_file, std::uint32_t machines, OutputFolder* out,
                       bool pdf) {
    const Topology topology = topology_of(name_or_file, machines);
    check_connected(topology);
    const std::string title =
        machines > 1 ? fmt::format("{} x {}", machines, name_or_file) : name_or_file;
    const std::string text =
        fmt::format("{}: {}{}", one_line(title), devices_text(topology), rings_text(topology));
    if (out == nullptr) return fmt::print("{}", text);
    FigureInput input;
    input.topology = figure_of(topology, title);
    FigureOptions options;
    options.pdf = pdf;
    FigureResult figure = draw_topology(input, out->staging(), options);
    out->commit();
    figure = out->settled(figure);
    if (figure.problem.empty() || figure.skipped) fmt::print("{}", text);
    for (const auto& file : figure.files) fmt::print("{}\n", one_line(file.string()));
    if (!say_figures(figure)) throw ExitWith{exit_machine_failed};
}

}  // namespace ukemi
