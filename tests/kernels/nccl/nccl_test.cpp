// nccl_test.cpp — the life of an NCCL communicator, with a double in NCCL's place: what waits, what
// ends a wait, who is named, and how a group changes. NCCL itself needs GPUs.
#include <catch2/catch.hpp>
#include <functional>
#include <latch>

#include "kernels/nccl/nccl_communicator.hpp"
#include "kernels/nccl/nccl_group.hpp"
#include "kernels/nccl/nccl_order.hpp"
#include "tests/kernels/nccl/fake_nccl.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

constexpr auto long_deadline = 10h;  // of counted time

// Runs `work(rank)` on a thread a rank.
void on_ranks(int ranks, const std::function<void(int)>& work) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&, rank] { work(rank); });
}

NcclState nothing() { return NcclState::done; }

}  // namespace

TEST_CASE("nccl: all operations between three ranks, staged for the device", "[nccl]") {
    FakeBoard board;
    constexpr int ranks = 3;
    const NcclId id = FakeNccl(board).new_id();
    const Schedule ring = all_reduce_schedule(Collective::ring, ranks);
    std::vector<std::vector<float>> sums(ranks, {1, 2, 3});
    std::vector<std::vector<std::byte>> gathered(ranks, std::vector<std::byte>(ranks));
    std::vector<std::vector<std::byte>> broadcasts(ranks);
    std::vector<std::byte> swapped(ranks);
    std::vector<int> good(ranks, 0);
    on_ranks(ranks, [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        FakeNccl calls(board);
        NcclCommunicator peers(calls, {{7, rank, ranks}, long_deadline, long_deadline, {}});
        std::vector<Outcome> outcomes{peers.connect(id)};
        sums[r][0] = static_cast<float>(rank);
        outcomes.push_back(peers.all_reduce_sum("sum", ring, sums[r]));
        const std::byte own{static_cast<unsigned char>(rank + 10)};
        outcomes.push_back(peers.all_gather("gather", {&own, 1}, gathered[r]));
        broadcasts[r].assign(4, own);
        outcomes.push_back(peers.broadcast("from 1", broadcasts[r], 1));
        const int peer = ranks - 1 - rank;  // 0 with 2, 1 with itself
        outcomes.push_back(
            peers.exchange("pair", peer, {&own, 1}, std::span(swapped).subspan(r, 1)));
        for (const Outcome outcome : outcomes) good[r] += outcome == Outcome::ok ? 1 : 0;
        CHECK(peers.suspect() == -1);
        CHECK(peers.membership().epoch == 7);
        CHECK(calls.device_bytes > 0);
    });
    CHECK(good == std::vector<int>{5, 5, 5});
    for (int rank = 0; rank < ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        CHECK(sums[r] == std::vector<float>{3, 6, 9});
        CHECK(gathered[r] == std::vector{std::byte{10}, std::byte{11}, std::byte{12}});
        CHECK(broadcasts[r] == std::vector<std::byte>(4, std::byte{11}));
    }
    CHECK(swapped == std::vector{std::byte{12}, std::byte{11}, std::byte{10}});
}

TEST_CASE("nccl: what codecs hand in is combined, sums that NCCL has not included", "[nccl]") {
    FakeBoard board;
    constexpr int ranks = 2;
    const NcclId id = FakeNccl(board).new_id();
    const Schedule ring = all_reduce_schedule(Collective::ring, ranks);
    std::vector<std::vector<std::int16_t>> counts(ranks);
    std::vector<std::vector<float>> largest(ranks);
    on_ranks(ranks, [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        FakeNccl calls(board);
        NcclCommunicator peers(calls, {{1, rank, ranks}, long_deadline, long_deadline, {}});
        static_cast<void>(peers.connect(id));
        counts[r] = {static_cast<std::int16_t>(rank == 0 ? -300 : 200), 7};
        static_cast<void>(peers.all_reduce("counts", ring, Reduction::sum_int16,
                                           std::as_writable_bytes(std::span(counts[r]))));
        largest[r] = {static_cast<float>(rank), 2.5F};
        static_cast<void>(peers.all_reduce("largest", ring, Reduction::maximum_single,
                                           std::as_writable_bytes(std::span(largest[r]))));
    });
    for (std::size_t r = 0; r < ranks; ++r) {
        CHECK(counts[r] == std::vector<std::int16_t>{-100, 14});
        CHECK(largest[r] == std::vector<float>{1, 2.5F});
    }
}

