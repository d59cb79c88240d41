// hostile_test.cpp — strangers of thirty kinds knock at the coordinator's door while a group trains
// and changes: no step is lost, nobody dies, and the memory stays what it was.
#include <fstream>
#include <sstream>

#include "tests/runtime/crew_rig.hpp"
#include "tests/support/hostile_peer.hpp"

namespace ukemi {

namespace {

// 3,000, or as many as UKEMI_HOSTILE_CONNECTIONS says.
std::size_t hostile_connections() {
    const char* const said = std::getenv("UKEMI_HOSTILE_CONNECTIONS");
    return said == nullptr ? 3'000 : static_cast<std::size_t>(std::atoll(said));
}

std::string all_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

SocketAddress door_told_to(int process) {
    const std::string text = all_of(fmt::format("/proc/{}/environ", process));
    const std::string name = "UKEMI_RENDEZVOUS=";
    const std::size_t at = text.find(name);
    REQUIRE(at != std::string::npos);
    const auto address = SocketAddress::of_text(text.c_str() + at + name.size());
    REQUIRE(address);
    return *address;
}

long resident_kib() {
    const std::string text = all_of("/proc/self/status");
    return std::atol(text.c_str() + text.find("VmRSS:") + 6);
}

}  // namespace

TEST_CASE("crew: strangers of thirty kinds cost themselves a connection, and nobody else anything",
          "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1, 2}));
    const SocketAddress door = door_told_to(rig.crew.process_of(InstanceId{0}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.crew.run();
    HostilePeers hostile;
    const std::size_t wanted = hostile_connections();
    long warm_kib = 0;
    std::uint32_t version = 1;
    while (hostile.connections() < wanted) {
        for (int i = 0; i < 10; ++i) hostile.knock(door);
        rig.look(1ms);
        if (hostile.connections() == 300) warm_kib = resident_kib();
        if (hostile.connections() % 1'000 != 0) continue;
        rig.crew.hold();  // and then the group is another
        rig.expect<runtime::GroupHeld>();
        ++version;
        rig.enter(version % 2 == 0 ? ids({0, 1, 2}) : ids({0, 1}), plan_of(version));
        rig.crew.run();
    }
    rig.crew.hold();
    CHECK(rig.expect<runtime::GroupHeld>().step > 0);
    for (const runtime::CrewEvent& event : rig.log) {
        CHECK_FALSE(std::holds_alternative<runtime::WorkerDied>(event));
        CHECK_FALSE(std::holds_alternative<runtime::TransitionFailed>(event));
    }
    CHECK(hostile.by_kind().size() == HostilePeers::kinds);
    rig.spawn(ids({3}));  // who is invited gets in all the same
    CHECK(rig.enter(ids({0, 1, 3}), plan_of(version + 1)).group_changed);
    const auto end = std::chrono::steady_clock::now() + 1'500ms * patience;
    while (std::chrono::steady_clock::now() < end) rig.look(50ms);
    CHECK(hostile.still_held() == 0);  // who says nothing is shown out
    // Beside what this test itself keeps of every step.
    constexpr std::size_t event_bytes =
        sizeof(runtime::CrewEvent) + 3 * sizeof(kernels::StepWord) + 64;
    const auto kept_kib = static_cast<long>(rig.log.size() * event_bytes / 1024);
    CHECK(resident_kib() - warm_kib - kept_kib < 64 * 1024);
}

}  // namespace ukemi
