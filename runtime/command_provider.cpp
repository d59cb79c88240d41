#include "runtime/command_provider.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/invariant.hpp"
#include "base/plain_text.hpp"

namespace ukemi::runtime {

namespace {

constexpr std::size_t answer_bytes_max = 16 * 1024;
constexpr int return_attempts = 3;
constexpr double price_max = 1e6;  // USD/h

std::string market_name(bool spot) { return spot ? "spot" : "on_demand"; }

struct Granted {
    bool yes = false;
    std::optional<double> usd_per_hour;
    std::string why;  // not
};

Granted read_answer(const ProgramCall::Answer& answer) {
    if (!answer.problem.empty()) return {false, {}, answer.problem};
    const auto said = nlohmann::json::parse(answer.text, nullptr, false);
    if (!said.is_object()) {
        return {false, {}, "its answer is no JSON object: " + ukemi::quoted(answer.text)};
    }
    if (said.contains("refused")) {
        const auto& why = said.at("refused");
        return {false, {}, one_line(why.is_string() ? why.get<std::string>() : why.dump())};
    }
    Granted granted{true, {}, {}};
    if (!said.contains("usd_per_hour")) return granted;
    const auto& price = said.at("usd_per_hour");
    const double usd = price.is_number() ? price.get<double>() : -1;
    if (usd >= 0 && usd <= price_max) {
        granted.usd_per_hour = usd;
        return granted;
    }
    return {false, {}, "\"usd_per_hour\": expected a price, found " + ukemi::quoted(price.dump())};
}

}  // namespace

std::unique_ptr<ProgramCall> CommandProvider::call(const std::string& request) const {
    return std::make_unique<ProgramCall>(
        setup_.program, request + "\n",
        ProgramCall::Limits{setup_.answer_within, answer_bytes_max});
}

void CommandProvider::note(Instant at, const char* kind, InstanceId id, const Machine& machine,
                           const std::string& why, const std::optional<double>& usd_per_hour,
                           const std::optional<Instant>& lost_at) {
    nlohmann::ordered_json line{{"t_ns", at.raw()},
                                {"event", kind},
                                {"instance", index_of(id)},
                                {"machine", machine.name},
                                {"zone", setup_.zones[index_of(machine.zone)]},
                                {"market", market_name(machine.spot)}};
    if (!why.empty()) line["why"] = why;
    if (usd_per_hour) line["usd_per_hour"] = *usd_per_hour;
    if (lost_at) line["lost_at_ns"] = lost_at->raw();
    log_ += line.dump() + "\n";
}

void CommandProvider::ended(Instant at, Dollars cost) {
    log_ +=
        nlohmann::ordered_json{
            {"t_ns", at.raw()}, {"event", "ended"}, {"cost_usd", to_dollars(cost)}}
            .dump() +
        "\n";
}

void CommandProvider::ask(const sim::Instance& wanted, Instant now) {
    Machine machine;
    machine.name = fmt::format("{}-{}", setup_.run, index_of(wanted.id));
    machine.zone = wanted.zone;
    machine.spot = wanted.market == policies::Market::spot;
    nlohmann::ordered_json request{{"request", "launch"},
                                   {"machine", machine.name},
                                   {"zone", setup_.zones[index_of(wanted.zone)]},
                                   {"market", market_name(machine.spot)},
                                   {"join", setup_.join}};
    if (wanted.bid > Price{}) request["bid_usd_per_hour"] = to_dollars_per_hour(wanted.bid);
    note(now, "asked", wanted.id, machine);
    if (!setup_.relives) {
        if (setup_.journal != nullptr) setup_.journal->sync();  // nobody asks for it twice
        try {
            machine.call = call(request.dump());
        } catch (const std::system_error& error) {  // no process is to be had
            machine.unasked = error.what();
        }
    }
    machines_.emplace(wanted.id, std::move(machine));
}

void CommandProvider::begin_return(Machine machine) {
    returns_.push_back({std::move(machine.name), std::move(machine.call), 0, nullptr, {}});
    if (!setup_.relives) look_at_returns();
}

// Also one that is taken, or whose request is under way: the program knows what there is.
void CommandProvider::give_back(InstanceId instance, Instant now) {
    auto node = machines_.extract(instance);
    if (node.empty()) return;
    note(now, "given_back", instance, node.mapped());
    begin_return(std::move(node.mapped()));
}

void CommandProvider::refuse(InstanceId id, const std::string& why, Instant now) {
    auto node = machines_.extract(id);
    note(now, "refused", id, node.mapped(), why);
    queue_->schedule(now, sim::Phase::completion, sim::LaunchFailed{id});
    // Whatever it said, something may be there.
    begin_return(std::move(node.mapped()));
}

void CommandProvider::answered(InstanceId id, Machine& machine, const ProgramCall::Answer& answer,
                               Instant now) {
    const Granted granted = read_answer(answer);
    if (!granted.yes) return refuse(id, granted.why, now);
    machine.granted = true;
    machine.join_by = Wall::now() + setup_.join_within;
    note(now, "granted", id, machine, "", granted.usd_per_hour);
    if (granted.usd_per_hour && machine.spot) {
        queue_->schedule(now, sim::Phase::environment,
                         sim::PriceTold{machine.zone, dollars_per_hour(*granted.usd_per_hour)});
    }
    if (machine.has_agent) become_ready(id, now);
}

void CommandProvider::write(const JournalRecord& record) {
    if (setup_.journal != nullptr && !setup_.relives) setup_.journal->write(record);
}

void CommandProvider::hear(InstanceId id, const ProgramCall::Answer& answer, Instant now) {
    write(MachineAnswered{now, id, answer.text, answer.problem});
    answered(id, machines_.at(id), answer, now);
}

void CommandProvider::is_returned(const Return& one, const std::string& kept) {
    write(MachineReturned{one.name, kept});
    if (!kept.empty()) kept_.push_back(kept);
}

void CommandProvider::relive(const MachineAnswered& record) {
    const auto machine = machines_.find(record.machine);
    if (machine == machines_.end()) return;
    answered(machine->first, machine->second, {record.text, record.problem}, record.at);
}

void CommandProvider::relive(const MachineReturned& record) {
    std::erase_if(returns_, [&](const Return& one) { return one.name == record.name; });
    if (!record.kept.empty()) kept_.push_back(record.kept);
}

// A request whose answer nobody has heard: its program may have got the machine or not. If its
// agent is here it has; else it is given back, which the program takes also for none.
void CommandProvider::take_over(Instant now) {
    setup_.relives = false;
    std::vector<InstanceId> unheard;
    for (auto& [id, machine] : machines_) {
        if (machine.granted) {
            machine.join_by = Wall::now() + setup_.join_within;
        } else {
            unheard.push_back(id);
        }
    }
    for (const InstanceId id : unheard) {
        const bool is_there = machines_.at(id).has_agent;
        hear(id, {is_there ? "{}" : "", is_there ? "" : "its answer went with the coordinator"},
             now);
    }
    look_at_returns();
}

void CommandProvider::look(Instant now) {
    std::vector<InstanceId> asked;
    for (const auto& [id, machine] : machines_) {
        if (!machine.ready) asked.push_back(id);
    }
    for (const InstanceId id : asked) {
        Machine& machine = machines_.at(id);
        if (machine.granted && Wall::now() > machine.join_by) {
            hear(id, {{}, "its agent has not joined in time"}, now);
        } else if (!machine.unasked.empty()) {
            hear(id, {{}, machine.unasked}, now);
        } else if (machine.call) {
            const auto answer = machine.call->look();
            if (!answer) continue;
            machine.call.reset();
            hear(id, *answer, now);
        }
    }
    look_at_returns();
}

std::optional<InstanceId> CommandProvider::machine_named(const std::string& name) const {
    const auto found =
        std::ranges::find_if(machines_, [&](const auto& one) { return one.second.name == name; });
    return found == machines_.end() ? std::nullopt : std::optional(found->first);
}

// It may be there before the program has said for how much: then it waits for that.
std::optional<InstanceId> CommandProvider::joined(const std::string& name, Instant now) {
    const auto id = machine_named(name);
    if (!id) return std::nullopt;
    const bool comes_again = std::exchange(machines_.at(*id).has_agent, true);
    if (machines_.at(*id).granted && !comes_again) become_ready(*id, now);
    return id;
}

void CommandProvider::become_ready(InstanceId id, Instant now) {
    Machine& machine = machines_.at(id);
    machine.ready = true;
    note(now, "ready", id, machine);
    queue_->schedule(now, sim::Phase::completion, sim::InstanceReady{id});
}

// Also before its worker is started.
void CommandProvider::noticed(const std::string& name, Instant lost_at, Instant now) {
    const auto id = machine_named(name);
    if (!id) return;
    note(now, "notice", *id, machines_.at(*id), "", {}, lost_at);
    queue_->schedule(now, sim::Phase::environment, sim::LossTold{*id, lost_at});
}

// Each is tried again; true while any is under way.
bool CommandProvider::look_at_returns() {
    std::erase_if(returns_, [&](Return& one) {
        if (one.launch && !one.launch->look()) return false;
        one.launch.reset();
        if (one.call) {
            const auto answer = one.call->look();
            if (!answer) return false;
            one.call.reset();
            if (answer->problem.empty()) {
                is_returned(one, "");
                return true;
            }
            one.problem = answer->problem;
        }
        if (one.attempts == return_attempts) {
            is_returned(one, fmt::format("{} may still run and cost money: {}", one.name,
                                         one_line(one.problem)));
            return true;
        }
        ++one.attempts;
        const nlohmann::ordered_json request{{"request", "release"}, {"machine", one.name}};
        try {
            one.call = call(request.dump());
        } catch (const std::system_error& error) {
            one.problem = error.what();
        }
        return false;
    });
    return !returns_.empty();
}

std::vector<std::string> CommandProvider::finish() {
    while (look_at_returns()) {
        for (const Return& one : returns_) {
            const ProgramCall* const under_way = one.launch ? one.launch.get() : one.call.get();
            if (under_way != nullptr) under_way->wait(std::chrono::milliseconds(50));
        }
    }
    return std::exchange(kept_, {});
}

}  // namespace ukemi::runtime
