// in_process_test.cpp — collectives between threads: right sums, equal bits, and ends to all waits.
#include "tests/support/in_process.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <thread>

#include "kernels/operation_slots.hpp"
#include "tests/kernels/rank_values.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

// Runs `body` on a thread a rank and returns what they returned.
std::vector<Outcome> on_ranks(
    std::span<const std::unique_ptr<InProcessCommunicator>> peers,
    const std::function<Outcome(InProcessCommunicator& peers, int rank)>& body) {
    std::vector<Outcome> outcomes(peers.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
        threads.emplace_back(
            [&, rank] { outcomes[rank] = body(*peers[rank], static_cast<int>(rank)); });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
}

bool outcomes_ok(std::span<const Outcome> outcomes) {
    return std::ranges::all_of(outcomes, [](Outcome outcome) { return outcome == Outcome::ok; });
}

}  // namespace

TEST_CASE("run_schedule: every schedule sums over all ranks and leaves equal bits",
          "[in_process][property]") {
    for (const Collective algorithm : tested_algorithms) {
        for (const int ranks : {1, 2, 3, 4, 5, 8, 13}) {
            for (const std::size_t count : tested_sizes(ranks)) {
                CAPTURE(static_cast<int>(algorithm), ranks, count);
                const Schedule schedule = all_reduce_schedule(algorithm, ranks);
                const auto values = summed_in_process(schedule, count);
                CHECK(is_sum(values[0], ranks));
                for (const auto& other : values) CHECK(equal_bits(values[0], other));
            }
        }
    }
}

TEST_CASE("in-process: threads get the bits of the interpreter", "[in_process][property]") {
    for (const Collective algorithm : tested_algorithms) {
        for (const int ranks : {1, 2, 3, 4, 7}) {
            const auto peers = in_process_communicators(ranks, 20s);
            const Schedule schedule = all_reduce_schedule(algorithm, ranks);
            std::vector<std::size_t> sizes = tested_sizes(ranks);
            if (ranks == 3) sizes.push_back(several_segments);
            for (const std::size_t count : sizes) {
                CAPTURE(schedule.name, ranks, count);
                const auto expected = summed_in_process(schedule, count);
                std::vector<std::vector<float>> values(static_cast<std::size_t>(ranks));
                const auto outcomes = on_ranks(peers, [&](Communicator& all, int rank) {
                    auto& own = values[static_cast<std::size_t>(rank)];
                    own = rank_values(rank, count);
                    return all.all_reduce_sum("gradient", schedule, own);
                });
                REQUIRE(outcomes_ok(outcomes));
                CHECK(std::ranges::equal(values, expected, equal_bits));
            }
        }
    }
}

TEST_CASE("in-process: gather, broadcast and exchange bring every byte to its place",
          "[in_process]") {
    for (const int ranks : {1, 2, 3, 5}) {
        const auto peers = in_process_communicators(ranks, 20s);
        for (const std::size_t count : {0U, 1U, 1009U}) {
            CAPTURE(ranks, count);
            const auto outcomes = on_ranks(
                peers, [&](Communicator& all, int) { return other_collectives_work(all, count); });
            CHECK(outcomes_ok(outcomes));
        }
    }
}

TEST_CASE("in-process: a rank that dies is a lost peer to all, and named", "[in_process]") {
    const auto peers = in_process_communicators(4, 20s);
    const Schedule schedule = all_reduce_schedule(Collective::ring, 4);
    const auto outcomes = on_ranks(peers, [&](InProcessCommunicator& all, int rank) {
        if (rank == 2) {
            all.die();
            return all.broadcast("late", {}, 0);
        }
        std::vector<float> values(100, 1.0F);
        return all.all_reduce_sum("gradient", schedule, values);
    });
    CHECK(outcomes[2] == Outcome::aborted);
    for (const std::size_t rank : {0U, 1U, 3U}) {
        CHECK(outcomes[rank] == Outcome::peer_lost);
        CHECK(peers[rank]->suspect() == 2);
    }
}

