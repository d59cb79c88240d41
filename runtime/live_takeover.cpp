// live_takeover.cpp — a live run goes on where a coordinator that is gone has left it.
//
// The World is a function of what came to it from outside, and the journal has that in its order:
// so it lives through the run again, with nobody to hear its orders, until it knows all that the
// one before has known. What falls due while nobody leads the run happens next. Then its workers
// are taken: those that are there form their group again, which to the World is a step that takes
// long, and those that are not are deaths like others. All of that is written down, too: the next
// one lives through several coordinators as through one.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/live_trainer.hpp"

namespace ukemi::runtime {

namespace {

// Agents try again several times a second, and so do workers.
constexpr auto takeover_wait = std::chrono::seconds(5);
constexpr auto takeover_look = std::chrono::milliseconds(100);

}  // namespace

// A run whose journal cannot be written goes on, and has no successor that knows of it.
void LiveTrainer::write(const JournalRecord& record) {
    if (setup_.journal == nullptr || relives_) return;
    setup_.journal->write(record);
    if (const auto problem = setup_.journal->take_problem()) {
        note_incident(queue_->now(),
                      fmt::format("the next coordinator would begin anew: {}", *problem));
    }
}

// True: the World takes its next event.
bool LiveTrainer::relive() {
    while (relives_) {
        const auto record = setup_.past->next();
        if (!record) {
            end_past();
            break;
        }
        if (const auto* went = std::get_if<WentOn>(&*record)) {
            if (queue_->next_at().value_or(Instant::never()) != went->due) {
                setup_.past->fail(
                    "the run does not go as it went then: another version of ukemi, or a policy "
                    "that answers otherwise");
            }
            if (went->due < Instant::never()) known_until_ = std::max(known_until_, went->due);
            return true;
        }
        std::visit([this](const auto& one) { relive(one); }, *record);
    }
    if (!taken_over_at_) await_workers();
    const auto due = queue_->next_at();
    if (due && *due <= *taken_over_at_) {
        write(WentOn{*due});
        return true;
    }
    take_the_lead();
    return false;
}

// Nothing refuses this coordinator any more.
void LiveTrainer::end_past() {
    relives_ = false;
    if (setup_.on_past_relived) setup_.on_past_relived();
}

void LiveTrainer::relive(const Took& record) {
    known_until_ = std::max(known_until_, record.at);
    take(record.event, record.at);
}

void LiveTrainer::relive(const SetOut& record) {
    known_until_ = std::max(known_until_, record.at);
    resume(record.at);
}

void LiveTrainer::relive(const ToldEnd& record) { tell_end(record.at); }

void LiveTrainer::relive(const MachineAnswered& record) {
    if (setup_.provider == nullptr) setup_.past->fail("tells of a provider, and there is none");
    known_until_ = std::max(known_until_, record.at);
    setup_.provider->relive(record);
}

void LiveTrainer::relive(const MachineReturned& record) {
    if (setup_.provider == nullptr) setup_.past->fail("tells of a provider, and there is none");
    setup_.provider->relive(record);
}

// From the last moment that is known until now the run was led by nobody. To its ledger that is
// part of a change of the group, whatever it did.
void LiveTrainer::relive(const TakenOver& record) {
    // Work that is done was done then, and the World is about to close its books.
    const bool waits = phase_ == policies::JobPhase::waiting;
    if (phase_ != policies::JobPhase::finished) {
        ledger_->elapse(record.at, waits ? records::Cause::idle : records::Cause::transition);
    }
    if (phase_ == policies::JobPhase::running) {
        progress_.ran(std::max(record.since - running_since_, Duration{}));
        running_since_ = record.at;
    }
    last_step_at_ = record.at;
    known_until_ = std::max(known_until_, record.at);
    const bool had_group = group_ == Group::held || group_ == Group::stepping ||
                           group_ == Group::holding || group_ == Group::saving;
    if (had_group) group_ = Group::rejoining;
    crew_stands_ = member_died_ = false;
    for (const auto& [agent, name] : agents_) agents_absent_.insert(agent);
    const Dollars before = Dollars::of(record.spent_before_nano_usd);
    record_->takeovers.push_back(
        {record.term, record.since, record.at, setup_.spent_by(record.at) - before});
    record_->incidents_before = record_->incidents.size();
    record_->agents_before = record_->agents.size();
}

// Until those that the run had are there, or may be given up.
void LiveTrainer::await_workers() {
    known_until_ = std::max(known_until_, queue_->now());
    spent_before_ = setup_.spent_by(known_until_);
    // While nobody has come who has the model, as long as its agents and workers wait, too.
    const auto begun = LiveClock::Wall::now();
    const auto may_wait = [&] {
        const auto waited = LiveClock::Wall::now() - begun;
        if (waited < takeover_wait) return true;
        return waited < setup_.crew.deadlines.coordinator && !holders_.empty() &&
               !crew_.has_found(holders_);
    };
    bool replaced = false;
    std::vector<std::string> names;
    for (const auto& [agent, name] : agents_) names.push_back(name);
    while (crew_.awaits_found(controller_->steps_done(), names) && !replaced && may_wait()) {
        for (CrewEvent& event : crew_.poll(takeover_look)) {
            replaced = replaced || std::holds_alternative<CrewReplaced>(event);
            reports_.push_back(std::move(event));
        }
    }
    taken_over_at_ = std::max(clock_.now(), known_until_);
}

// The run was about to end when its coordinator went: what is left of the past is its last save.
void LiveTrainer::leave_past() {
    while (relives_) {
        const auto record = setup_.past->next();
        if (!record) end_past();
        const Took* const took = record ? std::get_if<Took>(&*record) : nullptr;
        if (took != nullptr && std::holds_alternative<CheckpointSaved>(took->event)) {
            relive(*took);
        }
    }
    if (!taken_over_at_) await_workers();
    take_the_lead();
}

void LiveTrainer::take_the_lead() {
    const Instant at = std::max(*taken_over_at_, queue_->now());
    const TakenOver record{known_until_, at, setup_.crew.agents->term, spent_before_.raw()};
    write(record);
    relive(record);
    absent_ = false;
    // Also where this machine's clock is behind that of the one before.
    if (clock_.now() < at) {
        const auto passed = clock_.wall(at.since_start()) + std::chrono::nanoseconds(1);
        clock_ = LiveClock(setup_.time_scale, setup_.wall, passed);
    }
    take_agents(at);
    if (setup_.provider != nullptr) setup_.provider->take_over(at);
    adopt_workers();
    start_those_due();
    crew_.end_found();
    rejoin();
}

// Before anything is started on them.
void LiveTrainer::take_agents(Instant at) {
    std::erase_if(reports_, [&](const CrewEvent& event) {
        if (!std::holds_alternative<AgentJoined>(event)) return false;
        take(event, at);
        return true;
    });
    const std::set<std::uint32_t> absent = agents_absent_;
    for (const std::uint32_t agent : absent) {
        take(AgentLeft{agent, agents_.at(agent), "it has not joined the next coordinator"}, at);
    }
}

// Whose worker is not there has lost it; so has one whose worker has not the model that it should
// have.
void LiveTrainer::adopt_workers() {
    std::set<InstanceId> there;
    const auto lost = [&](InstanceId machine, const std::string& why) {
        WorkerDied died;
        died.worker = machine;
        died.why = why;
        died.was_member = std::ranges::find(members_, machine) != members_.end();
        died.host_gone = true;
        reports_.push_back(std::move(died));
    };
    for (const InstanceId machine : machines_) {
        if (to_start_.contains(machine)) continue;
        if (crew_.adopt(machine)) {
            there.insert(machine);
        } else {
            lost(machine, "it was not there when the next coordinator came");
        }
    }
    const FoundWorkers found = crew_.found(holders_, controller_->steps_done());
    for (const InstanceId holder : holders_) {
        const bool holds = std::ranges::find(found.holders, holder) != found.holders.end();
        if (holds || !there.contains(holder)) continue;
        crew_.kill(holder);
        lost(holder, "it did not have the model when the next coordinator came");
    }
    if (there.empty()) return;
    note_agents(*taken_over_at_,
                fmt::format("took over {} workers before step {}", there.size(), found.step));
}

// What the one before had ordered its group, and nobody has answered. Where a member is lost the
// World hears of that, and forms another.
void LiveTrainer::rejoin() {
    const bool forms =
        group_ == Group::rejoining || group_ == Group::agreeing || group_ == Group::entering;
    const auto is_lost = [&](InstanceId member) {
        return std::ranges::any_of(reports_, [&](const CrewEvent& event) {
            const auto* died = std::get_if<WorkerDied>(&event);
            return died != nullptr && died->worker == member;
        });
    };
    if (!forms || std::ranges::any_of(members_, is_lost)) return;
    const policies::Plan& plan = group_ == Group::agreeing ? agreed_plan_ : controller_->plan();
    const bool may_read = group_ == Group::entering && phase_ == policies::JobPhase::transition;
    crew_.begin_transition(members_, plan,
                           may_read ? record_->last_checkpoint : std::filesystem::path());
}

// One of that name that the coordinator before had is this one.
void LiveTrainer::take_place_of_absent(const AgentJoined& event) {
    const auto before = std::ranges::find_if(
        agents_absent_, [&](std::uint32_t agent) { return agents_.at(agent) == event.name; });
    if (before == agents_absent_.end()) return;
    for (auto& [machine, agent] : agent_of_) {
        if (agent == *before) agent = event.agent;
    }
    places_.erase(*before);
    agents_.erase(*before);
    agents_absent_.erase(before);
}

}  // namespace ukemi::runtime
