#include "runtime/script_relay.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <iostream>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/rendezvous.hpp"
#include "runtime/worker_end.hpp"
#include "runtime/worker_process.hpp"

namespace ukemi::runtime {

namespace {

using namespace std::chrono_literals;

constexpr auto before_its_word = 120s;  // an interpreter that loads PyTorch takes its time
constexpr auto a_look = 1000ms;         // how often the child is looked at, if it says nothing
constexpr const char* host_variable = "UKEMI_HOST";

void wait_for(std::vector<pollfd> descriptors) {
    ::poll(descriptors.data(), descriptors.size(), static_cast<int>(a_look.count()));
}

pollfd watched(const Connection& connection) {
    const short events = connection.wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    return {connection.descriptor(), events, 0};
}

// Where this machine is on the way to the coordinator.
std::string host_towards(const SocketAddress& coordinator) {
    const FileDescriptor trial = connecting_socket(coordinator);
    return SocketAddress::of_socket(trial.get()).host();
}

class ScriptRelay {
public:
    ScriptRelay(const std::string& python, const Invitation& invitation)
        : invitation_(invitation),
          door_(*SocketAddress::of_host("127.0.0.1", 0), Door::Kind::plain) {
        ProcessOrder order;
        order.program = python;
        order.arguments = {"-m", "ukemi.torch.worker"};
        order.environment = environment_of(
            {door_.address(), invitation.worker, door_.secret(), {}, {}, invitation.slot});
        order.environment.push_back(
            fmt::format("{}={}", host_variable, host_towards(invitation.address)));
        child_.emplace(order);
    }

    int run() {
        if (!await_child()) return status_machine_failed;
        coordinator_.emplace(accept_invitation(invitation_));
        for (;;) {
            wait_for(
                {watched(*script_), watched(*coordinator_), {child_->descriptor(), POLLIN, 0}});
            if (!pass_on(*coordinator_, *script_, &is_for_scripts)) return status_machine_failed;
            if (!pass_on(*script_, *coordinator_, nullptr)) return last_words();
        }
    }

private:
    // Who follows whom is nothing to a script.
    static bool is_for_scripts(const Message& message) {
        return !std::holds_alternative<Tenure>(message);
    }

    bool await_child() {
        const Moment end = Clock::now() + before_its_word;
        while (!script_ && Clock::now() < end && !child_->ended()) {
            std::vector<pollfd> descriptors{{child_->descriptor(), POLLIN, 0}};
            door_.watch(descriptors);
            wait_for(descriptors);
            for (Door::Guest& guest : door_.admit(Clock::now())) {
                script_.emplace(std::move(guest.connection));
            }
        }
        return script_.has_value();
    }

    // False: one of the two is over.
    static bool pass_on(Connection& from, Connection& to, bool (*fits)(const Message&)) {
        std::vector<Message> messages;
        const auto ended = from.receive(messages);
        for (const Message& message : messages) {
            if (fits != nullptr && !fits(message)) continue;
            if (to.send(message)) return false;
        }
        return !ended && !from.flush() && !to.flush();
    }

    // The child has closed its connection: what it said last goes on, and its end is ours.
    int last_words() {
        const Moment end = Clock::now() + 5s;
        std::optional<std::string> how = child_->ended();
        while (!how && Clock::now() < end) {
            wait_for({{child_->descriptor(), POLLIN, 0}});
            how = child_->ended();
        }
        while (coordinator_->wants_to_write() && Clock::now() < end && !coordinator_->flush()) {
            wait_for({watched(*coordinator_)});
        }
        if (how == "ended with status 0") return status_done;
        return complain(fmt::format("its script's process {}", how.value_or("does not end")),
                        status_machine_failed);
    }

    const Invitation invitation_;
    Door door_;
    std::optional<WorkerProcess> child_;
    std::optional<Connection> script_;
    std::optional<Connection> coordinator_;
};

}  // namespace

int run_script_relay(const std::string& python, InvitedBy invited) {
    const TakenInvitation taken =
        invited == InvitedBy::environment ? take_invitation() : read_invitation(std::cin);
    if (!taken.invitation) return complain(taken.problem, status_bad_input);
    try {
        return ScriptRelay(python, *taken.invitation).run();
    } catch (const std::exception& problem) {
        return complain(problem.what(), status_machine_failed);
    }
}

}  // namespace ukemi::runtime
