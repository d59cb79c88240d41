// hostile_meeting_test.cpp — a group meets and works while strangers of thirty kinds knock at every
// port that it opens.
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "kernels/socket_communicator.hpp"
#include "tests/support/hostile_peer.hpp"

using namespace ukemi;
using namespace ukemi::kernels;
using namespace std::chrono_literals;

namespace {

constexpr int members = 3;
constexpr int meetings_wanted = 12;

// Where the members listen at this moment.
class Ports {
public:
    void put(std::size_t rank, std::span<const std::byte> address) {
        const std::lock_guard lock(mutex_);
        at_[rank] =
            SocketAddress::of_text({reinterpret_cast<const char*>(address.data()), address.size()});
    }
    std::optional<SocketAddress> of(std::size_t rank) const {
        const std::lock_guard lock(mutex_);
        return at_[rank];
    }

private:
    mutable std::mutex mutex_;
    std::array<std::optional<SocketAddress>, members> at_;
};

// How many of the members' meetings_wanted and sums went well.
int meet_once(std::uint64_t epoch, Ports& ports) {
    std::vector<std::unique_ptr<SocketCommunicator>> group;
    std::vector<std::vector<std::byte>> addresses;
    for (int rank = 0; rank < members; ++rank) {
        group.push_back(std::make_unique<SocketCommunicator>(
            GroupSettings{{epoch, rank, members}, 20s, "what nobody else knows"}));
        const auto address = group.back()->address();
        addresses.emplace_back(address.begin(), address.end());
        ports.put(static_cast<std::size_t>(rank), address);
    }
    std::atomic<int> well = 0;
    {
        std::vector<std::jthread> threads;
        for (auto& each : group) {
            threads.emplace_back([&] {
                if (each->connect(addresses) != Outcome::ok) return;
                const Schedule schedule = all_reduce_schedule(policies::Collective::ring, members);
                std::vector<float> values(100'000, 1.0F);
                if (each->all_reduce_sum("sum", schedule, values) != Outcome::ok) return;
                if (values.front() == members && values.back() == members) ++well;
            });
        }
    }
    {
        std::vector<std::jthread> threads;  // each takes leave of the others
        for (auto& each : group) threads.emplace_back([&] { each.reset(); });
    }
    return well;
}

}  // namespace

TEST_CASE("sockets: strangers of thirty kinds at every port keep no group from meeting",
          "[sockets][faults]") {
    Ports ports;
    std::atomic<bool> over = false;
    HostilePeers hostile;
    std::thread strangers([&] {
        for (std::size_t turn = 0; !over; ++turn) {
            const auto at = ports.of(turn % members);
            if (at) hostile.knock(*at);
        }
    });
    int well = 0;
    for (int meeting = 1; meeting <= meetings_wanted; ++meeting) {
        well += meet_once(static_cast<std::uint64_t>(meeting), ports);
    }
    over = true;
    strangers.join();
    CHECK(well == members * meetings_wanted);
    CHECK(hostile.connections() > 0);
}
