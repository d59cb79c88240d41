// simgrid_flows.cpp — the reference scenarios in SimGrid, to be run beside ours.
//
//     simgrid_flows dag|actors SCENARIO HOSTS
//     simgrid_flows dag random SEED
//
// dag: every transfer is a communication that starts when what it waits for is over, from
// SimGrid's completion signal; actors: rings only, one actor a rank, what a user of s4u writes.
// Prints "simulated_s processor_s", of the simulation alone. SimGrid is set to plain max-min
// sharing (CM02 without its TCP window and reverse traffic) and to solve everything anew: its
// default, selective update, misses links when a host starts two flows at once (3.32).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/network/transfer_graph.hpp"
#include "tests/support/reference_scenarios.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::sim;
using namespace ukemi::test;
namespace s4u = simgrid::s4u;

std::vector<s4u::Host*> hosts;
double end_s = 0;
constexpr double unbounded = 1e15;  // bytes a second

// A cable with both directions.
const s4u::Link* cable(s4u::NetZone* zone, const std::string& name, const LinkRate& link) {
    return zone->create_split_duplex_link(name, link.bandwidth.raw())
        ->set_latency(to_seconds(link.latency))
        ->seal();
}

void add_host(s4u::NetZone* zone, std::int32_t number, const LinkRate& link) {
    s4u::Host* host = zone->create_host("host" + std::to_string(number), 1e9);
    const s4u::Link* up = cable(zone, "cable" + std::to_string(number), link);
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{up, s4u::LinkInRoute::Direction::UP}}, true);
    hosts[static_cast<std::size_t>(number)] = host;
}

void build_platform(const ReferenceTopology& topology) {
    const std::vector<LinkRate> links = topology.links();
    hosts.resize(static_cast<std::size_t>(topology.hosts));
    s4u::NetZone* root = s4u::create_star_zone("root");
    const auto of_host = [&](std::int32_t i) { return links[static_cast<std::size_t>(2 * i)]; };
    const std::int32_t size = topology.hosts_per_group;
    for (std::int32_t i = 0; size == 0 && i < topology.hosts; ++i) add_host(root, i, of_host(i));
    for (std::int32_t group = 0; size > 0 && group < topology.hosts / size; ++group) {
        s4u::NetZone* zone = s4u::create_star_zone("group" + std::to_string(group));
        zone->set_parent(root);
        for (std::int32_t i = group * size; i < (group + 1) * size; ++i) {
            add_host(zone, i, of_host(i));
        }
        auto* router = zone->create_router("router" + std::to_string(group));
        zone->seal();
        const s4u::Link* up = cable(root, "up" + std::to_string(group), topology.group);
        root->add_route(zone->get_netpoint(), nullptr, router, nullptr,
                        {{up, s4u::LinkInRoute::Direction::UP}}, true);
    }
    root->seal();
}

// What links carry that say so when SimGrid asks.
std::map<std::string, double> asked_rates;

// Group links only, as the scenarios change no others. SimGrid holds a running communication to the
// least bandwidth that the links of its route had when it started, so that one through a link that
// gets faster would not see it; a link whose rate is asked for at every solve has no such bound.
void plan_changes(const ReferenceScenario& scenario, bool asked) {
    for (const LinkChange& change : scenario.changes) {
        const auto index =
            static_cast<std::int32_t>(index_of_link(change.link)) - 2 * scenario.topology.hosts;
        const std::string name =
            "up" + std::to_string(index / 2) + (index % 2 == 0 ? "_UP" : "_DOWN");
        s4u::Link* link = s4u::Link::by_name(name);
        if (asked && asked_rates.emplace(name, scenario.topology.group.bandwidth.raw()).second) {
            const double& rate = asked_rates[name];
            link->set_sharing_policy(s4u::Link::SharingPolicy::NONLINEAR,
                                     [&rate](double, int) { return rate; });
            link->set_bandwidth(unbounded);
        }
        s4u::Actor::create("change", hosts[0], [change, name, link, asked] {
            s4u::this_actor::sleep_until(to_seconds(change.at.since_start()));
            if (asked) asked_rates[name] = change.bandwidth.raw();
            link->set_bandwidth(asked ? unbounded : change.bandwidth.raw());
        });
    }
}

// One collective as communications that start each other.
struct DagJob {
    const ReferenceJob* job;
    std::unique_ptr<TransferGraph> graph;
    std::vector<std::uint32_t> waits;
    std::vector<s4u::CommPtr> running;  // a communication must be kept until it is over
};
std::vector<DagJob> jobs;
std::vector<s4u::CommPtr> finished;

void follow(std::size_t number, std::uint32_t node);

