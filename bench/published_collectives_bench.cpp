// published_collectives_bench.cpp — recorded all-reduces of NCCL beside what nccl_times says.
//
// The rule of fitting, the same for every series of records (one GPU kind, or one system with one
// setting of its network): of the fewest and of the most ranks, and of those whose rings pass
// through other GPUs (nothing else says what a relay costs), the sizes that are powers of four. All
// other sizes and all other numbers of ranks are predicted. Beside it stands NCCL's own model on
// the predicted rows. Needs the recorded data beside the checkout.
// Usage: bench_published_collectives [all] [--csv FILE]   (all: every row, not only means)
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "base/read_file.hpp"
#include "bench/published_rows.hpp"
#include "sim/cluster/collective_records.hpp"
#include "sim/cluster/nccl_times.hpp"

namespace {

using namespace ukemi;
using published::Row;

struct System {
    const char* name;
    const char* machine;
    double nic_gbit_per_s;  // 0: as the machine has
};
// The data sets say GPUs and nodes; the rest is from the sites. Polaris and Sirius: four A100, two
// Slingshot NICs, of 200 Gbit/s by 2024 (eight machines reach 36 GB/s, more than two of 100 can).
// A3 Mega: eight NICs of 200 Gbit/s.
constexpr System systems[] = {
    {"v100", "dgx1_v100", 0},
    {"a100", "dgx_a100", 0},
    {"h100", "dgx_h100", 0},
    {"polaris", "hgx_a100_4", 200},
    {"sirius", "hgx_a100_4", 200},
    {"sophia", "dgx_a100", 0},
    {"example-cluster01", "dgx_h100", 0},
    {"gcp-a3-mega", "dgx_h100", 200},
};

// Of a system that is not in the table: the machine of eight of its GPUs.
System system_of(const CollectiveRecord& record) {
    for (const System& one : systems) {
        if (record.system == one.name) return one;
    }
    for (const auto& [gpu, machine] : {std::pair{"A100", "dgx_a100"}, std::pair{"H100", "dgx_h100"},
                                       std::pair{"H200", "dgx_h200"}}) {
        if (record.gpu.find(gpu) != std::string::npos) return {"", machine, 0};
    }
    return {"", "dgx1_v100", 0};
}

struct Recorded {
    CollectiveRecord record;
    NcclRow row;
    bool fitted = false;
};

std::vector<Recorded> placed(const std::vector<CollectiveRecord>& records) {
    std::map<std::pair<std::int32_t, std::int32_t>, NcclPlace> places;
    std::vector<Recorded> all;
    for (const CollectiveRecord& record : records) {
        const auto key = std::pair(record.machines, record.per_machine);
        if (!places.contains(key)) {
            const System system = system_of(record);
            places[key] =
                nccl_place(machine_named(system.machine, "bench"), record.machines,
                           record.per_machine, gigabits_per_second(system.nic_gbit_per_s), "bench");
        }
        all.push_back({record, {places[key], record.size, to_seconds(record.time)}, false});
    }
    return all;
}

bool is_power_of_four(Bytes size) {
    const auto value = static_cast<std::uint64_t>(size.raw());
    return std::has_single_bit(value) && std::countr_zero(value) % 2 == 0;
}

void choose_fitted(std::vector<Recorded>& all) {
    std::set<std::int32_t> ranks;
    for (const Recorded& one : all) ranks.insert(one.row.place.ranks());
    for (Recorded& one : all) {
        const std::int32_t count = one.row.place.ranks();
        const bool at_end = count == *ranks.begin() || count == *ranks.rbegin();
        one.fitted = (at_end || one.row.place.relayed) && is_power_of_four(one.record.size);
    }
}

std::string name_of(const CollectiveRecord& record) {
    return fmt::format("{} x {} GPUs, {} bytes: us", record.machines, record.per_machine,
                       record.size.raw());
}

std::string numbers_text(const NcclNumbers& n) {
    return fmt::format(
        "inside {:.3f}, relay {:.3f}, copy {:.3f} ns/KB, between {:.3f}, LL128 {:.3f}, NVLS "
        "{:.3f}; latencies "
        "LL {:.2f}, LL128 {:.2f}, Simple {:.2f}, of the network {:.2f} times",
        n.inside, n.relay, n.copy_s_per_byte * 1e12, n.between, n.ll128, n.nvls, n.latency[0],
        n.latency[1], n.latency[2], n.network_latency);
}

// Mean errors of predicted rows: of all, from 1 MiB on, and by the number of ranks.
struct Means {
    double sum = 0;
    int count = 0;
    void add(double error) {
        sum += std::abs(error);
        ++count;
    }
    double percent() const { return count == 0 ? 0 : 100 * sum / count; }
};

struct Totals {
    Means ours[2];  // one machine, several
    Means own[2];
};

void compare(const std::string& series, std::vector<Recorded> all, published::Tables& tables,
             bool each, Totals& totals) {
    choose_fitted(all);
    std::vector<NcclRow> fit;
    for (const Recorded& one : all) {
        if (one.fitted) fit.push_back(one.row);
    }
    if (fit.empty()) return;
    const NcclNumbers numbers = fit_nccl_numbers(fit);
    std::vector<Row> rows;
    std::map<std::string, std::pair<Means, Means>> by_count;  // ours, NCCL's own
    Means large;
    Means own_large;
    for (const Recorded& one : all) {
        const NcclPlace& place = one.row.place;
        const NcclChoice choice = nccl_choice(place, one.row.bytes);
        const double ours = nccl_seconds(place, numbers, choice, one.row.bytes);
        const double own = nccl_own_seconds(place, choice, one.row.bytes);
        rows.push_back({name_of(one.record), one.row.seconds * 1e6, ours * 1e6,
                        one.fitted ? "fitted" : "predicted"});
        if (one.fitted) continue;
        const std::size_t several = place.machines > 1 ? 1 : 0;
        totals.ours[several].add(ours / one.row.seconds - 1);
        totals.own[several].add(own / one.row.seconds - 1);
        auto& means = by_count[fmt::format("{:>4} x {}", place.machines, place.per_machine)];
        means.first.add(ours / one.row.seconds - 1);
        means.second.add(own / one.row.seconds - 1);
        if (one.row.bytes < mebibytes(1)) continue;
        large.add(ours / one.row.seconds - 1);
        own_large.add(own / one.row.seconds - 1);
    }
    tables.add(fmt::format("{}: {}", series, numbers_text(numbers)), series, rows, each);
    for (const auto& [count, means] : by_count) {
        fmt::print("    {} GPUs: {:.1f} % over {} predicted rows; NCCL's own model {:.1f} %\n",
                   count, means.first.percent(), means.first.count, means.second.percent());
    }
    fmt::print("    from 1 MiB on: {:.1f} % over {}; NCCL's own model {:.1f} %\n", large.percent(),
               large.count, own_large.percent());
}

}  // namespace

