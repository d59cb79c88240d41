// interference_switch.cpp — another collective once most workers see their communication slowed
// down.
//
// KungFu's adaptive communication strategy (Mai et al., OSDI'20; the vote is in
// interference_rule.hpp). KungFu moves the root of a star to another host; a Plan has no roots, so
// what changes is the collective, to the next of a list. A worker's throughput is taken from the
// communication that it waits for, the part that an Observation shows; after each change of the
// group or of the collective the next window is the reference.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "policies/exchange/collective_list.hpp"
#include "policies/exchange/interference_rule.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

class InterferenceSwitch final : public Policy {
public:
    InterferenceSwitch(std::vector<Collective> collectives, double share, std::int64_t window_steps,
                       std::int64_t measure_every)
        : collectives_(std::move(collectives)),
          share_(share),
          window_steps_(window_steps),
          measure_every_(measure_every) {}
    std::string_view name() const override { return "interference_switch"; }
    KnobSet knobs() const override { return {Knob::collective}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return measure_every_; }

    Decision before_train(const PolicyView&) override {
        return use(collectives_.front(), "the first of the list");
    }
    Decision after_step(const PolicyView& view) override {
        if (!add_step(view.seen) || steps_ < window_steps_) return {};
        const auto window = std::exchange(waited_, {});
        steps_ = 0;
        if (reference_.empty()) {
            reference_ = window;
            return {};
        }
        std::int64_t votes = 0;
        for (const auto& [worker, waited] : window) {
            if (votes_interference(1 / waited, 1 / reference_.at(worker), share_)) ++votes;
        }
        if (!interference_agreed(votes, std::ssize(window))) return {};
        const auto now = std::ranges::find(collectives_, view.plan.collective);
        const bool last = now == collectives_.end() || now + 1 == collectives_.end();
        return use(last ? collectives_.front() : *(now + 1), "most workers see interference");
    }
    void committed(const Plan& plan) override {
        if (waits_otherwise(plan_, plan)) forget();
        plan_ = plan;
    }
    void discarded(const Plan&, std::string_view) override { forget(); }

private:
    using Waits = std::map<InstanceId, double>;  // seconds

    // Whether what workers wait for may have changed: not with a learning rate.
    static bool waits_otherwise(const Plan& before, const Plan& after) {
        return before.collective != after.collective || before.codec != after.codec ||
               before.codec_level != after.codec_level ||
               before.global_batch != after.global_batch ||
               before.batch_per_learner != after.batch_per_learner ||
               before.accumulation != after.accumulation || before.layout != after.layout;
    }
    static Decision use(Collective collective, std::string_view reason) {
        Decision decision;
        decision.collective = collective;
        decision.reason = reason;
        return decision;
    }
    void forget() {
        reference_.clear();
        waited_.clear();
        steps_ = 0;
    }
    // False if somebody's communication was not measured, or somebody else is there now.
    bool add_step(const Observation& seen) {
        const auto same_workers = [&](const Waits& known) {
            return known.empty() ||
                   std::ranges::equal(known, seen.worker_views, {}, &Waits::value_type::first,
                                      &WorkerView::instance);
        };
        if (!same_workers(reference_) || !same_workers(waited_)) forget();
        if (seen.worker_views.empty()) return false;
        for (const WorkerView& worker : seen.worker_views) {
            if (worker.exposed_communication <= Duration{}) return false;
        }
        for (const WorkerView& worker : seen.worker_views) {
            waited_[worker.instance] += to_seconds(worker.exposed_communication);
        }
        ++steps_;
        return true;
    }

    std::vector<Collective> collectives_;
    double share_;
    std::int64_t window_steps_;  // measured ones
    std::int64_t measure_every_;
    Plan plan_;  // the last one committed
    Waits reference_;
    Waits waited_;
    std::int64_t steps_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_interference_switch(ConfigReader& parameters) {
    std::vector<Collective> collectives = read_collectives(
        parameters, "collectives", {Collective::star, Collective::binary_tree_star});
    const double share = parameters.number("share", 0, 1, interference_share);
    const std::int64_t window = parameters.integer("window_steps", 1, 1'000'000, 1);
    const std::int64_t every = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    return std::make_unique<InterferenceSwitch>(std::move(collectives), share, window, every);
}

}  // namespace ukemi::policies
