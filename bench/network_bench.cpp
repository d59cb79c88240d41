// network_bench.cpp — the simulated network beside SimGrid, scenario by scenario, in one run.
//
//     bench_network [peer|random|large|fluid|fat_tree|families]
//
// peer: every reference scenario on 64 and 256 hosts, SimGrid's and ours in turn, five rounds; the
// ratio is the median of (SimGrid's time ÷ ours) of the same round, beside the least and the most.
// Ours twice: every transfer as a flow, and as simulated steps play it (rings with as few flows as
// can be). SimGrid's time is that of the faster of its two programs (see peers/simgrid_flows.cpp).
// Times are the processor's, of the simulation alone, not of building graphs and platforms. Before
// a time is printed, the simulated times are compared. random: ends of 600 random worlds (or as
// many as UKEMI_WORLDS says) beside SimGrid's. large: 1024 hosts, one round, SimGrid where asked
// with UKEMI_SLOW=1. families: how far steps are from every transfer of live workers' schedules in
// 200 random worlds of each of six families, as users get them and with the fluid fidelity.
#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/statistics.hpp"
#include "sim/network/collective_runs.hpp"
#include "tests/support/fidelity_worlds.hpp"
#include "tests/support/reference_scenarios.hpp"
#include "tests/support/whole_hops.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;
using namespace ukemi::sim;

struct Timed {
    double simulated_s = 0;
    double spent_s = 0;
};

Timed ours(const ReferenceScenario& scenario, Fidelity fidelity = Fidelity::exact) {
    const ReferenceResult result = run_reference(scenario, false, fidelity);
    Instant last;
    for (const Instant end : result.job_ends) last = std::max(last, end);
    return {to_seconds(last.since_start()), result.run_s};
}

#ifdef UKEMI_SIMGRID_PEER
std::optional<Timed> simgrid_program(const char* mode, std::string_view name, int hosts) {
    const std::string command =
        fmt::format("{} {} {} {} 2>/dev/null", UKEMI_SIMGRID_PEER, mode, name, hosts);
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return std::nullopt;
    Timed timed;
    const int read = std::fscanf(pipe, "%lf %lf", &timed.simulated_s, &timed.spent_s);
    if (pclose(pipe) != 0 || read != 2) return std::nullopt;
    return timed;
}

std::optional<Timed> simgrid(std::string_view name, int hosts) {
    std::optional<Timed> best = simgrid_program("dag", name, hosts);
    if (name.find("ring") == std::string_view::npos) return best;
    if (name.ends_with("samehosts") || name.ends_with("degrade")) return best;
    const auto actors = simgrid_program("actors", name, hosts);
    if (actors && (!best || actors->spent_s < best->spent_s)) best = actors;
    return best;
}
#else
std::optional<Timed> simgrid_program(const char*, std::string_view, int) { return std::nullopt; }
std::optional<Timed> simgrid(std::string_view, int) { return std::nullopt; }
#endif

struct Side {
    std::vector<double> spent_s;
    std::vector<double> ratios;
    bool equal = true;

    void add(const Timed& own, const std::optional<Timed>& peer) {
        spent_s.push_back(own.spent_s);
        if (!peer) return;
        equal = equal && std::abs(peer->simulated_s - own.simulated_s) <= 2e-9;
        ratios.push_back(peer->spent_s / own.spent_s);
    }
    std::string text() const {
        if (ratios.empty()) return fmt::format(" {:.3f} | |", 1e3 * median(spent_s));
        const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
        return fmt::format(" {:.3f} | {:.1f} ({:.1f} … {:.1f}){} |", 1e3 * median(spent_s),
                           median(ratios), *low, *high, equal ? "" : ", OTHER SIMULATED TIME");
    }
};

struct Row {
    std::vector<double> peer_s;
    Side flows;
    Side steps;
};

Row measured(std::string_view name, int hosts, int rounds) {
    const ReferenceScenario scenario = reference_scenario(name, hosts);
    Row row;
    for (int round = 0; round < rounds; ++round) {
        const auto peer = simgrid(name, hosts);
        row.flows.add(ours(scenario), peer);
        row.steps.add(ours(scenario, Fidelity::steps), peer);
        if (peer) row.peer_s.push_back(peer->spent_s);
    }
    return row;
}

