// socket_communicator_test.cpp — collectives between processes: right sums, equal bits, and an end
// to every wait when a peer is killed, stopped, missing or a stranger.
#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "kernels/host_schedule.hpp"
#include "kernels/socket_communicator.hpp"
#include "tests/kernels/forked_ranks.hpp"
#include "tests/kernels/rank_values.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

// All-reduce with every schedule and size; whether each gave the bits of the interpreter.
Outcome all_reduces_work(Communicator& peers, bool& right) {
    const auto [epoch, rank, size] = peers.membership();
    for (const Collective algorithm : tested_algorithms) {
        const Schedule schedule = all_reduce_schedule(algorithm, size);
        std::vector<std::size_t> sizes = tested_sizes(size);
        sizes.push_back(several_segments);
        for (const std::size_t count : sizes) {
            std::vector<float> values = rank_values(rank, count);
            const Outcome outcome = peers.all_reduce_sum("gradient", schedule, values);
            if (outcome != Outcome::ok) return outcome;
            const auto expected = summed_in_process(schedule, count);
            right = right && equal_bits(values, expected[static_cast<std::size_t>(rank)]);
        }
    }
    return Outcome::ok;
}

// Sums for ever, until something fails; marks every tenth.
Outcome sum_until_failure(ForkedRank& own, Communicator& peers, Collective algorithm) {
    const Schedule schedule = all_reduce_schedule(algorithm, own.size());
    std::vector<float> values(200'000, 1.0F);
    for (int turn = 1;; ++turn) {
        const Outcome outcome = peers.all_reduce_sum("gradient", schedule, values);
        if (outcome != Outcome::ok) return outcome;
        std::ranges::fill(values, 1.0F);
        own.mark(turn / 10);
    }
}

}  // namespace

TEST_CASE("sockets: processes get the bits of the interpreter for every schedule and size",
          "[sockets][property]") {
    const Encryption encryption = GENERATE(Encryption::always, Encryption::never);
    for (const int size : {1, 2, 3, 4}) {
        CAPTURE(size, static_cast<int>(encryption));
        ForkedRanks ranks(size, [&](ForkedRank& own) {
            const auto peers = own.connect(20s, encryption);
            own.report().right = true;
            own.timed(*peers, [&] { return all_reduces_work(*peers, own.report().right); });
        });
        CHECK(ranks.all_ended_well());
        for (int rank = 0; rank < size; ++rank) {
            CHECK(ranks.report(rank).outcome == Outcome::ok);
            CHECK(ranks.report(rank).right);
        }
    }
}

TEST_CASE("sockets: gather, broadcast and exchange bring every byte to its place", "[sockets]") {
    const Encryption encryption = GENERATE(Encryption::always, Encryption::never);
    for (const int size : {1, 2, 3, 4}) {
        ForkedRanks ranks(size, [&](ForkedRank& own) {
            const auto peers = own.connect(20s, encryption);
            own.timed(*peers, [&] {
                for (const std::size_t count : {0UL, 1UL, 1009UL, 2 * segment_bytes_max + 1}) {
                    const Outcome outcome = other_collectives_work(*peers, count);
                    if (outcome != Outcome::ok) return outcome;
                }
                return Outcome::ok;
            });
        });
        CHECK(ranks.all_ended_well());
        for (int rank = 0; rank < size; ++rank) {
            CAPTURE(size, rank);
            CHECK(ranks.report(rank).outcome == Outcome::ok);
        }
    }
}

