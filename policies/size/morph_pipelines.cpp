// morph_pipelines.cpp — as many pipelines of as many stages as are the fastest on what is there.
//
// Varuna (Athlur et al., EuroSys'22) cuts its model anew whenever machines come or go: of all
// numbers of stages P and pipelines D with P x D machines it takes the pair whose step is the
// shortest, as measured or simulated beforehand, and starts from a checkpoint with that. What the
// change itself costs is not weighed. Machines beyond P x D are spares. The pairs are those that
// the job's profile knows; of two with equal steps, the one with fewer machines.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class MorphPipelines final : public Policy {
public:
    std::string_view name() const override { return "morph_pipelines"; }
    KnobSet knobs() const override { return {Knob::layout}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    Decision before_train(const PolicyView& view) override {
        return for_machines(view, view.plan.workers_max);
    }
    Decision on_event(EventKind, const PolicyView& view) override {
        return for_machines(view, view.seen.spot_held + view.seen.on_demand_held);
    }

private:
    static constexpr std::int64_t steps_compared = 1000;  // so that saves between them count

    static Decision for_machines(const PolicyView& view, std::int32_t machines) {
        const std::optional<Layout> best = fastest(view, std::min(machines, view.plan.workers_max));
        if (!best || *best == view.plan.layout) return {};
        Decision decision;
        decision.layout = *best;
        decision.reason = "the shortest step on so many machines";
        return decision;
    }
    static std::optional<Layout> fastest(const PolicyView& view, std::int32_t machines) {
        std::optional<Layout> best;
        Duration shortest = Duration::max();
        for (const Layout& known : view.predictor.layouts()) {
            Plan plan = view.plan;
            plan.layout = known;
            const std::int32_t most = std::min(known.data, machines / known.pipeline);
            for (plan.layout.data = 1; plan.layout.data <= most; ++plan.layout.data) {
                const std::int32_t used = plan.layout.data * plan.layout.pipeline;
                const Duration time = view.predictor.work_time(
                    steps_compared * samples_per_step(plan, used), plan, used);
                const bool fewer = best && used < best->data * best->pipeline;
                if (time > shortest || (time == shortest && !fewer)) continue;
                shortest = time;
                best = plan.layout;
            }
        }
        return best;
    }
};

}  // namespace

std::unique_ptr<Policy> make_morph_pipelines(ConfigReader&) {
    return std::make_unique<MorphPipelines>();
}

}  // namespace ukemi::policies
