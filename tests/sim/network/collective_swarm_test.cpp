// collective_swarm_test.cpp — random collectives that share links which change, at both fidelities.
//
// Sizes, bandwidths and instants are from few values, so that many flows end at one tick. What must
// hold: rates are max-min fair at every event, whatever is not cancelled ends, and nothing ends
// before its busiest link could have carried it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "base/rng.hpp"
#include "sim/network/collective_runs.hpp"
#include "tests/support/whole_hops.hpp"
#include "tests/swarm_seeds.hpp"

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

constexpr double gigabyte_per_second = 1e9;

// Hosts on one switch: link 2i leads out of host i, 2i + 1 into it.
class BusySwitch {
public:
    explicit BusySwitch(std::uint64_t seed)
        : random_(seed, "test/collective_swarm"), runs_(network_) {
        hosts_ = static_cast<std::int32_t>(random_.integer(2, 9));
        const std::int64_t latency_ns = random_.chance(0.3) ? 0 : 100 * random_.integer(1, 30);
        const bool alike = random_.chance(0.5);
        for (std::int32_t i = 0; i < 2 * hosts_; ++i) {
            const std::int64_t more_ns = alike ? 0 : random_.integer(0, 3);
            network_.add_link({bandwidth(), nanoseconds(latency_ns + more_ns)});
        }
    }

    void play() {
        for (std::int64_t i = random_.integer(1, 6); i > 0; --i) start();
        for (std::int64_t i = random_.integer(0, 6); i > 0; --i) {
            network_.plan_bandwidth(
                Instant::at(milliseconds(random_.integer(0, 5))),
                static_cast<LinkId>(random_.integer(0, 2 * std::int64_t{hosts_} - 1)), bandwidth());
        }
        for (int event = 0; !begun_.empty(); ++event) {
            REQUIRE(event < 1'000'000);
            const auto next = runs_.run_until(network_.next_at());
            REQUIRE(network_.fault() == "");
            if (!next) {
                REQUIRE(network_.next_at() < Instant::never());
                continue;
            }
            if (next->kind != NetworkEvent::Kind::run_finished) continue;
            ended(*next);
        }
        REQUIRE(runs_.running_count() == 0);
    }
    std::int64_t finished() const { return finished_; }

private:
    struct Begun {
        RunId id{};
        Instant at;
        double least_s = 0;  // in which its busiest link can carry it
    };

    // One that is faster by so little than another that an edge cannot run ahead of it by a byte
    // moves with it, and ends with it.
    BytesPerSecond bandwidth() {
        const double little = random_.chance(0.3) ? 1e-4 * random_.uniform() : 0;
        return BytesPerSecond::of(gigabyte_per_second *
                                  (static_cast<double>(random_.integer(1, 3)) - little));
    }

    void ended(const NetworkEvent& event) {
        const auto found = begun_.find(event.number);
        if (found == begun_.end()) {  // it had ended when it was cancelled, at this very tick
            REQUIRE(cancelled_at_.at(event.number) == event.at);
            return;
        }
        CHECK(to_seconds(event.at - found->second.at) >= found->second.least_s * (1 - 1e-6) - 1e-9);
        begun_.erase(found);
        ++finished_;
        if (random_.chance(0.3) && finished_ < 12) start();  // at the tick of an end
        if (random_.chance(0.1) && !begun_.empty()) {
            runs_.cancel(begun_.begin()->second.id);
            cancelled_at_[begun_.begin()->first] = event.at;
            begun_.erase(begun_.begin());
        }
    }

    void start() {
        constexpr std::array algorithms = {Collective::ring,         Collective::ring,
                                           Collective::hierarchical, Collective::halving_doubling,
                                           Collective::binary_tree,  Collective::clique};
        const Collective algorithm = algorithms[static_cast<std::size_t>(
            random_.integer(0, static_cast<std::int64_t>(algorithms.size()) - 1))];
        const auto ranks = static_cast<std::int32_t>(random_.integer(2, hosts_));
        const std::int32_t per_host = ranks % 2 == 0 ? 2 : 1;
        const auto first = static_cast<std::int32_t>(random_.integer(0, hosts_ - 1));
        const Router router = [&](std::int32_t from, std::int32_t to) {
            links_ = {static_cast<LinkId>(2 * ((first + from) % hosts_)),
                      static_cast<LinkId>(2 * ((first + to) % hosts_) + 1)};
            return whole_hops(links_);
        };
        const std::int64_t size = 360 * random_.integer(0, 400) * (random_.chance(0.1) ? 97 : 1);
        const Instant at = random_.chance(0.5)
                               ? network_.now()
                               : network_.now() + nanoseconds(1000 * random_.integer(0, 60));
        const PhasedCollective phases = phased_all_reduce(algorithm, ranks, per_host);
        RunId id{};
        if (random_.chance(0.4)) {
            const auto graph = all_reduce_graph(algorithm, ranks, per_host);
            const auto routes =
                std::make_shared<const std::vector<RouteId>>(runs_.routes_of(*graph, router));
            id = runs_.start(graph, routes, bytes(size), at);
        } else {
            const auto edges = random_.chance(0.8) ? RingEdges::each : RingEdges::coupled;
            id = runs_.start(runs_.plan_of(phases, router, edges), bytes(size), at);
        }
        std::map<std::int32_t, double> sent;  // parts of the buffer, by rank
        for (const CollectivePhase& phase : phases.phases) {
            for (const TransferGraph::Edge& edge : phase.edges) {
                sent[edge.from] += phase.share * static_cast<double>(phase.rounds);
            }
        }
        double most = 0;
        for (const auto& [rank, parts] : sent) most = std::max(most, parts);
        begun_[static_cast<std::uint32_t>(id)] = {
            id, at, most * static_cast<double>(size) / (3 * gigabyte_per_second)};
    }

    RandomStream random_;
    FlowNetwork network_;
    CollectiveRuns runs_;
    std::int32_t hosts_ = 2;
    std::array<LinkId, 2> links_{};
    std::map<std::uint64_t, Begun> begun_;
    std::map<std::uint64_t, Instant> cancelled_at_;
    std::int64_t finished_ = 0;
};

}  // namespace

TEST_CASE("collective swarm: collectives share links that change, and all end",
          "[network][swarm][property]") {
    SwarmSeeds seeds("test_network [swarm]", 0, 4000);
    std::int64_t finished = 0;
    while (seeds.more()) {
        const std::uint64_t seed = seeds.now();
        CAPTURE(seed);
        BusySwitch hosts(seed);
        hosts.play();
        finished += hosts.finished();
    }
    fmt::print("collective swarm: {} networks, {} collectives finished\n", seeds.looked_at(),
               finished);
}
