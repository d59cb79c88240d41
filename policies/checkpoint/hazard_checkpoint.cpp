// hazard_checkpoint.cpp — the checkpoint interval from the ages of the machines that are held.
//
// Young's or Daly's rule wants one mean time between failures; spot machines have a hazard that
// changes with their age (high in the first hour, low for long, certain loss at 24 h on preemptible
// ones: Kadupitiya et al., HPDC'20). The hazard at each age is learnt from what the job has seen
// (age_hazard.hpp), and M = 1 / the present rate of losses that lose work:
//   losses "any"   a sharded model: the sum of the held machines' hazards, divided by the mean size
//                  of a burst so far, since machines that go together are one loss;
//   losses "all"   a replicated model, which one survivor is enough for: the least of the hazards.
//                  All can only go at once if that one goes, so this is the most the rate can be,
//                  whatever bursts there are.
// The job says nothing about which it is, so `losses` does; "any" saves more. Where machines are
// taken at a known age (`lifetime_cap`), the saves before the next such loss that matters are moved
// closer together, so that the last of them ends just before it.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/bounded_duration.hpp"
#include "policies/checkpoint/age_hazard.hpp"
#include "policies/checkpoint/checkpoint_interval.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

struct HazardTerms {
    bool any_matters = true;
    bool daly = true;
    std::optional<Duration> lifetime_cap;
};

class HazardCheckpoint final : public Policy {
public:
    HazardCheckpoint(const HazardTerms& terms, const AgeHazard& prior)
        : terms_(terms), hazard_(prior) {}
    std::string_view name() const override { return "hazard_checkpoint"; }
    KnobSet knobs() const override { return {Knob::checkpoint_interval}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::on_event}; }
    bool looks_at_ages() const override { return true; }

    Decision before_train(const PolicyView& view) override { return choose(view); }
    Decision on_event(EventKind, const PolicyView& view) override {
        const Observation& seen = view.seen;
        const bool on_demand = fleet_market(view.plan) == Market::on_demand;
        if (on_demand != on_demand_ || seen.spot_losses != losses_seen_ || seen.now >= due_ ||
            seen.spot_since != held_) {
            return choose(view);
        }
        return ask_again(Decision{}, seen.now);
    }
    void discarded(const Plan&, std::string_view) override { due_ = Instant{}; }

