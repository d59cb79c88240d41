// network_bench.cpp — the simulated network beside SimGrid, scenario by scenario, in one run.
//
//     bench_network [peer|large|fluid]
//
// peer: every reference scenario on 64 and 256 hosts, ours and SimGrid's in turn, five rounds; the
// ratio is the median of (SimGrid's time ÷ ours) of the same round, beside the least and the most.
// SimGrid's time is that of the faster of its two programs (see peers/simgrid_flows.cpp). Only the
// simulation is timed, not the building of graphs and platforms. Before a time is printed, the
// simulated times are compared. large: 1024 hosts, one round, SimGrid where asked with
// UKEMI_SLOW=1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/network/reference_scenarios.hpp"

namespace {

using namespace ukemi;

struct Timed {
    double simulated_s = 0;
    double wall_s = 0;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

Timed ours(const ReferenceScenario& scenario) {
    const ReferenceResult result = run_reference(scenario, false);
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
    const int read = std::fscanf(pipe, "%lf %lf", &timed.simulated_s, &timed.wall_s);
    if (pclose(pipe) != 0 || read != 2) return std::nullopt;
    return timed;
}

std::optional<Timed> simgrid(std::string_view name, int hosts) {
    std::optional<Timed> best = simgrid_program("dag", name, hosts);
    if (name.find("ring") == std::string_view::npos) return best;
    if (name.ends_with("samehosts") || name.ends_with("degrade")) return best;
    const auto actors = simgrid_program("actors", name, hosts);
    if (actors && (!best || actors->wall_s < best->wall_s)) best = actors;
    return best;
}
#else
std::optional<Timed> simgrid(std::string_view, int) { return std::nullopt; }
#endif

struct Row {
    std::vector<double> ours_s;
    std::vector<double> peer_s;
    std::vector<double> ratios;
    bool equal = true;
};

Row measured(std::string_view name, int hosts, int rounds, bool with_peer) {
    const ReferenceScenario scenario = reference_scenario(name, hosts);
    Row row;
    for (int round = 0; round < rounds; ++round) {
        const auto peer = with_peer ? simgrid(name, hosts) : std::nullopt;
        const Timed own = ours(scenario);
        row.ours_s.push_back(own.wall_s);
        if (!peer) continue;
        row.equal = row.equal && std::abs(peer->simulated_s - own.simulated_s) <= 2e-9;
        row.peer_s.push_back(peer->wall_s);
        row.ratios.push_back(peer->wall_s / own.wall_s);
    }
    return row;
}

bool is_demo(std::string_view name) { return name.ends_with("-demo"); }

void compare(const std::vector<int>& sizes, int rounds, bool with_peer) {
    fmt::print("| scenario | hosts | ours, ms | SimGrid, ms | ratio | least … most |\n");
    fmt::print("|---|---:|---:|---:|---:|---|\n");
    double log_sum = 0;
    int count = 0;
    double least = 1e300;
    for (const std::string_view name : reference_scenario_names()) {
        for (const int hosts : sizes) {
            if (is_demo(name)) continue;
            const Row row = measured(name, hosts, rounds, with_peer);
            fmt::print("| {} | {} | {:.3f} |", name, hosts, 1e3 * median(row.ours_s));
            if (row.ratios.empty()) {
                fmt::print(" | | |\n");
                continue;
            }
            const double ratio = median(row.ratios);
            const auto [low, high] = std::minmax_element(row.ratios.begin(), row.ratios.end());
            fmt::print(" {:.2f} | {:.1f} | {:.1f} … {:.1f}{} |\n", 1e3 * median(row.peer_s), ratio,
                       *low, *high, row.equal ? "" : ", OTHER SIMULATED TIME");
            std::fflush(stdout);
            log_sum += std::log(ratio);
            least = std::min(least, ratio);
            ++count;
        }
    }
    if (count == 0) return;
    fmt::print("\ngeometric mean {:.1f}, least {:.1f}, of {} rows\n", std::exp(log_sum / count),
               least, count);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "peer";
    if (what == "peer") compare({64, 256}, 5, true);
    if (what == "large") compare({1024}, 1, std::getenv("UKEMI_SLOW") != nullptr);
    return what == "peer" || what == "large" ? 0 : 2;
}