// Geometric mean and least of the rows' ratios.
struct Ratios {
    double log_sum = 0;
    double least = 1e300;
    int count = 0;

    void add(const Side& side) {
        if (side.ratios.empty()) return;
        const double ratio = median(side.ratios);
        log_sum += std::log(ratio);
        least = std::min(least, ratio);
        ++count;
    }
    void print(const char* what) const {
        if (count == 0) return;
        fmt::print("{}: geometric mean {:.1f}, least {:.1f}, of {} rows\n", what,
                   std::exp(log_sum / count), least, count);
    }
};

bool is_demo(std::string_view name) { return name.ends_with("-demo"); }

// Exact results for 1024 hosts: a naive max-min solver, and SimGrid (full) where both ran.
constexpr std::pair<std::string_view, double> known_1024_s[] = {
    {"dgx-hier", 0.018645483},
    {"dgx-ring", 0.022898832},
    {"star-dbtree", 0.021040295},
    {"star-hd", 0.016800832},
    {"star-ps", 0.067112864},
    {"star-ring", 0.020852832},
    {"tree-2rings", 0.039669952},
    {"tree-2rings-late", 0.044164336},
    {"tree-2rings-samehosts", 0.073230432},
    {"tree-2rings-strided", 0.071065792},
    {"tree-dbtree", 0.021040295},
    {"tree-hd", 0.065579616},
    {"tree-ring", 0.024944832},
    {"tree-ring-degrade", 0.084651328},
    {"tree-ring-strided", 0.075227328},
};

void large(bool with_peer) {
    fmt::print("| scenario, 1024 hosts | ours, ms | off by, ns | SimGrid, ms | ratio |\n");
    fmt::print("|---|---:|---:|---:|---:|\n");
    for (const auto& [name, known_s] : known_1024_s) {
        const Timed own = ours(reference_scenario(name, 1024));
        fmt::print("| {} | {:.1f} | {:.1f} |", name, 1e3 * own.spent_s,
                   1e9 * std::abs(own.simulated_s - known_s));
        const auto peer = with_peer ? simgrid(name, 1024) : std::nullopt;
        if (peer) fmt::print(" {:.0f} | {:.1f}", 1e3 * peer->spent_s, peer->spent_s / own.spent_s);
        fmt::print("{}\n", peer ? " |" : " | |");
        std::fflush(stdout);
    }
}

void compare(const std::vector<int>& sizes, int rounds) {
    fmt::print(
        "| scenario | hosts | SimGrid, ms | flows, ms | ratio (least … most) | steps, ms | ratio "
        "(least … most) |\n|---|---:|---:|---:|---|---:|---|\n");
    Ratios flows;
    Ratios steps;
    for (const std::string_view name : reference_scenario_names()) {
        for (const int hosts : sizes) {
            if (is_demo(name)) continue;
            const Row row = measured(name, hosts, rounds);
            const std::string peer =
                row.peer_s.empty() ? "" : fmt::format("{:.2f}", 1e3 * median(row.peer_s));
            fmt::print("| {} | {} | {} |{}{}\n", name, hosts, peer, row.flows.text(),
                       row.steps.text());
            std::fflush(stdout);
            flows.add(row.flows);
            steps.add(row.steps);
        }
    }
    fmt::print("\n");
    flows.print("every transfer as a flow");
    steps.print("as simulated steps play it");
}

void random_worlds() {
    const char* given = std::getenv("UKEMI_WORLDS");
    const int worlds = given == nullptr ? 600 : std::atoi(given);
    double worst_ns = 0;
    int compared = 0;
    for (int seed = 1; seed <= worlds; ++seed) {
        const auto peer = simgrid_program("dag", "random", seed);
        if (!peer) continue;
        const ReferenceScenario scenario = random_scenario(static_cast<std::uint64_t>(seed), true);
        for (const Fidelity fidelity : {Fidelity::exact, Fidelity::steps}) {
            const double off_ns =
                1e9 * std::abs(ours(scenario, fidelity).simulated_s - peer->simulated_s);
            if (off_ns > 2) fmt::print("world {}: {:.1f} ns apart\n", seed, off_ns);
            worst_ns = std::max(worst_ns, off_ns);
        }
        ++compared;
    }
    fmt::print("{} random worlds beside SimGrid, at most {:.1f} ns apart\n", compared, worst_ns);
}

