// published_collectives_bench.cpp — recorded and published collectives of NCCL beside what
// simulated steps take for them ("collective": "nccl").
//
// One line a table: mean error from 1 MiB on, the worst row, NCCL's own prices for the same
// choices, and a naive guess, a ring at the line rate. Fitted tables and predicted ones stand
// apart. Then ASTRA-sim's validated H100 network on the same tables. At the end, what other values
// of the fitted numbers would give. Needs the recorded
// data beside the checkout for all but the published tables. Usage: bench_published_collectives
// [all] [--csv FILE] (all: every row, too)
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/published_rows.hpp"
#include "sim/cluster/astra_network.hpp"
#include "sim/step/placed_collective.hpp"
#include "tests/support/nccl_tables.hpp"

namespace {

using namespace ukemi;
using test::NcclErrors;
using test::NcclTable;

constexpr Bytes from = mebibytes(1);

struct Means {
    double ours = 0;
    double own = 0;
    double naive = 0;
    int tables = 0;
    int within = 0;  // 15 %
    void add(const NcclErrors& errors) {
        ours += errors.ours;
        own += errors.own;
        naive += errors.naive;
        ++tables;
        within += errors.ours <= 0.15 ? 1 : 0;
    }
    void print(const std::string& what) const {
        if (tables == 0) return;
        fmt::print(
            "  {:<58} {:5.1f} % over {} tables, {} within 15 %; NCCL's own {:.1f}, naive "
            "{:.1f} %\n",
            what, 100 * ours / tables, tables, within, 100 * own / tables, 100 * naive / tables);
    }
};

std::string group_of(const NcclTable& table) {
    const std::string where = table.machines == 1 ? "one machine" : "several machines";
    const bool reduce = table.collective == sim::NcclCollective::all_reduce;
    const bool other = table.machine == "polaris" || table.machine == "a3-megagpu-8g";
    return fmt::format("{}, {}, {}{}", table.fitted ? "fitted" : "predicted",
                       reduce ? "all-reduce" : "gather or scatter", where,
                       table.machines == 1 ? ""
                       : other             ? " (Slingshot, TCPXO)"
                                           : " (InfiniBand, RoCE)");
}

void add_rows(published::Tables& tables, const NcclTable& table, bool each) {
    const sim::NcclPlace place = test::place_of(table);
    std::vector<published::Row> rows;
    for (const NcclTable::Row& row : table.rows) {
        if (row.size < from) continue;
        const sim::NcclChoice choice = sim::nccl_choice(place, row.size, table.collective);
        rows.push_back({fmt::format("{} MiB, {}: us", row.size.raw() >> 20, to_string(choice)),
                        row.seconds * 1e6,
                        sim::nccl_seconds(place, choice, row.size, table.collective) * 1e6,
                        table.fitted ? "fitted" : "predicted",
                        sim::nccl_own_seconds(place, choice, row.size, table.collective) * 1e6});
    }
    tables.add(table.name, table.name, rows, each, "NCCL's own prices");
}

// Of all that were not fitted, and of those that were kept aside while numbers were chosen.
void print_kept_aside(const std::vector<NcclTable>& all) {
    std::map<std::string, Means> groups;
    for (const NcclTable& table : all) {
        const NcclErrors errors = test::errors_of(table, from);
        if (errors.rows == 0 || table.fitted) continue;
        const char* where = table.machines == 1 ? "one machine" : "several machines";
        groups[fmt::format("predicted, {}", where)].add(errors);
        if (table.kept_aside) groups[fmt::format("kept aside, {}", where)].add(errors);
    }
    fmt::print("\nwhat was not fitted; of it what was kept aside\n");
    for (const auto& [what, means] : groups) means.print(what);
}

// All-reduces of one machine whose logs say how many processes launched them.
constexpr std::string_view one_process[] = {
    "8 A100 80 GB",        "8 A100, one process", "8 A100, one process, another",
    "4 A100, one process", "8 H100, one process", "2 H100, one process",
    "12 V100 of a DGX-2",
};
constexpr std::string_view process_each[] = {
    "8 A100, ND96asr_v4", "8 A100, a process each",  "2 A100 with bridges",
    "8 H100, LLMB",       "8 H100, p5 by AWS Batch", "4 A100, Polaris, NCCL 2.28",
};

void print_launches(const std::vector<NcclTable>& all) {
    fmt::print("\nlaunches: one process for all GPUs of a machine, and one for each\n");
    for (const double launch_us : {3.0, 5.0, 15.0, 30.0, 35.0}) {
        Means means[2];
        sim::NcclNumbers numbers;
        numbers.launch_us = launch_us;
        for (const NcclTable& table : all) {
            const auto in = [&](auto& names) {
                return std::ranges::find(names, table.name) != std::end(names);
            };
            if (in(one_process)) means[0].add(test::errors_of(table, from, numbers));
            if (in(process_each)) means[1].add(test::errors_of(table, from, numbers));
        }
        means[0].print(fmt::format("{:>2} us: one", launch_us));
        means[1].print(fmt::format("{:>2} us: one each", launch_us));
    }
}

// What the mean over fitted tables, and over predicted ones, would be.
void print_alternatives(const std::vector<NcclTable>& all) {
    fmt::print(
        "\nother values of the fitted numbers: mean of fitted and of predicted all-reduces\n");
    for (const double launch : {5.0, 10.0, 15.0, 20.0, 25.0}) {
        for (const double ll128 : {0.7, 0.8, 1.0}) {
            for (const double lacks : {0.0, 0.5, 1.0, 1.5}) {
                Means means[2];
                const sim::NcclNumbers usual;
                sim::NcclNumbers other = usual;
                other.launch_us = launch;
                other.ll128_inside = ll128;
                for (double& one : other.nvls_lacks) one *= lacks;
                for (double& one : other.nvls_tree_lacks) one *= lacks;
                for (const NcclTable& table : all) {
                    if (table.collective != sim::NcclCollective::all_reduce) continue;
                    means[table.fitted ? 0 : 1].add(test::errors_of(table, from, other));
                }
                if (means[0].tables == 0) return;
                fmt::print(
                    "  launch {:>4} us, LL128 inside {:.1f}, NVLS lacks x {:.1f}: {:5.1f} "
                    "{:5.1f} %\n",
                    launch, ll128, lacks, 100 * means[0].ours / means[0].tables,
                    100 * means[1].ours / means[1].tables);
            }
        }
    }
}

// A ring over the network that ASTRA-sim's authors validate against H100 (400 of its GB/s, 936.25
// ns a link): what our network makes of their file, which is what their formula says.
double astra_seconds(std::int32_t npus, Bytes size) {
    const std::string text = fmt::format(
        "topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 400.0 ]\nlatency: [ 936.25 ]\n",
        npus);
    const sim::AstraNetwork network = sim::parse_astra_network(text, "bench", "");
    const auto workers = network.topology.workers();
    sim::ClusterNetwork links(network.topology);
    const sim::PlacedCollective ring(links, policies::Collective::ring, workers, npus, "bench");
    ring.start(links, size, Instant{});
    return to_seconds(links.runs().run_until(Instant::never())->at.since_start());
}

// Beside NCCL's times, on recorded tables of the same GPUs. Theirs: geometric means of errors on
// runs of NCCL's ring, of which only figures are public (astra-sim-docs, gpu-validation-hgx-h100).
void compare_astra(const std::vector<NcclTable>& all) {
    fmt::print(
        "\nASTRA-sim's H100 network, played here, on our tables: 20.6, 12.0 and 9.7 % on its "
        "authors' own (2, 4, 8 GPUs)\n");
    for (const NcclTable& table : all) {
        if (table.machine != "dgx_h100" || table.machines != 1) continue;
        if (table.collective != sim::NcclCollective::all_reduce) continue;
        double off = 0;
        std::size_t rows = 0;
        for (const NcclTable::Row& row : table.rows) {
            if (row.size < from) continue;
            off += std::abs(astra_seconds(table.per_machine, row.size) / row.seconds - 1);
            ++rows;
        }
        if (rows == 0) continue;
        const NcclErrors errors = test::errors_of(table, from);
        fmt::print("  {:<58} {:5.1f} %, NCCL's times {:.1f} % ({}), naive {:.1f} %\n", table.name,
                   100 * off / static_cast<double>(rows), 100 * errors.ours,
                   table.fitted ? "fitted" : "predicted", 100 * errors.naive);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const published::Options options = published::read_options(argc, argv);
    std::vector<NcclTable> all = test::recorded_nccl_tables(published::shared(""));
    if (all.empty()) fmt::print(stderr, "recorded collectives: not found beside the checkout\n");
    for (NcclTable& table : test::published_nccl_tables()) all.push_back(std::move(table));
    published::Tables tables;
    std::map<std::string, Means> groups;
    fmt::print("{:<62} {:>9} {:>6} {:>7} {:>7} {:>7} {:>7}\n", "table (from 1 MiB on)", "role",
               "rows", "error", "worst", "NCCL's", "naive");
    for (const NcclTable& table : all) {
        const NcclErrors errors = test::errors_of(table, from);
        if (errors.rows == 0) continue;
        groups[group_of(table)].add(errors);
        fmt::print("{:<62} {:>9} {:>6} {:>6.1f}% {:>6.1f}% {:>6.1f}% {:>6.1f}%\n", table.name,
                   table.fitted ? "fitted" : "predicted", errors.rows, 100 * errors.ours,
                   100 * errors.worst, 100 * errors.own, 100 * errors.naive);
    }
    fmt::print("\nmeans of tables\n");
    for (const auto& [what, means] : groups) means.print(what);
    print_kept_aside(all);
    print_launches(all);
    compare_astra(all);
    print_alternatives(all);
    if (options.all || options.csv) {
        for (const NcclTable& table : all) add_rows(tables, table, options.all);
    }
    if (options.csv) tables.write_csv(*options.csv);
}
