// transfer_graph_test.cpp — what a transfer waits for.
#include "sim/network/transfer_graph.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "base/input_error.hpp"
#include "sim/network/phases.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace ukemi::sim;

namespace {

// All transfers that must be over before `node`, joins resolved.
std::set<std::size_t> waited_for(const TransferGraph& graph, std::size_t node) {
    std::set<std::size_t> found;
    for (std::size_t before = 0; before < node; ++before) {
        for (const std::uint32_t after : graph.successors(before)) {
            if (after != node) continue;
            if (graph.node(before).edge == TransferGraph::join) {
                found.merge(waited_for(graph, before));
            } else {
                found.insert(before);
            }
        }
    }
    return found;
}

}  // namespace

TEST_CASE("transfer graph: a ring's transfer waits for the one sent before and the one received",
          "[network]") {
    const TransferGraph graph(all_reduce_schedule(Collective::ring, 4));
    CHECK(graph.edges().size() == 4);
    CHECK(graph.node_count() == 24);
    CHECK(graph.transfer_count() == 24);
    for (std::size_t node = 4; node < 24; ++node) {
        const std::size_t rank = node % 4;
        const std::size_t step = node / 4;
        CHECK(waited_for(graph, node) ==
              std::set<std::size_t>{(step - 1) * 4 + rank, (step - 1) * 4 + (rank + 3) % 4});
    }
}

TEST_CASE("transfer graph: what leaves the middle of a star waits for all that arrive",
          "[network]") {
    const TransferGraph graph(all_reduce_schedule(Collective::star, 5));
    CHECK(graph.transfer_count() == 8);
    CHECK(graph.node_count() == 11);  // three joins for four arrivals
    int leaving = 0;
    for (std::size_t node = 0; node < graph.node_count(); ++node) {
        const TransferGraph::Node& what = graph.node(node);
        if (what.edge == TransferGraph::join || graph.edges()[what.edge].from != 0) continue;
        CHECK(waited_for(graph, node).size() == 4);
        ++leaving;
    }
    CHECK(leaving == 4);
}

TEST_CASE("transfer graph: two channels between the same ranks do not wait for each other",
          "[network]") {
    constexpr auto copy = TransferKind::copy;
    const Schedule schedule{
        "test",
        2,
        3,
        {{0, 1, 0, 1, 0, copy, 0}, {0, 1, 1, 1, 0, copy, 1}, {0, 1, 2, 1, 1, copy, 0}}};
    const TransferGraph graph(schedule);
    CHECK(graph.edges().size() == 1);
    CHECK(waited_for(graph, 1).empty());
    CHECK(waited_for(graph, 2) == std::set<std::size_t>{0});
}

TEST_CASE("transfer graph: the number of nodes grows with the schedule only",
          "[network][property]") {
    for (const std::int32_t ranks : {2, 7, 16, 40}) {
        for (const Collective algorithm : {Collective::ring, Collective::star,
                                           Collective::binary_tree, Collective::halving_doubling}) {
            const Schedule schedule = all_reduce_schedule(algorithm, ranks);
            const TransferGraph graph(schedule);
            CAPTURE(schedule.name, ranks);
            CHECK(graph.transfer_count() == schedule.transfers.size());
            CHECK(graph.node_count() <= 2 * schedule.transfers.size());
        }
    }
}

TEST_CASE("transfer graph: a collective that cannot run on so many ranks is refused", "[network]") {
    CHECK(all_reduce_graph(Collective::hierarchical, 8, 4)->name() == "hierarchical");
    CHECK_THROWS_WITH(all_reduce_graph(Collective::hierarchical, 9, 4),
                      "network: the collective \"hierarchical\" needs full hosts: 9 ranks, 4 on "
                      "each");
    CHECK_THROWS_AS(all_reduce_graph(Collective::ring, 0), InputError);
}

TEST_CASE("transfer graph: what is too large is refused", "[network]") {
    const Schedule schedule{"all_to_all", 100'000, 100'000, {}};
    CHECK_THROWS_WITH(TransferGraph(schedule),
                      "network: all_to_all on 100000 ranks is too large to be simulated chunk by "
                      "chunk; use the fluid fidelity");
}

TEST_CASE("phases: a grid's rounds are those of its schedule", "[network]") {
    using kernels::AxisExchange;
    const std::vector<std::vector<kernels::GridAxis>> grids = {
        {{4, 1, AxisExchange::ring}, {6, 4, AxisExchange::direct}},
        {{3, 8, AxisExchange::ring}, {8, 1, AxisExchange::halving_doubling}},
        {{2, 4, AxisExchange::ring}, {4, 1, AxisExchange::direct}, {3, 8, AxisExchange::ring}}};
    for (const auto& axes : grids) {
        const PhasedCollective told = phased_grid(axes);
        const PhasedCollective folded = phases_of(kernels::grid_schedule(axes));
        CAPTURE(told.name);
        CHECK(told.name == folded.name);
        CHECK(told.ranks == folded.ranks);
        REQUIRE(told.phases.size() == folded.phases.size());
        for (std::size_t i = 0; i < told.phases.size(); ++i) {
            CHECK(told.phases[i].rounds == folded.phases[i].rounds);
            CHECK(told.phases[i].share == Approx(folded.phases[i].share));
            REQUIRE(told.phases[i].edges.size() == folded.phases[i].edges.size());
            for (std::size_t edge = 0; edge < told.phases[i].edges.size(); ++edge) {
                CHECK(told.phases[i].edges[edge].from == folded.phases[i].edges[edge].from);
                CHECK(told.phases[i].edges[edge].to == folded.phases[i].edges[edge].to);
            }
        }
    }
}
