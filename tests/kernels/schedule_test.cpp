// schedule_test.cpp — every all-reduce schedule is right for every number of ranks, and moves what
// its paper says.
#include "kernels/schedule.hpp"
#include "tests/support/schedule_fault.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "kernels/rank_program.hpp"
#include "tests/kernels/sent_by_rank.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;

namespace {

constexpr std::int32_t ranks_max = 33;
const std::vector<Collective> algorithms = {Collective::ring,
                                            Collective::star,
                                            Collective::binary_tree,
                                            Collective::halving_doubling,
                                            Collective::clique,
                                            Collective::binary_tree_star,
                                            Collective::hierarchical,
                                            Collective::multi_binary_tree_star,
                                            Collective::parameter_server,
                                            Collective::double_binary_tree};

std::int32_t steps_of(const Schedule& schedule) {
    std::set<std::int32_t> steps;
    for (const Transfer& transfer : schedule.transfers) steps.insert(transfer.step);
    return static_cast<std::int32_t>(steps.size());
}

std::int32_t log2_floor(std::int32_t n) {
    return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint32_t>(n))) - 1;
}

}  // namespace

TEST_CASE("schedule: every algorithm gives each rank each contribution once",
          "[schedule][property]") {
    for (const Collective algorithm : algorithms) {
        for (std::int32_t ranks = 1; ranks <= ranks_max; ++ranks) {
            CAPTURE(static_cast<int>(algorithm), ranks);
            REQUIRE(schedule_refusal(algorithm, ranks).empty());
            const Schedule schedule = all_reduce_schedule(algorithm, ranks);
            CHECK(schedule.ranks == ranks);
            CHECK(schedule_fault(schedule, Operation::all_reduce) == "");
            CHECK(schedule.name == collective_names()[static_cast<std::size_t>(algorithm)]);
        }
    }
}

TEST_CASE("schedule: without any one of its transfers none is an all-reduce",
          "[schedule][property]") {
    for (const Collective algorithm : algorithms) {
        for (const std::int32_t ranks : {2, 3, 4, 5, 8, 13}) {
            const Schedule whole = all_reduce_schedule(algorithm, ranks);
            for (std::size_t i = 0; i < whole.transfers.size(); ++i) {
                Schedule damaged = whole;
                damaged.transfers.erase(damaged.transfers.begin() + static_cast<std::ptrdiff_t>(i));
                CAPTURE(whole.name, ranks, i);
                CHECK(schedule_fault(damaged, Operation::all_reduce) != "");
            }
        }
    }
}

TEST_CASE("schedule: a ring takes 2(n-1) steps and sends 2(n-1)/n of the buffer a rank",
          "[schedule][property]") {
    for (std::int32_t n = 1; n <= ranks_max; ++n) {
        CAPTURE(n);
        const Schedule ring = all_reduce_schedule(Collective::ring, n);
        CHECK(ring.chunks == n);
        CHECK(steps_of(ring) == 2 * (n - 1));
        CHECK(ring.transfers.size() == static_cast<std::size_t>(2 * (n - 1) * n));
        for (const std::int32_t sent : sent_by_rank(ring)) CHECK(sent == 2 * (n - 1));
    }
}

TEST_CASE("schedule: halving-doubling takes 2 log2 p steps and two more beyond a power of two",
          "[schedule][property]") {
    for (std::int32_t n = 1; n <= ranks_max; ++n) {
        CAPTURE(n);
        const Schedule schedule = all_reduce_schedule(Collective::halving_doubling, n);
        const std::int32_t p = 1 << log2_floor(n);
        CHECK(schedule.chunks == p);
        CHECK(steps_of(schedule) == 2 * log2_floor(n) + (n > p ? 2 : 0));
        CHECK(schedule.transfers.size() ==
              static_cast<std::size_t>(2 * log2_floor(n) * p + 2 * (n - p)));
        const std::vector<std::int32_t> sent = sent_by_rank(schedule);
        for (std::int32_t rank = 0; rank < n; ++rank) {
            CAPTURE(rank);
            // 2(p−1)/p of the buffer; the partner of a folded rank and that rank one buffer more.
            const std::int32_t expected = rank >= p      ? p
                                          : rank + p < n ? 2 * (p - 1) + p
                                                         : 2 * (p - 1);
            CHECK(sent[static_cast<std::size_t>(rank)] == expected);
        }
    }
}

