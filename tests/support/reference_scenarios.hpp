// reference_scenarios.hpp — small clusters with known results: what checks and benchmarks of the
// network run.
//
// Hosts are joined by one switch (star), by leaf switches with four times fewer bytes upwards
// (tree), or are the GPUs of nodes with one NIC each (dgx). Every buffer is 100 MiB. The exact
// results of three independent solvers, equal to the nanosecond, come with them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/schedule.hpp"
#include "sim/network/flow_network.hpp"

namespace ukemi::test {

// Links: host i has 2i (out) and 2i + 1 (in); then group g has 2n + 2g (out) and 2n + 2g + 1 (in).
struct ReferenceTopology {
    std::int32_t hosts = 0;
    std::int32_t hosts_per_group = 0;  // 0: no groups
    sim::LinkRate host;
    sim::LinkRate group;

    std::vector<sim::LinkRate> links() const;
    std::vector<sim::LinkId> route(std::int32_t from, std::int32_t to) const;
};

struct ReferenceJob {
    kernels::Schedule schedule;
    std::vector<std::int32_t> host_of_rank;
    Bytes bytes;
    Instant start;
};

struct LinkChange {
    Instant at;
    sim::LinkId link{};
    BytesPerSecond bandwidth;
};

struct ReferenceScenario {
    ReferenceTopology topology;
    std::vector<ReferenceJob> jobs;
    std::vector<LinkChange> changes;
};

inline constexpr std::int64_t reference_bytes = 104'857'600;

// Of 8, 64, 256 or 1024 hosts (the demos have their own numbers); InputError for another name.
ReferenceScenario reference_scenario(std::string_view name, std::int32_t hosts);
std::span<const std::string_view> reference_scenario_names();

// A star, or groups of hosts behind links of their own that change, with one to three collectives
// of any kind, on some of the hosts in any order. `equal_latencies`: of all routes, as SimGrid
// gives flows with longer ones less.
ReferenceScenario random_scenario(std::uint64_t seed, bool equal_latencies = false);

struct ReferenceResult {
    std::vector<Instant> job_ends;
    std::uint64_t flow_count = 0;
    std::uint64_t visit_count = 0;
    double build_s = 0;  // graphs and routes; of processor time
    double run_s = 0;
    std::string fault;  // the first that the check of every nanosecond's rates found, if checked
};
// exact: every transfer is a flow. steps: exact, too, as simulated steps have it: a ring is played
// as far as it must. coupled: fluid, rings too.
enum class Fidelity : std::uint8_t { exact, steps, fluid, coupled };
double processor_s();  // of this process
ReferenceResult run_reference(const ReferenceScenario& scenario, bool checked,
                              Fidelity fidelity = Fidelity::exact);

}  // namespace ukemi::test
