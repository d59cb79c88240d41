// crew.cpp — the owner's calls.
#include "runtime/crew.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/checkpoint_file.hpp"
#include "runtime/crew_state.hpp"
#include "runtime/plan_text.hpp"

namespace ukemi::runtime {

namespace {

Door door_of(const CrewSetup& setup) {
    if (setup.agents) {
        // So that the next coordinator of the run knows its workers.
        const AgentDoor& agents = *setup.agents;
        return {agents.address, Door::Kind::secure, agents.secret,
                kernels::derived_key(agents.secret, "ukemi run " + agents.run)};
    }
    const auto host = SocketAddress::of_host(setup.listen, 0);
    INVARIANT(host);
    return {*host, setup.training.script.empty() || setup.scripts_by_relay ? Door::Kind::secure
                                                                           : Door::Kind::plain};
}

}  // namespace

Crew::State::State(CrewSetup given)
    : setup(std::move(given)),
      training(kernels::training_spec_text(setup.training)),
      door(door_of(setup)) {
    pumped = pinged = Clock::now();
    attempts = inquiries = savings = epochs_before();
    const Secret drawn = random_secret();
    std::memcpy(&coordinator, drawn.data(), sizeof coordinator);
    kernels::sweep_unfinished_checkpoints(setup.folder);  // of a run that was killed
}

Crew::Crew(CrewSetup setup) : state_(std::make_unique<State>(std::move(setup))) {}

Crew::~Crew() {
    if (state_->is_replaced) return;
    // All at once: reaping one by one would wait for each in turn.
    for (auto& [id, worker] : state_->workers) worker.process->kill();
    const bool was_saving = state_->saving.has_value();
    state_->workers.clear();
    state_->dismiss_agents();
    if (was_saving) kernels::sweep_unfinished_checkpoints(state_->setup.folder);
}

// The first that has a place; those who end make room.
std::optional<std::size_t> Crew::State::host_with_room() const {
    for (std::size_t host = 0; host < setup.remote.hosts.size(); ++host) {
        const auto there = std::ranges::count_if(workers, [&](const auto& each) {
            return each.second.host == host && each.second.life != Life::doomed;
        });
        if (there < setup.remote.hosts[host].slots) return host;
    }
    return std::nullopt;
}

std::uint32_t Crew::State::free_slot(const Worker& worker) const {
    const auto is_taken = [&](std::uint32_t slot) {
        return std::ranges::any_of(workers, [&](const auto& each) {
            const Worker& other = each.second;
            return other.slot == slot && other.host == worker.host && other.agent == worker.agent;
        });
    };
    std::uint32_t slot = 0;
    while (is_taken(slot)) ++slot;
    return slot;
}

ProcessOrder Crew::State::order_for(const Worker& worker) const {
    const Invitation invitation{door.address(), worker.number, door.secret(), {}, {}, worker.slot};
    const std::optional<std::size_t> host = worker.host;
    ProcessOrder order;
    if (host) {
        std::vector<std::string> words =
            remote_command(setup.remote, setup.remote.hosts[*host], setup.worker_arguments);
        order.program = words.front();
        order.arguments.assign(words.begin() + 1, words.end());
        order.input = text_of(invitation);
        return order;
    }
    order.program = setup.worker_program;
    order.arguments = setup.worker_arguments;
    order.environment = environment_of(invitation);
    if (!setup.cores.empty()) order.core = setup.cores[worker.slot % setup.cores.size()];
    return order;
}

void Crew::spawn(InstanceId worker, std::optional<std::uint32_t> agent) {
    State& state = *state_;
    INVARIANT(state.used.insert(worker).second);
    if (state.claim(worker)) {
        const Worker& found = *state.find(worker);
        const auto since = Clock::now() - found.born;
        if (found.life == Life::ready) state.events.push_back(WorkerReady{worker, since});
        return;
    }
    Worker started;
    started.number = state.number_of(worker);
    started.born = started.heard = Clock::now();
    started.deadline = started.born + state.setup.deadlines.spawn;
    started.host = state.host_with_room();
    std::string refusal;
    if (state.setup.agents) {
        refusal = state.start_on_agent(started, agent);
    } else if (!state.setup.remote.hosts.empty() && !started.host) {
        refusal = "no host has room";
    }
    if (!refusal.empty()) {
        state.events.push_back(WorkerDied{worker, "could not be started: " + refusal});
        return;
    }
    try {
        if (!started.process) {
            started.slot = state.free_slot(started);
            started.process = std::make_unique<WorkerProcess>(state.order_for(started));
        }
    } catch (const std::system_error& error) {  // no process or no descriptor is to be had
        state.events.push_back(
            WorkerDied{worker, fmt::format("could not be started: {}", error.what())});
        return;
    }
    state.workers.emplace(worker, std::move(started));
}

void Crew::dismiss(InstanceId id) {
    State& state = *state_;
    INVARIANT(state.used.contains(id));
    Worker* const worker = state.find(id);
    if (worker == nullptr) return;
    worker->expected = true;
    if (worker->life == Life::doomed || worker->life == Life::leaving) return;
    if (worker->life == Life::starting) {  // cannot be asked yet
        state.condemn(id, "dismissed before it was ready");
        return;
    }
    worker->life = Life::leaving;
    worker->deadline = Clock::now() + state.setup.deadlines.farewell;
    state.tell(id, Leave{});
    if (state.is_member(id)) state.break_group("a member was dismissed", true);
}

void Crew::kill(InstanceId id) {
    State& state = *state_;
    INVARIANT(state.used.contains(id));
    Worker* const worker = state.find(id);
    if (worker == nullptr) return;
    worker->expected = true;
    // Its process tells how it ended: as it would tell of anybody else's SIGKILL.
    state.await_end(id, "");
    worker->process->kill();
}

int Crew::process_of(InstanceId id) const {
    const auto found = state_->workers.find(id);
    return found == state_->workers.end() ? -1 : found->second.process->id();
}

void Crew::inject(InstanceId worker, Fault fault) {
    INVARIANT(state_->setup.allow_faults);
    state_->tell(worker, Inject{fault});
}

void Crew::begin_transition(std::span<const InstanceId> members, const policies::Plan& plan,
                            const std::filesystem::path& checkpoint) {
    State& state = *state_;
    INVARIANT(!state.attempt && state.group.phase != GroupPhase::training);
    INVARIANT(!members.empty());
    for (const InstanceId id : members) {
        INVARIANT(state.used.contains(id));
        INVARIANT(std::count(members.begin(), members.end(), id) == 1);
    }
    Attempt attempt;
    attempt.number = ++state.attempts;
    attempt.members.assign(members.begin(), members.end());
    attempt.plan = plan;
    attempt.plan_digest = plan_digest(plan);
    attempt.checkpoint = checkpoint;
    attempt.begun = Clock::now();
    attempt.deadline = attempt.begun + state.setup.deadlines.transition;
    state.attempt = std::move(attempt);
    state.progress_attempt();
}

void Crew::abandon() {
    State& state = *state_;
    if (state.attempt) state.fail_attempt("the owner abandoned it");
    const GroupPhase phase = state.group.phase;
    if (phase == GroupPhase::held || phase == GroupPhase::training) {
        state.break_group("the owner abandoned it", true);
    }
}

void Crew::run() { run_until(std::numeric_limits<std::int64_t>::max()); }

void Crew::run_until(std::int64_t step) {
    State& state = *state_;
    INVARIANT(state.group.phase != GroupPhase::none && !state.attempt);
    if (state.group.phase == GroupPhase::broken) return;  // an event says so
    // Some members may be past a lower limit already, and wait for those who are not.
    INVARIANT(state.group.phase == GroupPhase::held || step >= state.group.limit);
    state.send_run(step);
}

void Crew::hold() {
    State& state = *state_;
    INVARIANT(state.group.phase != GroupPhase::none && !state.attempt);
    if (state.group.phase == GroupPhase::held) {
        const auto tells = [](const CrewEvent& event) {
            return std::holds_alternative<GroupHeld>(event);
        };
        if (!std::any_of(state.events.begin(), state.events.end(), tells)) {
            state.events.push_back(GroupHeld{state.group.step});
        }
        return;
    }
    Group& group = state.group;
    if (group.phase != GroupPhase::training || group.hold > group.holds_done) return;
    ++group.hold;
    for (const InstanceId id : group.members) state.tell(id, Hold{group.epoch, group.hold});
}

void Crew::forget_checkpoints_after(const std::filesystem::path& file) {
    std::erase_if(state_->checkpoints, [&](const std::filesystem::path& each) {
        return each.filename() > file.filename();
    });
}

void Crew::save() {
    State& state = *state_;
    INVARIANT(!state.attempt);
    if (state.saving) {  // of a group that is no more, by a worker that has not noticed
        state.events.push_back(CheckpointFailed{"the one before is still being written"});
        return;
    }
    INVARIANT(state.group.phase == GroupPhase::held || state.group.phase == GroupPhase::broken);
    Saving saving;
    saving.number = ++state.savings;
    saving.worker = state.group.members.front();
    saving.file = state.setup.folder / fmt::format("checkpoint-{:012}.ukemi", state.group.step);
    saving.deadline = Clock::now() + state.setup.deadlines.checkpoint;
    state.saving = saving;
    if (state.group.phase == GroupPhase::broken) {
        state.not_saved("the group is broken");
        return;
    }
    // A worker may run in another folder, if not on another machine.
    const std::string file = std::filesystem::absolute(saving.file).string();
    state.tell(saving.worker, Save{saving.number, file});
}

std::vector<CrewEvent> Crew::poll(std::chrono::nanoseconds timeout) {
    State& state = *state_;
    const Moment now = Clock::now();
    const bool forever = timeout > std::chrono::hours(24);
    const Moment end = forever ? now + std::chrono::hours(24) : now + timeout;
    state.interrupted = false;
    do {
        state.pump(state.events.empty() ? end : Clock::now());
    } while (state.events.empty() && !state.interrupted && Clock::now() < end);
    return std::exchange(state.events, {});
}

}  // namespace ukemi::runtime
