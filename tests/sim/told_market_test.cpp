// told_market_test.cpp — a market that somebody tells of while it happens does to a run what the
// same market does that was recorded.
//
// Spot costs 1 USD/h; four machines, of which two are lost at 30 min, 2 min after their notice.
#include <catch2/catch.hpp>

#include "sim/job/training.hpp"
#include "tests/sim/fixture.hpp"

namespace ukemi {

namespace {

// What the policies are asked, and what they want.
class Questions final : public policies::ControllerLog {
public:
    struct Question {
        policies::EventKind kind;
        policies::Observation seen;
        std::optional<policies::Plan> proposed;
        friend bool operator==(const Question&, const Question&) = default;
    };
    void question(const policies::QuestionRecord& record) override {
        all.push_back({record.event.kind, record.seen, {}});
        if (record.proposed != nullptr) all.back().proposed = *record.proposed;
    }
    void committed(PlanVersion) override {}
    void discarded(PlanVersion, std::string_view) override {}

    std::vector<Question> all;
};

sim::JobSpec told_job() {
    sim::JobSpec spec = job(hours(2), 1, 4);
    spec.profile.lossless = false;
    spec.profile.checkpoint = minutes(1);
    spec.profile.throughput = {{1, {1, nanoseconds(1)}}, {4, {2, nanoseconds(1)}}};
    return spec;
}

using Told = std::vector<std::pair<Instant, sim::Event>>;

struct Lived {
    records::RunResult result;
    std::vector<Questions::Question> questions;
};

Lived live_through(const sim::MarketData& data, const Told& told,
                   const std::string& buys = "greedy", std::optional<std::int32_t> places = {}) {
    const sim::JobSpec spec = told_job();
    Questions log;
    sim::WorldSetup world = setup(data, spec);
    world.policies.push_back(policy(buys));
    world.policies.push_back(policy("checkpoint_on_notice"));
    world.log = &log;
    world.places = places;
    world.capabilities = sim::simulated_capabilities(data, spec);
    world.make_trainer = [&](policies::Controller& controller, records::Ledger& ledger,
                             sim::RunQueue& queue) {
        for (const auto& [moment, event] : told) {
            queue.schedule(moment, sim::Phase::environment, event);
        }
        return std::make_unique<sim::Training>(spec, controller, ledger, queue, 1);
    };
    sim::World lived(std::move(world));
    Lived all{lived.run(), {}};
    all.questions = std::move(log.all);
    return all;
}

sim::MarketData recorded_market() {
    sim::MarketData data =
        market({zone("a", capacity({{minutes(0), 4}, {minutes(30), 2}}, hours(9)), price(1))});
    data.notice = minutes(2);
    sim::prepare(data);
    return data;
}

// Where nothing happens by itself, and no notice is known of beforehand.
sim::MarketData calm_data() {
    return market({zone("a", capacity({{minutes(0), 4}}, hours(9)), price(1))});
}

}  // namespace

TEST_CASE("told market: a provider's notice asks what a recorded loss asks", "[told_market]") {
    const Lived recorded = live_through(recorded_market(), {});
    const auto question = std::ranges::find_if(
        recorded.questions, [](const auto& one) { return !one.seen.notices.empty(); });
    REQUIRE(question != recorded.questions.end());
    REQUIRE(question->seen.notices.size() == 2);
    Told told{{at(minutes(28)), sim::CapacityTold{ZoneId{0}, 2}}};
    for (const policies::Notice& notice : question->seen.notices) {
        told.emplace_back(at(minutes(28)), sim::LossTold{notice.instance, notice.lost_at});
    }
    const Lived lived = live_through(calm_data(), told);
    CHECK(lived.questions == recorded.questions);
    CHECK(lived.result.cost == recorded.result.cost);
    CHECK(lived.result.duration == recorded.result.duration);
    CHECK(lived.result.revocations == 2);
    CHECK(lived.result.checkpoints == recorded.result.checkpoints);
}

TEST_CASE("told market: no more machines than places, whatever the market", "[told_market]") {
    // None at first, two after 10 min, four after 20.
    const std::string buys = GENERATE("greedy", "on_demand");
    const Told told{{at(minutes(10)), sim::CapacityTold{ZoneId{0}, 2}},
                    {at(minutes(20)), sim::CapacityTold{ZoneId{0}, 4}}};
    const Lived lived = live_through(calm_data(), told, buys, 0);
    std::int32_t most = 0;
    for (const Questions::Question& one : lived.questions) {
        const std::int32_t places = one.seen.now < at(minutes(10))   ? 0
                                    : one.seen.now < at(minutes(20)) ? 2
                                                                     : 4;
        const std::int32_t held = one.seen.spot_held + one.seen.on_demand_held;
        CHECK(held <= places);
        most = std::max(most, held);
    }
    CHECK(most == 4);
    CHECK(lived.result.finished);
    CHECK(lived.result.launches == 4);
}

TEST_CASE("told market: what waits for places is not stuck", "[told_market]") {
    const Lived lived = live_through(calm_data(), {}, "greedy", 0);
    CHECK_FALSE(lived.result.finished);
    CHECK_FALSE(lived.result.stuck);  // it waited until it gave up
    CHECK(lived.result.cost == Dollars{});
}

TEST_CASE("told market: a told price is billed from then on", "[told_market]") {
    // Four machines for 1 h: half of it at 1 USD/h, half at 3.
    const Lived lived = live_through(
        calm_data(), {{at(minutes(30)), sim::PriceTold{ZoneId{0}, dollars_per_hour(3)}}});
    CHECK(lived.result.duration == hours(1));
    CHECK(lived.result.cost == 2 * (dollars(1) + dollars(3)));
}

}  // namespace ukemi
