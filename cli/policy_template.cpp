// policy_template.cpp — what its files say. They are built, tested and run by tests/cli.
#include "cli/plugin_template.hpp"

namespace ukemi::cli {

namespace {

constexpr TemplateFile policy_files[] = {
    {"NAME.cpp",
     R"code(// NAME.cpp — spot while there is some; after `patience` without any, on-demand.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/config_reader.hpp"
#include "policies/market/deadline_view.hpp"
#include "policies/market/market_rule.hpp"
#include "policies/plugin.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::policies;

class CLASS final : public MarketRule {  // which turns one knob: the market
public:
    explicit CLASS(Duration patience) : patience_(patience) {}
    std::string_view name() const override { return "NAME"; }

private:
    // Asked before training and whenever something has happened (policies/observation.hpp).
    Decision choose(const PolicyView& view) override {
        const Observation& seen = view.seen;
        if (all_done(view)) return buy(Market::none, "done");
        if (std::max(spot_within_reach(view), seen.spot_held) >= seen.workers_min) {
            without_since_.reset();
            return buy(Market::spot, "spot is there");
        }
        if (!without_since_) without_since_ = seen.now;
        const Duration waited = seen.now - *without_since_;
        if (waited >= patience_) return buy(Market::on_demand, "waited for long enough");
        Decision decision = buy(Market::none, "wait for spot");
        decision.ask_again_in = patience_ - waited;
        return decision;
    }

    Duration patience_;
    std::optional<Instant> without_since_;
};

// Its parameters are keys of its object in a scenario, or stand behind its name: NAME:10min.
std::unique_ptr<Policy> make(ConfigReader& parameters) {
    return std::make_unique<CLASS>(parameters.duration("patience", minutes(30)));
}

}  // namespace

UKEMI_POLICIES({.name = "NAME",
                .summary = "spot; on-demand after `patience` without any",
                .source = "our own",
                .make = make,
                .short_parameter = "patience"})
)code"},
    {"NAME_test.cpp", R"code(// NAME_test.cpp — the policy asked by hand: no market, no clock.
#include <cstdio>

#include "policies/plugin.hpp"
#include "policies/predictor_choice.hpp"

using namespace ukemi;
using namespace ukemi::policies;

extern "C" const PolicyPlugin* ukemi_policies();

int main() {
    ConfigReader parameters = ConfigReader::from_text(R"({"patience": "20 min"})", "test");
    const auto policy = make_policy(ukemi_policies()->entries[0], parameters);

    JobProfile profile;
    profile.throughput.push_back({1, {1, nanoseconds(1)}});
    const auto predictor = make_predictor({}, profile, 0);
    Plan plan;
    plan.fleet.push_back({ZoneId{0}, 0, Market::spot, 1, {}});
    Observation seen;
    seen.samples_total = hours(10).raw();
    seen.workers_min = 1;
    seen.zones.push_back({ZoneId{0}, 0, {}, 0, 0, 0});
    RandomStream random(1, "policy/NAME");

    int failures = 0;
    const auto expect = [&](Duration now, std::int32_t spot, Market market) {
        seen.now = Instant::at(now);
        seen.spot_capacity = seen.zones.front().spot_capacity = spot;
        const Decision decision =
            policy->on_event(EventKind::clock, {seen, plan, *predictor, nullptr, random});
        if (decision.market == market) return;
        std::printf("at %.0f min: another market than expected\n", to_seconds(now) / 60);
        ++failures;
    };
    expect(minutes(0), 1, Market::spot);
    expect(minutes(10), 0, Market::none);
    expect(minutes(29), 0, Market::none);
    expect(minutes(30), 0, Market::on_demand);
    expect(minutes(31), 1, Market::spot);
    return failures == 0 ? 0 : 1;
}
)code"},
    {"NAME.json", R"code({
  "name": "NAME",
  "description": "A policy of one's own beside two others.",
  "seed": 1,
  "plugins": ["build/NAME.so"],
  "job": {
    "work": "48 hours", "deadline": "72 hours", "restart": "5 min",
    "checkpoint": {"cost": "1 min", "restore": "2 min"}
  },
  "cluster": {"count": 1},
  "market": {
    "on_demand_price": "$3.06/h",
    "generate": {"market": "v100-1-good", "length": "10 days"},
    "provisioning": "3 min"
  },
  "replay": ["NAME+daly", "NAME:2h+daly", "greedy+daly", "on_demand"]
}
)code"},
    {"README.md", R"code(# NAME

A policy for ukemi, in a library of its own.

    cmake -S . -B build          # -DCMAKE_PREFIX_PATH=PREFIX where ukemi is installed elsewhere
    cmake --build build
    ctest --test-dir build
    ukemi --allow-plugins replay NAME.json --seeds 1..10 --baseline greedy+daly
    ukemi --plugin build/NAME.so list policies NAME

`NAME.cpp` is the policy, `NAME_test.cpp` asks it by hand, `NAME.json` runs it beside others. A
library is code that runs with your rights, so ukemi loads it only where the command line says so.
Build it anew when ukemi changes: a library for another interface is refused.
)code"},
};

}  // namespace

FilledFiles policy_template(std::string_view name) {
    return filled_template(policy_files, "policies", name);
}

}  // namespace ukemi::cli
