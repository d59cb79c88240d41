// optimum_test.cpp — the optimum against every schedule there is, in small worlds; and against
// policies that do anything, in large ones.
//
// The brute force knows nothing of how the optimum is found: it plays a World under each list of
// choices on a grid, and takes the cheapest run that is in time. All that happens in such a world
// falls on the grid, and then so does a cheapest schedule.
#include <catch2/catch.hpp>

#include "base/parallel_for.hpp"
#include "scenarios/optimum/optimum.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

using scenarios::Optimum;
using scenarios::optimum_of;
using scenarios::OptimumKind;

constexpr Duration slot = minutes(10);
constexpr Duration ahead = nanoseconds(2);  // a choice precedes what happens on the grid

struct Choice {
    policies::Market market = policies::Market::none;
    ZoneId zone{};
    bool save = false;
    bool pause = false;  // what was held before is given back first
};

// Does what a list says, slot by slot.
class Scripted final : public policies::Policy {
public:
    explicit Scripted(const std::vector<Choice>& script) : script_(script) {}
    std::string_view name() const override { return "scripted"; }
    policies::KnobSet knobs() const override {
        return {policies::Knob::market, policies::Knob::zone, policies::Knob::count,
                policies::Knob::checkpoint_interval};
    }
    policies::HookSet hooks() const override {
        return {policies::Hook::before_train, policies::Hook::on_event};
    }
    policies::Decision before_train(const policies::PolicyView& view) override { return now(view); }
    policies::Decision on_event(policies::EventKind, const policies::PolicyView& view) override {
        return now(view);
    }

private:
    policies::Decision now(const policies::PolicyView& view) const {
        const std::int64_t index = (view.seen.now + ahead).raw() / slot.raw();
        const auto last = std::ssize(script_) - 1;
        const Choice& choice = script_[static_cast<std::size_t>(std::min(index, last))];
        policies::Decision decision;
        const Instant begins = Instant::at(index * slot) - nanoseconds(1);
        const bool saved =
            index > 0 && index <= last && script_[static_cast<std::size_t>(index - 1)].save;
        const bool other =
            saved && script_[static_cast<std::size_t>(index - 1)].market != choice.market;
        if ((choice.pause || other) && view.seen.now < begins) {
            decision.market = policies::Market::none;
            decision.ask_again_in = begins - view.seen.now;
            return decision;
        }
        decision.market = choice.market;
        decision.zone_counts.emplace(1, policies::ZoneCount{choice.zone, 1});
        decision.checkpoint_interval = choice.save ? nanoseconds(1) : policies::never_checkpoint;
        const Instant next = Instant::at((index + 1) * slot) - ahead;
        if (index < last) decision.ask_again_in = next - view.seen.now;
        return decision;
    }

    const std::vector<Choice>& script_;
};

struct SmallWorld {
    sim::MarketData market;
    sim::JobSpec job;
    std::vector<Choice> choices;
    std::int64_t slots = 6;
};

Duration slots(std::int64_t count) { return count * slot; }

SmallWorld small_world(std::uint64_t seed) {
    RandomStream draw(seed, "small world");
    SmallWorld small;
    const std::int64_t zones = draw.chance(0.25) ? 2 : 1;
    const bool lossless = zones == 2 || draw.chance(0.4);
    const bool delays = zones == 1 && draw.chance(0.4);  // it takes a while until machines work
    small.slots = !lossless && delays ? 4 : !lossless || delays || zones == 2 ? 5 : 6;
    std::vector<sim::ZoneData> all;
    for (std::int64_t number = 0; number < zones; ++number) {
        traces::AvailabilitySeries series;
        traces::PriceSeries prices;
        for (std::int64_t step = 0; step < small.slots; ++step) {
            const std::int32_t count = draw.chance(0.6) ? 1 : 0;
            if (series.steps.empty() || series.steps.back().value != count) {
                series.steps.push_back({at(slots(step)), count});
            }
            const Price here = Price::of(100'000'000 * draw.integer(1, 20));
            if (prices.steps.empty() || (draw.chance(0.4) && prices.steps.back().value != here)) {
                prices.steps.push_back({at(slots(step)), here});
            }
        }
        series.end = prices.end = at(slots(small.slots));
        all.push_back(zone(number == 0 ? "a" : "b", series, prices,
                           0.1 * static_cast<double>(draw.integer(5, 40))));
        small.choices.push_back(
            {policies::Market::spot, ZoneId{static_cast<std::uint32_t>(number)}, false});
        if (number > 0) all.back().on_demand_price = all.front().on_demand_price;
    }
    small.choices.push_back({policies::Market::on_demand, ZoneId{0}, false});
    small.choices.push_back({});
    small.market = market(all, sim::AfterLastRow::end);
    small.market.notice = slots(draw.integer(0, 1));
    small.job = job(slots(draw.integer(1, small.slots - 1)));
    policies::JobProfile& profile = small.job.profile;
    profile.lossless = lossless;
    profile.restart = slots(draw.integer(0, 1));
    profile.resize = profile.restart;
    if (delays && draw.chance(0.5)) profile.spawn = slot;
    if (!lossless) {
        small.choices.push_back({policies::Market::spot, ZoneId{0}, true});
        small.choices.push_back({policies::Market::on_demand, ZoneId{0}, true});
        profile.checkpoint = slot;
        profile.restore = slots(draw.chance(0.3) ? 1 : 0);
    }
    if (delays && profile.restart + profile.checkpoint >= slot && draw.chance(0.5)) {
        small.market.provisioning = slot;
    }
    if (delays) {
        small.choices.push_back({policies::Market::spot, ZoneId{0}, false, true});
        small.choices.push_back({policies::Market::on_demand, ZoneId{0}, false, true});
    }
    sim::prepare(small.market);
    small.job.deadline = at(slots(small.slots));
    small.job.give_up_at = at(slots(small.slots + 2));
    return small;
}