TEST_CASE("sockets: operations of several threads do not mix, whatever their order", "[sockets]") {
    constexpr int threads = 8;
    const Encryption encryption = GENERATE(Encryption::always, Encryption::never);
    ForkedRanks ranks(3, [&](ForkedRank& own) {
        const auto peers = own.connect(20s, encryption);
        const Schedule schedule = all_reduce_schedule(Collective::ring, own.size());
        std::atomic<int> wrong = 0;
        std::vector<std::thread> lanes;
        for (int lane = 0; lane < threads; ++lane) {
            lanes.emplace_back([&, lane] {
                const std::size_t count = 1000 + static_cast<std::size_t>(lane % 3);
                const auto expected = summed_in_process(schedule, count);
                for (int turn = 0; turn < 20; ++turn) {
                    std::vector<float> values = rank_values(own.rank(), count);
                    const std::string name = "bucket" + std::to_string(lane);
                    if (peers->all_reduce_sum(name, schedule, values) != Outcome::ok ||
                        !equal_bits(values, expected[0])) {
                        ++wrong;
                    }
                }
            });
        }
        for (std::thread& lane : lanes) lane.join();
        own.report().right = wrong == 0;
    });
    CHECK(ranks.all_ended_well());
    for (int rank = 0; rank < 3; ++rank) CHECK(ranks.report(rank).right);
}

TEST_CASE("sockets: a rank that is killed in the middle is a lost peer to all, and named",
          "[sockets][faults]") {
    const Encryption encryption = GENERATE(Encryption::always, Encryption::never);
    for (const Collective algorithm : tested_algorithms) {
        CAPTURE(static_cast<int>(algorithm), static_cast<int>(encryption));
        ForkedRanks ranks(4, [&](ForkedRank& own) {
            const auto peers = own.connect(10s, encryption);
            own.timed(*peers, [&] { return sum_until_failure(own, *peers, algorithm); });
        });
        REQUIRE(ranks.wait_for_mark(2, 1));
        ranks.kill(2, SIGKILL);
        for (const int rank : {0, 1, 3}) {
            CAPTURE(rank);
            CHECK(ranks.ended_well(rank));
            CHECK(ranks.report(rank).outcome == Outcome::peer_lost);
            CHECK(ranks.report(rank).suspect == 2);
        }
    }
}

TEST_CASE("sockets: a rank that is stopped runs the others into their deadline, and is named",
          "[sockets][faults]") {
    ForkedRanks ranks(3, [](ForkedRank& own) {
        const auto peers = own.connect(400ms);
        own.mark(0);
        // Of rank 0 all wait in a star, so each names it.
        own.timed(*peers, [&] { return sum_until_failure(own, *peers, Collective::star); });
    });
    REQUIRE(ranks.wait_for_mark(0, 1));
    ranks.kill(0, SIGSTOP);
    for (const int rank : {1, 2}) {
        CAPTURE(rank);
        CHECK(ranks.ended_well(rank));
        CHECK(ranks.report(rank).outcome == Outcome::timed_out);
        CHECK(ranks.report(rank).suspect == 0);
    }
}

TEST_CASE("sockets: who gives up names the one it waited for to the others", "[sockets][faults]") {
    // Rank 0 waits for rank 2, which never comes; rank 1 waits for rank 0, for much longer.
    ForkedRanks ranks(3, [](ForkedRank& own) {
        auto peers = own.connect(own.rank() == 0 ? 200ms : 10s);
        std::vector<std::byte> bytes(8);
        if (own.rank() == 2) {
            own.wait_for_mark(1, 1);
            return;
        }
        own.timed(*peers,
                  [&] { return peers->exchange("word", own.rank() == 0 ? 2 : 0, bytes, bytes); });
        peers.reset();
        own.mark(1);
    });
    CHECK(ranks.ended_well(0));
    CHECK(ranks.ended_well(1));
    for (const int rank : {0, 1}) {
        CHECK(ranks.report(rank).outcome == Outcome::timed_out);
        CHECK(ranks.report(rank).suspect == 2);
    }
}

TEST_CASE("sockets: abort from another thread ends a wait, and all later ones",
          "[sockets][faults]") {
    ForkedRanks ranks(2, [](ForkedRank& own) {
        const auto peers = own.connect(10s);
        if (own.rank() == 1) {
            own.wait_for_mark(0, 1);
            return;
        }
        std::thread aborter([&] {
            std::this_thread::sleep_for(20ms);
            peers->abort();
        });
        std::vector<std::byte> bytes(8);
        own.timed(*peers, [&] { return peers->broadcast("never", bytes, 1); });
        aborter.join();
        own.report().right = peers->broadcast("later", bytes, 0) == Outcome::aborted;
        own.mark(1);
    });
    CHECK(ranks.all_ended_well());
    CHECK(ranks.report(0).outcome == Outcome::aborted);
    CHECK(ranks.report(0).suspect == -1);
    CHECK(ranks.report(0).right);
}