private:
    // How many of the next edges are looked at before asking again without a change.
    static constexpr std::size_t edges_max = 16;
    // A change of the rate by a fifth is one of the interval by a tenth.
    static constexpr double material = 0.2;
    static constexpr int aligned_saves_max = 4;

    Decision choose(const PolicyView& view) {
        const Observation& seen = view.seen;
        learn(seen);
        due_ = Instant::never();
        on_demand_ = fleet_market(view.plan) == Market::on_demand;
        Decision decision;
        if (!view.predictor.loses_work()) return decision;  // nothing to save from
        if (on_demand_) {
            if (view.plan.checkpoint_interval == never_checkpoint) return decision;
            decision.checkpoint_interval = never_checkpoint;
            decision.reason = "on-demand is not taken away";
            return decision;
        }
        const double now_per_hour = rate_in(Duration{}, view);
        const double mean_s = std::clamp(3600 / now_per_hour, 1.0, 1e8);
        const Duration mean = seconds(mean_s);
        const Duration cost = view.predictor.checkpoint_time(view.plan);
        const Duration best =
            saving_interval(terms_.daly ? daly_interval : young_interval, cost, mean);
        ask_when_rate_changes(now_per_hour, view);
        if (const auto sooner = before_cap(best, cost, view)) {
            return wish(*sooner, view, 0.01, "the last save before the lifetime's end");
        }
        return wish(best, view, 0.1, "hazard at the present ages");
    }

    Decision wish(Duration interval, const PolicyView& view, double at_least,
                  std::string_view reason) const {
        Decision decision;
        const Duration now = view.plan.checkpoint_interval;
        if (now == never_checkpoint || std::abs(interval / now - 1) >= at_least) {
            decision.checkpoint_interval = interval;
            decision.reason = reason;
        }
        return ask_again(decision, view.seen.now);
    }
    Decision ask_again(Decision decision, Instant now) const {
        if (due_ < Instant::never() && due_ > now) decision.ask_again_in = due_ - now;
        return decision;
    }
    void ask_in(Duration in, Instant now) {
        if (in > Duration{} && in < days(36'500)) due_ = std::min(due_, now + in);
    }

    static Duration age_of(Instant since, Instant now) { return std::max(Duration{}, now - since); }

    // Counts the machine time since the last look, and those that are gone.
    void learn(const Observation& seen) {
        std::vector<Instant> held = seen.spot_since;
        std::ranges::sort(held);
        std::vector<Instant> gone;
        std::ranges::set_difference(held_, held, std::back_inserter(gone));
        for (const Instant since : held_) {
            if (counted_to_ >= seen.now) break;
            hazard_.survived(age_of(since, counted_to_), age_of(since, seen.now));
        }
        const std::int64_t losses = std::max<std::int64_t>(0, seen.spot_losses - losses_seen_);
        // Machines that were given up are no losses. Who was who is not seen: each gets its share.
        if (losses > 0 && !gone.empty()) {
            const double share =
                std::min(1.0, static_cast<double>(losses) / static_cast<double>(gone.size()));
            for (const Instant since : gone) {
                hazard_.lost_at(age_of(since, seen.now), share);
            }
        }
        losses_seen_ = seen.spot_losses;
        counted_to_ = seen.now;
        held_ = std::move(held);
    }

    // Per hour, of the losses that lose work, this long from now if nothing happens until then.
    double rate_in(Duration ahead, const PolicyView& view) const {
        const Observation& seen = view.seen;
        double sum = 0;
        double least = hazard_.per_hour(ahead);
        if (held_.empty()) sum = least * std::max(view.plan.workers_max, seen.workers_min);
        for (std::size_t i = 0; i < held_.size(); ++i) {
            const double one = hazard_.per_hour(age_of(held_[i], seen.now) + ahead);
            sum += one;
            least = i == 0 ? one : std::min(least, one);
        }
        if (!terms_.any_matters) return least;
        const double burst = (static_cast<double>(seen.spot_losses) + 1) /
                             (static_cast<double>(seen.spot_loss_events) + 1);
        return sum / std::max(burst, 1.0);
    }

    void ask_when_rate_changes(double now_per_hour, const PolicyView& view) {
        std::vector<Duration> edges;
        for (const Instant since : held_) {
            const Duration age = age_of(since, view.seen.now);
            const Duration edge = hazard_.next_edge(age);
            if (edge < Duration::max()) edges.push_back(edge - age);
        }
        std::ranges::sort(edges);
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        edges.resize(std::min(edges.size(), edges_max));
        for (const Duration ahead : edges) {
            const double change = rate_in(ahead, view) / now_per_hour - 1;
            if (std::abs(change) < material && ahead != edges.back()) continue;
            ask_in(ahead, view.seen.now);
            return;
        }
    }

    // The interval that puts the end of a save just before the next loss at the cap that matters:
    // of the oldest if any does, else of the youngest. Nothing while that is many saves away.
    std::optional<Duration> before_cap(Duration best, Duration cost, const PolicyView& view) {
        if (!terms_.lifetime_cap || held_.empty()) return std::nullopt;
        const Observation& seen = view.seen;
        const double late_s =
            to_seconds(cost) + 1 +
            to_seconds(view.predictor.work_time(1, view.plan, view.plan.workers_max));
        const auto left_s = [&](Instant since) {  // until the last save has to begin
            return to_seconds(*terms_.lifetime_cap) - to_seconds(age_of(since, seen.now)) - late_s;
        };
        double until_s = left_s(held_.back());
        if (terms_.any_matters) {
            const auto next =
                std::ranges::find_if(held_, [&](Instant since) { return left_s(since) > 0; });
            if (next != held_.end()) until_s = left_s(*next);
        }
        if (until_s <= 0) return std::nullopt;
        const double since_save_s = unsaved_s(view);
        const double whole_s = since_save_s + until_s + to_seconds(cost);
        const double cycle_s = to_seconds(best) + to_seconds(cost);
        const double saves = std::max(std::ceil(whole_s / cycle_s), 1.0);
        if (saves > aligned_saves_max) {
            ask_in(bounded_seconds(until_s - aligned_saves_max * cycle_s), seen.now);
            return std::nullopt;
        }
        const double interval_s = std::max(whole_s / saves - to_seconds(cost), 1.0);
        const double next_save_s = interval_s - std::min(since_save_s, interval_s);
        ask_in(bounded_seconds(next_save_s + to_seconds(cost) + 1), seen.now);
        return std::min(bounded_seconds(interval_s), best);
    }

    static double unsaved_s(const PolicyView& view) {
        const Observation& seen = view.seen;
        Plan unbroken = view.plan;
        unbroken.checkpoint_interval = never_checkpoint;
        const std::int64_t unsaved =
            std::max<std::int64_t>(0, seen.samples_done - seen.samples_safe);
        return to_seconds(
            view.predictor.work_time(unsaved, unbroken, std::max(seen.workers, seen.workers_min)));
    }
    static Duration bounded_seconds(double s) { return seconds(std::clamp(s, 1.0, 3e9)); }

    HazardTerms terms_;
    AgeHazard hazard_;
    std::vector<Instant> held_;  // at the last look, in ascending order
    Instant counted_to_;
    Instant due_;
    std::int64_t losses_seen_ = 0;
    bool on_demand_ = false;
};

Duration at_least_a_minute(ConfigReader& parameters, std::string_view key, Duration otherwise) {
    return bounded_duration(parameters, key, minutes(1), days(36'500), otherwise);
}

}  // namespace

std::unique_ptr<Policy> make_hazard_checkpoint(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 2> losses{"any", "all"};
    static constexpr std::array<std::string_view, 2> rules{"young", "daly"};
    HazardTerms terms;
    terms.any_matters = parameters.one_of("losses", losses, "any") == "any";
    terms.daly = parameters.one_of("rule", rules, "daly") == "daly";
    if (parameters.has("lifetime_cap")) {
        terms.lifetime_cap = bounded_duration(parameters, "lifetime_cap", minutes(1), days(36'500));
    }
    const Duration mean = at_least_a_minute(parameters, "mean_lifetime", hours(12));
    const double prior_losses = parameters.number("prior_losses", 0.001, 1e6, 1);
    return std::make_unique<HazardCheckpoint>(terms,
                                              AgeHazard(mean, prior_losses, terms.lifetime_cap));
}

}  // namespace ukemi::policies
