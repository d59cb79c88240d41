// crew_found.cpp — the workers that a coordinator before this one has left, and how they are taken
// over.
//
// An agent that joins says which workers it has; each of them comes by itself, is told to let go of
// its group and says where it stands. The lower digits of its number are those of the machine that
// it was started for, in whichever term that was; under that name its owner adopts it. Until then
// it is known by its whole number, which is above all numbers of instances.
#include <algorithm>
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
    if (!is_earlier || found_are_over || !used.insert(id).second) {
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
    tell(id, Abandon{epochs_before(), worker.asked, found_from});
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
    worker.replica_digest = message.replica_digest;
    worker.past = message.past;
    if (worker.claimed) events.push_back(WorkerReady{id, Clock::now() - worker.born});
}

bool Crew::State::expects_somebody(std::span<const std::string> names) const {
    const bool somebody_comes = std::ranges::any_of(workers, [](const auto& each) {
        const Life life = each.second.life;
        return !each.second.claimed && (life == Life::starting || life == Life::loading);
    });
    if (somebody_comes) return true;
    return std::ranges::any_of(names, [&](const std::string& name) {
        return std::ranges::none_of(agents, [&](const auto& each) {
            return each.second.listed && each.second.name == name;
        });
    });
}

bool Crew::awaits_found(std::int64_t step, std::span<const std::string> agents) {
    state_->found_from = step;
    return state_->expects_somebody(agents);
}

bool Crew::has_found(std::span<const InstanceId> any) const {
    return std::ranges::any_of(state_->workers, [&](const auto& each) {
        const Worker& worker = each.second;
        const InstanceId machine{worker.number % numbers_per_term};
        return worker.life == Life::ready && std::ranges::find(any, machine) != any.end();
    });
}

// One that holds the model is of the last group that any of them was in, or equals one that is: a
// coordinator may have gone while it committed a group, on some members and not yet on others.
FoundWorkers Crew::found(std::span<const InstanceId> holders, std::int64_t step) {
    State& state = *state_;
    INVARIANT(state.group.phase == GroupPhase::none && !state.attempt);
    std::vector<Worker*> candidates;
    const Worker* last = nullptr;
    for (const InstanceId id : holders) {
        Worker* const worker = state.find(id);
        if (worker == nullptr || worker->life != Life::ready || worker->epoch == 0) continue;
        if (worker->step < step) continue;
        candidates.push_back(worker);
        if (last == nullptr || worker->epoch > last->epoch) last = worker;
    }
    const Worker* least = nullptr;
    for (Worker* const worker : candidates) {
        const bool equals = worker->step == last->step && worker->position == last->position &&
                            worker->replica_digest == last->replica_digest;
        worker->holds_state = worker->epoch == last->epoch || equals;
        if (!worker->holds_state) continue;
        if (least == nullptr || worker->step < least->step) least = worker;
    }
    FoundWorkers found{{}, step, 0};
    if (least == nullptr) return found;
    found.step = state.group.step = least->step;
    found.position = state.group.position = least->position;
    for (const InstanceId id : holders) {
        const Worker* const worker = state.find(id);
        if (worker != nullptr && worker->holds_state) found.holders.push_back(id);
    }
    state.report_past(*least, step);
    return found;
}

// What all of them have made and nobody has heard of yet.
void Crew::State::report_past(const Worker& of, std::int64_t from) {
    for (std::int64_t step = from; step < of.step; ++step) {
        for (const auto& [id, worker] : workers) {
            const auto known = std::ranges::find(worker.past, step, &PastStep::step);
            if (!worker.holds_state || known == worker.past.end()) continue;
            events.push_back(StepDone{step, known->position, known->report, Clock::now()});
            break;
        }
    }
}

bool Crew::State::claim(InstanceId id) {
    const auto found = std::ranges::find_if(workers, [&](const auto& each) {
        const Worker& worker = each.second;
        const bool stays = worker.life != Life::doomed && worker.life != Life::leaving;
        return !worker.claimed && stays && worker.number % numbers_per_term == index_of(id);
    });
    if (found == workers.end()) return false;
    auto node = workers.extract(found);
    node.key() = id;
    node.mapped().claimed = true;
    workers.insert(std::move(node));
    return true;
}

bool Crew::adopt(InstanceId id) {
    State& state = *state_;
    INVARIANT(state.used.insert(id).second);
    if (!state.claim(id)) return false;
    if (state.find(id)->life == Life::ready) return true;
    state.condemn(id, "it did not come back in time");
    return false;
}

void Crew::end_found() {
    State& state = *state_;
    state.found_are_over = true;
    std::vector<InstanceId> left;
    for (const auto& [id, worker] : state.workers) {
        if (!worker.claimed && worker.life != Life::doomed) left.push_back(id);
    }
    for (const InstanceId id : left) state.condemn(id, "nobody wants it");
}

void Crew::leave_to_another() { state_->is_replaced = true; }

void Crew::State::replaced(const Superseded& by) {
    const bool ours = setup.agents && by.run == setup.agents->run && by.term >= term();
    if (ours && !std::exchange(is_replaced, true)) events.push_back(CrewReplaced{by.term});
}

}  // namespace ukemi::runtime
