// crew_nccl_test.cpp — groups of worker processes, each on a device of its own, whose gradients go
// over NCCL: with stand-ins for both (runtime.cpp, nccl.cpp).
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/socket_address.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi {

namespace {

// Workers that are spawned meanwhile see so many devices.
struct Devices {
    explicit Devices(int count) {
        ::setenv("UKEMI_ON_HOST_DEVICES", std::to_string(count).c_str(), 1);
    }
    ~Devices() { ::unsetenv("UKEMI_ON_HOST_DEVICES"); }
    Devices(const Devices&) = delete;
    Devices& operator=(const Devices&) = delete;
};

kernels::TrainingSpec image_job() {
    kernels::TrainingSpec spec = small_job();
    spec.model.kind = "softmax";
    spec.model.hidden.clear();
    return spec;
}

// Of this machine, beyond the loopback, with its interface; nothing if it has none.
std::optional<std::pair<std::string, std::string>> outer_address() {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return std::nullopt;
    std::optional<std::pair<std::string, std::string>> found;
    for (const ifaddrs* each = all; each != nullptr && !found; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
        char text[INET_ADDRSTRLEN] = {};
        sockaddr_in four{};
        std::memcpy(&four, each->ifa_addr, sizeof four);
        ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
        if (!SocketAddress::of_host(text, 0)->is_loopback()) found.emplace(text, each->ifa_name);
    }
    ::freeifaddrs(all);
    return found;
}

double last_loss(const CrewRig& rig) { return rig.steps().back().report.loss; }

}  // namespace

TEST_CASE("crew: workers with a GPU each sum over NCCL, through every change", "[live][nccl]") {
    const Devices devices(8);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2, 3}));
    CHECK(rig.enter(ids({0, 1, 2}), plan_of(1)).exchange == "nccl");
    rig.train_to(5);
    CHECK(rig.enter(ids({0, 1, 2, 3}), plan_of(2)).exchange == "nccl");  // a newcomer: anew
    rig.train_to(10);
    CHECK(rig.enter(ids({1, 3}), plan_of(3)).exchange == "nccl");  // fewer: within it
    rig.train_to(15);
    CHECK(rig.enter(ids({3}), plan_of(4)).exchange.empty());  // alone
    rig.train_to(20);
    CHECK(rig.enter(ids({3, 0}), plan_of(5)).exchange == "nccl");
    rig.train_to(25);
    CHECK(rig.steps().size() == 25);

    // The same history over sockets: other sums' order, equal to rounding.
    double over_sockets = 0;
    {
        const Devices one(1);
        CrewRig other(image_job());
        other.spawn(ids({0, 1, 2, 3}));
        CHECK(other.enter(ids({0, 1, 2}), plan_of(1)).exchange ==
              "sockets: ranks 0 and 1 share a GPU");
        other.train_to(5);
        other.enter(ids({0, 1, 2, 3}), plan_of(2));
        other.train_to(10);
        other.enter(ids({1, 3}), plan_of(3));
        other.train_to(15);
        other.enter(ids({3}), plan_of(4));
        other.train_to(20);
        other.enter(ids({3, 0}), plan_of(5));
        other.train_to(25);
        over_sockets = last_loss(other);
    }
    CHECK(last_loss(rig) == Approx(over_sockets).epsilon(1e-5));
}

TEST_CASE("crew: beyond the loopback, NCCL is for networks that are said to be trusted",
          "[live][nccl]") {
    CHECK(SocketAddress::of_host("127.0.0.1", 0)->network_interface() == "lo");
    CHECK(SocketAddress::of_host("203.0.113.7", 0)->network_interface().empty());  // nobody's
    const auto outer = outer_address();
    if (!outer) {
        WARN("skipped: this machine has no address beyond the loopback");
        return;
    }
    CHECK(SocketAddress::of_host(outer->first, 0)->network_interface() == outer->second);
    const Devices devices(2);
    const auto exchange_of = [&](std::vector<std::string> arguments) {
        CrewRig rig(image_job(), short_deadlines(), std::move(arguments), outer->first);
        rig.spawn(ids({0, 1}));
        const std::string exchange = rig.enter(ids({0, 1}), plan_of(1)).exchange;
        rig.train_to(5);
        return exchange;
    };
    CHECK(exchange_of({"trusting"}) == "nccl");
    CHECK_THAT(exchange_of({}),
               Catch::Contains("sockets: several hosts") && Catch::Contains("--trusted-network"));
}

TEST_CASE("crew: a member lost in a sum over NCCL is named, and the others go on", "[live][nccl]") {
    const Devices devices(8);
    const bool frozen = GENERATE(false, true);
    CAPTURE(frozen);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2}));
    CHECK(rig.enter(ids({0, 1, 2}), plan_of(1)).exchange == "nccl");
    rig.crew.run();
    rig.look(30ms);
    ::kill(rig.crew.process_of(InstanceId{1}), frozen ? SIGSTOP : SIGKILL);
    const auto died = rig.expect<runtime::WorkerDied>();
    INFO(died.why);
    CHECK(died.worker == InstanceId{1});
    CHECK_FALSE(died.expected);
    const auto rest = rig.enter(ids({0, 2}), plan_of(2));
    CHECK(rest.exchange == "nccl");
    CHECK(rest.step == static_cast<std::int64_t>(rig.steps().size()));
    rig.train_to(rest.step + 5);
    CHECK_FALSE(rig.enter(ids({0, 2}), plan_of(3)).group_changed);  // digests compared
}

TEST_CASE("crew: a change over NCCL that fails leaves the old group as it was", "[live][nccl]") {
    const Devices devices(8);
    CrewRig rig(image_job());
    rig.spawn(ids({0, 1, 2}));
    rig.enter(ids({0, 1}), plan_of(1));
    rig.train_to(5);
    rig.crew.begin_transition(ids({0, 1, 2}), plan_of(2));
    ::kill(rig.crew.process_of(InstanceId{2}), SIGKILL);
    CHECK(rig.expect<runtime::WorkerDied>().worker == InstanceId{2});
    rig.look(500ms);
    bool failed = false;
    for (const auto& event : rig.log) {
        failed = failed || std::holds_alternative<runtime::TransitionFailed>(event);
    }
    REQUIRE(failed);  // it is killed before it can have answered
    rig.train_to(10);
    CHECK(rig.steps().back().report.words.at(0).plan_version == 1);
    CHECK(rig.enter(ids({0, 1}), plan_of(3)).step == 10);
}

}  // namespace ukemi