TEST_CASE("schedule: in a star rank 0 sends n-1 buffers and everybody else one",
          "[schedule][property]") {
    for (std::int32_t n = 2; n <= ranks_max; ++n) {
        CAPTURE(n);
        const Schedule star = all_reduce_schedule(Collective::star, n);
        CHECK(steps_of(star) == 2);
        const std::vector<std::int32_t> sent = sent_by_rank(star);
        CHECK(sent[0] == (n - 1) * star.chunks);
        CHECK(std::all_of(sent.begin() + 1, sent.end(),
                          [&](std::int32_t chunks) { return chunks == star.chunks; }));
    }
}

TEST_CASE("schedule: a binary tree takes 2 floor(log2 n) steps over n-1 edges both ways",
          "[schedule][property]") {
    for (std::int32_t n = 1; n <= ranks_max; ++n) {
        CAPTURE(n);
        const Schedule tree = all_reduce_schedule(Collective::binary_tree, n);
        CHECK(steps_of(tree) == 2 * log2_floor(n));
        CHECK(tree.transfers.size() == static_cast<std::size_t>(2 * (n - 1)));
        const std::vector<std::int32_t> sent = sent_by_rank(tree);
        for (std::int32_t rank = 0; rank < n; ++rank) {
            const std::int32_t children = (2 * rank + 1 < n ? 1 : 0) + (2 * rank + 2 < n ? 1 : 0);
            CHECK(sent[static_cast<std::size_t>(rank)] ==
                  (children + (rank > 0 ? 1 : 0)) * tree.chunks);
        }
    }
}

TEST_CASE("schedule: the automatic choice says what it is", "[schedule]") {
    CHECK(all_reduce_schedule(Collective::automatic, 4).name == "halving_doubling");
    CHECK(all_reduce_schedule(Collective::automatic, 3).name == "ring");
    CHECK(schedule_fault(all_reduce_schedule(Collective::automatic, 7), Operation::all_reduce) ==
          "");
}

TEST_CASE("schedule: counts that do not fit are refused with the name", "[schedule]") {
    CHECK(schedule_refusal(Collective::hierarchical, 10, 4) ==
          "the collective \"hierarchical\" needs full hosts: 10 ranks, 4 on each");
    CHECK(schedule_refusal(Collective::hierarchical, 12, 4).empty());
    CHECK(schedule_refusal(Collective::ring, 4, -1) == "a host has at least one rank, not -1");
    CHECK(schedule_refusal(Collective::ring, 0) == "an all-reduce needs at least one rank, not 0");
    CHECK(schedule_refusal(Collective::automatic, 6).empty());
}

