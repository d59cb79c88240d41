// takeover_test.cpp — workers and agents obey the coordinator with the highest term that they have
// heard of, and none before it.
#include <poll.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "runtime/agent.hpp"
#include "runtime/rendezvous.hpp"
#include "runtime/worker_process.hpp"
#include "tests/runtime/crew_rig.hpp"

namespace ukemi::runtime {

namespace {

const std::string this_run = "0123456789abcdef0123456789abcdef";

// A coordinator that says what a test wants.
class DoorKeeper {
public:
    explicit DoorKeeper(const std::optional<Secret>& agents = {})
        : door_(*SocketAddress::of_host("127.0.0.1", 0), Door::Kind::secure, agents) {}
    const Door& door() const { return door_; }

    // The next who comes, in place of whom there was.
    template <class HelloOf>
    HelloOf let_in() {
        connection_.reset();
        read_.clear();
        for (;;) {
            std::vector<Door::Guest> guests = door_.admit(Clock::now());
            for (Door::Guest& guest : guests) {
                connection_.emplace(std::move(guest.connection));
                return std::get<HelloOf>(guest.hello);
            }
            REQUIRE(Clock::now() < end_);
            wait();
        }
    }
    void send(const Message& message) { REQUIRE_FALSE(connection_->send(message)); }
    template <class Wanted>
    Wanted await() {
        for (;;) {
            std::vector<Message> messages;
            // It may have been closed after its last words.
            [[maybe_unused]] const auto closed = connection_->receive(messages);
            read_.insert(read_.end(), messages.begin(), messages.end());
            while (!read_.empty()) {
                const Message message = read_.front();
                read_.erase(read_.begin());
                if (const auto* found = std::get_if<Wanted>(&message)) return *found;
            }
            [[maybe_unused]] const auto problem = connection_->flush();
            REQUIRE(Clock::now() < end_);
            wait();
        }
    }

private:
    void wait() {
        std::vector<pollfd> descriptors;
        door_.watch(descriptors);
        if (connection_) descriptors.push_back({connection_->descriptor(), POLLIN, 0});
        ::poll(descriptors.data(), descriptors.size(), 20);
    }
    Door door_;
    std::optional<Connection> connection_;
    std::vector<Message> read_;
    Moment end_ = Clock::now() + 60s;
};

Tenure tenure_of(std::uint64_t term, const std::string& run = this_run) {
    return {run, term, 11, std::chrono::nanoseconds(60s).count()};
}

Welcome small_welcome() {
    const CrewDeadlines deadlines = short_deadlines();
    const auto ns = [](std::chrono::nanoseconds time) { return std::int64_t{time.count()}; };
    return {kernels::training_spec_text(small_job()),
            ns(deadlines.heartbeat),
            ns(deadlines.collective),
            ns(deadlines.transition),
            ns(deadlines.coordinator),
            false};
}

std::string worker_program() {
    return CrewRig::setup_of(small_job(), short_deadlines(), {}).worker_program.string();
}

}  // namespace

TEST_CASE("a worker waits for the next coordinator of its run, and obeys none before it",
          "[live]") {
    DoorKeeper keeper;
    ProcessOrder order;
    order.program = worker_program();
    order.environment = environment_of({keeper.door().address(), 7, keeper.door().secret()});
    WorkerProcess worker(order);
    CHECK(keeper.let_in<Hello>().worker == 7);
    keeper.send(small_welcome());
    keeper.send(tenure_of(2));
    keeper.await<Ready>();
    // The coordinator is gone; who comes was the one before it.
    CHECK(keeper.let_in<Hello>().worker == 7);
    keeper.send(small_welcome());
    keeper.send(tenure_of(1));
    keeper.send(Leave{});
    CHECK(keeper.await<Superseded>().term == 2);
    // One that took the same term from a copy of the folder.
    keeper.let_in<Hello>();
    keeper.send(small_welcome());
    Tenure same = tenure_of(2);
    same.coordinator = 12;
    keeper.send(same);
    CHECK(keeper.await<Superseded>().term == 2);
    // Of another run.
    keeper.let_in<Hello>();
    keeper.send(small_welcome());
    keeper.send(tenure_of(9, std::string(32, 'f')));
    CHECK(keeper.await<Superseded>().run == this_run);
    // The next one.
    keeper.let_in<Hello>();
    keeper.send(small_welcome());
    keeper.send(tenure_of(3));
    keeper.send(Abandon{1, 6, 0});
    const Status status = keeper.await<Status>();
    CHECK(status.inquiry == 6);
    CHECK_FALSE(status.has_state);
    keeper.send(Leave{});
    std::optional<std::string> how;
    for (const Moment end = Clock::now() + 60s; !how && Clock::now() < end;) how = worker.ended();
    REQUIRE(how);
    CHECK(*how == "ended with status 0");
}

TEST_CASE("a worker whose coordinator has no successor ends with it", "[live]") {
    DoorKeeper keeper;
    ProcessOrder order;
    order.program = worker_program();
    order.environment = environment_of({keeper.door().address(), 0, keeper.door().secret()});
    WorkerProcess worker(order);
    keeper.let_in<Hello>();
    keeper.send(small_welcome());
    SECTION("without a run") { keeper.await<Ready>(); }
    SECTION("nobody comes in time") {
        keeper.send(Tenure{this_run, 1, 11, 1});
        keeper.await<Ready>();
    }
    { const DoorKeeper gone = std::move(keeper); }
    std::optional<std::string> how;
    for (const Moment end = Clock::now() + 60s; !how && Clock::now() < end;) how = worker.ended();
    CHECK(how);
}

TEST_CASE("an agent keeps its workers for the next coordinator of its run alone", "[live]") {
    const Secret secret = random_secret();
    DoorKeeper keeper(secret);
    std::atomic<int> told{0};
    AgentSetup setup;
    setup.coordinators = {keeper.door().address()};
    setup.secret = secret;
    setup.name = "one";
    setup.slots = 2;
    setup.worker_program = "/bin/sh";  // what `worker` is there, nobody knows: it ends
    setup.stop_requests = &told;
    std::thread agent([&] { CHECK(run_agent(setup) == AgentEnd::dismissed); });
    const auto begin = [&](const Tenure& tenure) {
        CHECK(keeper.let_in<AgentHello>().name == "one");
        keeper.send(AgentWelcome{std::chrono::nanoseconds(1s).count()});
        keeper.send(tenure);
    };
    begin(tenure_of(2));
    CHECK(keeper.await<AgentWorkers>().workers.empty());
    const Invitation invitation{keeper.door().address(), 3, keeper.door().secret()};
    keeper.send(StartWorker{3, "worker", text_of(invitation)});
    CHECK(keeper.await<WorkerEnded>().worker == 3);
    begin(tenure_of(1));
    CHECK(keeper.await<Superseded>().term == 2);
    begin(tenure_of(4));
    CHECK(keeper.await<AgentWorkers>().run == this_run);
    begin(tenure_of(4));  // the same one, whose connection had gone
    CHECK(keeper.await<AgentWorkers>().run == this_run);
    keeper.send(Dismissal{});
    agent.join();
}

}  // namespace ukemi::runtime