int main(int argc, char** argv) {
    const published::Options options = published::read_options(argc, argv);
    published::Tables tables;
    std::vector<CollectiveRecord> records;
    const auto vtrain = published::shared("vtrain_nccl");
    if (std::filesystem::is_directory(vtrain)) records = read_collective_tables(vtrain);
    const auto joined = published::shared("nccl_bench/nccl_all.csv.gz");
    if (std::filesystem::is_regular_file(joined)) {
        const std::string text = read_file(joined);
        const auto more = read_joined_collectives(text, joined.string());
        records.insert(records.end(), more.begin(), more.end());
    }
    if (records.empty()) {
        fmt::print(stderr, "recorded collectives: not found beside the checkout\n");
        return 0;
    }
    std::erase_if(records, [](const CollectiveRecord& record) {
        return record.collective != "all_reduce" || record.machines * record.per_machine < 2;
    });
    std::map<std::string, std::vector<CollectiveRecord>> series;
    for (CollectiveRecord& record : medians(std::move(records))) {
        const std::string name = record.series;
        series[name].push_back(std::move(record));
    }
    Totals totals;
    for (const auto& [name, some] : series) {
        compare(name, placed(some), tables, options.all, totals);
    }
    for (std::size_t several = 0; several < 2; ++several) {
        fmt::print("\n{}: {:.1f} % over {} predicted rows; NCCL's own model {:.1f} %",
                   several == 0 ? "one machine" : "several machines",
                   totals.ours[several].percent(), totals.ours[several].count,
                   totals.own[several].percent());
    }
    fmt::print("\n");
    if (options.csv) tables.write_csv(*options.csv);
}
