// cluster_file.cpp — the keys of a cluster, and which reader a file needs.
#include "sim/cluster/cluster_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/file_kind.hpp"
#include "base/key_notes.hpp"
#include "base/link_spec.hpp"
#include "base/read_file.hpp"
#include "sim/cluster/astra_network.hpp"
#include "sim/cluster/described_gpu.hpp"
#include "sim/cluster/nccl_topology.hpp"
#include "sim/cluster/smi_topology.hpp"

namespace ukemi::sim {
namespace {

constexpr std::size_t cluster_bytes_max = std::size_t{16} << 20;

// Keys that only some kinds of network have.
struct KindKey {
    std::string_view key;
    std::string_view kinds;
    bool (*is_of)(FabricKind kind);
};
constexpr bool has_leaves(FabricKind kind) {
    return kind == FabricKind::leaf_spine || kind == FabricKind::rails;
}
constexpr bool has_sides(FabricKind kind) { return kind == FabricKind::torus; }
constexpr std::array<KindKey, 6> kind_keys = {{
    {"machines_per_leaf", "leaf_spine or rails", has_leaves},
    {"spines", "leaf_spine or rails", has_leaves},
    {"oversubscription", "leaf_spine or rails", has_leaves},
    {"x", "torus", has_sides},
    {"y", "torus", has_sides},
    {"z", "torus", has_sides},
}};

FabricSpec read_network(ConfigReader& config) {
    FabricSpec fabric;
    const std::string kind = config.one_of("kind", fabric_names);
    for (std::size_t i = 0; i < fabric_names.size(); ++i) {
        if (fabric_names[i] == kind) fabric.kind = static_cast<FabricKind>(i);
    }
    for (const KindKey& one : kind_keys) {
        if (one.is_of(fabric.kind) || !config.has(one.key)) continue;
        config.fail(one.key, fmt::format("goes with the kind {}, found {}", one.kinds, kind));
    }
    const auto whole = [&](std::string_view key, std::int64_t max, std::int64_t otherwise) {
        return static_cast<std::uint32_t>(config.integer(key, 1, max, otherwise));
    };
    if (has_leaves(fabric.kind)) {
        fabric.machines_per_leaf = whole("machines_per_leaf", machines_max, 16);
        fabric.spines = whole("spines", 4096, 1);
        fabric.oversubscription = config.number("oversubscription", 1, 1e6, 1);
    }
    if (has_sides(fabric.kind)) {
        fabric.sides[0] = whole("x", machines_max, 1);
        fabric.sides[1] = whole("y", machines_max, 1);
        fabric.sides[2] = whole("z", machines_max, 1);
    }
    const LinkSaid link = read_link_said(config);
    fabric.bandwidth = link.bandwidth;
    fabric.latency = link.latency;
    config.finish();
    return fabric;
}

// XML, or the text of nvidia-smi topo -m.
Topology parse_machine(const std::string& text, const std::string& file, const GpuProfile* gpu) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos && text[first] == '<') return parse_nccl_topology(text, file);
    return parse_smi_topology(text, file, {gpu});
}

// No machine's name has folders or an ending of those: what has them is a file, there or not.
bool is_file(const std::filesystem::path& file, const std::filesystem::path& given) {
    static const std::array<std::filesystem::path, 3> endings = {".xml", ".json", ".txt"};
    return is_file_named(file) || given.has_parent_path() ||
           std::ranges::find(endings, given.extension()) != endings.end();
}

// A file is looked for beside the one that names it.
std::filesystem::path machine_file(const ConfigReader& config, const std::string& name) {
    const std::filesystem::path given = name;
    if (given.is_absolute()) return given;
    return std::filesystem::path(config.file()).parent_path() / given;
}

// What "gpu" says of the GPUs of a file.
struct GpuSaid {
    const GpuProfile* listed = nullptr;  // or the listed one that it is like; null: nothing is said
    std::shared_ptr<const GpuProfile> described = {};
};

GpuSaid read_gpu(ConfigReader& config) {
    if (!config.is_object("gpu")) {
        const std::string name = config.text("gpu", "");
        if (name.empty()) return {};
        return {&gpu_named(name, config.place_of("gpu")), {}};
    }
    auto described = read_described_gpu(config.object("gpu"), nullptr);
    return {gpu_that_is_like(*described), described};
}

std::shared_ptr<const Topology> read_machine_file(ConfigReader& config,
                                                  const std::filesystem::path& file) {
    const GpuSaid gpu = read_gpu(config);
    Topology topology = config.of_file("machine", [&] {
        return parse_machine(read_text_file(file, cluster_bytes_max), file.string(), gpu.listed);
    });
    Machine& machine = topology.machine_to_describe(MachineId{0});
    if (gpu.listed != nullptr) {
        machine.gpu = gpu.listed->name;
        machine.gpu_assumed = false;
        machine.described_gpu = gpu.described;
    }
    if (machine.gpu.empty()) {
        config.fail("gpu", "expected the kind of the machine's GPUs, which its file does not say");
    }
    return std::make_shared<const Topology>(std::move(topology));
}

NicLinks read_links(ConfigReader& config, NicLinks links) {
    links.kind = config.choice<NicKind>("kind", nic_kind_names,
                                        nic_kind_names[static_cast<std::size_t>(links.kind)]);
    const LinkSaid link = read_link_said(config);
    links.bandwidth = link.bandwidth;
    links.latency = link.latency;
    config.finish();
    return links;
}

