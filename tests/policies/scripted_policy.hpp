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

namespace ukemi {

// Every call is written to `calls`, in the order in which they come.
class ScriptedPolicy final : public Policy {
public:
    using Answer = std::function<Decision(const PolicyView&)>;
    ScriptedPolicy(std::string name, KnobSet knobs, std::vector<std::string>& calls, Answer answer)
        : name_(std::move(name)), knobs_(knobs), calls_(calls), answer_(std::move(answer)) {}

    std::string_view name() const override { return name_; }
    KnobSet knobs() const override { return knobs_; }
    HookSet hooks() const override { return hooks_; }
    std::int64_t every_steps() const override { return every_steps_; }
    ScriptedPolicy& only(HookSet hooks) {
        hooks_ = hooks;
        return *this;
    }
    ScriptedPolicy& every(std::int64_t steps) {
        every_steps_ = steps;
        return *this;
    }

    Decision before_train(const PolicyView& v) override { return say("before_train", v); }
    Decision before_epoch(const PolicyView& v) override { return say("before_epoch", v); }
    Decision before_step(const PolicyView& v) override { return say("before_step", v); }
    Decision on_event(EventKind, const PolicyView& v) override { return say("on_event", v); }
    Decision after_step(const PolicyView& v) override { return say("after_step", v); }
    Decision after_epoch(const PolicyView& v) override { return say("after_epoch", v); }
    Decision after_train(const PolicyView& v) override { return say("after_train", v); }
    void committed(const Plan& plan) override {
        calls_.push_back(fmt::format("{} committed {}", name_, index_of(plan.version)));
    }
    void discarded(const Plan& plan, std::string_view why) override {
        calls_.push_back(fmt::format("{} discarded {}: {}", name_, index_of(plan.version), why));
    }

private:
    Decision say(std::string_view hook, const PolicyView& view) {
        calls_.push_back(fmt::format("{} {}", name_, hook));
        return answer_ ? answer_(view) : Decision{};
    }

    std::string name_;
    KnobSet knobs_;
    HookSet hooks_{Hook::before_train, Hook::before_epoch, Hook::before_step, Hook::on_event,
                   Hook::after_step,   Hook::after_epoch,  Hook::after_train};
    std::int64_t every_steps_ = 1;
    std::vector<std::string>& calls_;
    Answer answer_;
};

class ListeningLog final : public ControllerLog {
public:
    void question(const QuestionRecord& record) override {
        std::string line = "question:";
        for (const PolicyAnswer& answer : record.answers) line += fmt::format(" {}", answer.policy);
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

inline constexpr KnobSet every_knob{Knob::zone,
                                    Knob::instance_type,
                                    Knob::market,
                                    Knob::count,
                                    Knob::bid,
                                    Knob::workers,
                                    Knob::learners_per_gpu,
                                    Knob::batch,
                                    Knob::accumulation,
                                    Knob::learning_rate,
                                    Knob::synchronisation,
                                    Knob::collective,
                                    Knob::codec,
                                    Knob::layout,
                                    Knob::checkpoint_interval,
                                    Knob::checkpoint_on_notice};

// A world that can turn everything, with two zones and room for ten; 1000 samples to train on.
inline ControllerSetup able_setup() {
    ControllerSetup setup;
    setup.plan.fleet = {{ZoneId{0}, 0, Market::spot, 2, {}}, {ZoneId{1}, 0, Market::spot, 2, {}}};
    setup.plan.workers_max = 4;
    setup.plan.batch_per_learner = 4;
    setup.plan.learning_rate = 0.1;
    setup.capabilities = {"test world", every_knob, 2, 1, 10, 1};
    JobProfile profile;
    profile.throughput.push_back({1, {1, whole_seconds(1)}});
    setup.predictor = make_profile_predictor(profile);
    setup.samples_total = 1000;
    setup.seed = 7;
    return setup;
}

// The calls that were made, with a controller that makes them.
class ScriptedController {
public:
    ScriptedPolicy& add(std::string name, KnobSet knobs = {}, ScriptedPolicy::Answer answer = {}) {
        auto policy = std::make_unique<ScriptedPolicy>(std::move(name), knobs, calls, answer);
        ScriptedPolicy& added = *policy;
        setup.policies.push_back(std::move(policy));
        return added;
    }
    Controller& controller() {
        if (!controller_) {
            setup.log = &log;
            controller_ = std::make_unique<Controller>(std::move(setup));
        }
        return *controller_;
    }
    std::optional<Plan> ask(Hook hook = Hook::on_event) {
        const EventKind kind = hook == Hook::on_event ? EventKind::clock : EventKind::none;
        return controller().propose({hook, kind}, seen);
    }

    ControllerSetup setup = able_setup();
    Observation seen;
    std::vector<std::string> calls;
    ListeningLog log;

private:
    std::unique_ptr<Controller> controller_;
};

}  // namespace ukemi
