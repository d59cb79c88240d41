// cluster_file.cpp — the keys of a cluster, and which reader a file needs.
#include "sim/cluster/cluster_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/link_spec.hpp"
#include "base/read_file.hpp"
#include "sim/cluster/nccl_topology.hpp"
#include "sim/cluster/smi_topology.hpp"

namespace ukemi::sim {
namespace {

constexpr std::size_t cluster_bytes_max = std::size_t{16} << 20;

FabricSpec read_network(ConfigReader& config) {
    FabricSpec fabric;
    const std::string kind = config.one_of("kind", fabric_names);
    for (std::size_t i = 0; i < fabric_names.size(); ++i) {
        if (fabric_names[i] == kind) fabric.kind = static_cast<FabricKind>(i);
    }
    const auto whole = [&](std::string_view key, std::int64_t max, std::int64_t otherwise) {
        return static_cast<std::uint32_t>(config.integer(key, 1, max, otherwise));
    };
    if (fabric.kind == FabricKind::leaf_spine || fabric.kind == FabricKind::rails) {
        fabric.machines_per_leaf = whole("machines_per_leaf", machines_max, 16);
        fabric.spines = whole("spines", 4096, 1);
        fabric.oversubscription = config.number("oversubscription", 1, 1e6, 1);
    }
    if (fabric.kind == FabricKind::torus) {
        fabric.sides[0] = whole("x", machines_max, 1);
        fabric.sides[1] = whole("y", machines_max, 1);
        fabric.sides[2] = whole("z", machines_max, 1);
    }
    const LinkSpec link = read_link(config, LinkSpec{});
    fabric.bandwidth = link.bandwidth;
    fabric.latency = link.latency;
    config.finish();
    return fabric;
}

ZoneSpec read_zone(ConfigReader& config) {
    ZoneSpec zone;
    zone.machine = config.text("machine");
    machine_named(zone.machine, fmt::format("{}: at {}/machine", config.file(), config.path()));
    zone.count = static_cast<std::uint32_t>(config.integer("count", 1, machines_max, 1));
    if (auto network = config.object_if_present("network")) zone.fabric = read_network(*network);
    return zone;
}

}  // namespace

bool names_machines(ConfigReader config) { return config.has("machine") || config.has("zones"); }

ClusterSpec read_cluster(ConfigReader& config) {
    ClusterSpec spec;
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

Topology topology_of(const std::string& name_or_file, std::uint32_t count) {
    const std::filesystem::path file = name_or_file;
    if (!std::filesystem::is_regular_file(file)) return build_cluster(name_or_file, count);
    if (count != 1) {
        throw InputError(name_or_file, "",
                         fmt::format("a file says how many machines there are: it cannot be taken "
                                     "{} times",
                                     count));
    }
    const std::string text = read_file(file, cluster_bytes_max);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const char begins = first == std::string::npos ? ' ' : text[first];
    if (begins == '<') return parse_nccl_topology(text, name_or_file);
    if (begins != '{') return parse_smi_topology(text, name_or_file);
    ConfigReader config = ConfigReader::from_text(text, name_or_file);
    return build_cluster(read_cluster(config));
}

}  // namespace ukemi::sim
