// crew_found.cpp — the workers that a coordinator before this one has left, and how they are taken
// over.
//
// An agent that joins says which workers it has; each of them comes by itself, is told to let go of
// its group and says where it stands. Only members of the last group have the model: that group's
// members differ by one step at most, as after any loss, and what all of them have made counts.
// Until spawn() takes a worker it is known by its number, which is above all numbers of instances.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/invariant.hpp"
#include "runtime/agent_body.hpp"
#include "runtime/crew_state.hpp"

namespace ukemi::runtime {

namespace {

// Workers of each term have numbers of their own.
constexpr std::uint32_t numbers_per_term = 1U << 20U;

}  // namespace

std::uint32_t Crew::State::number_of(InstanceId id) const {
    if (!setup.agents) return index_of(id);
    INVARIANT(index_of(id) < numbers_per_term);
    return term() * numbers_per_term + index_of(id);
}

std::optional<InstanceId> Crew::State::worker_with(std::uint32_t number) const {
    const auto found = std::ranges::find_if(
        workers, [&](const auto& each) { return each.second.number == number; });
    return found == workers.end() ? std::nullopt : std::optional(found->first);
}

Tenure Crew::State::tenure() const {
    return {setup.agents->run, term(), coordinator,
            std::chrono::nanoseconds(setup.deadlines.coordinator).count()};
}

void Crew::State::find_worker(std::uint32_t agent, std::uint32_t number, Moment now) {
    const InstanceId id{number};
    const bool is_earlier = number >= numbers_per_term && number < term() * numbers_per_term;
    if (!is_earlier || !used.insert(id).second) {
        tell_agent(agent, EndWorker{number});
        return;
    }
    Worker worker;
    worker.number = number;
    worker.claimed = false;
    worker.agent = agent;
    auto body = std::make_unique<AgentBody>(*this, agent, number);
    worker.body = body.get();
    worker.process = std::move(body);
    worker.born = worker.heard = now;
    worker.deadline = now + setup.deadlines.spawn;
    worker.asked = ++inquiries;
    workers.emplace(id, std::move(worker));
}

// Whose orders it gets; one that was found lets go of whatever it was doing.
void Crew::State::introduce(InstanceId id) {
    tell(id, tenure());
    const Worker& worker = *find(id);
    if (worker.asked == 0) return;
    tell(id, Abandon{epochs_before(), worker.asked, std::numeric_limits<std::int64_t>::max()});
}

void Crew::State::found_stands(InstanceId id, const Status& message) {
    Worker& worker = *find(id);
    if (worker.life != Life::loading) return;
    worker.life = Life::ready;
    worker.deadline = Moment::max();
    worker.activity.phase = WorkerPhase::idle;
    worker.epoch = message.has_state ? message.epoch : 0;
    worker.step = message.step;
    worker.position = message.position;
    worker.can_undo = message.can_undo;
    if (worker.claimed) events.push_back(WorkerReady{id, Clock::now() - worker.born});
}

bool Crew::State::expects_somebody() const {
    const bool somebody_comes = std::ranges::any_of(workers, [](const auto& each) {
        const Life life = each.second.life;
        return !each.second.claimed && (life == Life::starting || life == Life::loading);
    });
    if (somebody_comes) return true;
    return std::ranges::any_of(setup.agents->expected, [&](const std::string& name) {
        return std::ranges::none_of(agents, [&](const auto& each) {
            return each.second.listed && each.second.name == name;
        });
    });
}

std::optional<FoundWorkers> Crew::found(bool all_that_come, std::int64_t step_least) {
    State& state = *state_;
    INVARIANT(state.setup.agents && state.group.phase != GroupPhase::training && !state.attempt);
    if (all_that_come && state.expects_somebody()) return std::nullopt;
    if (std::exchange(state.found_stand, true)) return state.holders_found();
    std::uint64_t last = 0;
    for (const auto& [id, worker] : state.workers) {
        const bool counts = worker.life == Life::ready && worker.step >= step_least;
        if (counts) last = std::max(last, worker.epoch);
    }
    const Worker* least = nullptr;
    for (auto& [id, worker] : state.workers) {
        worker.holds_state = last > 0 && worker.life == Life::ready && worker.epoch == last &&
                             worker.step >= step_least;
        if (!worker.holds_state) continue;
        if (least == nullptr || worker.step < least->step) least = &worker;
    }
    if (least != nullptr) {
        state.group.step = least->step;
        state.group.position = least->position;
    }
    return state.holders_found();
}

FoundWorkers Crew::State::holders_found() const {
    FoundWorkers found{{}, group.step, group.position};
    for (const auto& [id, worker] : workers) {
        if (worker.life == Life::ready && worker.holds_state) found.holders.push_back(id);
    }
    return found;
}

// In the order of their numbers, so that ranks stay what they were.
bool Crew::State::claim(InstanceId id, std::optional<std::uint32_t> agent) {
    const auto free = std::ranges::find_if(workers, [&](const auto& each) {
        const Worker& worker = each.second;
        const bool fits = !agent || worker.agent == agent;
        const bool stays = worker.life != Life::doomed && worker.life != Life::leaving;
        if (worker.claimed || !fits || !stays) return false;
        const auto link = agents.find(*worker.agent);
        return link != agents.end() && !link->second.noticed;
    });
    if (free == workers.end()) return false;
    const InstanceId before = free->first;
    auto node = workers.extract(free);
    node.key() = id;
    Worker& worker = node.mapped();
    worker.claimed = true;
    std::ranges::replace(group.members, before, id);
    if (worker.life == Life::ready) events.push_back(WorkerReady{id, Clock::now() - worker.born});
    workers.insert(std::move(node));
    return true;
}

void Crew::end_found() {
    State& state = *state_;
    std::vector<InstanceId> left;
    for (const auto& [id, worker] : state.workers) {
        if (!worker.claimed && worker.life != Life::doomed) left.push_back(id);
    }
    for (const InstanceId id : left) state.condemn(id, "nobody wants it");
}

void Crew::State::replaced(const Superseded& by) {
    const bool ours = setup.agents && by.run == setup.agents->run && by.term >= term();
    if (ours && !std::exchange(is_replaced, true)) events.push_back(CrewReplaced{by.term});
}

}  // namespace ukemi::runtime
