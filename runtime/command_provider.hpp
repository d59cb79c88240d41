// command_provider.hpp — machines that a program of the user's gets from somewhere and gives back.
//
// Each machine that the World wants is a request to the program; the program answers whether it is
// granted, and the machine, once it runs, starts `ukemi agent` under the name that it was given.
// The program is run once a request, several at once; README.md of this folder has the form.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/program_call.hpp"
#include "runtime/run_journal.hpp"
#include "sim/engine/event.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi::runtime {

struct ProviderSetup {
    std::string program;
    std::string join;                // where its machines' agents find us
    std::vector<std::string> zones;  // by number
    std::string run;                 // part of the machines' names: not another run's
    std::chrono::milliseconds answer_within{120'000};
    std::chrono::milliseconds join_within{900'000};  // from the answer to its agent
    bool relives = false;                            // until take_over
    RunJournal* journal = nullptr;                   // outlives it
};

class CommandProvider final : public sim::Provider {
public:
    explicit CommandProvider(ProviderSetup setup) : setup_(std::move(setup)) {}

    // Before anybody is asked: where what comes of it is scheduled.
    void attach(sim::RunQueue& queue) { queue_ = &queue; }
    void ask(const sim::Instance& wanted, Instant now) override;
    void give_back(InstanceId instance, Instant now) override;

    // Takes up answers, and gives up on machines that do not come.
    void look(Instant now);
    // An agent has joined, perhaps for the second time: which machine it is, which is ready once it
    // is granted. Nothing: none of ours.
    std::optional<InstanceId> joined(const std::string& name, Instant now);
    // Its agent tells that it will be taken.
    void noticed(const std::string& name, Instant lost_at, Instant now);
    // Of a run that had another coordinator: hears again what that one heard, and asks nobody until
    // it takes over. Then requests that went with that one are refusals, but those whose machine is
    // there, and what has not been given back is.
    void relive(const MachineAnswered& record);
    void relive(const MachineReturned& record);
    void take_over(Instant now);
    // At the end: waits until all is given back, as far as the program does so. What may still run
    // and cost money, a sentence each.
    std::vector<std::string> finish();
    // The run has, and has cost so much.
    void ended(Instant at, Dollars cost);
    // What has happened, a line of JSON each (scenarios/experiment/provider_log.hpp reads it).
    const std::string& log() const { return log_; }

private:
    using Wall = std::chrono::steady_clock;
    struct Machine {
        std::string name;
        ZoneId zone{};
        bool spot = true;
        std::unique_ptr<ProgramCall> call;  // until it has answered
        bool granted = false;
        bool has_agent = false;
        std::string unasked;  // why its program could not be run; mostly empty
        bool ready = false;   // both
        Wall::time_point join_by;
    };
    struct Return {
        std::string name;
        std::unique_ptr<ProgramCall> launch;  // that has to end before: else it might come too late
        int attempts = 0;
        std::unique_ptr<ProgramCall> call;
        std::string problem;  // the last
    };

    std::optional<InstanceId> machine_named(const std::string& name) const;
    std::unique_ptr<ProgramCall> call(const std::string& request) const;
    void hear(InstanceId id, const ProgramCall::Answer& answer, Instant now);
    void answered(InstanceId id, Machine& machine, const ProgramCall::Answer& answer, Instant now);
    void write(const JournalRecord& record);
    void is_returned(const Return& one, const std::string& kept);
    void become_ready(InstanceId id, Instant now);
    void refuse(InstanceId id, const std::string& why, Instant now);
    void begin_return(Machine machine);
    bool look_at_returns();
    void note(Instant at, const char* kind, InstanceId id, const Machine& machine,
              const std::string& why = "", const std::optional<double>& usd_per_hour = {},
              const std::optional<Instant>& lost_at = {});

    ProviderSetup setup_;
    sim::RunQueue* queue_ = nullptr;
    std::map<InstanceId, Machine> machines_;
    std::vector<Return> returns_;
    std::vector<std::string> kept_;  // that could not be given back
    std::string log_;
};

}  // namespace ukemi::runtime
