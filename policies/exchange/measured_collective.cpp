// measured_collective.cpp — the collective whose messages these links carry soonest, by trying.
//
// Crossbow (Koliousis et al., VLDB'19) orders its synchronisation by what links carry: learners of
// one GPU are averaged there, GPUs of a machine next, and machines last, with one model each. When
// that pays depends on the links; so some steps under each of a list of collectives are measured,
// and the one for which the slowest worker waits least is kept. What a collective takes depends on
// the group, so another number of workers begins the trials anew; one worker alone sends nothing. A
// collective that the world does not commit is left out.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "policies/exchange/collective_list.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

struct CollectiveTrial {
    std::int64_t steps = 0;
    Int128 waited_ns = 0;  // the slowest worker, of all these steps
};

class MeasuredCollective final : public Policy {
public:
    MeasuredCollective(std::vector<Collective> options, std::int64_t trial_steps,
                       std::int64_t measure_every)
        : options_(std::move(options)), trial_steps_(trial_steps), measure_every_(measure_every) {}
    std::string_view name() const override { return "measured_collective"; }
    KnobSet knobs() const override { return {Knob::collective}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    std::int64_t every_steps() const override { return measure_every_; }

    Decision before_train(const PolicyView& view) override {
        begin_trials();
        return wish(view.plan);
    }
    Decision after_step(const PolicyView& view) override {
        const std::int32_t workers = view.seen.workers;
        if (workers != workers_) {
            workers_ = workers;
            begin_trials();
        }
        const std::optional<Duration> waited = slowest_wait(view.seen);
        if (workers < 2 || !waited) return {};
        if (chosen_) return keep(view.plan);
        if (view.plan.collective != options_[trying_]) {
            // Also after a discard, a few times: the collective is not to blame for a lost worker.
            if (++refused_ > refusals_most) next_trial();
            return wish(view.plan);
        }
        refused_ = 0;
        if (!std::exchange(warm_, true)) return {};  // may be of the step before the change
        CollectiveTrial& trial = trials_[trying_];
        ++trial.steps;
        trial.waited_ns += waited->raw();
        if (trial.steps >= trial_steps_) next_trial();
        return wish(view.plan);
    }

private:
    static constexpr std::int64_t refusals_most = 3;

    // None if somebody's was not measured.
    static std::optional<Duration> slowest_wait(const Observation& seen) {
        if (seen.worker_views.empty()) return std::nullopt;
        Duration slowest;
        for (const WorkerView& worker : seen.worker_views) {
            if (worker.step <= Duration{}) return std::nullopt;
            slowest = std::max(slowest, worker.exposed_communication);
        }
        return slowest;
    }

    void begin_trials() {
        trials_.assign(options_.size(), CollectiveTrial{});
        trying_ = 0;
        chosen_.reset();
        refused_ = 0;
        warm_ = false;
    }

    void next_trial() {
        refused_ = 0;
        warm_ = false;
        if (++trying_ < options_.size()) return;
        trying_ = 0;
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            if (trials_[i].steps == 0) continue;
            const bool shorter = !chosen_ || trials_[i].waited_ns * trials_[*chosen_].steps <
                                                 trials_[*chosen_].waited_ns * trials_[i].steps;
            if (shorter) chosen_ = i;
        }
        if (!chosen_) chosen_ = 0;
    }

    // A discard is no answer to the choice, but one that comes again and again is.
    Decision keep(const Plan& plan) {
        if (plan.collective == options_[*chosen_]) {
            refused_ = 0;
            return {};
        }
        return ++refused_ > refusals_most ? Decision{} : wish(plan);
    }

    Decision wish(const Plan& plan) const {
        const Collective wanted = options_[chosen_.value_or(trying_)];
        if (wanted == plan.collective) return {};
        Decision decision;
        decision.collective = wanted;
        decision.reason = chosen_ ? "these links carry it soonest" : "to be measured";
        return decision;
    }

    std::vector<Collective> options_;
    std::int64_t trial_steps_;  // that are measured, for each option
    std::int64_t measure_every_;
    std::vector<CollectiveTrial> trials_;
    std::size_t trying_ = 0;
    std::optional<std::size_t> chosen_;
    std::int32_t workers_ = 0;
    std::int64_t refused_ = 0;
    bool warm_ = false;
};

}  // namespace

std::unique_ptr<Policy> make_measured_collective(ConfigReader& parameters) {
    std::vector<Collective> options = read_collectives(
        parameters, "collectives",
        {Collective::ring, Collective::hierarchical, Collective::binary_tree_star});
    const std::int64_t trial = parameters.integer("trial_steps", 1, 1'000'000, 10);
    const std::int64_t every = parameters.integer("measure_every_steps", 1, 1'000'000, 1);
    return std::make_unique<MeasuredCollective>(std::move(options), trial, every);
}

}  // namespace ukemi::policies
