// replace_stragglers.cpp — who is slower than the others for long makes room for another machine.
//
// Or, Zhang, Freedman (MLSys'20), by the rule of straggler_rule.hpp: the replacement is launched
// first, and the straggler trains on until it is there. The Plan says which machines are to go;
// when they go is the world's business, as with any surplus. The first worker leads the group and
// is never replaced. Their engine names nobody in the first steps of a group: after as many as its
// rule of growth waits for, so that a replacement and a worker more are launched at once and the
// group changes once for both.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"
#include "policies/size/group_watch.hpp"
#include "policies/size/straggler_rule.hpp"

namespace ukemi::policies {

namespace {

class ReplaceStragglers final : public Policy {
public:
    ReplaceStragglers(StragglerDetector detector, std::int64_t every_steps,
                      std::int64_t after_steps)
        : detector_(std::move(detector)), every_steps_(every_steps), after_steps_(after_steps) {}
    std::string_view name() const override { return "replace_stragglers"; }
    KnobSet knobs() const override { return {Knob::machines}; }
    HookSet hooks() const override { return {Hook::on_event, Hook::after_step}; }
    std::int64_t every_steps() const override { return every_steps_; }

    // Machines that are gone need no mention.
    Decision on_event(EventKind, const PolicyView& view) override {
        group_.look(view.seen);
        const auto& workers = view.seen.worker_views;
        if (workers.empty() || view.plan.replaced.empty()) return {};
        std::vector<InstanceId> still_there = view.plan.replaced;
        std::erase_if(still_there, [&](InstanceId one) {
            return std::ranges::find(workers, one, &WorkerView::instance) == workers.end();
        });
        return name_those(still_there, view);
    }
    Decision after_step(const PolicyView& view) override {
        group_.look(view.seen);
        const auto& workers = view.seen.worker_views;
        if (workers.empty()) return {};  // not measured here
        detector_.see(workers);
        if (group_.steps_since_restart() < after_steps_) return {};
        const auto master = std::ranges::min(workers, {}, &WorkerView::instance).instance;
        return name_those(detector_.stragglers(master), view);
    }

private:
    static Decision name_those(const std::vector<InstanceId>& slow, const PolicyView& view) {
        if (slow == view.plan.replaced) return {};
        Decision decision;
        decision.replaced = slow;
        decision.reason = slow.empty() ? "the slow are gone" : "slower than the rest";
        return decision;
    }

    StragglerDetector detector_;
    GroupWatch group_;
    std::int64_t every_steps_;
    std::int64_t after_steps_;  // of a group
};

}  // namespace

std::unique_ptr<Policy> make_replace_stragglers(ConfigReader& parameters) {
    const double new_weight = parameters.number("new_weight", 0.001, 1, 0.1);
    const double threshold = parameters.number("threshold", 0.01, 1, 0.8);
    const std::int64_t every_steps = parameters.integer("every_steps", 1, 1'000'000'000, 1);
    const std::int64_t after_steps = parameters.integer("after_steps", 0, 1'000'000'000, 0);
    return std::make_unique<ReplaceStragglers>(StragglerDetector(new_weight, threshold),
                                               every_steps, after_steps);
}

}  // namespace ukemi::policies