// Fat tree of switches with k ports (Al-Fares et al., SIGCOMM 2008): k pods of k/2 edge and k/2
// upper switches, k²/4 core switches, k³/4 hosts. A route's upper and core switches follow from the
// number of its destination, which spreads any permutation.
class FatTree {
public:
    FatTree(FlowNetwork& network, std::int32_t ports) : half_(ports / 2) {
        const std::int32_t hosts = ports * half_ * half_;
        for (std::int32_t i = 0; i < 6 * hosts; ++i) {
            network.add_link({gigabits_per_second(400), nanoseconds(500)});
        }
        hosts_ = hosts;
    }
    std::int32_t hosts() const { return hosts_; }

    // Links: from and to hosts, then edge and upper switches, then upper and core switches.
    std::span<const LinkId> route(std::int32_t from, std::int32_t to) {
        count_ = 0;
        const std::int32_t upper = to % half_;
        const std::int32_t core = to / half_ % half_;
        const std::int32_t edge_of_from = from / half_;
        const std::int32_t edge_of_to = to / half_;
        const std::int32_t pod_of_from = edge_of_from / half_;
        const std::int32_t pod_of_to = edge_of_to / half_;
        add(2 * from);
        if (edge_of_from != edge_of_to) add(2 * hosts_ + 2 * (edge_of_from * half_ + upper));
        if (pod_of_from != pod_of_to) {
            add(4 * hosts_ + 2 * ((pod_of_from * half_ + upper) * half_ + core));
            add(4 * hosts_ + 2 * ((pod_of_to * half_ + upper) * half_ + core) + 1);
        }
        if (edge_of_from != edge_of_to) add(2 * hosts_ + 2 * (edge_of_to * half_ + upper) + 1);
        add(2 * to + 1);
        return {links_.data(), count_};
    }

private:
    void add(std::int32_t link) { links_[count_++] = static_cast<LinkId>(link); }

