// device_exchange_test.cpp — when a group's sums go over its devices, and what happens if not: with
// a double in NCCL's place and threads in the sockets'.
#include "kernels/nccl/device_exchange.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <thread>
#include <utility>

#include "tests/kernels/nccl/fake_nccl.hpp"
#include "tests/support/in_process.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace ukemi::policies;
using namespace std::chrono_literals;

namespace {

struct DeviceGroup {
    std::unique_ptr<test::InProcessCommunicator> sockets;
    std::unique_ptr<DeviceExchange> exchange;
};

// A worker, in one group after the other.
struct DeviceMember {
    std::shared_ptr<FakeNccl> fake;
    DeviceLink link;
    DeviceGroup present;
    DeviceGroup next;
    Outcome outcome = Outcome::aborted;
    std::vector<float> sum;
};

class DeviceWorkers {
public:
    DeviceMember& add(int number, std::string device) {
        DeviceMember& added = members[number];
        added.fake = std::make_shared<FakeNccl>(board_);
        added.link = {std::move(device), added.fake, {}};
        return added;
    }
    // These form a group, in this order, beside those that they are in, and sum one bucket and
    // something else.
    void enter(const std::vector<int>& numbers, std::uint64_t epoch) {
        const int size = static_cast<int>(numbers.size());
        auto sockets = test::in_process_communicators(size, 20s, epoch);
        std::vector<std::jthread> threads;
        for (std::size_t rank = 0; rank < numbers.size(); ++rank) {
            DeviceMember& member = members.at(numbers[rank]);
            member.next.sockets = std::move(sockets[rank]);
            member.next.exchange = std::make_unique<DeviceExchange>(
                *member.next.sockets, member.link, std::vector<std::string>{"bucket/0"}, 10h);
            threads.emplace_back([&member, size] { sum(member, size); });
        }
    }
    void commit(const std::vector<int>& numbers) {
        for (const int number : numbers) {
            DeviceMember& member = members.at(number);
            member.present.exchange.reset();
            member.present = std::move(member.next);
        }
    }
    bool all_sum(const std::vector<int>& numbers, float wanted) {
        return std::ranges::all_of(numbers, [&](int number) {
            const DeviceMember& member = members.at(number);
            return member.outcome == Outcome::ok &&
                   member.sum == std::vector<float>{wanted, wanted};
        });
    }
    const DeviceExchange& next(int number) { return *members.at(number).next.exchange; }
    int shrinks(int number) {
        return static_cast<int>(std::ranges::count(members.at(number).fake->calls, "shrink"));
    }

    std::map<int, DeviceMember> members;

private:
    static void sum(DeviceMember& member, int size) {
        DeviceExchange& peers = *member.next.exchange;
        member.outcome = peers.connect(member.present.exchange.get());
        if (member.outcome != Outcome::ok) return;
        member.sum = {1, 1};
        const Schedule ring = all_reduce_schedule(Collective::ring, size);
        member.outcome = peers.all_reduce_sum("bucket/0", ring, std::span(member.sum).first(1));
        if (member.outcome != Outcome::ok) return;
        member.outcome = peers.all_reduce_sum("other", ring, std::span(member.sum).last(1));
    }

    FakeBoard board_;
};

}  // namespace

TEST_CASE("device exchange: sums of the list go over the devices, the rest over the sockets",
          "[nccl]") {
    DeviceWorkers workers;
    for (int number : {0, 1, 2}) workers.add(number, "gpu " + std::to_string(number));
    workers.enter({0, 1, 2}, 1);
    CHECK(workers.all_sum({0, 1, 2}, 3));
    for (int number : {0, 1, 2}) {
        CAPTURE(number, workers.next(number).why());
        CHECK(workers.next(number).on_devices());
        CHECK(workers.members.at(number).fake->device_bytes == sizeof(float));  // one sum
        CHECK(workers.next(number).suspect() == -1);
    }
}

TEST_CASE("device exchange: two ranks on one GPU, or one without, and all use the sockets",
          "[nccl]") {
    DeviceWorkers workers;
    for (int number : {0, 1, 2}) workers.add(number, number == 0 ? "gpu 0" : "gpu 1");
    workers.enter({0, 1, 2}, 1);
    CHECK(workers.all_sum({0, 1, 2}, 3));
    CHECK_FALSE(workers.next(0).on_devices());
    CHECK(workers.next(0).why() == "ranks 1 and 2 share a GPU");

    workers.members.at(2).link = {"gpu 2", nullptr, "no NCCL: libnccl.so.2"};
    workers.enter({0, 1, 2}, 2);
    CHECK(workers.all_sum({0, 1, 2}, 3));
    CHECK(workers.next(0).why() == "rank 2 has no GPU that NCCL serves");
    CHECK(workers.next(2).why() == "no NCCL: libnccl.so.2");
    CHECK(workers.members.at(0).fake->device_bytes == 0);
}

TEST_CASE("device exchange: where NCCL does not connect, the sockets serve and say why", "[nccl]") {
    DeviceWorkers workers;
    for (int number : {0, 1}) workers.add(number, "gpu " + std::to_string(number));
    workers.members.at(1).fake->launch_fails = true;
    workers.enter({0, 1}, 1);
    CHECK(workers.all_sum({0, 1}, 2));
    CHECK(workers.next(0).why() == "NCCL does not connect rank 1");
    CHECK(workers.next(1).why() == "NCCL: unhandled system error");
}

TEST_CASE("device exchange: a smaller group is made within the present one, others anew",
          "[nccl]") {
    DeviceWorkers workers;
    for (int number : {0, 1, 2, 3}) workers.add(number, "gpu " + std::to_string(number));
    workers.enter({0, 1, 2, 3}, 1);
    workers.commit({0, 1, 2, 3});
    SECTION("fewer, in the old order: the present one is whole if it is called off") {
        workers.enter({0, 2, 3}, 2);
        CHECK(workers.all_sum({0, 2, 3}, 3));
        CHECK(workers.next(2).on_devices());
        CHECK(workers.shrinks(2) == 1);
        for (int number : {0, 2, 3}) workers.members.at(number).next = {};
        workers.enter({0, 2, 3}, 3);
        CHECK(workers.all_sum({0, 2, 3}, 3));
        CHECK(workers.shrinks(2) == 2);
    }
    SECTION("fewer in another order, or with a newcomer") {
        workers.enter({3, 0}, 2);
        CHECK(workers.all_sum({0, 3}, 2));
        CHECK(workers.next(3).on_devices());
        CHECK(workers.shrinks(3) == 0);
        workers.add(4, "gpu 4");
        workers.enter({1, 2, 4}, 3);
        CHECK(workers.all_sum({1, 2, 4}, 3));
        CHECK(workers.next(4).on_devices());
        CHECK(workers.shrinks(1) == 0);
    }
    SECTION("fewer, after a loss that broke the present one") {
        workers.members.at(0).present.exchange->abort();
        float lost = 1;
        const Schedule ring = all_reduce_schedule(Collective::ring, 4);
        CHECK(workers.members.at(0).present.exchange->all_reduce_sum(
                  "bucket/0", ring, {&lost, 1}) == Outcome::aborted);
        workers.enter({0, 1, 2}, 2);
        CHECK(workers.all_sum({0, 1, 2}, 3));
        CHECK(workers.next(0).on_devices());
        CHECK(workers.shrinks(0) == 0);
    }
}
