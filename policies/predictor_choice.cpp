// predictor_choice.cpp — the Predictors: what a profile says, the same off by shares, and the same
// corrected by what was observed.
#include "policies/predictor_choice.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/rng.hpp"
#include "policies/observed_pace.hpp"

namespace ukemi::policies {

namespace {

// Of what a profile says, in parts per 10^9: all of it leaves every number as it is.
struct ForecastShares {
    static constexpr std::int64_t whole = 1'000'000'000;
    std::int64_t step = whole;
    std::int64_t transition = whole;
    std::int64_t checkpoint = whole;
};

std::int64_t as_share(double factor) {
    return std::clamp<std::int64_t>(round_nearest(factor * ForecastShares::whole), 1'000,
                                    1'000'000 * ForecastShares::whole);
}

ForecastShares shares_of(const PredictorChoice& choice, std::uint64_t seed) {
    if (choice.kind == PredictorKind::exact) return {};
    RandomStream random(seed, "predictor");
    const auto share = [&](double factor) {
        return as_share(choice.spread > 0 ? factor * random.lognormal(0, choice.spread) : factor);
    };
    ForecastShares shares;
    shares.step = share(choice.step_time);
    shares.transition = share(choice.transition_time);
    shares.checkpoint = share(choice.checkpoint_time);
    return shares;
}

// A forecast stays below what a Duration holds, with room to add to it: nobody waits longer.
constexpr Int128 longest_forecast = days(36'500).raw();

Duration at_most_longest(Int128 time) {
    return nanoseconds(static_cast<std::int64_t>(std::min(time, longest_forecast)));
}

Duration share_of(Duration time, std::int64_t share) {
    if (share == ForecastShares::whole) return time;
    return at_most_longest(static_cast<Int128>(time.raw()) * share / ForecastShares::whole);
}

class ProfilePredictor : public Predictor {
public:
    ProfilePredictor(JobProfile profile, ForecastShares shares)
        : profile_(std::move(profile)), shares_(shares) {}

    Duration work_time(std::int64_t samples, const Plan& plan,
                       std::int32_t workers) const override {
        const std::int64_t per_step = samples_per_step(plan, workers);
        const std::int64_t steps = samples / per_step + (samples % per_step != 0 ? 1 : 0);
        const StepRate rate = step_rate(plan, workers);
        const Int128 training = std::min(nanoseconds_for(rate, steps), longest_forecast);
        if (profile_.lossless || plan.checkpoint_interval == never_checkpoint) {
            return at_most_longest(training);
        }
        // Saves come at step boundaries: after the whole steps that fit into the interval.
        const Int128 fit =
            static_cast<Int128>(plan.checkpoint_interval.raw()) * rate.steps / rate.per.raw();
        const Int128 apart = std::max<Int128>(fit, 1) * rate.per.raw() / rate.steps;
        const Int128 saves = training / std::max<Int128>(apart, 1);
        return at_most_longest(training + saves * checkpoint_time(plan).raw());
    }
    Duration transition_time(const Plan&, const Plan&) const override {
        // Whether somebody will have the state by then, nobody can know.
        return arrival() + pause(std::max(profile_.restart, profile_.resize));
    }
    Duration checkpoint_time(const Plan&) const override {
        return profile_.lossless ? Duration{} : share_of(profile_.checkpoint, shares_.checkpoint);
    }
    Duration restore_time(const Plan&) const override {
        return profile_.lossless ? Duration{} : pause(profile_.restore);
    }
    bool loses_work() const override { return !profile_.lossless; }
    std::vector<Layout> layouts() const override {
        std::vector<Layout> known;
        for (const PipelineSteps& each : profile_.pipelines) {
            known.push_back({static_cast<std::int32_t>(each.steps.size()), each.stages, 1});
        }
        return known;
    }
    void observe(const Observation&, const Plan&) override {}

protected:
    virtual StepRate step_rate(const Plan& plan, std::int32_t workers) const {
        return expected_rate(plan, workers);
    }
    StepRate expected_rate(const Plan& plan, std::int32_t workers) const {
        return stretched(rate_of(profile_, plan, workers), shares_.step, ForecastShares::whole);
    }
    Duration pause(Duration time) const { return share_of(time, shares_.transition); }
    // From asking for a machine until its worker can join.
    Duration arrival() const { return pause(profile_.provisioning + profile_.spawn); }
    const JobProfile& profile() const { return profile_; }

private:
    JobProfile profile_;
    ForecastShares shares_;
};

std::int32_t held_in(const Plan& plan, const FleetLine& where) {
    for (const FleetLine& line : plan.fleet) {
        const bool same = line.zone == where.zone && line.instance_type == where.instance_type &&
                          line.market == where.market;
        if (same && line.market != Market::none) return line.count;
    }
    return 0;
}

bool says_the_same(const Plan& from, const Plan& to) {
    Plan nameless = from;
    nameless.version = to.version;
    return nameless == to;
}

class CalibratedPredictor final : public ProfilePredictor {
public:
    using ProfilePredictor::ProfilePredictor;

    Duration transition_time(const Plan& from, const Plan& to) const override {
        bool joins = false;
        bool leaves = false;
        bool stays = false;
        for (const FleetLine& line : to.fleet) {
            const std::int32_t before = held_in(from, line);
            joins =
                joins || line.count > before;  // also while the market that it waits for is none
            stays = stays || (line.count > 0 && before > 0);
        }
        for (const FleetLine& line : from.fleet) {
            leaves = leaves || held_in(to, line) < held_in(from, line);
        }
        const Duration grown = pause_of(GroupPause::grow);
        if (joins && !stays) {  // whether somebody will have the state by then, nobody can know
            const Duration anew = pause_of(GroupPause::start);
            const bool told = pace_.pause(GroupPause::start) && !pace_.pause(GroupPause::grow);
            return arrival_time() + (told ? anew : std::max(anew, grown));
        }
        if (joins) return arrival_time() + grown;
        if (to.workers_max > from.workers_max) return grown;
        if (leaves || to.workers_max < from.workers_max) return pause_of(GroupPause::shrink);
        return says_the_same(from, to) ? Duration{} : pause_of(GroupPause::retune);
    }

    void observe(const Observation& seen, const Plan& plan) override {
        PaceTerms terms;
        terms.plan = plan.version;
        terms.saving = checkpoint_time(plan);
        terms.restoring = restore_time(plan);
        terms.loses_work = loses_work();
        if (seen.workers > 0) terms.expected = expected_rate(plan, seen.workers);
        pace_.observe(seen, terms);
    }

private:
    StepRate step_rate(const Plan& plan, std::int32_t workers) const override {
        const StepRate expected = expected_rate(plan, workers);
        const std::optional<double> ratio = pace_.step_ratio(workers);
        if (!ratio) return expected;
        // Up: a deadline that is met to the nanosecond bears no forecast a hair too short.
        const std::int64_t share = round_up(*ratio * ForecastShares::whole);
        return stretched(expected, share, ForecastShares::whole);
    }
    Duration arrival_time() const {
        const std::optional<Duration> seen = pace_.arrival();
        return seen ? *seen : arrival();
    }
    Duration pause_of(GroupPause kind) const {
        if (const std::optional<Duration> seen = pace_.pause(kind)) return *seen;
        switch (kind) {
            case GroupPause::start: return pause(profile().restart);
            case GroupPause::grow:
            case GroupPause::shrink: return pause(profile().resize);
            case GroupPause::retune: break;
        }
        return {};
    }

    ObservedPace pace_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(const PredictorChoice& choice, JobProfile profile,
                                          std::uint64_t seed) {
    const ForecastShares shares = shares_of(choice, seed);
    if (choice.kind == PredictorKind::calibrated) {
        return std::make_unique<CalibratedPredictor>(std::move(profile), shares);
    }
    return std::make_unique<ProfilePredictor>(std::move(profile), shares);
}

}  // namespace ukemi::policies