// What the cheapest of all scripts pays that is in time, but for the nanoseconds that choices are
// ahead; and what the cheapest of all pays that is in time.
struct Cheapest {
    std::optional<Dollars> nearly;
    std::optional<Dollars> strictly;
};

Cheapest brute_force(const SmallWorld& small) {
    Cheapest cheapest;
    std::vector<std::size_t> digits(static_cast<std::size_t>(small.slots), 0);
    std::vector<Choice> script(digits.size());
    for (bool more = true; more;) {
        for (std::size_t index = 0; index < digits.size(); ++index) {
            script[index] = small.choices[digits[index]];
        }
        sim::WorldSetup world_setup = setup(small.market, small.job);
        world_setup.policies.push_back(std::make_unique<Scripted>(script));
        const records::RunResult result = sim::World(std::move(world_setup)).run();
        const Duration late = result.duration - small.job.deadline.since_start();
        if (result.finished && late <= nanoseconds(100)) {
            cheapest.nearly = std::min(cheapest.nearly.value_or(result.cost), result.cost);
            if (late <= Duration{}) {
                cheapest.strictly = std::min(cheapest.strictly.value_or(result.cost), result.cost);
            }
        }
        // What stands in the list after the end of the run makes no other run.
        std::size_t last = digits.size() - 1;
        if (result.finished) {
            const auto end = static_cast<std::size_t>((result.duration + ahead).raw() / slot.raw());
            last = std::min(last, end);
        }
        std::fill(digits.begin() + static_cast<std::ptrdiff_t>(last) + 1, digits.end(), 0);
        more = false;
        for (std::size_t index = last + 1; index-- > 0;) {
            if (++digits[index] < small.choices.size()) {
                more = true;
                break;
            }
            digits[index] = 0;
        }
    }
    return cheapest;
}

}  // namespace

TEST_CASE("optimum: buys what is missing on demand, where it costs least", "[optimum]") {
    const auto spot = capacity({{Duration{}, 1}, {hours(1), 0}, {hours(2), 1}}, hours(3));
    const sim::MarketData here = market({zone("a", spot, price(1), 3)}, sim::AfterLastRow::end);
    sim::JobSpec two_hours = job(hours(2));
    two_hours.instances_max = 1;
    const auto within = [&](Duration deadline) {
        two_hours.deadline = at(deadline);
        return optimum_of(here, two_hours);
    };
    const auto usd = [](const Optimum& of) { return Approx(to_dollars(of.cost)).margin(1e-5); };
    CHECK(within(hours(3)).kind == OptimumKind::exact);
    CHECK(2.0 == usd(within(hours(3))));      // both windows of spot
    CHECK(3.0 == usd(within(minutes(150))));  // an hour and a half of it, half an hour on demand
    CHECK(4.0 == usd(within(hours(2))));      // nothing to spare
    CHECK(within(minutes(119)).kind == OptimumKind::impossible);
    two_hours.profile.restart = two_hours.profile.resize = minutes(6);
    // 54 minutes of each window, and 12 on demand between them, after a restart of 6.
    CHECK(2.0 + 0.3 * 3 == usd(within(hours(3))));
    two_hours.profile.lossless = false;
    two_hours.profile.checkpoint = minutes(3);
    CHECK(within(hours(3)).kind == OptimumKind::exact);
    CHECK(to_dollars(within(hours(3)).cost) > 2.9);
}

