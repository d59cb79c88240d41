// launcher_test.cpp — operations in flight: any order of launches on any rank ends, with the right
// sums, in both modes.
#include "kernels/launcher.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "base/rng.hpp"
#include "kernels/launch_agreement.hpp"
#include "tests/kernels/forked_ranks.hpp"
#include "tests/kernels/rank_values.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t buckets = 30;
constexpr int steps = 6;

std::size_t bucket_count(std::size_t bucket) { return 1 + bucket * 37; }

// A permutation of the buckets that differs with the rank and the step.
std::vector<std::size_t> launch_order(int rank, int step) {
    RandomStream stream(7, "test/launch/" + std::to_string(rank) + "/" + std::to_string(step));
    std::vector<std::size_t> order(buckets);
    for (std::size_t i = 0; i < buckets; ++i) order[i] = i;
    for (std::size_t i = buckets - 1; i > 0; --i) {
        std::swap(order[i],
                  order[static_cast<std::size_t>(stream.integer(0, static_cast<std::int64_t>(i)))]);
    }
    return order;
}

// Some steps in which every rank launches in an order of its own; whether all sums were right.
bool steps_work(Communicator& peers, bool coordinated) {
    const auto [epoch, rank, size] = peers.membership();
    Launcher launcher(peers, {coordinated, buckets, 200us});
    const Schedule schedule = all_reduce_schedule(Collective::automatic, size);
    for (int step = 0; step < steps; ++step) {
        std::vector<std::vector<float>> values;
        for (std::size_t i = 0; i < buckets; ++i) {
            values.push_back(rank_values(rank, bucket_count(i)));
        }
        for (const std::size_t i : launch_order(rank, step)) {
            launcher.launch("bucket" + std::to_string(i), schedule, values[i]);
            if (i % 8 == 0) std::this_thread::sleep_for(300us);  // the backward pass goes on
        }
        const LaunchResult result = launcher.wait_all();
        if (result.outcome != Outcome::ok || result.operations != buckets) return false;
        if (result.busy_ns <= 0 || (result.cycles > 0) != coordinated) return false;
        for (std::size_t i = 0; i < buckets; ++i) {
            const auto expected = summed_in_process(schedule, bucket_count(i));
            if (!equal_bits(values[i], expected[0])) return false;
        }
    }
    return launcher.wait_all().operations == 0;
}

