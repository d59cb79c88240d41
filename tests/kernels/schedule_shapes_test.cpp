// schedule_shapes_test.cpp — the schedules that take more than a number of ranks are right too.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <utility>
#include <vector>

#include "kernels/rank_program.hpp"
#include "kernels/schedule.hpp"
#include "studies/schedules/schedules.hpp"
#include "tests/kernels/sent_by_rank.hpp"
#include "tests/support/in_process.hpp"
#include "tests/support/schedule_fault.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;

TEST_CASE("schedule shapes: a double binary tree is an all-reduce for any number of ranks",
          "[schedule][property]") {
    for (std::int32_t ranks = 1; ranks <= 40; ++ranks) {
        for (const std::int32_t chunks : {1, 2, 7}) {
            CAPTURE(ranks, chunks);
            const Schedule schedule = double_binary_tree_schedule(ranks, chunks);
            CHECK(schedule_fault(schedule, Operation::all_reduce) == "");
            CHECK(schedule.chunks == 2 * chunks);
            CHECK(schedule.transfers.size() == static_cast<std::size_t>(4 * chunks * (ranks - 1)));
        }
    }
}

// Sanders, Speck and Träff 2009; NETWORK §4: each rank passes on in one tree, ends the other.
TEST_CASE("schedule shapes: in a double binary tree nobody has two children in both trees",
          "[schedule][property]") {
    for (std::int32_t ranks = 2; ranks <= 64; ++ranks) {
        const Schedule schedule = double_binary_tree_schedule(ranks, 1);
        std::map<std::int32_t, std::array<int, 2>> children;
        for (const Transfer& transfer : schedule.transfers) {
            if (transfer.kind == TransferKind::reduce) ++children[transfer.to][transfer.channel];
        }
        CAPTURE(ranks);
        for (const auto& [rank, count] : children) {
            CAPTURE(rank);
            CHECK(std::max(count[0], count[1]) <= 2);
            // Of an odd number, rank 0 has one child in each.
            const bool two_halves = ranks % 2 == 1 && rank == 0 && count == std::array{1, 1};
            CHECK((std::min(count[0], count[1]) == 0 || two_halves));
        }
    }
}

TEST_CASE("schedule shapes: a parameter server sums the workers' parts", "[schedule][property]") {
    for (const std::int32_t workers : {1, 2, 5, 16}) {
        for (const std::int32_t servers : {1, 2, 4, 7}) {
            CAPTURE(workers, servers);
            const Schedule schedule = studies::parameter_server_schedule(workers, servers);
            CHECK(schedule_fault(schedule, Operation::all_reduce) == "");
            CHECK(schedule.transfers.size() == static_cast<std::size_t>(2 * workers * servers));
            if (workers == 1) continue;  // who has the sum anyway
            Schedule damaged = schedule;
            damaged.transfers.pop_back();
            CHECK(schedule_fault(damaged, Operation::all_reduce) != "");
        }
    }
    CHECK(schedule_fault({"test", 2, 1, {}, 2}, Operation::all_reduce) == "there are no workers");
}

TEST_CASE("schedule shapes: rings along the axes of a grid send 2(N-1)/N of the buffer a rank",
          "[schedule][property]") {
    const std::vector<std::vector<std::int32_t>> grids = {
        {1}, {5}, {2, 2}, {4, 3}, {3, 4}, {1, 6}, {6, 1}, {2, 3, 4}, {3, 1, 5}, {2, 2, 2, 3}};
    for (const std::vector<std::int32_t>& grid : grids) {
        CAPTURE(grid);
        const Schedule schedule = multi_ring_schedule(grid);
        CHECK(schedule_fault(schedule, Operation::all_reduce) == "");
        CHECK(schedule.chunks == schedule.ranks);
        std::int32_t steps = 0;
        for (const std::int32_t size : grid) steps += 2 * (size - 1);
        const std::int32_t last = schedule.transfers.empty() ? -1 : schedule.transfers.back().step;
        CHECK(last + 1 == steps);
        for (const std::int32_t sent : sent_by_rank(schedule)) {
            CHECK(sent == 2 * (schedule.ranks - 1));
        }
    }
    const std::array one_axis = {7};
    CHECK(multi_ring_schedule(one_axis).transfers ==
          all_reduce_schedule(Collective::ring, 7).transfers);
}

TEST_CASE("schedule shapes: the interpreter sums with each of them", "[schedule]") {
    const std::array axes = {3, 4};
    for (const Schedule& schedule :
         {double_binary_tree_schedule(12, 5), multi_ring_schedule(axes)}) {
        CAPTURE(schedule.name);
        std::vector<std::vector<float>> values(12, std::vector<float>(101));
        std::vector<std::span<float>> buffers;
        for (std::size_t rank = 0; rank < 12; ++rank) {
            for (std::size_t i = 0; i < 101; ++i) {
                values[rank][i] = static_cast<float>(rank * 101 + i);
            }
            buffers.emplace_back(values[rank]);
        }
        run_schedule(schedule, buffers);
        for (std::size_t i = 0; i < 101; ++i) {
            const auto sum = static_cast<float>(12 * i + 66 * 101);
            for (std::size_t rank = 0; rank < 12; ++rank) CHECK(values[rank][i] == sum);
        }
    }
}

