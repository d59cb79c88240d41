// nccl_times.cpp — NCCL's constants, and a search for better ones.
#include "studies/nccl_times/nccl_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/exact_math.hpp"
#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/fabric.hpp"
#include "sim/cluster/rings.hpp"

namespace ukemi::studies {
namespace {

using ByProtocol = std::array<double, nccl_protocols>;

// Microseconds, LL, LL128, Simple; ring, then tree.
constexpr std::array<ByProtocol, 2> base_us = {{{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}}};
constexpr std::array<ByProtocol, 2> nvlink_us = {{{0.6, 1.9, 3.4}, {0.6, 1.25, 4.0}}};
constexpr std::array<ByProtocol, 2> network_us = {{{2.7, 4.0, 14.0}, {5.0, 8.5, 14.0}}};

// By generation, GB/s: LL in all, LL128 a channel, a tree a channel inside one machine.
constexpr std::array<double, 3> ll_most = {39, 87.7, 141};
constexpr std::array<double, 3> ll128_channel = {20, 20, 36.7};
constexpr std::array<double, 3> tree_channel = {26.5, 24, 38.7};

// Of a tree's bandwidth, by powers of two from 64 bytes.
constexpr std::array<std::array<double, 24>, nccl_protocols> tree_correction = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

std::size_t index_of_generation(const NcclPlace& place) {
    return static_cast<std::size_t>(place.generation);
}

std::int32_t whole_log2(std::int64_t value) {
    return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

constexpr double nvls_us = 25;

// How often the buffer goes round a ring.
std::int32_t passes_of(NcclCollective collective) {
    return collective == NcclCollective::all_reduce ? 2 : 1;
}

double latency_us(const NcclPlace& place, const NcclNumbers& numbers, NcclChoice choice,
                  Bytes bytes, NcclCollective collective) {
    if (choice.algorithm == NcclAlgorithm::nvls) return numbers.latency[2] * nvls_us;
    const auto a = static_cast<std::size_t>(choice.algorithm);
    const auto p = static_cast<std::size_t>(choice.protocol);
    const double between = numbers.network_latency * network_us[a][p];
    double hops = 0;
    if (choice.algorithm == NcclAlgorithm::ring) {
        const std::int32_t passes = passes_of(collective);
        const std::int32_t crossing = passes * (place.machines - 1);
        hops = (passes * (place.ranks() - 1) - crossing) * nvlink_us[a][p] + crossing * between;
    } else {
        hops =
            2 * ((place.per_machine - 1) * nvlink_us[a][p] + whole_log2(place.machines) * between);
    }
    double latency = numbers.latency[p] * (base_us[a][p] + hops);
    // "Plateau effect of ring" (tuning.cc).
    if (choice == NcclChoice{NcclAlgorithm::ring, NcclProtocol::simple} && place.machines > 1 &&
        collective == NcclCollective::all_reduce &&
        bytes.raw() >= std::int64_t{64} * place.channels * place.ranks()) {
        latency *= place.generation == NcclGeneration::volta ? 1.9 : 1.4;
    }
    return latency;
}

// Bytes a nanosecond and so GB/s: of what an edge of the ring carries.
double ring_gb_per_s(const NcclPlace& place, const NcclNumbers& numbers, NcclProtocol protocol,
                     double inside, double between) {
    const std::size_t generation = index_of_generation(place);
    const double rate = std::min(inside, between);
    switch (protocol) {
        case NcclProtocol::ll: return std::min(rate / 2, ll_most[generation]);
        case NcclProtocol::ll128:
            return std::min(rate * numbers.ll128, place.channels * ll128_channel[generation]);
        case NcclProtocol::simple: break;
    }
    return rate;
}

// Of the buffer, GB/s; `crossings` is how often it crosses a machine's NICs each way.
double tree_gb_per_s(const NcclPlace& place, const NcclNumbers& numbers, NcclProtocol protocol,
                     double inside, double between, double crossings, Bytes bytes) {
    const std::size_t generation = index_of_generation(place);
    const double channels = place.channels;
    if (place.machines == 1) inside = std::min(inside, channels * tree_channel[generation] / 0.92);
    double rate = 0.92 * std::min(inside / 2, between / crossings);
    if (protocol == NcclProtocol::ll) rate = std::min(rate / 3.8, ll_most[generation]);
    if (protocol == NcclProtocol::ll128) {
        const double wire = place.machines == 1 ? 7.0 / 9 : numbers.ll128;
        rate = std::min(rate * wire, channels * ll128_channel[generation] / 2);
    }
    const std::int64_t blocks = bytes.raw() / 64;
    const std::int32_t power = blocks > 0 ? whole_log2(blocks) : 0;
    const auto& corrections = tree_correction[static_cast<std::size_t>(protocol)];
    if (static_cast<std::size_t>(power) < corrections.size()) {
        rate *= corrections[static_cast<std::size_t>(power)];
    }
    return rate;
}

double priced(const NcclPlace& place, const NcclNumbers& numbers, NcclChoice choice,
              double crossings, Bytes bytes, NcclCollective collective) {
    const double ranks = place.ranks();
    const double inside =
        numbers.inside * (place.relayed ? numbers.relay : 1) * place.inside.raw() / 1e9;
    const double between = numbers.between * place.between.raw() / 1e9;
    const double size = static_cast<double>(bytes.raw());
    double us = latency_us(place, numbers, choice, bytes, collective);
    switch (choice.algorithm) {
        case NcclAlgorithm::ring: {
            const double rate = ring_gb_per_s(place, numbers, choice.protocol, inside, between);
            us += size / 1e3 * passes_of(collective) * (ranks - 1) / ranks / rate;
            us += size / ranks * numbers.copy_s_per_byte * 1e6;
            break;
        }
        case NcclAlgorithm::tree:
            us += size / 1e3 /
                  tree_gb_per_s(place, numbers, choice.protocol, inside, between, crossings, bytes);
            break;
        case NcclAlgorithm::nvls:
            us += size / 1e3 * (ranks + 1) / ranks / (inside * numbers.nvls);
            break;
    }
    return us / 1e6;
}

constexpr NcclChoice all_choices[] = {
    {NcclAlgorithm::ring, NcclProtocol::ll},     {NcclAlgorithm::ring, NcclProtocol::ll128},
    {NcclAlgorithm::ring, NcclProtocol::simple}, {NcclAlgorithm::tree, NcclProtocol::ll},
    {NcclAlgorithm::tree, NcclProtocol::ll128},  {NcclAlgorithm::tree, NcclProtocol::simple},
    {NcclAlgorithm::nvls, NcclProtocol::simple},
};

NcclGeneration generation_of(std::string_view gpu) {
    if (gpu.starts_with("a100")) return NcclGeneration::ampere;
    if (gpu.starts_with("h")) return NcclGeneration::hopper;
    return NcclGeneration::volta;
}

// One of the numbers, how far it goes at first and the least it may be.
struct Dial {
    double* value;
    double step;
    double least;
    double most;
};

double squares(std::span<const NcclRow> rows, std::span<const NcclChoice> choices,
               const NcclNumbers& numbers) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double seconds = nccl_seconds(rows[i].place, numbers, choices[i], rows[i].bytes);
        const double error = exact::log(seconds / rows[i].seconds);
        sum += error * error;
    }
    return sum;
}

std::vector<Dial> dials_of(std::span<const NcclRow> rows, std::span<const NcclChoice> choices,
                           NcclNumbers& numbers) {
    const auto any = [&](const auto& holds) { return std::ranges::any_of(rows, holds); };
    std::vector<Dial> dials;
    if (any([](const NcclRow& row) { return row.place.per_machine > 1; })) {
        dials.push_back({&numbers.inside, 0.1, 0.01, 1});
    }
    if (any([](const NcclRow& row) { return row.place.relayed; })) {
        dials.push_back({&numbers.relay, 0.1, 0.01, 1});
    }
    if (!any([](const NcclRow& row) { return row.place.machines > 1; })) {
        dials.push_back({&numbers.copy_s_per_byte, 1e-13, 0, 1e-9});
    }
    if (any([](const NcclRow& row) { return row.place.machines > 1; })) {
        dials.push_back({&numbers.between, 0.1, 0.01, 1});
        dials.push_back({&numbers.network_latency, 0.5, 0.5, 50});
    }
    if (std::ranges::find(choices, NcclAlgorithm::nvls, &NcclChoice::algorithm) != choices.end()) {
        dials.push_back({&numbers.nvls, 0.1, 0.01, 1});
    }
    for (std::size_t p = 0; p < nccl_protocols; ++p) {
        const auto protocol = static_cast<NcclProtocol>(p);
        const auto same = [&](NcclChoice one) { return one.protocol == protocol; };
        if (!std::ranges::any_of(choices, same)) continue;
        dials.push_back({&numbers.latency[p], 0.5, 0.5, 50});
        if (protocol == NcclProtocol::ll128)
            dials.push_back({&numbers.ll128, 0.1, 0.1, 120.0 / 128});
    }
    return dials;
}

}  // namespace

