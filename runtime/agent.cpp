// agent.cpp — one connection after the other to a coordinator, and the workers of the present one.
#include "runtime/agent.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/plain_text.hpp"
#include "runtime/rendezvous.hpp"
#include "runtime/worker_process.hpp"

namespace ukemi::runtime {

namespace {

using namespace std::chrono_literals;

constexpr auto agent_look_interval = 100ms;
constexpr auto join_again = 500ms;
constexpr auto agent_welcome_time = 10s;
constexpr int beats_per_deadline = 5;
constexpr std::size_t name_bytes_max = 40;

std::vector<std::string> lines_in(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        lines.emplace_back(line);
        text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    return lines;
}

// One stay with a coordinator.
class AgentStay {
public:
    AgentStay(const AgentSetup& setup, Connection connection)
        : setup_(&setup), connection_(std::move(connection)), begun_(Clock::now()) {}

    bool welcomed() const { return beat_interval_ > Clock::duration::zero(); }
    bool dismissed() const { return dismissed_; }
    bool stopped() const { return stopped_; }

    // Until it is over: why, for who was not dismissed.
    std::string serve() {
        for (;;) {
            if (const auto problem = exchange()) return *problem;
            report_ended();
            hear_of_host();
            if (dismissed_ || stopped_) return {};
            if (!welcomed() && Clock::now() > begun_ + agent_welcome_time)
                return "it does not answer";
            if (welcomed() && Clock::now() >= next_beat_) {
                send(AgentBeat{});
                next_beat_ = Clock::now() + beat_interval_;
            }
        }
    }

private:
    void send(const Message& message) {
        // A connection that failed shows when it is read from.
        [[maybe_unused]] const auto problem = connection_.send(message);
    }

    // Waits a little for the coordinator or a worker's end.
    std::optional<std::string> exchange() {
        const bool writes = connection_.wants_to_write();
        std::vector<pollfd> descriptors{
            {connection_.descriptor(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0}};
        for (const auto& [id, worker] : workers_) {
            if (worker->descriptor() >= 0) descriptors.push_back({worker->descriptor(), POLLIN, 0});
        }
        ::poll(descriptors.data(), descriptors.size(),
               static_cast<int>(agent_look_interval.count()));
        std::vector<Message> messages;
        auto problem = connection_.receive(messages);
        for (const Message& message : messages) obey(message);
        return problem ? problem : connection_.flush();
    }

    void obey(const Message& message) {
        if (const auto* welcome = std::get_if<AgentWelcome>(&message)) {
            beat_interval_ = std::chrono::nanoseconds(
                std::max<std::int64_t>(welcome->heartbeat_ns / beats_per_deadline, 1'000'000));
            if (setup_->say) {
                setup_->say(fmt::format("joined {} with {} slots", setup_->coordinator.text(),
                                        setup_->slots));
            }
        } else if (const auto* start = std::get_if<StartWorker>(&message)) {
            start_worker(*start);
        } else if (const auto* end = std::get_if<EndWorker>(&message)) {
            const auto found = workers_.find(end->worker);
            if (found != workers_.end()) found->second->kill();
        } else if (std::holds_alternative<Dismissal>(message)) {
            dismissed_ = true;
        }
    }

    // This very program, and nothing else that a coordinator may think of.
    void start_worker(const StartWorker& start) {
        ProcessOrder order;
        order.program = setup_->worker_program;
        order.arguments = lines_in(start.arguments);
        order.arguments.emplace_back("--read-invitation");
        const bool is_worker = order.arguments.front() == "worker";
        if (!is_worker || workers_.size() >= static_cast<std::size_t>(setup_->slots) ||
            workers_.contains(start.worker) || start.invitation.size() > 1024) {
            send(WorkerEnded{start.worker, "could not be started: the agent has no place for it"});
            return;
        }
        order.input = start.invitation;
        try {
            workers_.emplace(start.worker, std::make_unique<WorkerProcess>(order));
        } catch (const std::system_error& error) {
            send(WorkerEnded{start.worker, fmt::format("could not be started: {}", error.what())});
        }
    }

    void report_ended() {
        std::erase_if(workers_, [&](const auto& each) {
            const auto how = each.second->ended();
            if (how) send(WorkerEnded{each.first, *how});
            return how.has_value();
        });
    }

    // A notice, or a signal, which is one. Once its time has come and no worker is left, it is
    // over.
    void hear_of_host() {
        const int told = setup_->stop_requests == nullptr ? 0 : setup_->stop_requests->load();
        if (told > 1) stopped_ = true;
        if (!notice_ && setup_->host_loss) notice_ = setup_->host_loss();
        if (!notice_ && told > 0) {
            notice_ = HostNotice{"its agent was told to stop",
                                 std::chrono::system_clock::now() + setup_->stop_within, true};
        }
        if (!notice_ || !welcomed()) {
            stopped_ = stopped_ || notice_;
            return;
        }
        const auto now = std::chrono::system_clock::now();
        if (!std::exchange(noticed_, true)) {
            if (setup_->say) setup_->say(notice_->text);
            AgentNotice message{notice_->text, notice_->at.has_value(), 0};
            if (notice_->at) message.left_ns = std::chrono::nanoseconds(*notice_->at - now).count();
            send(message);
            return;
        }
        stopped_ =
            stopped_ || (workers_.empty() && (told > 0 || (notice_->at && now > *notice_->at)));
    }

    const AgentSetup* setup_;
    Connection connection_;
    Moment begun_;
    Clock::duration beat_interval_{};
    Moment next_beat_{};
    // They die with it.
    std::map<std::uint32_t, std::unique_ptr<WorkerProcess>> workers_;
    std::optional<HostNotice> notice_;
    bool noticed_ = false;
    bool dismissed_ = false;
    bool stopped_ = false;
};

bool told_to_stop(const AgentSetup& setup) {
    return setup.stop_requests != nullptr && setup.stop_requests->load() > 0;
}

}  // namespace

AgentEnd run_agent(const AgentSetup& setup) {
    AgentHello hello;
    hello.slots = static_cast<std::uint32_t>(setup.slots);
    hello.name = setup.name;
    Moment give_up = Clock::now() + setup.join_within;
    std::string said;
    while (!told_to_stop(setup)) {
        std::string why;
        try {
            AgentStay stay(setup, join_as_agent(setup.coordinator, setup.secret, hello));
            why = stay.serve();
            if (stay.stopped()) return AgentEnd::stopped;
            if (stay.dismissed() && !setup.stays) return AgentEnd::dismissed;
            if (stay.welcomed()) {
                give_up = Clock::now() + setup.join_within;
                why = stay.dismissed() ? "the run is over" : "the coordinator is gone: " + why;
            } else {
                why = fmt::format("{} does not let this agent in: is the secret the same?",
                                  setup.coordinator.text());
            }
        } catch (const std::system_error& error) {
            why = fmt::format("{}: {}", setup.coordinator.text(), one_line(error.what()));
        }
        if (setup.say && why != std::exchange(said, why)) setup.say(why);
        if (Clock::now() > give_up) return AgentEnd::no_coordinator;
        std::this_thread::sleep_for(join_again);
    }
    return AgentEnd::stopped;
}

std::string agent_name_of_host() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const std::string text = one_line(name.data());
    return text.empty() ? "agent" : text.substr(0, name_bytes_max);
}

}  // namespace ukemi::runtime
