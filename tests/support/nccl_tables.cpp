// nccl_tables.cpp — what was recorded where.
#include "tests/support/nccl_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/cluster/fabric.hpp"
#include "tests/support/collective_records.hpp"
#include "traces/nccl_tests.hpp"

namespace ukemi::test {
namespace {

namespace fs = std::filesystem;

std::optional<sim::NcclCollective> collective_of(std::string_view name) {
    if (name == "all_reduce") return sim::NcclCollective::all_reduce;
    if (name == "all_gather") return sim::NcclCollective::all_gather;
    if (name == "reduce_scatter") return sim::NcclCollective::reduce_scatter;
    return std::nullopt;
}

// The data sets say GPUs and nodes; the rest is from the sites.
std::string machine_of(const CollectiveRecord& record) {
    static const std::map<std::string_view, std::string> systems = {
        {"v100", "dgx1_v100"},
        {"a100", "dgx_a100"},
        {"polaris", "polaris"},
        {"sirius", "polaris"},
        {"sophia", "dgx_a100"},
        {"example-cluster01", "dgx_h100"},
        {"gcp-a3-mega", "a3-megagpu-8g"},
    };
    const auto found = systems.find(record.system);
    return found == systems.end() ? "" : found->second;
}

// setup1 and setup2 of Polaris and Sirius are sockets, or have no plugin: ten times slower.
bool bypasses(const CollectiveRecord& record) {
    if (record.system != "polaris" && record.system != "sirius") return false;
    return record.series.ends_with("setup1") || record.series.ends_with("setup2") ||
           record.series.ends_with("setupdefault");
}

// What a number was chosen for: rings and copies, LL128 inside, NVLS, Slingshot, TCPXO, launches,
// rings whose NVLinks are no faster than their NICs.
bool is_fitted(const CollectiveRecord& record) {
    if (record.system == "example-cluster01" && record.collective != "all_reduce") {
        return record.machines > 1 && record.per_machine == 8;
    }
    if (record.collective != "all_reduce") return false;
    if (record.system == "v100") return record.per_machine != 4;
    if (record.system == "a100") return record.per_machine != 4;
    if (record.system == "example-cluster01") {
        return record.machines == 1 && record.per_machine == 8;
    }
    if (record.system == "polaris") {
        return record.series.ends_with("nccl_2_18/setup4") && record.machines <= 8;
    }
    if (record.system == "sophia") return record.series.ends_with("setup2");
    return record.system == "gcp-a3-mega";
}

}  // namespace

std::vector<NcclTable> recorded_nccl_tables(const fs::path& data) {
    std::vector<CollectiveRecord> records;
    if (fs::is_directory(data / "vtrain_nccl")) {
        records = read_collective_folder(data / "vtrain_nccl");
    }
    const fs::path joined = data / "nccl_bench/nccl_all.csv.gz";
    if (fs::is_regular_file(joined)) {
        const auto more = collective_records(traces::read_nccl_tests(joined));
        records.insert(records.end(), more.begin(), more.end());
    }
    std::map<std::string, NcclTable> tables;
    for (const CollectiveRecord& record : medians(std::move(records))) {
        const auto collective = collective_of(record.collective);
        const std::string machine = machine_of(record);
        if (!collective || machine.empty() || bypasses(record)) continue;
        if (record.machines * record.per_machine < 2) continue;
        const double rounded =
            std::exp2(std::round(std::log2(static_cast<double>(record.size.raw()))));
        // Gathers are cut to a multiple of the ranks, a little below a power of two.
        if (std::abs(static_cast<double>(record.size.raw()) / rounded - 1) > 1e-3) continue;
        const std::string name = fmt::format("{} {} x {}, {}", record.series, record.machines,
                                             record.per_machine, record.collective);
        NcclTable& table = tables[name];
        table = {name,        machine,           record.machines, record.per_machine,
                 *collective, is_fitted(record), "recorded",      std::move(table.rows)};
        table.rows.push_back({record.size, to_seconds(record.time)});
    }
    std::vector<NcclTable> all;
    for (auto& [name, table] : tables) all.push_back(std::move(table));
    return all;
}

sim::NcclPlace place_of(const NcclTable& table) {
    const sim::Topology topology =
        sim::build_cluster(table.machine, static_cast<std::uint32_t>(table.machines));
    std::vector<sim::DeviceId> workers;
    for (std::uint32_t machine = 0; machine < topology.machines().size(); ++machine) {
        const auto gpus =
            topology.devices_of(sim::DeviceKind::gpu, static_cast<sim::MachineId>(machine));
        workers.insert(workers.end(), gpus.begin(), gpus.begin() + table.per_machine);
    }
    sim::Routes routes(topology);
    return sim::nccl_place(topology, routes, workers, table.name);
}

NcclErrors errors_of(const NcclTable& table, Bytes from, const sim::NcclNumbers& numbers) {
    const sim::NcclPlace place = place_of(table);
    const double ranks = place.ranks();
    const double passes = table.collective == sim::NcclCollective::all_reduce ? 2 : 1;
    const double line = std::min(place.inside.raw(), place.between.raw());
    NcclErrors errors;
    for (const NcclTable::Row& row : table.rows) {
        if (row.size < from) continue;
        const sim::NcclChoice choice = sim::nccl_choice(place, row.size, table.collective);
        const double ours = sim::nccl_seconds(place, choice, row.size, table.collective, numbers);
        const double own = sim::nccl_own_seconds(place, choice, row.size, table.collective);
        const double naive =
            passes * (ranks - 1) / ranks * static_cast<double>(row.size.raw()) / line;
        const double off = std::abs(ours / row.seconds - 1);
        errors.ours += off;
        errors.worst = std::max(errors.worst, off);
        errors.own += std::abs(own / row.seconds - 1);
        errors.naive += std::abs(naive / row.seconds - 1);
        ++errors.rows;
    }
    const double count = std::max<double>(1, static_cast<double>(errors.rows));
    errors.ours /= count;
    errors.own /= count;
    errors.naive /= count;
    return errors;
}

}  // namespace ukemi::test