TEST_CASE("in-process: who waits for a rank that has left gets peer_lost", "[in_process]") {
    auto peers = in_process_communicators(2, 20s);
    peers[1].reset();
    std::vector<std::byte> all(2);
    CHECK(peers[0]->all_gather("hello", std::vector<std::byte>(1), all) == Outcome::peer_lost);
    CHECK(peers[0]->suspect() == 1);
}

TEST_CASE("in-process: a rank that does not come runs the others into the deadline",
          "[in_process]") {
    const auto peers = in_process_communicators(2, 50ms);
    std::vector<std::byte> all(2);
    CHECK(peers[0]->all_gather("hello", std::vector<std::byte>(1), all) == Outcome::timed_out);
    CHECK(peers[0]->suspect() == 1);
    // Nothing works any more.
    CHECK(peers[0]->broadcast("again", all, 0) == Outcome::timed_out);
}

TEST_CASE("in-process: ranks that disagree on the size do not take each other's bytes",
          "[in_process]") {
    const auto peers = in_process_communicators(2, 50ms);
    const auto outcomes = on_ranks(peers, [&](Communicator& all, int rank) {
        std::vector<std::byte> bytes(rank == 0 ? 8 : 9);
        return all.exchange("word", 1 - rank, bytes, bytes);
    });
    CHECK(outcomes[0] != Outcome::ok);
    CHECK(outcomes[1] != Outcome::ok);
}

TEST_CASE("in-process: abort from another thread ends a wait", "[in_process]") {
    const auto peers = in_process_communicators(2, 60s);
    Outcome outcome = Outcome::ok;
    std::thread waits([&] {
        std::vector<std::byte> bytes(1);
        outcome = peers[0]->broadcast("never", bytes, 1);
    });
    std::this_thread::sleep_for(10ms);
    peers[0]->abort();
    waits.join();
    CHECK(outcome == Outcome::aborted);
    CHECK(peers[0]->suspect() == -1);
    std::vector<std::byte> bytes(1);
    CHECK(peers[0]->broadcast("later", bytes, 0) == Outcome::aborted);
}

TEST_CASE("outcomes: each has a name", "[in_process]") {
    REQUIRE(outcome_names().size() == 4);
    CHECK(outcome_names()[static_cast<std::size_t>(Outcome::peer_lost)] == "peer_lost");
    CHECK(outcome_names()[static_cast<std::size_t>(Outcome::aborted)] == "aborted");
}

TEST_CASE("operation slots: uses of a name get slots of their own, in one order on all ranks",
          "[in_process][slots]") {
    OperationSlots one;
    OperationSlots other;
    const auto use = [](OperationSlots& slots, const std::string& key) {
        const auto slot = slots.begin(key);
        REQUIRE(slot);
        slots.end(key);
        return *slot;
    };
    const auto a1 = use(one, "a");
    const auto b1 = use(one, "b");
    const auto a2 = use(one, "a");
    CHECK(a1 != a2);
    CHECK(a1 != b1);
    CHECK(a2 - a1 == slot_positions);  // all positions of a use fit before the next one
    CHECK(use(other, "b") == b1);
    CHECK(use(other, "a") == a1);
    CHECK(use(other, "a") == a2);
}

TEST_CASE("operation slots: two names with one hash are noticed", "[in_process][slots]") {
    OperationSlots slots([](std::string_view) { return ~std::uint64_t{0}; });
    REQUIRE(slots.begin("a"));
    CHECK_FALSE(slots.begin("b"));
    slots.end("a");
    CHECK_FALSE(slots.begin("b"));  // a's messages may still be on their way
    CHECK(slots.begin("a"));
    OperationSlots reserved([](std::string_view) { return std::uint64_t{0}; });
    CHECK_FALSE(reserved.begin("a"));
}
