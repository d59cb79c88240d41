// published_collectives_bench.cpp — recorded collectives of NCCL beside what nccl_times says.
//
// The rule of fitting, the same for every series of records (one GPU kind, or one system with one
// setting of its network): of the fewest and of the most ranks, and of those whose rings pass
// through other GPUs (nothing else says what a relay costs), the sizes that are powers of four. All
// other sizes and all other numbers of ranks are predicted, and so is every all-gather and
// reduce-scatter of the series. Beside it stand NCCL's own model on the predicted rows, and a naive
// guess: a line between the fitted sizes, in logarithms, of the nearest fitted number of ranks (a
// gather or a scatter is half of it). Needs the recorded data beside the checkout. Usage:
// bench_published_collectives [all] [--csv FILE]   (all: every row, not only means)
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "bench/published_rows.hpp"
#include "studies/nccl_times/collective_records.hpp"
#include "studies/nccl_times/nccl_times.hpp"
#include "traces/nccl_tests.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::studies;
using namespace ukemi::sim;
using namespace ukemi::traces;
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
    for (const Recorded& one : all) {
        if (one.record.collective == "all_reduce") ranks.insert(one.row.place.ranks());
    }
    for (Recorded& one : all) {
        if (one.record.collective != "all_reduce") continue;
        const std::int32_t count = one.row.place.ranks();
        const bool at_end = count == *ranks.begin() || count == *ranks.rbegin();
        one.fitted = (at_end || one.row.place.relayed) && is_power_of_four(one.record.size);
    }
}

// What somebody would read off the fitted rows with a ruler.
double interpolated(const std::vector<Recorded>& all, const Recorded& wanted) {
    const auto ranks_apart = [&](const Recorded& one) {
        return std::abs(one.row.place.ranks() - wanted.row.place.ranks());
    };
    std::int32_t least = std::numeric_limits<std::int32_t>::max();
    for (const Recorded& one : all) {
        if (one.fitted) least = std::min(least, ranks_apart(one));
    }
    std::map<double, double> line;  // logarithms
    for (const Recorded& one : all) {
        if (!one.fitted || ranks_apart(one) != least) continue;
        line[std::log(static_cast<double>(one.row.bytes.raw()))] = std::log(one.row.seconds);
    }
    const double at = std::log(static_cast<double>(wanted.row.bytes.raw()));
    const auto after = line.upper_bound(at);
    double time = 0;
    if (after == line.begin()) {
        time = after->second;  // all latency
    } else if (after == line.end()) {
        time = line.rbegin()->second + at - line.rbegin()->first;  // all bytes
    } else {
        const auto before = std::prev(after);
        time = before->second + (at - before->first) / (after->first - before->first) *
                                    (after->second - before->second);
    }
    return std::exp(time) * (wanted.record.collective == "all_reduce" ? 1 : 0.5);
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

std::optional<NcclCollective> collective_of(const std::string& name) {
    if (name == "all_reduce") return NcclCollective::all_reduce;
    if (name == "all_gather") return NcclCollective::all_gather;
    if (name == "reduce_scatter") return NcclCollective::reduce_scatter;
    return std::nullopt;
}

struct Guesses {  // of one time, seconds
    double ours = 0;
    double own = 0;    // NCCL's own model
    double naive = 0;  // interpolated
};
struct Beside {  // their mean errors
    Means ours;
    Means own;
    Means naive;
    void add(double recorded, const Guesses& guesses) {
        ours.add(guesses.ours / recorded - 1);
        own.add(guesses.own / recorded - 1);
        naive.add(guesses.naive / recorded - 1);
    }
    void print(const std::string& what) const {
        if (ours.count == 0) return;
        fmt::print(
            "    {}: {:.1f} % over {} predicted rows; NCCL's own model {:.1f} %; naive {:.1f} %\n",
            what, ours.percent(), ours.count, own.percent(), naive.percent());
    }
};
using Totals = std::map<std::string, Beside>;

void compare_one(const std::string& series, const std::string& collective,
                 const NcclNumbers& numbers, const std::vector<Recorded>& all,
                 published::Tables& tables, bool each, Totals& totals) {
    const NcclCollective kind = collective_of(collective).value();
    std::vector<Row> rows;
    Totals by_count;
    Beside large;
    for (const Recorded& one : all) {
        if (one.record.collective != collective) continue;
        const auto& [place, size, recorded] = one.row;
        const NcclChoice choice = nccl_choice(place, size, kind);
        const double ours = nccl_seconds(place, numbers, choice, size, kind);
        rows.push_back(
            {name_of(one.record), recorded * 1e6, ours * 1e6, one.fitted ? "fitted" : "predicted"});
        if (one.fitted) continue;
        const Guesses guesses{ours, nccl_own_seconds(place, choice, size, kind),
                              interpolated(all, one)};
        rows.back().naive = guesses.naive * 1e6;
        by_count[fmt::format("{:>4} x {} GPUs", place.machines, place.per_machine)].add(recorded,
                                                                                        guesses);
        if (size >= mebibytes(1)) large.add(recorded, guesses);
        totals[fmt::format("{}, {}", collective,
                           place.machines == 1 ? "one machine" : "several machines")]
            .add(recorded, guesses);
    }
    if (rows.empty()) return;
    tables.add(fmt::format("{}, {}", series, collective), fmt::format("{}, {}", series, collective),
               rows, each);
    for (const auto& [count, beside] : by_count) beside.print(count);
    large.print("from 1 MiB on");
}

void compare(const std::string& series, std::vector<Recorded> all, published::Tables& tables,
             bool each, Totals& totals) {
    choose_fitted(all);
    std::vector<NcclRow> fit;
    for (const Recorded& one : all) {
        if (one.fitted) fit.push_back(one.row);
    }
    if (fit.empty()) return;  // no all-reduce of such a size
    const NcclNumbers numbers = fit_nccl_numbers(fit);
    fmt::print("\n{}\n", numbers_text(numbers));
    for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter"}) {
        compare_one(series, collective, numbers, all, tables, each, totals);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const published::Options options = published::read_options(argc, argv);
    published::Tables tables;
    std::vector<CollectiveRecord> records;
    const auto vtrain = published::shared("vtrain_nccl");
    if (std::filesystem::is_directory(vtrain)) records = read_collective_folder(vtrain);
    const auto joined = published::shared("nccl_bench/nccl_all.csv.gz");
    if (std::filesystem::is_regular_file(joined)) {
        const auto more = collective_records(read_nccl_tests(joined));
        records.insert(records.end(), more.begin(), more.end());
    }
    if (records.empty()) {
        fmt::print(stderr, "recorded collectives: not found beside the checkout\n");
        return 0;
    }
    std::erase_if(records, [](const CollectiveRecord& record) {
        return !collective_of(record.collective) || record.machines * record.per_machine < 2;
    });
    std::map<std::string, std::vector<CollectiveRecord>> series;
    for (CollectiveRecord& record : medians(std::move(records))) {
        const std::string name = record.series;
        series[name].push_back(std::move(record));
    }
    Totals totals;
    for (const auto& [name, some] : series) {
        try {
            compare(name, placed(some), tables, options.all, totals);
        } catch (const InputError& error) {  // more GPUs than the machine we take it for
            fmt::print(stderr, "{}: left out: {}\n", name, error.what());
        }
    }
    fmt::print("\nall series\n");
    for (const auto& [what, beside] : totals) beside.print(what);
    if (options.csv) tables.write_csv(*options.csv);
}