// Both sections say what the link of each NIC is like.
void expect_said_once(const ConfigReader& config, const ZoneSpec& zone) {
    if (!zone.links || KeyExplorer::of(config.file()) != nullptr) return;
    const auto refuse = [&](std::string_view key) {
        config.fail("links", fmt::format("\"{}\" stands in \"network\", too: expected it in one "
                                         "of them",
                                         key));
    };
    if (zone.links->bandwidth && zone.fabric.bandwidth) refuse("bandwidth");
    if (zone.links->latency && zone.fabric.latency) refuse("latency");
}

// In a machine of the table, whose wires stay as they are.
std::shared_ptr<const GpuProfile> read_gpu_in(ConfigReader& config, const MachineSpec& machine) {
    if (machine.gpu.empty()) {
        config.fail("gpu", fmt::format("{} has no GPUs", machine.name));
    }
    if (!config.is_object("gpu")) {
        config.fail("gpu", fmt::format("is for machines from files: {} has its own GPUs. Expected "
                                       "an object, {{\"like\": NAME}}, to let others compute there",
                                       machine.name));
    }
    return read_described_gpu(config.object("gpu"), &gpu_named(machine.gpu, ""));
}

ZoneSpec read_zone(ConfigReader& config) {
    ZoneSpec zone;
    zone.machine = config.text("machine");
    NicLinks links;
    const std::filesystem::path file = machine_file(config, zone.machine);
    if (is_file(file, zone.machine)) {
        zone.inside = read_machine_file(config, file);
        links.kind = zone.inside->machines().front().nics;
    } else {
        const MachineSpec spec = machine_named(zone.machine, config.place_of("machine"));
        links.kind = spec.nics.kind;
        if (config.has("gpu")) zone.described_gpu = read_gpu_in(config, spec);
    }
    zone.count = static_cast<std::uint32_t>(config.integer("count", 1, machines_max, 1));
    zone.counted_at = config.place_of("count");
    if (auto section = config.object_if_present("links")) {
        zone.links = read_links(*section, links);
    }
    if (auto network = config.object_if_present("network")) zone.fabric = read_network(*network);
    expect_said_once(config, zone);
    if (zone.inside == nullptr || zone.count == 1) return zone;
    if (zone.inside->devices_of(DeviceKind::nic).empty()) {
        config.fail("machine",
                    "expected a machine with NICs: its file has none. nvidia-smi lists those with "
                    "RDMA alone: add a row and a column NIC0 for another");
    }
    if (zone.inside->machines().front().nic_gbit_per_s == 0 && !zone.fabric.bandwidth &&
        (!zone.links || !zone.links->bandwidth)) {
        config.fail("links", "expected a bandwidth: the machine's file does not say its NICs'");
    }
    return zone;
}

void read_astra_network(ConfigReader& config, ClusterSpec& spec) {
    const GpuSaid gpu = read_gpu(config);
    const std::string name(gpu.listed == nullptr ? "" : gpu.listed->name);
    const std::filesystem::path file = machine_file(config, config.text("astra_sim"));
    AstraNetwork network = config.of_file("astra_sim", [&] {
        return parse_astra_network(read_text_file(file, astra_bytes_max), file.string(), name);
    });
    for (std::size_t i = 0; i < network.topology.machines().size(); ++i) {
        network.topology.machine_to_describe(static_cast<MachineId>(i)).described_gpu =
            gpu.described;
    }
    spec.whole = std::make_shared<const Topology>(std::move(network.topology));
    spec.grid = std::move(network.sizes);
}

}  // namespace

bool names_machines(ConfigReader config) {
    return config.has("machine") || config.has("zones") || config.has("astra_sim");
}

ClusterSpec read_cluster(ConfigReader& config) {
    ClusterSpec spec;
    if (config.has("astra_sim")) {
        read_astra_network(config, spec);
        config.finish();
        return spec;
    }
    if (!config.has("zones")) {
        spec.zones.push_back(read_zone(config));
        config.finish();
        return spec;
    }
    for (ConfigReader& zone : config.objects("zones")) {
        spec.zones.push_back(read_zone(zone));
        zone.finish();
    }
    if (spec.zones.empty()) config.fail("zones", "expected at least one zone");
    if (auto between = config.object_if_present("between_zones")) {
        const LinkSpec link = read_link(*between);
        spec.zone_bandwidth = link.bandwidth;
        spec.zone_latency = link.latency;
        between->finish();
    }
    config.finish();
    return spec;
}

Topology topology_of(const std::string& name_or_file, std::uint32_t count,
                     std::string_view counted_at) {
    const std::filesystem::path file = name_or_file;
    if (!is_file(file, file)) {
        return build_cluster(name_or_file, count, {}, counted_at);
    }
    const std::string text = read_text_file(file, cluster_bytes_max);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const char begins = first == std::string::npos ? ' ' : text[first];
    if (begins != '{') {
        auto inside = std::make_shared<Topology>(parse_machine(text, name_or_file, nullptr));
        if (count == 1) return *std::move(inside);
        if (inside->machines().front().nic_gbit_per_s == 0) {
            throw InputError(name_or_file, "", "does not say how fast its NICs are");
        }
        ClusterSpec spec;
        spec.zones.push_back(
            {name_or_file, count, {}, std::move(inside), std::nullopt, std::string(counted_at)});
        return build_cluster(spec);
    }
    if (count != 1) {
        throw InputError(name_or_file, "",
                         fmt::format("a cluster says how many machines there are: it cannot be "
                                     "taken {} times",
                                     count));
    }
    ConfigReader config = ConfigReader::from_text(text, name_or_file);
    return build_cluster(read_cluster(config));
}

}  // namespace ukemi::sim