void begin(std::size_t number, std::uint32_t node) {
    DagJob& dag = jobs[number];
    const TransferGraph::Node& what = dag.graph->node(node);
    if (what.edge == TransferGraph::join) return follow(number, node);
    const TransferGraph::Edge& edge = dag.graph->edges()[what.edge];
    const auto host = [&](std::int32_t rank) {
        const std::int32_t place = dag.job->host_of_rank[static_cast<std::size_t>(rank)];
        return hosts[static_cast<std::size_t>(place)];
    };
    const kernels::ChunkRange bytes =
        kernels::chunk_range(static_cast<std::size_t>(dag.job->bytes.raw()), dag.graph->chunks(),
                             what.first_chunk, what.chunk_count);
    auto comm = s4u::Comm::sendto_init(host(edge.from), host(edge.to));
    comm->set_payload_size(bytes.end - bytes.begin);
    comm->set_data(reinterpret_cast<void*>(number << 32 | (node + 1)));
    comm->vetoable_start();
    dag.running[node] = std::move(comm);
}

void follow(std::size_t number, std::uint32_t node) {
    for (const std::uint32_t next : jobs[number].graph->successors(node)) {
        if (--jobs[number].waits[next] == 0) begin(number, next);
    }
}

void completed(const s4u::Activity& activity) {
    const auto* comm = dynamic_cast<const s4u::Comm*>(&activity);
    if (comm == nullptr) return;
    const auto tag = reinterpret_cast<std::uintptr_t>(comm->get_data<void>());
    if (tag == 0) return;
    const std::size_t number = tag >> 32;
    const auto node = static_cast<std::uint32_t>(tag) - 1;
    if (finished.size() > 4096) finished.clear();
    finished.push_back(std::move(jobs[number].running[node]));
    end_s = s4u::Engine::get_clock();
    follow(number, node);
}

void prepare_dag(const ReferenceScenario& scenario) {
    for (const ReferenceJob& job : scenario.jobs) {
        DagJob dag{&job, std::make_unique<TransferGraph>(job.schedule), {}, {}};
        dag.waits.assign(dag.graph->waits().begin(), dag.graph->waits().end());
        dag.running.resize(dag.waits.size());
        jobs.push_back(std::move(dag));
    }
    finished.reserve(5000);
    s4u::Activity::on_completion_cb(completed);
}

void start_dag(std::size_t number) {
    const auto waits = jobs[number].graph->waits();
    for (std::uint32_t node = 0; node < waits.size(); ++node) {
        if (waits[node] == 0) begin(number, node);
    }
}

void run_dag(const s4u::Engine& engine) {
    for (std::size_t number = 0; number < jobs.size(); ++number) {
        const double start = to_seconds(jobs[number].job->start.since_start());
        if (start > 0) {
            simgrid::kernel::timer::Timer::set(start, [number] { start_dag(number); });
        } else {
            start_dag(number);
        }
    }
    engine.run();
}

// What one rank of a ring does.
void ring_rank(std::string out_name, std::string in_name, double start, int steps,
               std::uint64_t chunk) {
    s4u::Mailbox* out = s4u::Mailbox::by_name(out_name);
    s4u::Mailbox* in = s4u::Mailbox::by_name(in_name);
    in->set_receiver(s4u::Actor::self());  // a send starts at once, whatever the receiver does
    s4u::this_actor::yield();
    if (start > 0) s4u::this_actor::sleep_until(start);
    static int token;
    for (int step = 0; step < steps; ++step) {
        const s4u::CommPtr sent = out->put_async(&token, chunk);
        in->get<int>();
        sent->wait();
    }
    end_s = s4u::Engine::get_clock();
}

bool prepare_actors(const ReferenceScenario& scenario) {
    for (std::size_t number = 0; number < scenario.jobs.size(); ++number) {
        const ReferenceJob& job = scenario.jobs[number];
        if (job.schedule.name != "ring") return false;
        const auto ranks = static_cast<std::size_t>(job.schedule.ranks);
        const auto mailbox = [&](std::size_t rank) {
            return std::to_string(number) + "/" + std::to_string(rank % ranks);
        };
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            s4u::Actor::create("rank", hosts[static_cast<std::size_t>(job.host_of_rank[rank])],
                               ring_rank, mailbox(rank + 1), mailbox(rank),
                               to_seconds(job.start.since_start()), static_cast<int>(2 * ranks - 2),
                               static_cast<std::uint64_t>(job.bytes.raw()) / ranks);
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    s4u::Engine engine(&argc, argv);
    if (argc != 4) return 2;
    for (const char* setting :
         {"network/model:CM02", "network/TCP-gamma:1e30", "network/crosstraffic:0",
          "surf/precision:1e-12", "network/optim:Full", "network/maxmin-selective-update:no"}) {
        s4u::Engine::set_config(setting);
    }
    const bool actors = std::strcmp(argv[1], "actors") == 0;
    const bool random = std::strcmp(argv[2], "random") == 0;
    const ReferenceScenario scenario =
        random ? random_scenario(std::strtoull(argv[3], nullptr, 10), true)
               : reference_scenario(argv[2], std::atoi(argv[3]));
    build_platform(scenario.topology);
    engine.seal_platform();
    plan_changes(scenario, random);
    if (actors && !prepare_actors(scenario)) return 2;
    if (!actors) prepare_dag(scenario);
    const double begin = processor_s();
    if (actors) {
        engine.run();
    } else {
        run_dag(engine);
    }
    const double spent_s = processor_s() - begin;
    std::printf("%.9f %.9f\n", end_s, spent_s);
    return 0;
}