TEST_CASE("sockets: abort while several threads start operations ends them all",
          "[sockets][faults]") {
    constexpr int meetings = 12;
    for (int meeting = 0; meeting < meetings; ++meeting) {
        ForkedRanks ranks(2, [meeting](ForkedRank& own) {
            const auto peers = own.connect(20s);
            const Schedule schedule = all_reduce_schedule(Collective::ring, own.size());
            std::vector<std::thread> lanes;
            for (int lane = 0; lane < 4; ++lane) {
                lanes.emplace_back([&, lane] {
                    std::vector<float> values(100, 1.0F);
                    const std::string name = "bucket" + std::to_string(lane);
                    while (peers->all_reduce_sum(name, schedule, values) == Outcome::ok) {
                    }
                });
            }
            own.mark(1);
            own.wait_for_mark(1, 1);  // else the other has nobody to connect to
            std::this_thread::sleep_for(std::chrono::microseconds(300 * meeting));
            if (own.rank() == 0) peers->abort();
            for (std::thread& lane : lanes) lane.join();
            own.report().right = true;
        });
        CHECK(ranks.all_ended_well());
        for (int rank = 0; rank < 2; ++rank) CHECK(ranks.report(rank).right);
    }
}

TEST_CASE("sockets: what was sent last arrives although its sender is gone at once", "[sockets]") {
    constexpr std::size_t count = 4 << 20;
    const Encryption encryption = GENERATE(Encryption::always, Encryption::never);
    ForkedRanks ranks(2, [&](ForkedRank& own) {
        auto peers = own.connect(10s, encryption);
        std::vector<std::byte> bytes = test_bytes(own.rank(), count);
        own.timed(*peers, [&] { return peers->broadcast("last", bytes, 0); });
        own.report().right = bytes == test_bytes(0, count);
    });
    CHECK(ranks.all_ended_well());
    for (const int rank : {0, 1}) {
        CHECK(ranks.report(rank).outcome == Outcome::ok);
        CHECK(ranks.report(rank).right);
    }
}

TEST_CASE("sockets: who connects to a rank that has died gets peer_lost, not a long wait",
          "[sockets][faults]") {
    ForkedRanks ranks(3, [](ForkedRank& own) {
        SocketCommunicator peers(GroupSettings{{1, own.rank(), 3}, 300ms, "secret"});
        const auto addresses = own.addresses(peers.address());
        if (own.rank() == 1) {
            own.mark(1);
            kill(getpid(), SIGKILL);
        }
        own.wait_for_mark(1, 1);
        std::this_thread::sleep_for(5ms);
        own.timed(peers, [&] { return peers.connect(addresses); });
    });
    for (const int rank : {0, 2}) {
        CAPTURE(rank);
        CHECK(ranks.ended_well(rank));
        const Outcome outcome = ranks.report(rank).outcome;
        // The side that listens cannot tell a dead peer from a slow one.
        CHECK((outcome == Outcome::peer_lost || outcome == Outcome::timed_out));
        CHECK(ranks.report(rank).suspect != rank);
    }
}

TEST_CASE("sockets: a rank with another secret, or another epoch, stays outside",
          "[sockets][faults]") {
    for (const bool other_epoch : {false, true}) {
        ForkedRanks ranks(2, [&](ForkedRank& own) {
            const bool odd = own.rank() == 1;
            SocketCommunicator peers(GroupSettings{{odd && other_epoch ? 2U : 1U, own.rank(), 2},
                                                   1s,
                                                   odd && !other_epoch ? "guess" : "secret"});
            const auto addresses = own.addresses(peers.address());
            own.timed(peers, [&] { return peers.connect(addresses); });
        });
        CHECK(ranks.all_ended_well());
        // To the one who listens it is a stranger, of whom there may be many: the right one may
        // still come.
        CHECK(ranks.report(0).outcome == Outcome::timed_out);
        CHECK(ranks.report(0).suspect == 1);
        CHECK(ranks.report(1).outcome == Outcome::peer_lost);
        CHECK(ranks.report(1).suspect == 0);
    }
}

