// scripted_policy.hpp — a policy that does what a test says, and a log that keeps what it hears.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policies/controller.hpp"
#include "policies/job_profile.hpp"
#include "tests/support/profile_predictor.hpp"

namespace ukemi {

// Every call is written to `calls`, in the order in which they come.
class ScriptedPolicy final : public policies::Policy {
public:
    using Answer = std::function<policies::Decision(const policies::PolicyView&)>;
    ScriptedPolicy(std::string name, policies::KnobSet knobs, std::vector<std::string>& calls,
                   Answer answer)
        : name_(std::move(name)), knobs_(knobs), calls_(calls), answer_(std::move(answer)) {}

    std::string_view name() const override { return name_; }
    policies::KnobSet knobs() const override { return knobs_; }
    policies::HookSet hooks() const override { return hooks_; }
    std::int64_t every_steps() const override { return every_steps_; }
    ScriptedPolicy& only(policies::HookSet hooks) {
        hooks_ = hooks;
        return *this;
    }
    ScriptedPolicy& every(std::int64_t steps) {
        every_steps_ = steps;
        return *this;
    }

    policies::Decision before_train(const policies::PolicyView& v) override {
        return say("before_train", v);
    }
    policies::Decision before_epoch(const policies::PolicyView& v) override {
        return say("before_epoch", v);
    }
    policies::Decision before_step(const policies::PolicyView& v) override {
        return say("before_step", v);
    }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& v) override {
        return say("on_event", v);
    }
    policies::Decision after_step(const policies::PolicyView& v) override {
        return say("after_step", v);
    }
    policies::Decision after_epoch(const policies::PolicyView& v) override {
        return say("after_epoch", v);
    }
    policies::Decision after_train(const policies::PolicyView& v) override {
        return say("after_train", v);
    }
    void committed(const policies::Plan& plan) override {
        calls_.push_back(fmt::format("{} committed {}", name_, index_of(plan.version)));
    }
    void discarded(const policies::Plan& plan, std::string_view why) override {
        calls_.push_back(fmt::format("{} discarded {}: {}", name_, index_of(plan.version), why));
    }

private:
    policies::Decision say(std::string_view hook, const policies::PolicyView& view) {
        calls_.push_back(fmt::format("{} {}", name_, hook));
        return answer_ ? answer_(view) : policies::Decision{};
    }

    std::string name_;
    policies::KnobSet knobs_;
    policies::HookSet hooks_{policies::Hook::before_train, policies::Hook::before_epoch,
                             policies::Hook::before_step,  policies::Hook::on_event,
                             policies::Hook::after_step,   policies::Hook::after_epoch,
                             policies::Hook::after_train};
    std::int64_t every_steps_ = 1;
    std::vector<std::string>& calls_;
    Answer answer_;
};

class ListeningLog final : public policies::ControllerLog {
public:
    void question(const policies::QuestionRecord& record) override {
        std::string line = "question:";
        for (const policies::PolicyAnswer& answer : record.answers)
            line += fmt::format(" {}", answer.policy);
        if (record.proposed != nullptr) {
            line += fmt::format(", proposed {}", index_of(record.proposed->version));
        }
        if (!record.refused.empty()) line += fmt::format(", refused: {}", record.refused);
        lines.push_back(std::move(line));
    }
    void committed(PlanVersion version) override {
        lines.push_back(fmt::format("committed {}", index_of(version)));
    }
    void discarded(PlanVersion version, std::string_view why) override {
        lines.push_back(fmt::format("discarded {}: {}", index_of(version), why));
    }
    std::vector<std::string> lines;
};

inline constexpr policies::KnobSet every_knob{policies::Knob::zone,
                                              policies::Knob::instance_type,
                                              policies::Knob::market,
                                              policies::Knob::count,
                                              policies::Knob::bid,
                                              policies::Knob::workers,
                                              policies::Knob::learners_per_gpu,
                                              policies::Knob::batch,
                                              policies::Knob::accumulation,
                                              policies::Knob::learning_rate,
                                              policies::Knob::synchronisation,
                                              policies::Knob::collective,
                                              policies::Knob::codec,
                                              policies::Knob::layout,
                                              policies::Knob::checkpoint_interval,
                                              policies::Knob::checkpoint_on_notice};

// A world that can turn everything, with two zones and room for ten; 1000 samples to train on.
inline policies::ControllerSetup able_setup() {
    policies::ControllerSetup setup;
    setup.plan.fleet = {{ZoneId{0}, 0, policies::Market::spot, 2, {}},
                        {ZoneId{1}, 0, policies::Market::spot, 2, {}}};
    setup.plan.workers_max = 4;
    setup.plan.batch_per_learner = 4;
    setup.plan.learning_rate = 0.1;
    setup.capabilities = {"test world", every_knob, 2, 1, 10, 1};
    policies::JobProfile profile;
    profile.throughput.push_back({1, {1, whole_seconds(1)}});
    setup.predictor = test::make_profile_predictor(profile);
    setup.samples_total = 1000;
    setup.seed = 7;
    return setup;
}

// The calls that were made, with a controller that makes them.
class ScriptedController {
public:
    ScriptedPolicy& add(std::string name, policies::KnobSet knobs = {},
                        ScriptedPolicy::Answer answer = {}) {
        auto policy = std::make_unique<ScriptedPolicy>(std::move(name), knobs, calls, answer);
        ScriptedPolicy& added = *policy;
        setup.policies.push_back(std::move(policy));
        return added;
    }
    policies::Controller& controller() {
        if (!controller_) {
            setup.log = &log;
            controller_ = std::make_unique<policies::Controller>(std::move(setup));
        }
        return *controller_;
    }
    std::optional<policies::Plan> ask(policies::Hook hook = policies::Hook::on_event) {
        const policies::EventKind kind = hook == policies::Hook::on_event
                                             ? policies::EventKind::clock
                                             : policies::EventKind::none;
        return controller().propose({hook, kind}, seen);
    }

    policies::ControllerSetup setup = able_setup();
    policies::Observation seen;
    std::vector<std::string> calls;
    ListeningLog log;

private:
    std::unique_ptr<policies::Controller> controller_;
};

}  // namespace ukemi
