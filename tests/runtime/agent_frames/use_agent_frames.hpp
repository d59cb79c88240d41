// use_agent_frames.hpp — anything at all that somebody with the agents' secret may say after its
// greeting: obeyed or refused, never a crash, and never more held for it than it has places.
//
// For the fuzzer, and for the test that what the fuzzer begins with is said. Each frame begins with
// its length, a byte and its upper part in the next.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/invariant.hpp"
#include "runtime/agent_body.hpp"
#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

inline constexpr int agent_frames_slots = 3;

// A crew whose coordinator has followed another, and an agent that has just been greeted.
class AgentAtTheDoor {
public:
    AgentAtTheDoor() : state_(setup()) {
        std::array<int, 2> ends{-1, -1};
        INVARIANT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
        other_ = FileDescriptor(ends[1]);
        const AgentHello hello{protocol_version, agent_frames_slots, "fuzzed"};
        state_.welcome(hello, Connection(FileDescriptor(ends[0]), frame_bytes_max), Clock::now());
        agent_ = state_.agents.begin()->first;
    }

    // False once it is shown out.
    bool say(const Message& message) {
        state_.handle_agent(agent_, message);
        INVARIANT(state_.workers.size() <= agent_frames_slots);
        return state_.agents.contains(agent_);
    }
    std::size_t events() const { return state_.events.size(); }
    std::uint32_t earlier_worker() const { return 1U << 20U; }  // of the term before

private:
    static CrewSetup setup() {
        CrewSetup setup;
        setup.folder = std::filesystem::temp_directory_path();
        AgentDoor door;
        door.address = *SocketAddress::of_host("127.0.0.1", 0);
        door.run = "0123456789abcdef0123456789abcdef";
        door.term = 2;
        setup.agents = door;
        return setup;
    }
    FileDescriptor other_;
    Crew::State state_;
    std::uint32_t agent_ = 0;
};

// How many frames were taken.
inline int use_agent_frames(std::span<const std::uint8_t> bytes) {
    AgentAtTheDoor door;
    int taken = 0;
    while (bytes.size() > 2) {
        const std::size_t length =
            std::min<std::size_t>(bytes[0] + (std::size_t{bytes[1]} << 8U), bytes.size() - 2);
        const Decoded decoded = decode(bytes.subspan(2, length));
        bytes = bytes.subspan(2 + length);
        if (!decoded.message) return taken;  // its connection ends
        ++taken;
        if (!door.say(*decoded.message)) return taken;
    }
    return taken;
}

}  // namespace ukemi::runtime
