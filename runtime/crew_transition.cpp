// crew_transition.cpp — from one group and Plan to the next, on all members or on none.
//
// Settling (everybody stands, and where is known) → connecting (addresses go round) → entering
// (each member has the state and says what it holds) → committed. Until the last step everything
// new stands beside the old: a failure leaves the members with what they had.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/invariant.hpp"
#include "runtime/crew_state.hpp"
#include "runtime/plan_text.hpp"

namespace ukemi::runtime {

std::string Attempt::disagreement() const {
    const InstanceId root = members.front();
    const Entered& first = entered.at(root);
    // A replica may look common by chance (no gradient, no momentum): all must say that it is.
    const bool alike =
        std::ranges::all_of(members, [&](InstanceId id) { return entered.at(id).replicas_equal; });
    for (const InstanceId id : members) {
        const Entered& other = entered.at(id);
        if (other.plan_version != index_of(plan.version) || other.plan_digest != plan_digest) {
            return fmt::format("worker {} understood another Plan: version {}, digest {:016x}",
                               index_of(id), other.plan_version, other.plan_digest);
        }
        if (other.step != first.step || other.position != first.position) {
            return fmt::format(
                "worker {} stands before step {} at sample {}, worker {} before "
                "step {} at sample {}",
                index_of(root), first.step, first.position, index_of(id), other.step,
                other.position);
        }
        if (alike && other.replica_digest != first.replica_digest) {
            return fmt::format(
                "the replicas differ before step {}: worker {} has {:016x}, worker "
                "{} has {:016x}",
                first.step, index_of(root), first.replica_digest, index_of(id),
                other.replica_digest);
        }
    }
    return {};
}

namespace {

bool is_waiting(WorkerPhase phase) {
    return phase == WorkerPhase::connecting || phase == WorkerPhase::receiving_state;
}

ByteString bytes_of(const Secret& secret) { return {secret.begin(), secret.end()}; }

}  // namespace

void Crew::State::progress_attempt() {
    if (!attempt) return;
    bool somebody_ends = false;
    for (const InstanceId id : attempt->members) {
        const Worker* const worker = find(id);
        if (worker == nullptr) {
            const std::string died = fmt::format("worker {} died", index_of(id));
            fail_attempt(attempt->why.empty() ? died : attempt->why);
            return;
        }
        somebody_ends = somebody_ends || worker->life == Life::doomed;
    }
    // Its WorkerDied shall come before TransitionFailed.
    if (somebody_ends || attempt->stage != Stage::settling || !settled()) return;
    for (const InstanceId id : attempt->members) {
        if (find(id)->life == Life::ready) continue;
        fail_attempt(fmt::format("worker {} is not ready", index_of(id)));
        return;
    }
    const std::string problem = choose_base(*attempt);
    if (!problem.empty()) {
        fail_attempt(problem);
        return;
    }
    launch_attempt();
}

// Where all members can stand; what is wrong if they cannot. It is always the first step that is
// not committed: a member that is past it goes back, even if it is the only one of the survivors
// that takes part, because the others may still be needed.
std::string Crew::State::choose_base(Attempt& chosen) {
    bool somebody_holds = false;
    for (const InstanceId id : chosen.members) {
        const Worker& worker = *find(id);
        if (!worker.holds_state) continue;
        somebody_holds = true;
        if (worker.step == group.step) continue;
        if (worker.step == group.step + 1 && worker.can_undo) continue;
        return fmt::format("worker {} stands before step {} and cannot go back to {}", index_of(id),
                           worker.step, group.step);
    }
    chosen.step = somebody_holds ? group.step : -1;
    if (somebody_holds || !chosen.checkpoint.empty()) return {};
    for (const auto& [id, worker] : workers) {
        if (!worker.holds_state || !alive(id)) continue;
        return fmt::format(
            "no member has the state, but worker {} has: let it take part, or name "
            "a checkpoint",
            index_of(id));
    }
    return {};
}

void Crew::State::launch_attempt() {
    const bool same_group = group.phase == GroupPhase::held && group.members == attempt->members;
    attempt->group_changed = !same_group;
    attempt->epoch = same_group ? group.epoch : attempt->number;
    attempt->stage = same_group ? Stage::entering : Stage::connecting;
    Transition order;
    order.attempt = attempt->number;
    order.epoch = attempt->epoch;
    order.group_changed = attempt->group_changed;
    order.plan = plan_text(attempt->plan);
    order.plan_digest = attempt->plan_digest;
    order.group_secret = bytes_of(random_secret());
    order.step = attempt->step;
    if (!attempt->checkpoint.empty()) {
        order.checkpoint = std::filesystem::absolute(attempt->checkpoint).string();
    }
    const std::vector<InstanceId> members = attempt->members;
    for (const InstanceId id : members) {
        order.members.push_back(index_of(id));
        order.holders.push_back(find(id)->holds_state ? 1 : 0);
    }
    for (const InstanceId id : members) {
        tell(id, order);
        ++order.rank;
    }
}

void Crew::State::own_address(InstanceId id, const OwnAddress& message) {
    if (!attempt || attempt->number != message.attempt) return;
    if (attempt->stage != Stage::connecting) return;
    attempt->addresses[id] = message.address;
    if (attempt->addresses.size() < attempt->members.size()) return;
    attempt->stage = Stage::entering;
    Peers peers{attempt->number, {}};
    const std::vector<InstanceId> members = attempt->members;
    for (const InstanceId member : members) peers.addresses.push_back(attempt->addresses[member]);
    for (const InstanceId member : members) tell(member, peers);
}

void Crew::State::entered(InstanceId id, const Entered& message) {
    if (!attempt || attempt->number != message.attempt) return;
    if (attempt->stage != Stage::entering) return;
    attempt->entered[id] = message;
    if (attempt->entered.size() < attempt->members.size()) return;
    const std::string problem = attempt->disagreement();
    problem.empty() ? commit_attempt() : fail_attempt(problem);
}

void Crew::State::commit_attempt() {
    const Attempt done = std::move(*attempt);
    attempt.reset();
    const Group old = std::exchange(group, Group());
    const Entered& first = done.entered.at(done.members.front());
    group.phase = GroupPhase::held;
    group.epoch = done.epoch;
    group.members = done.members;
    group.plan = done.plan;
    group.plan_digest = done.plan_digest;
    group.step = first.step;
    group.position = first.position;
    group.order = old.order;
    group.hold = group.holds_done = old.hold;
    GroupEntered event{};
    event.epoch = done.epoch;
    event.version = done.plan.version;
    event.step = first.step;
    event.position = first.position;
    event.digest = first.replica_digest;
    event.group_changed = done.group_changed;
    event.exchange = first.exchange;
    event.total = Clock::now() - done.begun;
    for (const InstanceId id : done.members) {
        const Entered& entered = done.entered.at(id);
        const std::chrono::nanoseconds rendezvous(entered.rendezvous_ns);
        const std::chrono::nanoseconds transfer(entered.state_transfer_ns);
        event.rendezvous = std::max(event.rendezvous, rendezvous);
        event.state_transfer = std::max(event.state_transfer, transfer);
        Worker& worker = *find(id);
        worker.holds_state = true;
        worker.activity.phase = WorkerPhase::standing;
        worker.activity.step = first.step;
        worker.step = first.step;
        worker.can_undo = false;
    }
    events.push_back(event);
    for (const InstanceId id : done.members) tell(id, Commit{done.number});
    for (const InstanceId id : old.members) {
        if (!is_member(id)) tell(id, Abandon{old.epoch, 0, first.step});
    }
}

void Crew::State::fail_attempt(std::string why) {
    const Attempt failed = std::move(*attempt);
    attempt.reset();
    events.push_back(TransitionFailed{std::move(why)});
    for (const InstanceId id : failed.members) tell(id, Discard{failed.number});
    settle();
}

void Crew::State::not_entered(InstanceId id, const NotEntered& message) {
    if (!attempt || attempt->number != message.attempt) return;
    if (message.suspect >= 0 &&
        static_cast<std::size_t>(message.suspect) < attempt->members.size()) {
        ++attempt->suspected[attempt->members[static_cast<std::size_t>(message.suspect)]];
    }
    attempt->refused.insert(id);
    if (attempt->stage == Stage::failing) return;
    std::string why = fmt::format("worker {}: {}", index_of(id), message.why);
    if (message.peers_failed) {
        fail_attempt_when_known(std::move(why));
    } else {
        fail_attempt(why);
    }
}

// A peer that is lost shows itself within a heartbeat; then its death comes first.
void Crew::State::fail_attempt_when_known(std::string why) {
    attempt->stage = Stage::failing;
    attempt->why = std::move(why);
    attempt->deadline = Clock::now() + setup.deadlines.heartbeat * 5 / 4;
    const std::vector<InstanceId> members = attempt->members;
    for (const InstanceId id : members) tell(id, Discard{attempt->number});
    if (attempt) progress_attempt();
}

// Members that are alive and have not said what they were asked for.
std::vector<InstanceId> Crew::State::late_members() {
    std::vector<InstanceId> late;
    for (const InstanceId id : attempt->members) {
        if (!alive(id)) continue;
        bool answered = attempt->refused.contains(id) || attempt->entered.contains(id);
        if (attempt->stage == Stage::settling) {
            answered = !is_member(id) || find(id)->answered == group.inquiry;
        } else if (attempt->stage == Stage::connecting) {
            answered = attempt->addresses.contains(id);
        }
        if (!answered) late.push_back(id);
    }
    return late;
}

void Crew::State::attempt_overdue() {
    std::vector<InstanceId> late = late_members();
    if (attempt->stage != Stage::failing) {
        // Who waits for others is late through no fault of its own.
        std::vector<InstanceId> culprits;
        for (const InstanceId id : late) {
            if (!is_waiting(find(id)->activity.phase)) culprits.push_back(id);
        }
        if (!culprits.empty()) late = std::move(culprits);
        attempt->why =
            fmt::format("not all have entered within {:.1f} s",
                        std::chrono::duration<double>(setup.deadlines.transition).count());
    } else if (late.empty()) {
        // All have given up; the one that was named most often goes.
        const auto most = std::max_element(
            attempt->suspected.begin(), attempt->suspected.end(),
            [](const auto& left, const auto& right) { return left.second < right.second; });
        if (most != attempt->suspected.end() && alive(most->first)) late = {most->first};
    }
    if (late.empty()) return fail_attempt(attempt->why);
    attempt->stage = Stage::failing;
    attempt->deadline = Moment::max();  // a death ends it
    const std::string why = attempt->why;
    for (const InstanceId id : late) {
        condemn(id, fmt::format("it held up a transition ({}); {}", why, sentence(*find(id))));
    }
}

}  // namespace ukemi::runtime