TEST_CASE("schedule shapes: every algorithm is right on any number of hosts",
          "[schedule][property]") {
    for (const Collective algorithm :
         {Collective::binary_tree_star, Collective::multi_binary_tree_star,
          Collective::hierarchical}) {
        for (std::int32_t ranks = 1; ranks <= 20; ++ranks) {
            for (std::int32_t per_host = 1; per_host <= 8; ++per_host) {
                if (!schedule_refusal(algorithm, ranks, per_host).empty()) {
                    CHECK(algorithm == Collective::hierarchical);
                    CHECK(ranks % per_host != 0);
                    continue;
                }
                CAPTURE(static_cast<int>(algorithm), ranks, per_host);
                CHECK(schedule_fault(all_reduce_schedule(algorithm, ranks, per_host),
                                     Operation::all_reduce) == "");
            }
        }
    }
    for (std::int32_t ranks = 1; ranks <= 20; ++ranks) {
        for (std::int32_t per_host = 1; per_host <= 8; ++per_host) {
            CHECK(schedule_fault(studies::star_of_stars_schedule(ranks, per_host),
                                 Operation::all_reduce) == "");
            CHECK(schedule_fault(studies::multi_star_schedule(ranks, per_host),
                                 Operation::all_reduce) == "");
        }
    }
}

namespace {

using Edges = std::vector<std::pair<int, int>>;

// (parent, child) of chunk `part`'s way back, and whether the way in is the same reversed.
Edges graph_of(const Schedule& schedule, std::int32_t part) {
    Edges down;
    Edges up;
    for (const Transfer& transfer : schedule.transfers) {
        if (transfer.first_chunk != part) continue;
        if (transfer.kind == TransferKind::copy) {
            down.emplace_back(transfer.from, transfer.to);
        } else {
            up.emplace_back(transfer.to, transfer.from);
        }
    }
    std::sort(down.begin(), down.end());
    std::sort(up.begin(), up.end());
    CHECK(up == down);
    return down;
}

}  // namespace

// RUNTIME §1.6: KungFu, srcs/go/plan/topology.go and session/strategy.go. Two hosts of three ranks,
// with masters 0 and 3; three hosts of two.
TEST_CASE("schedule shapes: strategies are KungFu's graphs", "[schedule][golden]") {
    const Edges local_stars = {{0, 1}, {0, 2}, {3, 4}, {3, 5}};
    CHECK(graph_of(all_reduce_schedule(Collective::star, 4), 0) == Edges{{0, 1}, {0, 2}, {0, 3}});
    const Schedule clique = all_reduce_schedule(Collective::clique, 3);
    CHECK(graph_of(clique, 1) == Edges{{1, 0}, {1, 2}});
    CHECK(graph_of(all_reduce_schedule(Collective::binary_tree, 6), 0) ==
          Edges{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}});
    CHECK(graph_of(studies::star_of_stars_schedule(6, 2), 0) ==
          Edges{{0, 1}, {0, 2}, {0, 4}, {2, 3}, {4, 5}});
    const Schedule multi_star = studies::multi_star_schedule(6, 3);
    CHECK(multi_star.chunks == 2);
    CHECK(graph_of(multi_star, 0) == Edges{{0, 1}, {0, 2}, {0, 3}, {3, 4}, {3, 5}});
    CHECK(graph_of(multi_star, 1) == Edges{{0, 1}, {0, 2}, {3, 0}, {3, 4}, {3, 5}});
    CHECK(graph_of(all_reduce_schedule(Collective::binary_tree_star, 8, 2), 0) ==
          Edges{{0, 1}, {0, 2}, {0, 4}, {2, 3}, {2, 6}, {4, 5}, {6, 7}});
    const Schedule turned = all_reduce_schedule(Collective::multi_binary_tree_star, 8, 2);
    CHECK(turned.chunks == 4);
    // Turned by one: masters 2, 4, 6, 0 at places 0, 1, 2, 3.
    CHECK(graph_of(turned, 1) == Edges{{0, 1}, {2, 3}, {2, 4}, {2, 6}, {4, 0}, {4, 5}, {6, 7}});
    // On one host, or with one rank a host, the star and the tree are left.
    CHECK(graph_of(all_reduce_schedule(Collective::binary_tree_star, 4), 0) ==
          Edges{{0, 1}, {0, 2}, {0, 3}});
    CHECK(graph_of(all_reduce_schedule(Collective::binary_tree_star, 6, 1), 0) ==
          graph_of(all_reduce_schedule(Collective::binary_tree, 6), 0));
}

