// agent_frames_test.cpp — what the fuzzer of agents' frames begins with is said and heard; what no
// agent says costs it its connection.
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/read_file.hpp"
#include "tests/runtime/agent_frames/use_agent_frames.hpp"

namespace ukemi::runtime {

namespace {

const std::string own_run = "0123456789abcdef0123456789abcdef";

ByteString bytes_in(const std::filesystem::path& file) {
    const std::string text = read_file(file);
    return {text.begin(), text.end()};
}

}  // namespace

TEST_CASE("agents' frames: each file of the fuzzer's corpus is said to its end", "[agent_frames]") {
    const auto folder =
        std::filesystem::path(UKEMI_SOURCE_DIR) / "tests/runtime/agent_frames/corpus";
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().string());
        ByteString bytes = bytes_in(entry.path());
        const int taken = use_agent_frames(bytes);
        CHECK(taken >= 1);
        for (std::size_t i = 0; i < bytes.size(); ++i) {  // each byte another, one after the other
            bytes[i] ^= 0x5AU;
            use_agent_frames(bytes);
            bytes[i] ^= 0x5AU;
        }
        bytes.push_back(0);
        CHECK(use_agent_frames(bytes) == taken);
        ++count;
    }
    CHECK(count == 6);
}

TEST_CASE("agents' frames: an agent says which workers it has, once, and ends them",
          "[agent_frames]") {
    AgentAtTheDoor door;
    const std::uint32_t worker = door.earlier_worker();
    CHECK(door.say(AgentBeat{}));
    CHECK(door.say(AgentWorkers{own_run, {worker, worker, worker + 1}}));
    CHECK(door.events() == 1);  // it has joined
    CHECK(door.say(AgentWorkers{own_run, {worker + 2}}));
    CHECK(door.events() == 1);
    CHECK(door.say(WorkerEnded{worker, "killed"}));
    CHECK(door.say(WorkerEnded{12345, "nobody's"}));
    CHECK(door.say(AgentNotice{"it goes", true, -1}));
    CHECK(door.say(AgentNotice{"again", false, 0}));
    CHECK(door.events() == 2);
}

TEST_CASE("agents' frames: what no agent says is the end of its stay", "[agent_frames]") {
    const auto what =
        GENERATE(Message(Dismissal{}), Message(Run{1, 1, 1, 0}), Message(Status{}),
                 Message(AgentWorkers{std::string(32, 'f'), {}}),
                 // More than it has places for.
                 Message(AgentWorkers{own_run, {1048576, 1048577, 1048578, 1048579}}));
    AgentAtTheDoor door;
    CHECK_FALSE(door.say(what));
}

}  // namespace ukemi::runtime
