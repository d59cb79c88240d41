// read_efficiency.cpp — shares as numbers, or from logs.
#include "scenarios/reader/read_efficiency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cluster/nccl/nccl_fit.hpp"
#include "traces/nccl_tests.hpp"

namespace ukemi::scenarios {

namespace {

namespace fs = std::filesystem;

// Where the table's ranks would stand here: as many of the first GPUs of as many machines.
sim::NcclPlace ranks_of_log(const ConfigReader& config, const sim::Topology& topology,
                            const traces::CollectiveTable& table) {
    const std::string where = config.place_of("nccl_tests");
    const int nodes = std::max(table.nodes, 1);
    if (table.ranks < 2 || table.ranks % nodes != 0) {
        config.fail("nccl_tests", fmt::format("expected a log that says its ranks, as many on each "
                                              "node, found {} on {}",
                                              table.ranks, nodes));
    }
    const auto each = static_cast<std::size_t>(table.ranks / nodes);
    const auto here = static_cast<int>(topology.machines().size());
    if (nodes > 1 && here == 1) {
        config.fail("nccl_tests", fmt::format("expected several machines in the cluster, as in a "
                                              "log of {} nodes",
                                              nodes));
    }
    std::vector<sim::DeviceId> workers;
    for (int machine = 0; machine < std::min(nodes, here); ++machine) {
        const auto gpus =
            topology.devices_of(sim::DeviceKind::gpu, static_cast<sim::MachineId>(machine));
        if (gpus.size() < each) {
            config.fail("nccl_tests",
                        fmt::format("expected machines with {} GPUs, as in the log", each));
        }
        workers.insert(workers.end(), gpus.begin(),
                       gpus.begin() + static_cast<std::ptrdiff_t>(each));
    }
    sim::Routes routes(topology);
    sim::NcclPlace place = sim::nccl_place(topology, routes, workers, where);
    place.machines = nodes;
    return place;
}

bool lacks_nodes(const traces::CollectiveTable& table) {
    return table.form == "nccl-tests table" && table.nodes == 0;
}

// What such a table lacks, if it is that.
std::string why_unknown(std::span<const traces::CollectiveTable> tables) {
    const auto lacking = std::ranges::find_if(tables, lacks_nodes);
    if (lacking == tables.end()) return "";
    return fmt::format(
        "; {}its \"#  Rank\" lines are missing, which say how many ranks there were, and where",
        lacking->places.empty() ? "" : "some of ");
}

std::string fit(ConfigReader& config, sim::LinkKind kind, sim::Topology& topology) {
    const fs::path given = config.text("nccl_tests");
    const fs::path file = config.beside(given);
    config.finish();
    const auto tables = config.of_file("nccl_tests", [&] { return traces::read_nccl_tests(file); });
    const auto table =
        std::ranges::find(tables, "all_reduce", &traces::CollectiveTable::collective);
    const auto count =
        std::ranges::count(tables, "all_reduce", &traces::CollectiveTable::collective);
    if (count != 1) {
        config.fail("nccl_tests",
                    fmt::format("{}: expected one table of all_reduce, found {}{}", given.string(),
                                count, count == 0 ? why_unknown(tables) : ""));
    }
    const bool between = kind == sim::LinkKind::network;
    if (lacks_nodes(*table) || between != (table->nodes > 1)) {
        config.fail("nccl_tests",
                    fmt::format("{}: expected a log of {}, found {} nodes{}", given.string(),
                                between ? "several nodes" : "one node",
                                lacks_nodes(*table) ? "an unknown number of"
                                                    : fmt::format("{}", std::max(table->nodes, 1)),
                                why_unknown({&*table, 1})));
    }
    std::vector<sim::NcclRow> rows;
    for (const traces::CollectiveRow& row : table->rows) {
        if (row.bytes < mebibytes(1).raw() || !row.out_of_place) continue;
        if (!(row.out_of_place->time_us > 0)) continue;
        if (row.out_of_place->wrong.value_or(0) > 0) continue;
        rows.push_back({bytes(row.bytes), row.out_of_place->time_us / 1e6});
    }
    if (rows.empty()) {
        config.fail("nccl_tests", fmt::format("{}: expected rows from 1 MiB on", given.string()));
    }
    const sim::NcclPlace place = ranks_of_log(config, topology, *table);
    const sim::NcclFit found = sim::fit_share(place, between, rows);
    if (found.off > 1) {
        config.fail(
            "nccl_tests",
            fmt::format("{}: no share of the {}'s line rate comes near: the best, {:.3g}, is "
                        "{:.0f} % off in the mean",
                        given.string(), sim::to_string(kind), found.share, 100 * found.off));
    }
    topology.derate(kind, found.share);
    return fmt::format(
        "{} at {:.3g} of the line rate: fitted to {} ({} x {} GPUs, {} rows, {:.1f} "
        "% off in the mean with nccl{})",
        sim::to_string(kind), found.share, given.string(), place.machines, place.per_machine,
        rows.size(), 100 * found.off,
        found.is_least ? "; greater shares fit as well, since something else bounds them" : "");
}

}  // namespace

std::vector<std::string> read_efficiency(ConfigReader& root, sim::Topology& topology) {
    std::vector<std::string> fitted;
    auto config = root.object_if_present("efficiency");
    if (!config) return fitted;
    for (const sim::LinkKind kind : {sim::LinkKind::nvlink, sim::LinkKind::pcie,
                                     sim::LinkKind::socket, sim::LinkKind::network}) {
        const std::string_view name = sim::to_string(kind);
        if (!config->has(name)) continue;
        const bool ringed = kind == sim::LinkKind::nvlink || kind == sim::LinkKind::network;
        if (ringed && config->is_object(name)) {
            ConfigReader section = config->object(name);
            fitted.push_back(fit(section, kind, topology));
        } else {
            topology.derate(kind, config->number(name, 0.001, 1));
        }
    }
    config->finish();
    return fitted;
}

}  // namespace ukemi::scenarios
