// reference_scenarios.cpp — the clusters, who talks on them, and how to play them.
#include "tests/support/reference_scenarios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "sim/network/collective_runs.hpp"
#include "studies/schedules/schedules.hpp"
#include "tests/support/whole_hops.hpp"

namespace ukemi::test {
namespace {

constexpr double host_bandwidth = 12.5e9;
constexpr std::array<std::string_view, 17> names = {"star-ring",
                                                    "tree-ring",
                                                    "tree-ring-strided",
                                                    "tree-2rings",
                                                    "tree-2rings-strided",
                                                    "tree-2rings-late",
                                                    "tree-2rings-samehosts",
                                                    "tree-ring-degrade",
                                                    "star-hd",
                                                    "tree-hd",
                                                    "star-dbtree",
                                                    "tree-dbtree",
                                                    "star-ps",
                                                    "dgx-ring",
                                                    "dgx-hier",
                                                    "rtt-demo",
                                                    "selective-demo"};

using Ranks = std::vector<std::int32_t>;

Ranks contiguous(std::int32_t n) {
    Ranks ranks(static_cast<std::size_t>(n));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

// Hosts `begin` to `end` of each group: group by group, or one of each group in turn.
Ranks part_of_groups(std::int32_t n, std::int32_t per_group, std::int32_t begin, std::int32_t end,
                     bool strided) {
    Ranks ranks;
    const std::int32_t groups = n / per_group;
    const std::int32_t count = end - begin;
    for (std::int32_t i = 0; i < groups * count; ++i) {
        const std::int32_t group = strided ? i % groups : i / count;
        const std::int32_t place = strided ? i / groups : i % count;
        ranks.push_back(group * per_group + begin + place);
    }
    return ranks;
}

std::int32_t leaf_size(std::int32_t n) { return n == 8 ? 4 : n == 64 ? 8 : n == 256 ? 16 : 32; }

ReferenceTopology star(std::int32_t n) {
    return {n, 0, {BytesPerSecond::of(host_bandwidth), nanoseconds(1000)}, {}};
}

ReferenceTopology tree(std::int32_t n, Duration up_latency) {
    ReferenceTopology topology = star(n);
    topology.hosts_per_group = leaf_size(n);
    topology.group = {BytesPerSecond::of(leaf_size(n) * host_bandwidth / 4), up_latency};
    return topology;
}

ReferenceTopology dgx(std::int32_t n) {
    return {n,
            8,
            {BytesPerSecond::of(150e9), nanoseconds(500)},
            {BytesPerSecond::of(12.5e9), nanoseconds(1000)}};
}

ReferenceJob job(kernels::Schedule schedule, Ranks hosts) {
    return {std::move(schedule), std::move(hosts), Bytes::of(reference_bytes), {}};
}

ReferenceJob ring(Ranks hosts) {
    const auto count = static_cast<std::int32_t>(hosts.size());
    return job(kernels::all_reduce_schedule(policies::Collective::ring, count), std::move(hosts));
}

ReferenceJob one_flow(std::int32_t from, std::int32_t to, std::int64_t size, Instant start) {
    kernels::Schedule schedule{"flow", 2, 1, {{0, 1, 0, 1, 0, kernels::TransferKind::copy}}};
    return {std::move(schedule), {from, to}, Bytes::of(size), start};
}

void add_rings_on_tree(std::string_view name, std::int32_t n, ReferenceScenario& scenario) {
    const std::int32_t per_group = leaf_size(n);
    const std::int32_t half = per_group / 2;
    scenario.topology = tree(n, name == "tree-2rings-samehosts" ? Duration{} : nanoseconds(1000));
    const auto strided = [&](std::int32_t begin, std::int32_t end) {
        scenario.jobs.push_back(ring(part_of_groups(n, per_group, begin, end, true)));
    };
    if (name == "tree-ring") {
        scenario.jobs.push_back(ring(contiguous(n)));
    } else if (name == "tree-ring-strided" || name == "tree-ring-degrade") {
        strided(0, per_group);
    } else if (name == "tree-2rings-samehosts") {
        scenario.jobs.push_back(ring(contiguous(n)));
        strided(0, per_group);
    } else if (name == "tree-2rings-strided") {
        strided(0, half);
        strided(half, per_group);
    } else {
        scenario.jobs.push_back(ring(part_of_groups(n, per_group, 0, half, false)));
        strided(half, per_group);
    }
    if (name == "tree-2rings-late") scenario.jobs[1].start = Instant::at(milliseconds(5));
    if (name == "tree-ring-degrade") {
        const double whole = scenario.topology.group.bandwidth.raw();
        for (const auto& [at, bandwidth] : {std::pair(20, whole / 2), std::pair(40, whole)}) {
            for (const std::int32_t link : {2 * n, 2 * n + 1}) {
                scenario.changes.push_back({Instant::at(milliseconds(at)),
                                            static_cast<sim::LinkId>(link),
                                            BytesPerSecond::of(bandwidth)});
            }
        }
    }
}

void add_demo(std::string_view name, ReferenceScenario& scenario) {
    if (name == "rtt-demo") {
        scenario.topology = star(3);  // and host 1's links take 3 µs: see links()
        scenario.jobs = {one_flow(0, 2, reference_bytes, {}), one_flow(1, 2, reference_bytes, {})};
        return;
    }
    const Instant later = Instant::at(nanoseconds(500'000));
    scenario.topology = star(4);
    scenario.jobs = {one_flow(2, 3, 12'500'000, {}), one_flow(0, 1, 6'250'000, later),
                     one_flow(0, 3, 6'250'000, later)};
}

void start_job(sim::CollectiveRuns& runs, const ReferenceTopology& topology,
               const ReferenceJob& job, Fidelity fidelity) {
    std::vector<sim::LinkId> links;
    const sim::Router router = [&](std::int32_t from, std::int32_t to) {
        links = topology.route(job.host_of_rank[static_cast<std::size_t>(from)],
                               job.host_of_rank[static_cast<std::size_t>(to)]);
        return whole_hops(links);
    };
    const bool steps = fidelity == Fidelity::steps;
    if (steps && job.schedule.name == "ring") {
        runs.start(runs.plan_of(sim::phases_of(job.schedule), router), job.bytes, job.start,
                   sim::RingPlay::exact);
        return;
    }
    if (fidelity != Fidelity::exact && !steps) {
        const sim::RingEdges edges =
            fidelity == Fidelity::fluid ? sim::RingEdges::each : sim::RingEdges::coupled;
        runs.start(runs.plan_of(sim::phases_of(job.schedule), router, edges), job.bytes, job.start);
        return;
    }
    const auto graph = std::make_shared<const sim::TransferGraph>(job.schedule);
    const auto routes =
        std::make_shared<const std::vector<sim::RouteId>>(runs.routes_of(*graph, router));
    runs.start(graph, routes, job.bytes, job.start);
}

ReferenceJob random_job(RandomStream& random, std::int32_t hosts) {
    using policies::Collective;
    constexpr std::array algorithms = {Collective::ring,        Collective::halving_doubling,
                                       Collective::binary_tree, Collective::binary_tree_star,
                                       Collective::star,        Collective::clique};
    Ranks ranks = contiguous(hosts);
    for (std::size_t i = ranks.size() - 1; i > 0; --i) {
        const auto other = random.integer(0, static_cast<std::int64_t>(i));
        std::swap(ranks[i], ranks[static_cast<std::size_t>(other)]);
    }
    ranks.resize(static_cast<std::size_t>(random.integer(2, hosts)));
    const auto count = static_cast<std::int32_t>(ranks.size());
    const auto pick = static_cast<std::size_t>(random.integer(0, algorithms.size()));
    const auto chunks = static_cast<std::int32_t>(random.integer(1, 6));
    ReferenceJob made =
        job(pick == algorithms.size() ? kernels::double_binary_tree_schedule(count, chunks)
                                      : kernels::all_reduce_schedule(algorithms[pick], count),
            std::move(ranks));
    made.bytes = Bytes::of(count * random.integer(20'000, 400'000));  // rings can cut it evenly
    if (random.chance(0.5)) made.start = Instant::at(nanoseconds(random.integer(1, 500'000)));
    return made;
}

}  // namespace

double processor_s() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::span<const std::string_view> reference_scenario_names() { return names; }

std::vector<sim::LinkRate> ReferenceTopology::links() const {
    std::vector<sim::LinkRate> all(static_cast<std::size_t>(2 * hosts), host);
    if (hosts == 3) all[2].latency = all[3].latency = nanoseconds(3000);  // rtt-demo
    if (hosts_per_group > 0) {
        all.insert(all.end(), static_cast<std::size_t>(2 * (hosts / hosts_per_group)), group);
    }
    return all;
}

std::vector<sim::LinkId> ReferenceTopology::route(std::int32_t from, std::int32_t to) const {
    std::vector<sim::LinkId> links;
    const auto add = [&](std::int32_t link) { links.push_back(static_cast<sim::LinkId>(link)); };
    add(2 * from);
    if (hosts_per_group > 0 && from / hosts_per_group != to / hosts_per_group) {
        add(2 * hosts + 2 * (from / hosts_per_group));
        add(2 * hosts + 2 * (to / hosts_per_group) + 1);
    }
    add(2 * to + 1);
    return links;
}

ReferenceScenario reference_scenario(std::string_view name, std::int32_t n) {
    ReferenceScenario scenario;
    if (name.ends_with("-demo")) {
        add_demo(name, scenario);
    } else if (name.starts_with("tree-") && name.find("ring") != std::string_view::npos) {
        add_rings_on_tree(name, n, scenario);
    } else if (name == "star-ring" || name == "dgx-ring") {
        scenario.topology = name == "star-ring" ? star(n) : dgx(n);
        scenario.jobs.push_back(ring(contiguous(n)));
    } else if (name == "star-hd" || name == "tree-hd") {
        scenario.topology = name == "star-hd" ? star(n) : tree(n, nanoseconds(1000));
        scenario.jobs.push_back(
            job(kernels::all_reduce_schedule(policies::Collective::halving_doubling, n),
                contiguous(n)));
    } else if (name == "star-dbtree" || name == "tree-dbtree") {
        scenario.topology = name == "star-dbtree" ? star(n) : tree(n, {});
        scenario.jobs.push_back(job(kernels::double_binary_tree_schedule(n, 32), contiguous(n)));
    } else if (name == "star-ps") {
        scenario.topology = star(n + n / 4);
        scenario.jobs.push_back(
            job(studies::parameter_server_schedule(n, n / 4), contiguous(n + n / 4)));
    } else if (name == "dgx-hier") {
        const std::array axes = {8, n / 8};
        scenario.topology = dgx(n);
        scenario.jobs.push_back(job(kernels::multi_ring_schedule(axes), contiguous(n)));
    }
    if (scenario.jobs.empty() || std::find(names.begin(), names.end(), name) == names.end()) {
        throw InputError("network", "",
                         fmt::format("there is no reference scenario \"{}\"{}", name,
                                     did_you_mean(name, names)));
    }
    return scenario;
}

ReferenceScenario random_scenario(std::uint64_t seed, bool equal_latencies) {
    RandomStream random(seed, "test/random_scenario");
    const bool few_values = random.chance(0.5);  // many ties
    const auto link = [&]() -> sim::LinkRate {
        const double rate =
            few_values ? static_cast<double>(random.integer(1, 4)) : 1 + 3 * random.uniform();
        const std::int64_t ns = few_values ? 500 * random.integer(0, 4) : random.integer(0, 3000);
        return {BytesPerSecond::of(1e9 * rate), nanoseconds(ns)};
    };
    ReferenceScenario scenario;
    ReferenceTopology& topology = scenario.topology;
    topology.host = link();
    topology.hosts = static_cast<std::int32_t>(random.integer(4, 12));
    if (random.chance(0.7)) {
        const auto groups = static_cast<std::int32_t>(random.integer(2, 5));
        topology.hosts_per_group = static_cast<std::int32_t>(random.integer(groups > 3 ? 1 : 2, 4));
        topology.hosts = groups * topology.hosts_per_group;
        topology.group = link();
        if (equal_latencies) topology.group.latency = {};
        for (std::int64_t i = random.integer(0, 5); i > 0; --i) {
            const double part = 0.25 * static_cast<double>(random.integer(1, 8));
            scenario.changes.push_back(
                {Instant::at(nanoseconds(random.integer(1, 4'000'000))),
                 static_cast<sim::LinkId>(2 * topology.hosts + random.integer(0, 2 * groups - 1)),
                 BytesPerSecond::of(part * topology.group.bandwidth.raw())});
        }
    }
    for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
        scenario.jobs.push_back(random_job(random, topology.hosts));
    }
    return scenario;
}

ReferenceResult run_reference(const ReferenceScenario& scenario, bool checked, Fidelity fidelity) {
    const double begin = processor_s();
    sim::FlowNetwork network;
    sim::CollectiveRuns runs(network);
    for (const sim::LinkRate& link : scenario.topology.links()) network.add_link(link);
    for (const LinkChange& change : scenario.changes) {
        network.plan_bandwidth(change.at, change.link, change.bandwidth);
    }
    for (const ReferenceJob& job : scenario.jobs) start_job(runs, scenario.topology, job, fidelity);
    ReferenceResult result;
    const double start = processor_s();
    result.build_s = start - begin;
    result.job_ends.resize(scenario.jobs.size());
    for (;;) {
        const auto event = runs.run_until(checked ? network.next_at() : Instant::never());
        if (checked && result.fault.empty()) result.fault = network.fault();
        if (!event && (!checked || network.next_at() == Instant::never())) break;
        if (!event || event->kind != sim::NetworkEvent::Kind::run_finished) continue;
        result.job_ends[event->number] = event->at;
    }
    result.run_s = processor_s() - start;
    result.flow_count = runs.flow_count();
    result.visit_count = network.visit_count();
    return result;
}

}  // namespace ukemi::test
