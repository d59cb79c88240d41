// agent.cpp — one connection after the other to a coordinator, and the workers of its run.
#include "runtime/agent.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <sstream>
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
constexpr auto join_again = 200ms;
constexpr auto doubt_after = 2s;  // it pings every second
constexpr auto look_again = 200ms;
constexpr auto join_connect_time = 2s;
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

// A worker of this very program, and nothing else that a coordinator may think of; what runs its
// script is ours to say. Why it is not to be started; empty if it is.
std::string refusal_of(const AgentSetup& setup, std::vector<std::string>& words) {
    if (words.empty() || words.front() != "worker") return "that is no worker";
    for (std::size_t i = 1; i < words.size(); ++i) {
        const bool is_script = words[i] == "--python";
        if (is_script || words[i] == "--trusted-network") {
            if (!setup.trusts_network) return "its agent was not told --trusted-network";
        } else if (words[i] != "--backend") {
            return "its agent is of another version of ukemi";
        }
        if (words[i] == "--trusted-network") continue;
        if (++i == words.size()) return "its agent is of another version of ukemi";
        if (is_script) words[i] = setup.python;
    }
    return {};
}

// Where the coordinator is, for workers that have lost it: a file that only this process has, which
// they find by its descriptor.
class CoordinatorNews {
public:
    CoordinatorNews() : file_(::memfd_create("coordinator", MFD_CLOEXEC)) {}
    std::string path() const {
        return file_ ? fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()) : "";
    }
    void write(const std::string& address) const {
        if (!file_) return;
        const std::string line = address + "\n";
        [[maybe_unused]] const ssize_t written = ::pwrite(file_.get(), line.data(), line.size(), 0);
        [[maybe_unused]] const int cut = ::ftruncate(file_.get(), static_cast<off_t>(line.size()));
    }

private:
    FileDescriptor file_;
};

// What outlives a coordinator that is gone, until the next one of the same run comes.
class KeptWorkers {
public:
    Tenure tenure;  // of the last coordinator; no run: none
    CoordinatorNews coordinator;

    std::map<std::uint32_t, std::unique_ptr<WorkerProcess>>& processes() { return processes_; }
    bool contains(std::uint32_t worker) const { return processes_.contains(worker); }
    int count() const { return static_cast<int>(processes_.size() - ending_.size()); }
    std::vector<std::uint32_t> numbers() const {
        std::vector<std::uint32_t> all;
        for (const auto& [number, process] : processes_) {
            if (!ending_.contains(number)) all.push_back(number);
        }
        return all;
    }
    void end(std::uint32_t worker) {
        const auto found = processes_.find(worker);
        if (found == processes_.end()) return;
        ending_.insert(worker);
        found->second->kill();
    }
    // Those that have, with how.
    std::vector<std::pair<std::uint32_t, std::string>> take_ended() {
        std::vector<std::pair<std::uint32_t, std::string>> ended;
        std::erase_if(processes_, [&](const auto& each) {
            auto how = each.second->ended();
            if (how) ended.emplace_back(each.first, std::move(*how));
            return how.has_value();
        });
        for (const auto& [number, how] : ended) ending_.erase(number);
        return ended;
    }
    void forget_run() {
        tenure = {};
        ending_.clear();
        processes_.clear();
    }

private:
    std::map<std::uint32_t, std::unique_ptr<WorkerProcess>> processes_;  // they die with it
    std::set<std::uint32_t> ending_;                                     // told to
};

// One stay with a coordinator.
class AgentStay {
public:
    AgentStay(const AgentSetup& setup, const SocketAddress& with, Connection connection,
              KeptWorkers& kept)
        : setup_(&setup),
          with_(with),
          connection_(std::move(connection)),
          kept_(&kept),
          begun_(Clock::now()) {
        heard_ = looked_ = begun_;
    }

    bool welcomed() const { return beat_interval_ > Clock::duration::zero(); }
    bool dismissed() const { return dismissed_; }
    bool stopped() const { return stopped_; }
    bool refused() const { return refuses_; }

