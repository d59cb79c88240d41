// run_by_hand.hpp — the parts of a run without a World: a market, a fleet, and a group that does
// nothing but write down what it is told.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/run_parts.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

class ToldTrainer final : public sim::Trainer {
public:
    policies::JobPhase at = policies::JobPhase::waiting;
    std::vector<std::string> told;
    std::vector<sim::LearnedAt> on_the_way;

    policies::JobPhase phase() const override { return at; }
    std::int32_t workers() const override { return 2; }
    std::int64_t samples_safe() const override { return 0; }
    Duration transition_remaining(Instant) const override { return {}; }
    std::int64_t checkpoints() const override { return 0; }
    std::int64_t transitions() const override { return 0; }
    sim::StepsMade steps_made() const override { return {}; }
    std::vector<sim::LearnedAt> learned_on_the_way(Instant) const override { return on_the_way; }
    void observe(policies::Observation&) const override {}
    void report(Instant) override {}
    bool at_boundary(Instant) const override { return true; }
    void await_boundary(Instant) override {}
    void go_on(bool slowed, bool member_gone, Instant) override {
        told.push_back(fmt::format("go on{}{}", slowed ? " slowed" : "",
                                   member_gone ? " without a member" : ""));
    }
    void tear(Instant) override { told.emplace_back("tear"); }
    bool agree(const policies::Plan&, Instant) override { return true; }
    void stop(Instant) override { told.emplace_back("stop"); }
    void begin_transition(const sim::TransitionOrder&, Instant) override {}
    void begin_running(Instant) override {}
    void begin_checkpoint(Instant) override {}
    void save_before(Instant, Instant) override {}
    void finish_checkpoint(Instant) override {}
    void finish(Instant) override {}
    void roll_back() override {}
    bool start(InstanceId, Instant) override { return true; }
    void leave(InstanceId, bool, Instant) override {}
    bool wait(std::optional<Instant>) override { return true; }
};

struct RunByHand {
    RunByHand(const sim::MarketData& market_data, sim::JobSpec spec)
        : job(std::move(spec)),
          market(market_data),
          controller(controller_setup(market_data, job)),
          fleet(market, ledger, queue, 1) {}

    static policies::ControllerSetup controller_setup(const sim::MarketData& market_data,
                                                      const sim::JobSpec& spec) {
        policies::ControllerSetup setup;
        setup.plan = spec.plan;
        setup.capabilities = sim::simulated_capabilities(market_data, spec);
        setup.predictor = policies::make_predictor(spec.predictor, spec.profile, 1);
        setup.samples_total = spec.samples_total;
        return setup;
    }
    sim::RunParts parts() { return {job, market, fleet, ledger, queue, controller, trainer}; }

    // The next event, and the clock there.
    sim::RunQueue::Popped pop() {
        const auto next = queue.pop();
        INVARIANT(next.has_value());
        return *next;
    }

    sim::JobSpec job;
    sim::SpotMarket market;
    sim::RunQueue queue;
    records::Ledger ledger;
    policies::Controller controller;
    sim::Fleet fleet;
    ToldTrainer trainer;
};

}  // namespace ukemi