// The same by name, on two hosts of two ranks with masters 0 and 2; what AUTO picks is the policy
// topology_by_size.
TEST_CASE("schedule shapes: KungFu's strategies on two hosts of two", "[schedule][golden]") {
    const auto part = [](const Schedule& schedule, std::int32_t number) {
        return graph_of(schedule, number);
    };
    const Edges first_leads{{0, 1}, {0, 2}, {2, 3}};
    const Edges second_leads{{0, 1}, {2, 0}, {2, 3}};
    CHECK(part(all_reduce_schedule(Collective::star, 4, 2), 0) == Edges{{0, 1}, {0, 2}, {0, 3}});
    const Schedule multi_star = studies::multi_star_schedule(4, 2);
    CHECK(multi_star.chunks == 2);
    CHECK(part(multi_star, 0) == first_leads);
    CHECK(part(multi_star, 1) == second_leads);
    const Schedule clique = all_reduce_schedule(Collective::clique, 4, 2);
    CHECK(clique.chunks == 4);
    CHECK(part(clique, 0) == Edges{{0, 1}, {0, 2}, {0, 3}});
    CHECK(part(clique, 1) == Edges{{1, 0}, {1, 2}, {1, 3}});
    CHECK(part(clique, 2) == Edges{{2, 0}, {2, 1}, {2, 3}});
    CHECK(part(clique, 3) == Edges{{3, 0}, {3, 1}, {3, 2}});
    CHECK(part(studies::star_of_stars_schedule(4, 2), 0) == first_leads);  // TREE
    CHECK(part(all_reduce_schedule(Collective::binary_tree, 4, 2), 0) ==
          Edges{{0, 1}, {0, 2}, {1, 3}});
    CHECK(part(all_reduce_schedule(Collective::binary_tree_star, 4, 2), 0) == first_leads);
    const Schedule turned = all_reduce_schedule(Collective::multi_binary_tree_star, 4, 2);
    CHECK(turned.chunks == 2);
    CHECK(part(turned, 0) == first_leads);
    CHECK(part(turned, 1) == second_leads);  // turned by one: an offset, not a rank
}

// RUNTIME §1.6, RING: part r is reduced along r+1 → … → r and sent back along r → r+1 → ….
TEST_CASE("schedule shapes: a ring is KungFu's circular pairs", "[schedule][golden]") {
    const Schedule ring = all_reduce_schedule(Collective::ring, 4);
    for (std::int32_t root = 0; root < 4; ++root) {
        Edges reduced;
        Edges sent;
        for (const Transfer& transfer : ring.transfers) {
            if (transfer.first_chunk != (root + 1) % 4) continue;
            (transfer.kind == TransferKind::reduce ? reduced : sent)
                .emplace_back(transfer.from, transfer.to);
        }
        Edges in;
        Edges out;
        for (int i = 0; i < 3; ++i) {
            in.emplace_back((root + 1 + i) % 4, (root + 2 + i) % 4);
            out.emplace_back((root + i) % 4, (root + 1 + i) % 4);
        }
        CAPTURE(root);
        CHECK(reduced == in);
        CHECK(sent == out);
    }
}

TEST_CASE("schedule shapes: other operations end with what they should", "[schedule][property]") {
    for (std::int32_t ranks = 1; ranks <= 12; ++ranks) {
        CAPTURE(ranks);
        const std::vector<std::pair<Schedule, Operation>> all = {
            {studies::ring_reduce_scatter_schedule(ranks), Operation::reduce_scatter},
            {studies::ring_all_gather_schedule(ranks), Operation::all_gather},
            {all_gather_schedule(ranks), Operation::all_gather},
            {studies::chain_broadcast_schedule(ranks, 5), Operation::broadcast},
            {broadcast_schedule(ranks, 0), Operation::broadcast},
            {studies::all_to_all_schedule(ranks), Operation::all_to_all},
        };
        for (const auto& [schedule, operation] : all) {
            CAPTURE(schedule.name);
            CHECK(schedule_fault(schedule, operation) == "");
            for (std::size_t i = 0; i < schedule.transfers.size(); i += 3) {
                Schedule damaged = schedule;
                damaged.transfers.erase(damaged.transfers.begin() + static_cast<std::ptrdiff_t>(i));
                CHECK(schedule_fault(damaged, operation) != "");
            }
        }
        if (ranks > 1) {
            CHECK(schedule_fault(studies::ring_all_gather_schedule(ranks), Operation::broadcast) !=
                  "");
            CHECK(schedule_fault(studies::ring_reduce_scatter_schedule(ranks),
                                 Operation::all_reduce) != "");
        }
    }
    const Schedule added{"test", 2, 2, {{0, 1, 0, 1, 0, TransferKind::reduce}}};
    CHECK(schedule_fault(added, Operation::all_gather) ==
          "rank 1 ends with chunk 0 of rank 1 in it");
}