    // Until it is over: why, for who was not dismissed.
    std::string serve() {
        for (;;) {
            if (const auto problem = exchange()) return *problem;
            if (refuses_) return "another one has its run";
            if (is_silent()) return "it is silent";
            if (another_leads()) return "it is silent, and another one leads its run";
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

    // Time in which this process was stopped is not the coordinator's silence.
    bool is_silent() {
        const Moment now = Clock::now();
        const std::chrono::nanoseconds silence_max(kept_->tenure.rejoin_ns);
        if (now - looked_ > silence_max / 4) heard_ = now;
        looked_ = now;
        return welcomed() && !kept_->tenure.run.empty() && now - heard_ > silence_max;
    }

    // One that is frozen does not close its connection; where the run's lease can be looked up, it
    // says who has it by now.
    bool another_leads() {
        const Moment now = Clock::now();
        if (!setup_->find || now - heard_ < doubt_after || now < next_look_) return false;
        next_look_ = now + look_again;
        try {
            const auto leader = setup_->find();
            return leader && leader->text() != with_.text();
        } catch (const std::system_error&) {
            return false;
        }
    }

    // Waits a little for the coordinator or a worker's end.
    std::optional<std::string> exchange() {
        const bool writes = connection_.wants_to_write();
        std::vector<pollfd> descriptors{
            {connection_.descriptor(), static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0}};
        for (const auto& [id, worker] : kept_->processes()) {
            if (worker->descriptor() >= 0) descriptors.push_back({worker->descriptor(), POLLIN, 0});
        }
        ::poll(descriptors.data(), descriptors.size(),
               static_cast<int>(agent_look_interval.count()));
        std::vector<Message> messages;
        auto problem = connection_.receive(messages);
        if (!messages.empty()) heard_ = Clock::now();
        for (const Message& message : messages) obey(message);
        return problem ? problem : connection_.flush();
    }

    void obey(const Message& message) {
        if (refuses_) return;
        if (const auto* welcome = std::get_if<AgentWelcome>(&message)) {
            beat_interval_ = std::chrono::nanoseconds(
                std::max<std::int64_t>(welcome->heartbeat_ns / beats_per_deadline, 1'000'000));
            if (setup_->say) {
                setup_->say(fmt::format("joined {} with {} slots", with_.text(), setup_->slots));
            }
        } else if (const auto* tenure = std::get_if<Tenure>(&message)) {
            heed(*tenure);
        } else if (const auto* start = std::get_if<StartWorker>(&message)) {
            start_worker(*start);
        } else if (const auto* end = std::get_if<EndWorker>(&message)) {
            kept_->end(end->worker);
        } else if (std::holds_alternative<Dismissal>(message)) {
            dismissed_ = true;
        }
    }

    // Another run's workers are of no use to this one.
    void heed(const Tenure& tenure) {
        Tenure& own = kept_->tenure;
        const bool same_run = tenure.run == own.run;
        refuses_ = same_run && !tenure.may_follow(own);
        if (refuses_) return send(Superseded{own.run, own.term});
        if (!same_run) kept_->forget_run();
        own = tenure;
        kept_->coordinator.write(with_.text());
        report_ended();
        send(AgentWorkers{own.run, kept_->numbers()});
    }

    void start_worker(const StartWorker& start) {
        ProcessOrder order;
        order.program = setup_->worker_program;
        order.arguments = lines_in(start.arguments);
        std::string refusal = refusal_of(*setup_, order.arguments);
        order.arguments.emplace_back("--read-invitation");
        if (kept_->count() >= setup_->slots || kept_->contains(start.worker) ||
            start.invitation.size() > 1024) {
            refusal = "the agent has no place for it";
        }
        if (!refusal.empty()) {
            send(WorkerEnded{start.worker, fmt::format("could not be started: {}", refusal)});
            return;
        }
        order.input = invitation_here(start.invitation);
        try {
            kept_->processes().emplace(start.worker, std::make_unique<WorkerProcess>(order));
        } catch (const std::system_error& error) {
            send(WorkerEnded{start.worker, fmt::format("could not be started: {}", error.what())});
        }
    }

    // The worker knows what the agent does: where the next coordinator may be.
    std::string invitation_here(const std::string& text) const {
        std::istringstream lines(text);
        TakenInvitation taken = read_invitation(lines);
        if (!taken.invitation) return text;  // the worker says what is wrong with it
        taken.invitation->news = kept_->coordinator.path();
        for (const SocketAddress& one : setup_->coordinators) {
            if (one.text() != taken.invitation->address.text()) {
                taken.invitation->others.push_back(one);
            }
        }
        return text_of(*taken.invitation);
    }

    void report_ended() {
        for (auto& [worker, how] : kept_->take_ended()) send(WorkerEnded{worker, std::move(how)});
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
        stopped_ = stopped_ || (kept_->processes().empty() &&
                                (told > 0 || (notice_->at && now > *notice_->at)));
    }

    const AgentSetup* setup_;
    SocketAddress with_;
    Connection connection_;
    KeptWorkers* kept_;
    Moment begun_;
    Moment heard_;
    Moment looked_;
    Clock::duration beat_interval_{};
    Moment next_beat_{};
    Moment next_look_{};
    bool refuses_ = false;  // a coordinator whose run another one has
    std::optional<HostNotice> notice_;
    bool noticed_ = false;
    bool dismissed_ = false;
    bool stopped_ = false;
};

std::string gone(const std::string& why, int workers) {
    const std::string kept =
        workers == 0 ? "" : fmt::format("; {} workers wait for the next one", workers);
    return fmt::format("the coordinator is gone: {}{}", why, kept);
}

bool told_to_stop(const AgentSetup& setup) {
    return setup.stop_requests != nullptr && setup.stop_requests->load() > 0;
}

}  // namespace

// Those that are known, and one that is found just now before them: it is where the run was last.
class Coordinators {
public:
    explicit Coordinators(const AgentSetup& setup) : setup_(&setup), known_(setup.coordinators) {}