std::string to_string(NcclChoice choice) {
    constexpr std::array<std::string_view, nccl_protocols> protocols = {"LL", "LL128", "Simple"};
    constexpr std::array<std::string_view, 3> algorithms = {"ring", "tree", "NVLS"};
    return fmt::format("{}/{}", algorithms[static_cast<std::size_t>(choice.algorithm)],
                       protocols[static_cast<std::size_t>(choice.protocol)]);
}

NcclPlace nccl_place(const sim::MachineSpec& machine, std::int32_t machines,
                     std::int32_t per_machine, BytesPerSecond nic, std::string_view where) {
    const auto gpus = static_cast<std::int32_t>(machine.gpus);
    if (machines < 1 || per_machine < 1 || per_machine > gpus ||
        std::int64_t{machines} * per_machine < 2 || machines > (1 << 20)) {
        throw InputError(where, "",
                         fmt::format("expected two or more ranks, at most {} on each {}, found {} "
                                     "on each of {}",
                                     gpus, machine.name, per_machine, machines));
    }
    NcclPlace place;
    place.machines = machines;
    place.per_machine = per_machine;
    place.generation = generation_of(machine.gpu);
    place.inside = BytesPerSecond::max();
    place.between = BytesPerSecond::max();
    constexpr std::int32_t channels_most = 24;
    if (per_machine > 1) {
        const sim::Topology topology = sim::build_cluster(machine.name, 1);
        std::vector<sim::DeviceId> first = topology.workers();
        first.resize(static_cast<std::size_t>(per_machine));
        const sim::RingPlan rings = find_rings(topology, first);
        place.inside = rings.bandwidth;
        place.relayed = rings.kind == sim::RingKind::relayed;
        place.nvls = machines == 1 && machine.mesh == sim::NvlinkMesh::nvswitch &&
                     place.generation == NcclGeneration::hopper;
        // Each ring twice (src/graph/connect.cc).
        place.channels = std::min(channels_most, 2 * static_cast<std::int32_t>(rings.rings.size()));
    }
    if (machines > 1) {
        const auto nics = static_cast<std::int32_t>(machine.nics.count);
        const std::int32_t used = std::max(1, nics * per_machine / gpus);
        const double rate = nic > BytesPerSecond{} ? nic.raw() : machine.nics.gbit_per_s * 1e9 / 8;
        place.between = BytesPerSecond::of(used * rate);
        place.channels = std::max(place.channels, 2 * used);
    }
    return place;
}