TEST_CASE("optimum: what it is called says what it is worth", "[optimum]") {
    const auto spot = capacity({{Duration{}, 8}, {hours(1), 3}, {hours(2), 8}}, hours(30));
    const sim::MarketData here = market({zone("a", spot, price(1), 3)});
    const auto kind = [&](const sim::JobSpec& of) { return optimum_of(here, of).kind; };
    sim::JobSpec one = job(hours(5));
    CHECK(kind(one) == OptimumKind::exact);
    one.tick = minutes(10);
    CHECK(kind(one) == OptimumKind::bound);
    CHECK(kind(job(hours(5), 8, 8)) == OptimumKind::bound);
    CHECK(kind(job(hours(5), 2, 8)) == OptimumKind::bound);
    sim::JobSpec learners = job(hours(5));
    learners.profile.learner_speeds = {1000, 1600};
    CHECK(kind(learners) == OptimumKind::unknown);
    sim::JobSpec simulated = job(hours(5));
    simulated.profile.step_time = policies::StepTime{};
    simulated.profile.step_time->compute = {{1, seconds(1)}};
    CHECK(kind(simulated) != OptimumKind::unknown);
    simulated.profile.step_time->learner_steps.emplace_back();
    CHECK(kind(simulated) == OptimumKind::unknown);
    CHECK(name_of(OptimumKind::impossible) == "impossible");
}

TEST_CASE("optimum: each rule that is not plain makes it a bound", "[optimum]") {
    const auto spot = capacity({{Duration{}, 8}, {hours(1), 3}, {hours(2), 8}}, hours(30));
    const sim::MarketData plain = market({zone("a", spot, price(1), 3)});
    const sim::JobSpec one = job(hours(5));
    REQUIRE(optimum_of(plain, one).kind == OptimumKind::exact);
    using Rules = sim::MarketRules;
    struct Rule {
        const char* name;
        void (*add)(Rules& rules);
    };
    const Rule all[] = {
        {"blockout", [](Rules& rules) { rules.blockout = minutes(1); }},
        {"launches fail", [](Rules& rules) { rules.launch_failure = 0.1; }},
        {"steps of spot", [](Rules& rules) { rules.spot_billing.granularity = minutes(1); }},
        {"least on demand", [](Rules& rules) { rules.on_demand_billing.minimum = minutes(2); }},
        {"uneven", [](Rules& rules) { rules.machine_speeds = {900}; }},
        {"slow", [](Rules& rules) { rules.slow_share = 0.5; }},
        {"bids", [](Rules& rules) { rules.bidding = true; }},
        {"age", [](Rules& rules) { rules.lifetime_max = hours(24); }},
        {"free", [](Rules& rules) { rules.spot_billing.free_if_taken_within = minutes(9); }},
        {"last part", [](Rules& rules) { rules.spot_billing.last_part_free_if_taken = true; }},
        {"beginning", [](Rules& rules) { rules.spot_billing.price_at_beginning = true; }},
    };
    for (const Rule& rule : all) {
        CAPTURE(rule.name);
        sim::MarketData changed = plain;
        rule.add(changed.rules);
        CHECK(optimum_of(changed, one).kind == OptimumKind::bound);
    }
    sim::MarketData late = plain;
    late.provisioning = hours(1);
    CHECK(optimum_of(late, one).kind == OptimumKind::bound);
}

TEST_CASE("optimum: equals the cheapest of all schedules in small worlds", "[optimum][property]") {
    constexpr std::size_t worlds = 1000;
    struct Found {
        Optimum optimum;
        Optimum of_shorter;
        Cheapest cheapest;
    };
    std::vector<Found> found(worlds);
    parallel_for(worlds, 2, [&](std::size_t index) {
        const SmallWorld small = small_world(index + 1);
        // The choices are nanoseconds ahead of what they are about: that much work may be missing.
        SmallWorld shorter = small;
        shorter.job.samples_total -= 20;
        found[index] = {optimum_of(small.market, small.job),
                        optimum_of(shorter.market, shorter.job), brute_force(shorter)};
    });
    std::size_t possible = 0;
    for (std::size_t index = 0; index < worlds; ++index) {
        const auto& [optimum, of_shorter, cheapest] = found[index];
        CAPTURE(index + 1, optimum.cost.raw(), cheapest.nearly.value_or(Dollars{}).raw());
        REQUIRE(optimum.known() == cheapest.nearly.has_value());
        if (!optimum.known()) continue;
        ++possible;
        CHECK(optimum.kind == OptimumKind::exact);
        CHECK(std::abs((*cheapest.nearly - optimum.cost).raw()) <= 5000);
        if (cheapest.strictly) CHECK(of_shorter.cost <= *cheapest.strictly);
    }
    CHECK(possible > worlds / 2);
}

}  // namespace ukemi