TEST_CASE("schedule: each kind of fault is named", "[schedule]") {
    const auto fault = [](std::int32_t ranks, std::int32_t chunks,
                          std::vector<Transfer> transfers) {
        return schedule_fault({"test", ranks, chunks, std::move(transfers)}, Operation::all_reduce);
    };
    constexpr auto reduce = TransferKind::reduce;
    constexpr auto copy = TransferKind::copy;
    CHECK(fault(2, 1, {{1, 0, 0, 1, 0, reduce}, {0, 1, 0, 1, 1, copy}}) == "");
    CHECK(fault(0, 1, {}) == "there are no ranks");
    CHECK(fault(1, 0, {}) == "there are no chunks");
    CHECK(fault(2, 1, {}) == "rank 0 ends with chunk 0 of rank 1 missing");
    CHECK(fault(2, 1, {{2, 0, 0, 1, 0, reduce}}) == "transfer 0: there is no rank 2");
    CHECK(fault(2, 1, {{0, 0, 0, 1, 0, reduce}}) == "transfer 0: rank 0 sends to itself");
    CHECK(fault(2, 1, {{1, 0, 0, 2, 0, reduce}}) == "transfer 0: there are no 2 chunks from 0 on");
    CHECK(fault(2, 1, {{1, 0, 1, 1, 0, reduce}}) == "transfer 0: there are no 1 chunks from 1 on");
    CHECK(fault(2, 1, {{1, 0, 0, 1, 1, reduce}, {0, 1, 0, 1, 0, copy}}) ==
          "transfer 1: step 0 after step 1");
    CHECK(fault(2, 1, {{1, 0, 0, 1, 0, reduce}, {0, 1, 0, 1, 0, copy}}) ==
          "transfer 1: rank 0 sends chunk 0 in the step (0) in which it receives it");
    // Rank 1 adds a sum that already holds its own contribution.
    CHECK(fault(2, 1, {{1, 0, 0, 1, 0, reduce}, {0, 1, 0, 1, 1, reduce}}) ==
          "rank 1 ends with chunk 0 of rank 1 more than once");
    // Rank 0's contribution is overwritten before anybody has it.
    CHECK(fault(2, 1, {{1, 0, 0, 1, 0, copy}, {0, 1, 0, 1, 1, reduce}}) ==
          "rank 0 ends with chunk 0 of rank 0 missing");
}

TEST_CASE("chunk_range: chunks follow each other, cover all and differ by one at most",
          "[schedule][property]") {
    for (const std::size_t count : {0U, 1U, 4U, 5U, 6U, 97U, 1000U}) {
        for (const std::int32_t chunks : {1, 2, 5, 7, 33}) {
            CAPTURE(count, chunks);
            std::size_t end = 0;
            for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
                const ChunkRange range = chunk_range(count, chunks, chunk, 1);
                CHECK(range.begin == end);
                end = range.end;
                CHECK(end - range.begin <= count / static_cast<std::size_t>(chunks) + 1);
                CHECK(end - range.begin >= count / static_cast<std::size_t>(chunks));
            }
            CHECK(end == count);
            CHECK(chunk_range(count, chunks, 0, chunks).end == count);
        }
    }
}

TEST_CASE("rank program: both ends of every transfer see the same messages",
          "[schedule][property]") {
    constexpr std::size_t elements = 3 * segment_bytes_max / sizeof(float) + 5;
    for (const Collective algorithm : algorithms) {
        const Schedule schedule = all_reduce_schedule(algorithm, 5);
        std::vector<std::vector<RankMove>> programs;
        for (int rank = 0; rank < 5; ++rank) {
            programs.push_back(rank_program(schedule, rank, elements, sizeof(float)));
        }
        for (int from = 0; from < 5; ++from) {
            for (int to = 0; to < 5; ++to) {
                std::vector<RankMove> sent;
                std::vector<RankMove> received;
                for (const RankMove& move : programs[static_cast<std::size_t>(from)]) {
                    if (move.kind == MoveKind::send && move.peer == to) sent.push_back(move);
                }
                for (const RankMove& move : programs[static_cast<std::size_t>(to)]) {
                    if (move.kind != MoveKind::send && move.peer == from) received.push_back(move);
                }
                CAPTURE(schedule.name, from, to);
                REQUIRE(sent.size() == received.size());
                for (std::size_t i = 0; i < sent.size(); ++i) {
                    CHECK(sent[i].position == i);
                    CHECK(received[i].position == i);
                    CHECK(sent[i].begin == received[i].begin);
                    CHECK(sent[i].end == received[i].end);
                    CHECK(sent[i].end - sent[i].begin <= segment_bytes_max);
                    CHECK(sent[i].end > sent[i].begin);
                }
            }
        }
    }
}
