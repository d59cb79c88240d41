// broadcast_test.cpp — a broadcast takes about as long as its bytes take to pass one edge, however
// many ranks there are.
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "sim/cluster/fabric.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi {
namespace {

struct Played {
    const sim::Topology& topology;
    bool nccl = false;
    sim::NetworkFidelity fidelity = sim::NetworkFidelity::automatic;
};

double takes_s(const Played& played, sim::ExchangeKind kind, std::int64_t size) {
    sim::StepJob job;
    job.name = "job";
    job.workers = played.topology.workers();
    job.compute.resize(job.workers.size());
    job.launch.overhead = {};
    job.nccl = played.nccl;
    job.nccl_ring_only = played.nccl;
    sim::WorkNode node;
    node.kind = sim::WorkKind::collective;
    node.exchange = kind;
    node.bytes = bytes(size);
    sim::Workload workload;
    workload.programs = {{node}};
    workload.program_of.assign(job.workers.size(), 0);
    workload.families.emplace_back(job.workers.size(), 0);
    job.workload = std::make_shared<const sim::Workload>(std::move(workload));
    sim::StepOptions options;
    options.network.fidelity = played.fidelity;
    const auto step = sim::run_steps(played.topology, std::span(&job, 1), {}, options)[0].steps[0];
    return to_seconds(step.end - step.begin);
}

}  // namespace

TEST_CASE("broadcast: down a chain, and behind its first chunk", "[broadcast]") {
    // Machines of one GPU at 10 Gbit/s: a chunk's time for each edge but one, the whole's over that
    // one, and the latency of all of them.
    constexpr std::int64_t size = 100'000'000;
    for (const std::uint32_t ranks : {2U, 3U, 8U, 40U}) {
        sim::FabricSpec fabric;
        fabric.latency = nanoseconds(20'000);
        const sim::Topology topology = sim::build_cluster("p3.2xlarge", ranks, fabric);
        const double edge_s = size / 1.25e9;
        const double filled = ranks > 2 ? 1.0 / 64 : 0;
        CAPTURE(ranks);
        for (const auto fidelity : {sim::NetworkFidelity::exact, sim::NetworkFidelity::fluid}) {
            const Played played{topology, false, fidelity};
            const double broadcast_s = takes_s(played, sim::ExchangeKind::broadcast, size);
            const double on_board_s = broadcast_s - edge_s * (1 + filled) - (ranks - 1) * 20e-6;
            CHECK(std::abs(on_board_s) < (ranks - 1) * 5e-6);
            CHECK(broadcast_s <= takes_s(played, sim::ExchangeKind::all_reduce, size) + 1e-6);
        }
        // Of a byte all edges' latencies are left.
        const double byte_s = takes_s({topology}, sim::ExchangeKind::broadcast, 1);
        CHECK(byte_s == Approx((ranks - 1) * 22e-6).epsilon(0.15));
    }
}

TEST_CASE("broadcast: as many chains as NVLink gives rings", "[broadcast]") {
    constexpr std::int64_t size = 1'000'000'000;
    for (const std::uint32_t machines : {1U, 4U}) {
        const sim::Topology h100 = sim::build_cluster("dgx_h100", machines);
        // 18 rings in 18 lanes of 25 GB/s a GPU; of eight NICs of 50 GB/s, some have three rings.
        const double edge_s = static_cast<double>(size) / (machines > 1 ? 300e9 : 450e9);
        CAPTURE(machines);
        for (const bool nccl : {false, true}) {
            CAPTURE(nccl);
            const Played played{h100, nccl};
            const double broadcast_s = takes_s(played, sim::ExchangeKind::broadcast, size);
            CHECK(broadcast_s >= (nccl ? size / 450e9 : edge_s));
            CHECK(broadcast_s <= takes_s(played, sim::ExchangeKind::all_reduce, size));
            if (!nccl) CHECK(broadcast_s <= 1.03 * edge_s);
            CHECK(takes_s(played, sim::ExchangeKind::broadcast, 8) <=
                  takes_s(played, sim::ExchangeKind::all_reduce, 8));
        }
        const Played nccl{h100, true};
        const auto ranks = static_cast<std::int64_t>(h100.workers().size());
        CHECK(takes_s(nccl, sim::ExchangeKind::broadcast, size * (ranks - 1)) ==
              takes_s(nccl, sim::ExchangeKind::all_gather, size));
    }
    // Rings of unlike orders, through direct NVLinks.
    const sim::Topology v100 = sim::build_cluster("dgx1_v100", 2);
    const double ring_s = takes_s({v100}, sim::ExchangeKind::all_reduce, size);
    const double chain_s = takes_s({v100}, sim::ExchangeKind::broadcast, size);
    CHECK(chain_s == Approx(ring_s * 16 / 30).epsilon(0.05));
}

}  // namespace ukemi