TEST_CASE("nccl: a rank that never comes ends the wait at the deadline, and is aborted", "[nccl]") {
    FakeBoard board;
    FakeNccl calls(board);
    NcclGroup group(calls, 1h, 50ms);
    CHECK(group.connect(calls.new_id(), {1, 0, 2}) == Outcome::timed_out);
    CHECK(group.phase() == NcclGroup::Phase::broken);
    CHECK(calls.aborts == 1);
    CHECK(calls.now() >= 50ms);
    CHECK(group.suspect() == -1);  // NCCL does not say who
    CHECK(group.run([](const auto&) { return NcclState::done; }, nothing) == Outcome::aborted);
    group.close();
    CHECK(group.phase() == NcclGroup::Phase::absent);
    CHECK(calls.finishes == 0);  // an orderly end would wait for the lost
}

TEST_CASE("nccl: heartbeats name who is lost while a stream hangs", "[nccl]") {
    FakeBoard board;
    FakeNccl calls(board);
    NcclGroup group(calls, 10s, 10s);
    REQUIRE(group.connect(calls.new_id(), {1, 0, 1}) == Outcome::ok);
    calls.stream_hangs = true;
    calls.meanwhile = [&](int pause) {
        if (pause == 20) group.report_lost(3);
    };
    CHECK(group.run([](const auto&) { return NcclState::in_progress; }, nothing) ==
          Outcome::peer_lost);
    CHECK(group.suspect() == 3);
    CHECK(calls.aborts == 1);
    CHECK(calls.now() < 10s);
}

TEST_CASE("nccl: an abort ends the wait, and every later call", "[nccl]") {
    FakeBoard board;
    FakeNccl calls(board);
    NcclGroup group(calls, 10s, 10s);
    REQUIRE(group.connect(calls.new_id(), {1, 0, 1}) == Outcome::ok);
    calls.stream_hangs = true;
    calls.meanwhile = [&](int pause) {
        if (pause == 5) group.abort();
    };
    const auto busy = [](const NcclCalls::Handle&) { return NcclState::in_progress; };
    CHECK(group.run(busy, nothing) == Outcome::aborted);
    CHECK(group.run(busy, nothing) == Outcome::aborted);
    CHECK(calls.aborts == 1);
}

TEST_CASE("nccl: a launch that fails breaks the group and says why", "[nccl]") {
    FakeBoard board;
    FakeNccl calls(board);
    NcclCommunicator peers(calls, {{1, 0, 1}, 1s, 1s, {}});
    REQUIRE(peers.connect(calls.new_id()) == Outcome::ok);
    calls.launch_fails = true;
    std::vector<float> values{1};
    const Schedule alone = all_reduce_schedule(Collective::automatic, 1);
    CHECK(peers.all_reduce_sum("sum", alone, values) == Outcome::peer_lost);
    CHECK(peers.why() == "unhandled system error");
    CHECK(calls.aborts == 1);
    CHECK(peers.all_reduce_sum("sum", alone, values) == Outcome::aborted);
}

TEST_CASE("nccl: after a planned departure the rest go on in a group within theirs", "[nccl]") {
    FakeBoard board;
    constexpr int ranks = 4;
    const NcclId id = FakeNccl(board).new_id();
    const std::vector<int> leaving{1, 2};
    std::vector<float> sums(ranks, 0.0F);
    std::vector<float> sums_before(ranks, 0.0F);
    std::vector<int> next_rank(ranks, -1);
    std::vector<int> too_early(ranks, 0);
    std::latch made(2);  // those who leave live until it is over
    on_ranks(ranks, [&](int rank) {
        const auto r = static_cast<std::size_t>(rank);
        const Schedule four = all_reduce_schedule(Collective::ring, ranks);
        FakeNccl calls(board);
        NcclCommunicator parent(calls, {{1, rank, ranks}, long_deadline, long_deadline, {}});
        if (parent.connect(id) != Outcome::ok) return;
        if (rank == 0 || rank == 3) {
            calls.shrink_lasts = 3;
            const int rank_then = rank == 0 ? 0 : 1;
            NcclCommunicator peers(calls, {{2, rank_then, 2}, long_deadline, long_deadline, {}});
            const Outcome outcome = peers.connect_within(parent, leaving);
            too_early[r] = calls.aborts_of_shrinking;
            made.count_down();
            if (outcome != Outcome::ok || !peers.is_ready()) return;
            next_rank[r] = peers.membership().rank;
            sums[r] = static_cast<float>(rank);
            const Schedule two = all_reduce_schedule(Collective::ring, 2);
            static_cast<void>(peers.all_reduce_sum("sum", two, std::span(sums).subspan(r, 1)));
        }
        made.wait();
        sums_before[r] = 1;
        static_cast<void>(parent.all_reduce_sum("sum", four, std::span(sums_before).subspan(r, 1)));
    });
    CHECK(next_rank == std::vector<int>{0, -1, -1, 1});
    CHECK(too_early == std::vector<int>{0, 0, 0, 0});
    CHECK(sums == std::vector<float>{3, 0, 0, 3});
    CHECK(sums_before == std::vector<float>{4, 4, 4, 4});  // the parent is whole
}

