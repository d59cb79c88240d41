// packet_switch.hpp — the network between namespaces as a program of ours: packets that are late,
// few, lost or stopped, one way or both. In place of `tc netem`, which not every kernel has.
//
// Each namespace gets a TUN device; what it sends there a thread of this process reads, holds for
// as long as the way takes, and writes to the device of the namespace that has the address. Both
// are gone with this object.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <queue>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_descriptor.hpp"

namespace ukemi {

// From one host to another.
struct PacketWay {
    std::chrono::microseconds delay{0};
    std::int64_t bytes_per_second = 0;  // 0: as many as come
    double lost = 0;                    // of all packets, at random
    bool stopped = false;               // nothing gets through, and nobody is told
};

class PacketSwitch {
public:
    struct Host {
        std::string name_space;               // of `ip netns`
        std::array<std::uint8_t, 4> address;  // of its device `eth0`, which its owner sets up
    };
    // Throws std::system_error where devices may not be made.
    explicit PacketSwitch(std::vector<Host> hosts);
    ~PacketSwitch();
    PacketSwitch(const PacketSwitch&) = delete;
    PacketSwitch& operator=(const PacketSwitch&) = delete;

    void set_way(std::size_t from, std::size_t to, const PacketWay& way);
    // Packets that have been delivered, from one host to another.
    std::int64_t delivered(std::size_t from, std::size_t to) const;

private:
    using Clock = std::chrono::steady_clock;
    using Packet = std::vector<std::byte>;
    struct Late {
        Clock::time_point due;
        std::uint64_t number = 0;  // packets of one moment keep their order
        std::size_t from = 0;
        std::size_t to = 0;
        Packet packet;
        bool operator<(const Late& other) const {
            return std::pair(other.due, other.number) < std::pair(due, number);
        }
    };
    struct Way {
        PacketWay rules;
        Clock::time_point free_at{};  // when it has sent what it has taken
        std::int64_t delivered = 0;
    };
    void forward();
    void take_from(std::size_t from);
    void accept(std::size_t from, Packet packet);
    void deliver_due();
    int wait_ms() const;

    std::vector<Host> hosts_;
    std::vector<FileDescriptor> devices_;
    FileDescriptor end_;
    mutable std::mutex mutex_;  // of the ways
    std::map<std::pair<std::size_t, std::size_t>, Way> ways_;
    std::priority_queue<Late> late_;
    std::uint64_t taken_ = 0;
    std::mt19937 random_{1};
    std::thread thread_;
};

}  // namespace ukemi