NcclNumbers nccl_own_numbers(NcclGeneration generation) {
    NcclNumbers numbers;
    numbers.inside = (generation == NcclGeneration::hopper ? 20.6 : 20.0) / 25;
    numbers.between = 12 / 12.5;
    return numbers;
}

double nccl_seconds(const NcclPlace& place, const NcclNumbers& numbers, NcclChoice choice,
                    Bytes bytes, NcclCollective collective) {
    const double machines = place.machines;
    return priced(place, numbers, choice, 2 * (machines - 1) / machines, bytes, collective);
}

double nccl_own_seconds(const NcclPlace& place, NcclChoice choice, Bytes bytes,
                        NcclCollective collective) {
    return priced(place, nccl_own_numbers(place.generation), choice, 2, bytes, collective);
}

NcclChoice nccl_choice(const NcclPlace& place, Bytes bytes, NcclCollective collective) {
    std::span<const NcclChoice> possible(all_choices);
    if (!place.nvls) possible = possible.first(possible.size() - 1);
    if (collective != NcclCollective::all_reduce) possible = possible.first(nccl_protocols);
    return *std::ranges::min_element(possible, {}, [&](NcclChoice choice) {
        return nccl_own_seconds(place, choice, bytes, collective);
    });
}

NcclNumbers fit_nccl_numbers(std::span<const NcclRow> rows) {
    INVARIANT(!rows.empty());
    NcclNumbers numbers = nccl_own_numbers(rows.front().place.generation);
    std::vector<NcclChoice> choices;
    for (const NcclRow& row : rows) {
        INVARIANT(row.seconds > 0);
        choices.push_back(nccl_choice(row.place, row.bytes));
    }
    std::vector<Dial> dials = dials_of(rows, choices, numbers);
    double least = squares(rows, choices, numbers);
    constexpr int rounds_max = 2000;
    constexpr double smallest = 1e-5;  // of the first step
    double scale = 1;
    for (int round = 0; round < rounds_max && scale > smallest; ++round) {
        bool better = false;
        for (const Dial& dial : dials) {
            for (const double way : {1.0, -1.0}) {
                const double before = *dial.value;
                // A latency of hundreds of times NCCL's walks in steps of its own size.
                const double step = std::max(dial.step, dial.step * before) * scale * way;
                *dial.value = std::clamp(before + step, dial.least, dial.most);
                const double now = squares(rows, choices, numbers);
                if (now < least) {
                    least = now;
                    better = true;
                    break;
                }
                *dial.value = before;
            }
        }
        if (!better) scale /= 2;
    }
    return numbers;
}

}  // namespace ukemi::studies