TEST_CASE("nccl: after a loss the next group has a new id and forgets the old", "[nccl]") {
    FakeBoard board;
    FakeNccl calls(board);
    NcclGroup group(calls, 1h, 20ms);
    CHECK(group.connect(calls.new_id(), {1, 0, 2}) == Outcome::timed_out);
    group.close();
    CHECK(group.connect(calls.new_id(), {2, 0, 1}) == Outcome::ok);
    CHECK(group.membership().epoch == 2);
    group.close();
    CHECK(calls.finishes == 1);
}

namespace {

// A group of two that is formed, seen by its first rank.
struct ParentOfTwo {
    FakeBoard board;
    FakeNccl calls{board};
    FakeNccl other_calls{board};
    NcclCommunicator parent{calls, {{1, 0, 2}, 1s, 1s, {}}};
    ParentOfTwo() {
        const NcclId id = calls.new_id();
        other_calls.init(id, 1, 2);
        REQUIRE(parent.connect(id) == Outcome::ok);
    }
};

}  // namespace

TEST_CASE("nccl: a shrink that fails on the parent says the parent's reason", "[nccl]") {
    ParentOfTwo two;
    two.calls.shrink_fails = true;
    NcclCommunicator peers(two.calls, {{2, 0, 1}, 1s, 1s, {}});
    CHECK(peers.connect_within(two.parent, std::vector{1}) == Outcome::peer_lost);
    CHECK_FALSE(peers.is_ready());
    CHECK(peers.why() == "the shrink failed");
    CHECK(two.calls.aborts == 1);  // of the child
}

TEST_CASE("nccl: what is gathered may begin where the own part lies", "[nccl]") {
    FakeBoard board;
    constexpr int ranks = 2;
    const NcclId id = FakeNccl(board).new_id();
    std::vector<std::vector<std::byte>> all(ranks, std::vector<std::byte>(ranks * 64));
    on_ranks(ranks, [&](int rank) {
        FakeNccl calls(board);
        NcclCommunicator peers(calls, {{1, rank, ranks}, long_deadline, long_deadline, {}});
        static_cast<void>(peers.connect(id));
        auto& own = all[static_cast<std::size_t>(rank)];
        std::fill_n(own.begin(), 64, static_cast<std::byte>(rank + 1));
        static_cast<void>(peers.all_gather("gather", std::span(own).first(64), own));
    });
    for (const auto& found : all) {
        std::vector<std::byte> wanted(64, std::byte{1});
        wanted.resize(128, std::byte{2});
        CHECK(found == wanted);
    }
}

TEST_CASE("nccl: a group within which a shrink hangs is not whole", "[nccl]") {
    ParentOfTwo two;
    CHECK(two.parent.is_ready());
    two.calls.shrink_lasts = 1'000'000;
    NcclCommunicator peers(two.calls, {{2, 0, 1}, 1s, 20ms, {}});
    CHECK(peers.connect_within(two.parent, std::vector{1}) == Outcome::timed_out);
    CHECK_FALSE(two.parent.is_ready());
}

TEST_CASE("nccl order: the list decides, whichever thread comes first", "[nccl]") {
    NcclOrder order({"a", "b", "c"});
    std::string went;
    std::mutex mutex;
    const auto go = [&](std::string_view name) {
        if (order.take_turn(name, 60s) != Outcome::ok) return;
        {
            const std::lock_guard lock(mutex);
            went += name;
        }
        order.done();
    };
    for (int round = 0; round < 20; ++round) {
        const std::vector<std::string> names{"c", "b", "a"};
        std::vector<std::jthread> threads;
        for (const std::string& name : names) threads.emplace_back([&, name] { go(name); });
    }
    std::string expected;
    for (int round = 0; round < 20; ++round) expected += "abc";
    CHECK(went == expected);
    go("other");  // between two rounds
    CHECK(went == expected + "other");
}

TEST_CASE("nccl order: a turn that never comes ends at the deadline, or when aborted", "[nccl]") {
    NcclOrder order({"a", "b"});
    CHECK(order.take_turn("b", 1ms) == Outcome::timed_out);
    REQUIRE(order.take_turn("a", 1ms) == Outcome::ok);
    CHECK(order.take_turn("other", 1ms) == Outcome::timed_out);  // a round is under way
    order.abort();
    order.done();
    CHECK(order.take_turn("b", 60s) == Outcome::aborted);
}