    // Nothing if nobody knows any; `why` says so.
    std::optional<SocketAddress> next(std::string& why) {
        if (setup_->find && !std::exchange(asked_, true)) {
            try {
                if (const auto found = setup_->find()) return note(*found);
                why = "nobody leads a run there yet";
            } catch (const std::system_error& error) {
                why = one_line(error.what());
            }
        }
        asked_ = false;
        if (known_.empty()) return std::nullopt;
        return known_[turn_++ % known_.size()];
    }

private:
    SocketAddress note(const SocketAddress& found) {
        const bool is_new = std::ranges::none_of(
            known_, [&](const SocketAddress& one) { return one.text() == found.text(); });
        constexpr std::size_t most = 16;
        if (is_new && known_.size() >= most) known_.erase(known_.begin());
        if (is_new) known_.push_back(found);
        return found;
    }
    const AgentSetup* setup_;
    std::vector<SocketAddress> known_;
    std::size_t turn_ = 0;
    bool asked_ = false;
};

AgentEnd run_agent(const AgentSetup& setup) {
    AgentHello hello;
    hello.slots = static_cast<std::uint32_t>(setup.slots);
    hello.name = setup.name;
    Moment give_up = Clock::now() + setup.join_within;
    std::map<std::string, std::string> said;  // last about each
    Coordinators coordinators(setup);
    KeptWorkers kept;
    while (!told_to_stop(setup)) {
        std::string why;
        const auto next = coordinators.next(why);
        if (!next || !why.empty()) {
            if (setup.say && why != std::exchange(said["finding"], why)) setup.say(why);
            if (Clock::now() > give_up) return AgentEnd::no_coordinator;
        }
        if (!next) {
            std::this_thread::sleep_for(join_again);
            continue;
        }
        const SocketAddress coordinator = *next;
        try {
            AgentStay stay(setup, coordinator,
                           join_as_agent(coordinator, setup.secret, hello, join_connect_time),
                           kept);
            why = stay.serve();
            if (stay.stopped()) return AgentEnd::stopped;
            if (stay.dismissed() && !setup.stays) return AgentEnd::dismissed;
            if (stay.dismissed()) kept.forget_run();
            if (stay.refused()) {
                why = fmt::format("{} is not obeyed: {}", coordinator.text(), why);
            } else if (stay.welcomed()) {
                give_up = Clock::now() + setup.join_within;
                why = stay.dismissed() ? "the run is over" : gone(why, kept.count());
            } else {
                why = fmt::format("{} does not let this agent in: is the secret the same?",
                                  coordinator.text());
            }
        } catch (const std::system_error& error) {
            why = fmt::format("{}: {}", coordinator.text(), one_line(error.what()));
        }
        if (setup.say && why != std::exchange(said[coordinator.text()], why)) setup.say(why);
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