template <class Body>
void on_threads(int size, Body body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back([&body, rank] { body(rank); });
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("launcher: any order of launches on any thread ends with the right sums",
          "[launcher][property]") {
    for (const bool coordinated : {false, true}) {
        for (const int size : {1, 2, 3}) {
            CAPTURE(coordinated, size);
            const auto peers = in_process_communicators(size, 20s);
            std::vector<int> right(static_cast<std::size_t>(size));
            on_threads(size, [&](int rank) {
                const auto i = static_cast<std::size_t>(rank);
                right[i] = steps_work(*peers[i], coordinated) ? 1 : 0;
            });
            CHECK(right == std::vector<int>(static_cast<std::size_t>(size), 1));
        }
    }
}

TEST_CASE("launcher: any order of launches in any process ends with the right sums",
          "[launcher][sockets][property]") {
    for (const bool coordinated : {false, true}) {
        for (const int size : {2, 4}) {
            CAPTURE(coordinated, size);
            ForkedRanks ranks(size, [&](ForkedRank& own) {
                const auto peers = own.connect(20s);
                own.report().right = steps_work(*peers, coordinated);
            });
            CHECK(ranks.all_ended_well());
            for (int rank = 0; rank < size; ++rank) CHECK(ranks.report(rank).right);
        }
    }
}

TEST_CASE("launcher: the first failure is the result, after everything has ended", "[launcher]") {
    for (const bool coordinated : {false, true}) {
        CAPTURE(coordinated);
        const auto peers = in_process_communicators(2, 20s);
        const Schedule schedule = all_reduce_schedule(Collective::ring, 2);
        on_threads(2, [&](int rank) {
            Communicator& own = *peers[static_cast<std::size_t>(rank)];
            Launcher launcher(own, {coordinated, 8, 100us});
            std::vector<std::vector<float>> values(8, std::vector<float>(10, 1.0F));
            for (std::size_t i = 0; i < (rank == 0 ? 8U : 5U); ++i) {
                launcher.launch(std::to_string(i), schedule, values[i]);
            }
            if (rank == 1) {
                launcher.wait_all();
                peers[1]->die();  // before its last three
                return;
            }
            const LaunchResult result = launcher.wait_all();
            CHECK(result.outcome == Outcome::peer_lost);
            CHECK(result.operations == 8);
            CHECK(own.suspect() == 1);
            launcher.launch("later", schedule, values[0]);
            CHECK(launcher.wait_all().outcome == Outcome::peer_lost);
        });
    }
}

TEST_CASE("launcher: a rank that is killed ends the steps of all others", "[launcher][sockets]") {
    for (const bool coordinated : {false, true}) {
        CAPTURE(coordinated);
        ForkedRanks ranks(3, [&](ForkedRank& own) {
            const auto peers = own.connect(10s);
            own.timed(*peers, [&] {
                Launcher launcher(*peers, {coordinated, 10, 100us});
                const Schedule schedule = all_reduce_schedule(Collective::ring, 3);
                std::vector<std::vector<float>> values(10, std::vector<float>(5000));
                for (int step = 1;; ++step) {
                    for (std::size_t i = 0; i < values.size(); ++i) {
                        launcher.launch(std::to_string(i), schedule, values[i]);
                    }
                    const Outcome outcome = launcher.wait_all().outcome;
                    if (outcome != Outcome::ok) return outcome;
                    own.mark(step);
                }
            });
        });
        REQUIRE(ranks.wait_for_mark(1, 3));
        ranks.kill(1, SIGKILL);
        for (const int rank : {0, 2}) {
            CHECK(ranks.ended_well(rank));
            CHECK(ranks.report(rank).outcome == Outcome::peer_lost);
            CHECK(ranks.report(rank).suspect == 1);
        }
    }
}

TEST_CASE("launch agreement: what is ready everywhere runs in one order on all ranks",
          "[launcher]") {
    const auto peers = in_process_communicators(2, 20s);
    std::vector<std::vector<std::vector<std::string>>> agreed(2);
    on_threads(2, [&](int rank) {
        LaunchAgreement agreement(*peers[static_cast<std::size_t>(rank)]);
        auto& cycles = agreed[static_cast<std::size_t>(rank)];
        const auto cycle = [&](const std::vector<std::string>& offers) {
            for (const std::string& name : offers) agreement.offer(name);
            cycles.push_back(agreement.run_cycle().names);
        };
        const bool first = rank == 0;
        cycle(first ? std::vector<std::string>{"b", "a"} : std::vector<std::string>{"a"});
        cycle(first ? std::vector<std::string>{} : std::vector<std::string>{"c", "b"});
        cycle(first ? std::vector<std::string>{"c"} : std::vector<std::string>{});
        // All three are known by now: numbers in the order a, b, c.
        cycle(first ? std::vector<std::string>{"c", "b"} : std::vector<std::string>{"b", "c"});
        cycle(first ? std::vector<std::string>{"a"} : std::vector<std::string>{});
        cycle(first ? std::vector<std::string>{} : std::vector<std::string>{"a"});
    });
    using Names = std::vector<std::string>;
    CHECK(agreed[0] == std::vector<Names>{{"a"}, {"b"}, {"c"}, {"b", "c"}, {}, {"a"}});
    CHECK(agreed[1] == agreed[0]);
}

TEST_CASE("launch agreement: more names than the cache holds are still agreed on", "[launcher]") {
    const auto peers = in_process_communicators(2, 20s);
    std::vector<std::vector<std::string>> agreed(2);
    on_threads(2, [&](int rank) {
        LaunchAgreement agreement(*peers[static_cast<std::size_t>(rank)]);
        for (int turn = 0; turn < 2; ++turn) {
            for (int i = 0; i < 1100; ++i) agreement.offer("name" + std::to_string(i));
            agreed[static_cast<std::size_t>(rank)] = agreement.run_cycle().names;
        }
    });
    CHECK(agreed[0].size() == 1100);
    CHECK(agreed[0] == agreed[1]);
}