    std::int32_t half_;
    std::int32_t hosts_ = 0;
    std::array<LinkId, 6> links_{};
    std::size_t count_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The median run time, and how far the last job's end is from exact at most.
struct FluidTimes {
    double run_ms = 0;
    double off = 0;
};

FluidTimes fluid_times(const ReferenceScenario& scenario, const ReferenceResult& exact,
                       Fidelity fidelity) {
    std::vector<double> run_ms;
    FluidTimes times;
    for (int round = 0; round < 5; ++round) {
        const ReferenceResult fluid = run_reference(scenario, false, fidelity);
        run_ms.push_back(1e3 * fluid.run_s);
        for (std::size_t job = 0; job < exact.job_ends.size(); ++job) {
            const double ratio = to_seconds(fluid.job_ends[job].since_start()) /
                                 to_seconds(exact.job_ends[job].since_start());
            times.off = std::max(times.off, std::abs(ratio - 1));
        }
    }
    times.run_ms = median(run_ms);
    return times;
}

void fluid_beside_exact() {
    fmt::print(
        "| scenario, 1024 hosts | exact, ms | fluid, ms | off by | coupled, ms | off by |\n");
    fmt::print("|---|---:|---:|---:|---:|---:|\n");
    for (const std::string_view name : reference_scenario_names()) {
        if (is_demo(name) || name.ends_with("dbtree")) continue;
        const ReferenceScenario scenario = reference_scenario(name, 1024);
        const ReferenceResult exact = run_reference(scenario, false);
        const FluidTimes fluid = fluid_times(scenario, exact, Fidelity::fluid);
        const FluidTimes coupled = fluid_times(scenario, exact, Fidelity::coupled);
        fmt::print("| {} | {:.1f} | {:.3f} | {:.4f} % | {:.3f} | {:.4f} % |\n", name,
                   1e3 * exact.run_s, fluid.run_ms, 100 * fluid.off, coupled.run_ms,
                   100 * coupled.off);
        std::fflush(stdout);
    }
}

void fluid_in_fat_tree() {
    fmt::print("\n| fat tree | GPUs | links, s | placing it, s | run, s | simulated, s |\n");
    fmt::print("|---|---:|---:|---:|---:|---:|\n");
    const auto run = [](const char* title, RingEdges ring_edges, auto collective_of) {
        auto begin = std::chrono::steady_clock::now();
        FlowNetwork network;
        FatTree tree(network, 74);
        const double links_s = seconds_since(begin);
        CollectiveRuns runs(network);
        begin = std::chrono::steady_clock::now();
        const PhasedCollective collective = collective_of(tree.hosts());
        const auto plan = runs.plan_of(
            collective,
            [&](std::int32_t from, std::int32_t to) { return whole_hops(tree.route(from, to)); },
            ring_edges);
        const double place_s = seconds_since(begin);
        begin = std::chrono::steady_clock::now();
        runs.start(plan, Bytes::of(1 << 30), Instant());
        const auto event = runs.run_until(Instant::never());
        const double run_s = seconds_since(begin);
        fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.3f} | {:.4f} |\n", title, collective.ranks,
                   links_s, place_s, run_s, to_seconds(event->at.since_start()));
        std::fflush(stdout);
    };
    const auto ring = [](std::int32_t hosts) { return phased_all_reduce(Collective::ring, hosts); };
    const auto rings = [](std::int32_t hosts) {
        return phased_all_reduce(Collective::hierarchical, hosts, 37);
    };
    run("ring", RingEdges::each, ring);
    run("ring, coupled", RingEdges::coupled, ring);
    run("rings of 37, then across", RingEdges::each, rings);
    run("rings of 37, then across, coupled", RingEdges::coupled, rings);
    run("halving-doubling", RingEdges::coupled,
        [](std::int32_t) { return phased_all_reduce(Collective::halving_doubling, 65'536); });
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("\nmost memory: {:.0f} MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

void families() {
    constexpr std::uint64_t worlds = 200;
    const auto percent = [](std::vector<double> off) {
        std::ranges::sort(off);
        double sum = 0;
        for (const double one : off) sum += one;
        return fmt::format("{:.4f} | {:.4f} | {:.4f}", 100 * sum / static_cast<double>(off.size()),
                           100 * off[off.size() * 9 / 10], 100 * off.back());
    };
    fmt::print("| off by, % | automatic: mean | p90 | worst | fluid: mean | p90 | worst |\n");
    fmt::print("|---|---:|---:|---:|---:|---:|---:|\n");
    for (std::size_t family = 0; family < fidelity_families.size(); ++family) {
        std::vector<double> automatic;
        std::vector<double> fluid;
        for (std::uint64_t seed = 1000; seed < 1000 + worlds; ++seed) {
            const FidelityWorld world = fidelity_world(family, seed);
            const std::vector<Instant> schedules = ends_of_schedules(world);
            const auto off = [&](NetworkFidelity fidelity) {
                return furthest_off(world, schedules, ends_of_steps(world, fidelity));
            };
            automatic.push_back(off(NetworkFidelity::automatic));
            fluid.push_back(off(NetworkFidelity::fluid));
        }
        fmt::print("| {} | {} | {} |\n", fidelity_families[family], percent(automatic),
                   percent(fluid));
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "peer";
    if (what == "peer") compare({64, 256}, 5);
    if (what == "large") large(std::getenv("UKEMI_SLOW") != nullptr);
    if (what == "fluid") fluid_beside_exact();
    if (what == "fluid" || what == "fat_tree") fluid_in_fat_tree();
    if (what == "families") families();
    if (what == "random") random_worlds();
    constexpr std::array known = {"peer", "random", "large", "fluid", "fat_tree", "families"};
    return std::ranges::find(known, what) != known.end() ? 0 : 2;
}