TEST_CASE("sockets: who encrypts and who does not are strangers to each other",
          "[sockets][faults]") {
    ForkedRanks ranks(2, [](ForkedRank& own) {
        const Encryption encryption = own.rank() == 0 ? Encryption::always : Encryption::never;
        SocketCommunicator peers(
            GroupSettings{{1, own.rank(), 2}, 500ms, "secret", "127.0.0.1", encryption});
        const auto addresses = own.addresses(peers.address());
        own.timed(peers, [&] { return peers.connect(addresses); });
    });
    CHECK(ranks.all_ended_well());
    CHECK(ranks.report(0).outcome == Outcome::timed_out);
    CHECK(ranks.report(1).outcome == Outcome::peer_lost);
}

TEST_CASE("sockets: ranks know who stands on their host, and sum in the order of the hosts",
          "[sockets]") {
    // Two addresses of the loopback are two hosts.
    const std::vector<std::int32_t> expected{0, 1, 0, 1};
    ForkedRanks ranks(4, [&](ForkedRank& own) {
        const bool first = own.rank() % 2 == 0;
        const auto peers =
            own.connect(20s, Encryption::across_hosts, first ? "127.0.0.1" : "127.0.0.2");
        own.report().right = peers->hosts() == expected;
        own.timed(*peers, [&] {
            for (const Collective algorithm : {Collective::automatic, Collective::ring}) {
                const Schedule schedule = schedule_on_hosts(algorithm, 4, peers->hosts());
                for (const std::size_t count : {3UL, 1009UL, several_segments}) {
                    std::vector<float> values = rank_values(own.rank(), count);
                    const Outcome outcome = peers->all_reduce_sum("sum", schedule, values);
                    if (outcome != Outcome::ok) return outcome;
                    const auto sums = summed_in_process(schedule, count);
                    own.report().right =
                        own.report().right && equal_bits(values, sums[0]) && is_sum(values, 4);
                }
            }
            return Outcome::ok;
        });
    });
    CHECK(ranks.all_ended_well());
    for (int rank = 0; rank < 4; ++rank) {
        CHECK(ranks.report(rank).outcome == Outcome::ok);
        CHECK(ranks.report(rank).right);
    }
}

TEST_CASE("sockets: damaged addresses are refused as values", "[sockets][faults]") {
    SocketCommunicator short_one(GroupSettings{{1, 0, 2}, 1s, ""});
    const auto own = short_one.address();
    const std::vector<std::byte> mine(own.begin(), own.end());
    CHECK(short_one.connect(std::vector{mine, std::vector<std::byte>(3)}) == Outcome::peer_lost);
    CHECK(short_one.suspect() == 1);
    SocketCommunicator empty_one(GroupSettings{{1, 0, 2}, 1s, ""});
    CHECK(empty_one.connect(std::vector{mine, std::vector<std::byte>(mine.size())}) ==
          Outcome::peer_lost);
    SocketCommunicator alone(GroupSettings{{1, 0, 2}, 1s, ""});
    CHECK(alone.connect(std::vector<std::vector<std::byte>>(1, mine)) == Outcome::peer_lost);
    CHECK(alone.suspect() == -1);
}

TEST_CASE("sockets: nobody else there means a deadline when connecting", "[sockets][faults]") {
    SocketCommunicator first(GroupSettings{{1, 0, 2}, 100ms, ""});
    SocketCommunicator second(GroupSettings{{1, 1, 2}, 100ms, ""});  // listens, never connects
    const auto one = first.address();
    const auto two = second.address();
    CHECK(first.connect(std::vector{std::vector(one.begin(), one.end()),
                                    std::vector(two.begin(), two.end())}) == Outcome::timed_out);
    CHECK(first.suspect() == 1);
}
