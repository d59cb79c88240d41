// crew_stranger_test.cpp — who knocks without the secret, and who is left behind: nobody.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/rendezvous.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

FileDescriptor knock(std::uint16_t port) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return socket;
}

void write_to(const FileDescriptor& socket, const runtime::ByteString& bytes) {
    [[maybe_unused]] const ssize_t sent =
        ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

// The port that a worker was told, from its environment.
std::uint16_t port_of(int process) {
    const std::string text = text_of(fmt::format("/proc/{}/environ", process));
    const std::string name = "UKEMI_RENDEZVOUS=127.0.0.1:";
    const std::size_t at = text.find(name);
    REQUIRE(at != std::string::npos);
    return static_cast<std::uint16_t>(std::atoi(text.c_str() + at + name.size()));
}

}  // namespace

TEST_CASE("crew: strangers at the door change nothing", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0, 1}));
    const std::uint16_t port = port_of(rig.crew.process_of(InstanceId{0}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.crew.run();
    std::vector<FileDescriptor> strangers;
    for (int i = 0; i < 100; ++i) {
        strangers.push_back(knock(port));
        runtime::Hello hello;
        hello.worker = 0;
        hello.process = rig.crew.process_of(InstanceId{0});
        if (i % 4 == 1) write_to(strangers.back(), runtime::encode(hello));  // not the secret
        if (i % 4 == 2) write_to(strangers.back(), runtime::ByteString(300, 0xFF));
        if (i % 4 == 3)
            write_to(strangers.back(), runtime::encode(runtime::Trouble{"I am nobody"}));
        rig.look(1ms);
    }
    rig.spawn(ids({2}));  // who is invited gets in all the same
    const auto end = std::chrono::steady_clock::now() + 1'200ms;
    while (std::chrono::steady_clock::now() < end) rig.look(50ms);  // the silent are shown out
    rig.crew.hold();
    const runtime::GroupHeld held = rig.expect<runtime::GroupHeld>();
    CHECK(held.step > 0);
    CHECK(rig.enter(ids({0, 1, 2}), plan_of(2)).step == held.step);
    for (const runtime::CrewEvent& event : rig.log)
        CHECK_FALSE(std::holds_alternative<runtime::WorkerDied>(event));
    // They have been hung up on.
    int hung_up = 0;
    for (const FileDescriptor& stranger : strangers) {
        char byte = 0;
        const ssize_t got = ::recv(stranger.get(), &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) ++hung_up;
    }
    CHECK(hung_up == 100);
}

TEST_CASE("crew: the secret is neither on a command line nor left in an environment", "[live]") {
    CrewRig rig;
    rig.spawn(ids({0}));
    const int process = rig.crew.process_of(InstanceId{0});
    const std::string environment = text_of(fmt::format("/proc/{}/environ", process));
    const std::size_t at = environment.find("UKEMI_SECRET=");
    REQUIRE(at != std::string::npos);
    const std::string value = environment.substr(at + 13, 64);
    CHECK(value == std::string(64, '\0'));
    CHECK(text_of(fmt::format("/proc/{}/cmdline", process)).find("SECRET") == std::string::npos);
}

TEST_CASE("crew: secrets are compared whole", "[live]") {
    const runtime::Secret secret = runtime::random_secret();
    CHECK(runtime::same_secret(secret, secret));
    CHECK_FALSE(runtime::same_secret(secret, runtime::random_secret()));
    for (std::size_t i = 0; i < secret.size(); ++i) {
        runtime::Secret other = secret;
        other[i] = static_cast<std::uint8_t>(other[i] ^ 1U);
        CHECK_FALSE(runtime::same_secret(secret, other));
    }
}

TEST_CASE("crew: workers do not outlive a coordinator that is killed", "[live]") {
    const ScratchFolder folder;  // the coordinator's, which cannot take it away
    int ends[2] = {-1, -1};
    REQUIRE(::pipe(ends) == 0);
    const pid_t coordinator = ::fork();
    REQUIRE(coordinator >= 0);
    if (coordinator == 0) {
        runtime::Crew crew(CrewRig::setup_of(small_job(), short_deadlines(), folder.path()));
        for (const InstanceId id : ids({0, 1})) crew.spawn(id);
        int ready = 0;
        while (ready < 2) {
            for (const runtime::CrewEvent& event : crew.poll(1s)) {
                if (std::holds_alternative<runtime::WorkerReady>(event)) ++ready;
            }
        }
        const int processes[2] = {crew.process_of(InstanceId{0}), crew.process_of(InstanceId{1})};
        [[maybe_unused]] const ssize_t written = ::write(ends[1], processes, sizeof processes);
        ::raise(SIGKILL);
    }
    int processes[2] = {-1, -1};
    REQUIRE(::read(ends[0], processes, sizeof processes) == sizeof processes);
    ::waitpid(coordinator, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    const auto gone = [](int process) {
        const std::string status = text_of(fmt::format("/proc/{}/stat", process));
        return status.empty() || status.find(") Z") != std::string::npos;
    };
    for (int i = 0; i < 200 && !(gone(processes[0]) && gone(processes[1])); ++i) ::usleep(10'000);
    CHECK(gone(processes[0]));
    CHECK(gone(processes[1]));
}

TEST_CASE("crew: its end is the end of all its workers", "[live]") {
    std::vector<int> processes;
    {
        CrewRig rig;
        rig.spawn(ids({0, 1, 2}));
        rig.enter(ids({0, 1}), plan_of(1));
        rig.crew.run();
        rig.look(20ms);
        for (const InstanceId id : ids({0, 1, 2})) processes.push_back(rig.crew.process_of(id));
    }
    for (const int process : processes) {
        CHECK(::kill(process, 0) == -1);
        CHECK(errno == ESRCH);
    }
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // not even a zombie
}

}  // namespace ukemi
