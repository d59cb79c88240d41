// crew_agents.cpp — programs on other machines that start workers for a Crew, and end with theirs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/plain_text.hpp"
#include "runtime/agent_body.hpp"
#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

namespace {

// For the last words to leave.
constexpr auto dismissal_time = std::chrono::milliseconds(500);
// Those of each term have numbers of their own, as workers have.
constexpr std::uint32_t agents_per_term = 1U << 20U;

}  // namespace

AgentBody::~AgentBody() {
    if (!how_) kill();
}

void AgentBody::kill() {
    if (!crew_->is_replaced) crew_->tell_agent(agent_, EndWorker{number_});
}

void Crew::State::welcome(const AgentHello& hello, Connection connection, Moment now) {
    const std::uint32_t agent = term() * agents_per_term + agents_so_far++;
    const std::string name = one_line(hello.name);
    agents.emplace(agent, AgentLink{std::move(connection), name, static_cast<int>(hello.slots), now,
                                    false, false});
    tell_agent(agent, AgentWelcome{std::chrono::nanoseconds(setup.deadlines.heartbeat).count()});
    tell_agent(agent, tenure());
}

// Those of earlier coordinators are taken up; whom this one has given up is ended.
void Crew::State::agent_has(std::uint32_t agent, const AgentWorkers& message) {
    AgentLink& link = agents.at(agent);
    if (link.listed) return;
    if (message.run != setup.agents->run) return drop_agent(agent, "it is of another run");
    if (message.workers.size() > static_cast<std::size_t>(link.slots)) {
        return drop_agent(agent, "it has more workers than slots");
    }
    link.listed = true;
    const Moment now = Clock::now();
    for (const std::uint32_t number : message.workers) find_worker(agent, number, now);
    events.push_back(AgentJoined{agent, link.name, link.slots});
}

std::ptrdiff_t Crew::State::workers_of(std::uint32_t agent) const {
    return std::ranges::count_if(workers, [&](const auto& each) {
        return each.second.agent == agent && each.second.life != Life::doomed;
    });
}

// Those that joined first are filled first.
std::optional<std::uint32_t> Crew::State::agent_with_room() const {
    for (const auto& [agent, link] : agents) {
        if (link.listed && !link.noticed && workers_of(agent) < link.slots) return agent;
    }
    return std::nullopt;
}

// Why it cannot be; empty if it can.
std::string Crew::State::start_on_agent(Worker& worker, std::optional<std::uint32_t> agent) {
    if (!agent) agent = agent_with_room();
    if (!agent || !agents.contains(*agent)) return "no agent has room";
    worker.agent = agent;
    worker.slot = free_slot(worker);
    auto body = std::make_unique<AgentBody>(*this, *agent, worker.number);
    worker.body = body.get();
    worker.process = std::move(body);
    const Invitation invitation{door.address(), worker.number, door.secret(), {}, {}, worker.slot};
    tell_agent(*agent, StartWorker{worker.number,
                                   fmt::format("{}", fmt::join(setup.worker_arguments, "\n")),
                                   text_of(invitation)});
    return {};
}

void Crew::State::tell_agent(std::uint32_t agent, const Message& message) {
    const auto found = agents.find(agent);
    if (found == agents.end()) return;
    // As with workers: what failed shows when it is read from.
    [[maybe_unused]] const auto problem = found->second.connection.send(message);
}

void Crew::State::worker_ended(std::uint32_t agent, const WorkerEnded& message) {
    const auto id = worker_with(message.worker);
    if (id && find(*id)->agent == agent) find(*id)->body->end(one_line(message.how));
}

void Crew::State::agent_noticed(std::uint32_t agent, const AgentNotice& message) {
    AgentLink& link = agents.at(agent);
    if (std::exchange(link.noticed, true)) return;
    AgentNoticed noticed{agent, link.name, one_line(message.text), {}, {}};
    if (message.has_time) {
        noticed.left = std::chrono::nanoseconds(std::max<std::int64_t>(message.left_ns, 0));
    }
    for (const auto& [id, worker] : workers) {
        if (worker.agent == agent && worker.claimed) noticed.workers.push_back(id);
    }
    events.push_back(std::move(noticed));
}

void Crew::State::handle_agent(std::uint32_t agent, const Message& message) {
    if (std::holds_alternative<AgentBeat>(message)) return;
    if (const auto* ended = std::get_if<WorkerEnded>(&message)) {
        worker_ended(agent, *ended);
    } else if (const auto* notice = std::get_if<AgentNotice>(&message)) {
        agent_noticed(agent, *notice);
    } else if (const auto* has = std::get_if<AgentWorkers>(&message)) {
        agent_has(agent, *has);
    } else if (const auto* other = std::get_if<Superseded>(&message)) {
        replaced(*other);
    } else {
        drop_agent(agent, "it sent what no agent says");
    }
}

void Crew::State::read_from_agent(std::uint32_t agent, Moment now) {
    AgentLink& link = agents.at(agent);
    std::vector<Message> messages;
    auto problem = link.connection.receive(messages);
    if (!messages.empty()) link.heard = now;
    for (const Message& message : messages) {
        handle_agent(agent, message);
        if (!agents.contains(agent)) return;
    }
    if (!problem) problem = link.connection.flush();
    if (!problem && now - link.heard > setup.deadlines.heartbeat) {
        const std::chrono::duration<double> silence = now - link.heard;
        problem = fmt::format("it said nothing for {:.1f} s", silence.count());
    }
    if (problem) drop_agent(agent, *problem);
}

void Crew::State::drop_agent(std::uint32_t agent, const std::string& why) {
    const auto node = agents.extract(agent);  // from now on nobody tells it anything
    const AgentLink& link = node.mapped();
    if (link.listed) events.push_back(AgentLeft{agent, link.name, why});
    for (auto& [id, worker] : workers) {
        if (worker.agent != agent) continue;
        worker.host_gone = true;
        worker.body->end(fmt::format("its agent {} is gone: {}", link.name, why));
    }
}

void Crew::State::look_after_agents(Moment now) {
    std::vector<std::uint32_t> all;
    for (const auto& [agent, link] : agents) all.push_back(agent);
    for (const std::uint32_t agent : all) read_from_agent(agent, now);
}

void Crew::State::dismiss_agents() {
    const Moment end = Clock::now() + dismissal_time;
    for (auto& [agent, link] : agents) {
        tell_agent(agent, Dismissal{});
        while (link.connection.wants_to_write() && !link.connection.flush() && Clock::now() < end) {
        }
    }
}

}  // namespace ukemi::runtime
