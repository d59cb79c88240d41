// crew_poll.cpp — the one place where a Crew waits: sockets, processes and deadlines.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"
#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

using namespace std::chrono_literals;

namespace {

constexpr auto ping_interval = 1s;
// A worker whose connection is gone mostly ends by itself, and then its status tells more.
constexpr auto end_grace = 200ms;
// Without a descriptor that tells of a process's end, one must look.
constexpr auto look_interval = 20ms;

double seconds_of(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

}  // namespace

Worker* Crew::State::find(InstanceId id) {
    const auto found = workers.find(id);
    return found == workers.end() ? nullptr : &found->second;
}

bool Crew::State::alive(InstanceId id) {
    const Worker* const worker = find(id);
    return worker != nullptr && worker->life != Life::doomed && worker->life != Life::leaving;
}

void Crew::State::tell(InstanceId id, const Message& message) {
    Worker* const worker = find(id);
    if (worker == nullptr || !worker->connection || worker->life == Life::doomed) return;
    // A connection that failed is noticed when it is read from, and not here: a caller that tells
    // several workers something shall have told all of them before anything else happens.
    [[maybe_unused]] const auto problem = worker->connection->send(message);
}

std::string Crew::State::sentence(const Worker& worker) const {
    if (worker.life == Life::starting) return "it had not said hello";
    const Activity& activity = worker.activity;
    const std::string_view what = sentence_of(activity.phase);
    const bool has_step = activity.phase >= WorkerPhase::standing;
    return has_step ? fmt::format("it was {} step {}", what, activity.step)
                    : fmt::format("it was {}", what);
}

void Crew::State::condemn(InstanceId id, std::string why) {
    Worker& worker = *find(id);
    await_end(id, std::move(why));
    worker.killed = true;
    worker.process->kill();
}

// From now on it counts as gone; what remains is to reap it.
void Crew::State::await_end(InstanceId id, std::string why) {
    Worker& worker = *find(id);
    if (worker.life == Life::doomed) return;
    const bool leaving = worker.life == Life::leaving;
    worker.life = Life::doomed;
    if (!leaving) worker.doom = std::move(why);
    worker.deadline = Clock::now() + end_grace;
    worker.connection.reset();
    if (is_member(id)) break_group("", true);
    settle();
}

void Crew::State::forget(InstanceId id, const std::string& how) {
    Worker& worker = *find(id);
    if (worker.life != Life::doomed) await_end(id, "");
    WorkerDied died;
    died.worker = id;
    // A signal from elsewhere explains a connection that closed; a status does not.
    const bool own_end = !worker.killed && how.starts_with("killed");
    died.why = worker.doom.empty() || own_end ? how : worker.doom;
    if (worker.host) {
        died.why = fmt::format("on {}: {}", setup.remote.hosts[*worker.host].name, died.why);
    }
    died.expected = worker.expected;
    died.was_member = is_member(id);
    died.host_gone = worker.host_gone;
    const bool is_known = worker.claimed;
    workers.erase(id);
    if (is_known) events.push_back(std::move(died));
    if (saving && saving->worker == id) {
        kernels::sweep_unfinished_checkpoints(setup.folder);
        not_saved("its writer died");
    }
    settle();
    progress_attempt();
}

bool Crew::State::wait_for_input(Moment until) {
    std::vector<pollfd> descriptors;
    door.watch(descriptors);
    bool must_look = false;
    for (auto& [id, worker] : workers) {
        if (worker.connection) {
            const bool writes = worker.connection->wants_to_write();
            descriptors.push_back({worker.connection->descriptor(),
                                   static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
        }
        const int watch = worker.process->descriptor();
        if (watch >= 0) descriptors.push_back({watch, POLLIN, 0});
        must_look = must_look || (watch < 0 && !worker.agent);
    }
    for (auto& [agent, link] : agents) {
        const bool writes = link.connection.wants_to_write();
        descriptors.push_back({link.connection.descriptor(),
                               static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
    }
    if (setup.wake >= 0) descriptors.push_back({setup.wake, POLLIN, 0});
    const Moment begun = Clock::now();
    auto wait = std::max(until - begun, Clock::duration::zero());
    if (must_look) wait = std::min<Clock::duration>(wait, look_interval);
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(wait);
    const timespec limit{whole.count(), (wait - whole).count()};
    const int ready = ::ppoll(descriptors.data(), descriptors.size(), &limit, nullptr);
    if (ready < 0 && errno == EINTR) interrupted = true;
    if (ready > 0 && setup.wake >= 0 && descriptors.back().revents != 0) interrupted = true;
    // Time that this process did not get, or spent elsewhere, is nobody's silence. On a machine
    // that stood still the workers did, too: their clocks begin anew.
    const Moment now = Clock::now();
    const auto overslept = std::max(now - begun - wait, Clock::duration::zero());
    const bool stood_still = overslept > setup.deadlines.heartbeat / 8;
    for (auto& [id, worker] : workers) {
        worker.heard = stood_still ? now : std::min(now, worker.heard + (begun - pumped));
    }
    for (auto& [agent, link] : agents) {
        link.heard = stood_still ? now : std::min(now, link.heard + (begun - pumped));
    }
    return ready > 0;
}

void Crew::State::pump(Moment until) {
    wait_for_input(std::min(until, next_deadline()));
    const Moment now = Clock::now();
    for (Door::Guest& guest : door.admit(now)) greet(std::move(guest), now);
    for (std::string& host : door.take_wrong_secrets()) {
        events.push_back(AgentRefused{std::move(host), "it has another secret"});
    }
    look_after_agents(now);
    std::vector<InstanceId> connected;
    for (const auto& [id, worker] : workers) {
        if (worker.connection) connected.push_back(id);
    }
    for (const InstanceId id : connected) read_from(id, now);
    reap(now);
    check_deadlines(now);
    ping(now);
    pumped = Clock::now();
}

void Crew::State::greet(Door::Guest guest, Moment now) {
    if (const auto* agent = std::get_if<AgentHello>(&guest.hello)) {
        welcome(*agent, std::move(guest.connection), now);
        return;
    }
    const Hello& hello = std::get<Hello>(guest.hello);
    const auto id = worker_with(hello.worker);
    Worker* const worker = id ? find(*id) : nullptr;
    // With the right secret it is one of ours, but it may come late, or twice.
    if (worker == nullptr || worker->life != Life::starting) return;
    const bool is_child = !worker->host && !worker->agent;
    if (is_child && hello.process != worker->process->id()) return;
    worker->life = Life::loading;
    worker->heard = now;
    worker->connection.emplace(std::move(guest.connection));
    const CrewDeadlines& deadlines = setup.deadlines;
    const auto ns = [](std::chrono::nanoseconds time) { return std::int64_t{time.count()}; };
    tell(*id, Welcome{training, ns(deadlines.heartbeat), ns(deadlines.collective),
                      ns(deadlines.transition), ns(deadlines.coordinator), setup.allow_faults,
                      setup.link_steps});
    if (setup.agents) introduce(*id);
}

void Crew::State::read_from(InstanceId id, Moment now) {
    Worker* worker = find(id);
    if (worker == nullptr || !worker->connection) return;
    std::vector<Message> messages;
    auto problem = worker->connection->receive(messages);
    if (!messages.empty()) worker->heard = now;
    for (const Message& message : messages) {
        handle(id, message, now);
        worker = find(id);
        if (worker == nullptr || !worker->connection) return;
    }
    if (!problem) problem = worker->connection->flush();
    if (problem) await_end(id, *problem);
}

void Crew::State::handle(InstanceId id, const Message& message, Moment now) {
    Worker& worker = *find(id);
    if (const auto* beat = std::get_if<Heartbeat>(&message)) {
        worker.activity = beat->activity;
    } else if (std::holds_alternative<Ready>(message)) {
        if (worker.life != Life::loading) return;
        worker.life = Life::ready;
        worker.activity.phase = WorkerPhase::idle;
        worker.deadline = Moment::max();
        events.push_back(WorkerReady{id, now - worker.born});
    } else if (const auto* trouble = std::get_if<Trouble>(&message)) {
        await_end(id, trouble->why);
    } else if (const auto* address = std::get_if<OwnAddress>(&message)) {
        own_address(id, *address);
    } else if (const auto* in = std::get_if<Entered>(&message)) {
        entered(id, *in);
    } else if (const auto* out = std::get_if<NotEntered>(&message)) {
        not_entered(id, *out);
    } else if (const auto* finished = std::get_if<StepFinished>(&message)) {
        step_finished(id, *finished);
    } else if (const auto* stands = std::get_if<Standing>(&message)) {
        standing(id, *stands);
    } else if (const auto* failed = std::get_if<StepFailed>(&message)) {
        step_failed(id, *failed);
    } else if (const auto* answer = std::get_if<Status>(&message)) {
        const bool tells_of_itself = worker.asked > 0 && answer->inquiry == worker.asked;
        tells_of_itself ? found_stands(id, *answer) : status(id, *answer);
    } else if (const auto* other = std::get_if<Superseded>(&message)) {
        replaced(*other);
    } else if (const auto* wrote = std::get_if<Saved>(&message)) {
        saved(id, *wrote);
    } else if (const auto* failure = std::get_if<NotSaved>(&message)) {
        if (saving && saving->worker == id && saving->number == failure->number) {
            not_saved(failure->why);
        }
    } else {
        condemn(id, "it sent what only a coordinator may say");
    }
}

void Crew::State::reap(Moment now) {
    std::vector<std::pair<InstanceId, std::string>> gone;
    for (auto& [id, worker] : workers) {
        if (auto how = worker.process->ended()) gone.emplace_back(id, std::move(*how));
    }
    for (const auto& [id, how] : gone) {
        read_from(id, now);  // its last words
        forget(id, how);
    }
}

void Crew::State::check_worker_deadlines(InstanceId id, Worker& worker, Moment now) {
    const auto silence = now - worker.heard;
    if (worker.life == Life::doomed) {
        if (now < worker.deadline) return;
        worker.killed = true;
        worker.process->kill();
        worker.deadline = Moment::max();
    } else if (worker.connection && silence > setup.deadlines.heartbeat) {
        condemn(id, fmt::format("no heartbeat for {:.1f} s; {}", seconds_of(silence),
                                sentence(worker)));
    } else if (now >= worker.deadline && worker.life == Life::leaving) {
        condemn(id, fmt::format("did not leave within {:.1f} s; {}",
                                seconds_of(setup.deadlines.farewell), sentence(worker)));
    } else if (now >= worker.deadline) {
        condemn(id, fmt::format("was not ready within {:.1f} s; {}",
                                seconds_of(setup.deadlines.spawn), sentence(worker)));
    }
}

void Crew::State::check_deadlines(Moment now) {
    std::vector<InstanceId> all;
    for (const auto& [id, worker] : workers) all.push_back(id);
    for (const InstanceId id : all) check_worker_deadlines(id, *find(id), now);
    if (group.phase == GroupPhase::broken) find_culprit(now);
    if (attempt && now >= attempt->deadline) attempt_overdue();
    if (saving && now >= saving->deadline) {
        const InstanceId writer = saving->worker;
        if (alive(writer)) {
            condemn(writer,
                    fmt::format("did not finish a checkpoint within {:.1f} s; {}",
                                seconds_of(setup.deadlines.checkpoint), sentence(*find(writer))));
        }
        if (saving) saving->deadline = Moment::max();  // its end is the end of the attempt
    }
}

Moment Crew::State::next_deadline() const {
    Moment next = std::min(door.next_deadline(), pinged + ping_interval);
    for (const auto& [id, worker] : workers) {
        next = std::min(next, worker.deadline);
        if (worker.connection) next = std::min(next, worker.heard + setup.deadlines.heartbeat);
    }
    for (const auto& [agent, link] : agents) {
        next = std::min(next, link.heard + setup.deadlines.heartbeat);
    }
    if (group.phase == GroupPhase::broken) {
        next = std::min(next, group.answers_due);
        if (group.culprit_due) next = std::min(next, *group.culprit_due);
    }
    if (attempt) next = std::min(next, attempt->deadline);
    if (saving) next = std::min(next, saving->deadline);
    return next;
}

void Crew::State::ping(Moment now) {
    if (now < pinged + ping_interval) return;
    pinged = now;
    std::vector<InstanceId> all;
    for (const auto& [id, worker] : workers) all.push_back(id);
    for (const InstanceId id : all) tell(id, Ping{});
    for (const auto& [agent, link] : agents) tell_agent(agent, Ping{});
}

}  // namespace ukemi::runtime
