// schedule_shapes_test.cpp — the schedules that take more than a number of ranks are right too.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "kernels/in_process.hpp"
#include "kernels/schedule.hpp"

using namespace ukemi;

namespace {

// Chunks that each rank sends.
std::vector<std::int32_t> sent_by_rank(const Schedule& schedule) {
    std::vector<std::int32_t> sent(static_cast<std::size_t>(schedule.ranks));
    for (const Transfer& transfer : schedule.transfers) {
        sent[static_cast<std::size_t>(transfer.from)] += transfer.chunk_count;
    }
    return sent;
}

}  // namespace

TEST_CASE("schedule shapes: a double binary tree is an all-reduce for any number of ranks",
          "[schedule][property]") {
    for (std::int32_t ranks = 1; ranks <= 40; ++ranks) {
        for (const std::int32_t chunks : {1, 2, 7}) {
            CAPTURE(ranks, chunks);
            const Schedule schedule = double_binary_tree_schedule(ranks, chunks);
            CHECK(all_reduce_fault(schedule) == "");
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
            const Schedule schedule = parameter_server_schedule(workers, servers);
            CHECK(all_reduce_fault(schedule) == "");
            CHECK(schedule.transfers.size() == static_cast<std::size_t>(2 * workers * servers));
            if (workers == 1) continue;  // who has the sum anyway
            Schedule damaged = schedule;
            damaged.transfers.pop_back();
            CHECK(all_reduce_fault(damaged) != "");
        }
    }
    CHECK(all_reduce_fault({"test", 2, 1, {}, 2}) == "there are no workers");
}

TEST_CASE("schedule shapes: rings along the axes of a grid send 2(N-1)/N of the buffer a rank",
          "[schedule][property]") {
    const std::vector<std::vector<std::int32_t>> grids = {
        {1}, {5}, {2, 2}, {4, 3}, {3, 4}, {1, 6}, {6, 1}, {2, 3, 4}, {3, 1, 5}, {2, 2, 2, 3}};
    for (const std::vector<std::int32_t>& grid : grids) {
        CAPTURE(grid);
        const Schedule schedule = multi_ring_schedule(grid);
        CHECK(all_reduce_fault(schedule) == "");
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
