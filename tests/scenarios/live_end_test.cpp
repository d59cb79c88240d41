// live_end_test.cpp — a live run whose machines are gone for good does not wait for them.
#include <catch2/catch.hpp>

#include "scenarios/live_run.hpp"
#include "tests/plots/scratch_folder.hpp"
#include "tests/scenarios/scenario_text.hpp"

namespace ukemi {

TEST_CASE("live run: one that cannot go on any more ends, and says so", "[live]") {
    const ScratchFolder folder;
    const Scenario scenario = scenario_from_text(
        R"({"name": "live_end", "seed": 3,
            "job": {"samples": 1000000000, "batch_per_worker": 8,
                    "throughput": {"1": "1000 samples/s"}, "restart": "1 s",
                    "checkpoint": {"kind": "saved", "cost": "1 s"}, "give_up_after": "40 h"},
            "cluster": {"count": 1},
            "market": {"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"},
            "training": {"data": {"kind": "synthetic", "samples": 512, "features": 16,
                                  "classes": 4},
                         "model": {"kind": "mlp", "hidden": 16}, "learning_rate": 0.1},
            "replay": ["spot_only"]})",
        "live_end.json");
    // One machine, taken at 30 s of the scenario; nothing comes after it.
    NamedMarket market = calm_market(scenario);
    market.data.zones[0].capacity.steps = {{Instant{}, 1}, {Instant::at(whole_seconds(30)), 0}};
    market.data.zones[0].capacity.end = Instant::at(whole_seconds(30));
    prepare(market.data);
    LiveOptions options;
    options.worker_program = UKEMI_BINARY;
    options.worker_arguments = {"worker"};
    options.folder = folder.path();
    options.time_scale = 20;
    const RunResult result =
        run_live(scenario, market, scenario.policies.front(), scenario.seed, options).run.result;
    CHECK_FALSE(result.finished);
    CHECK(result.stuck);
    CHECK(result.revocations == 1);
    CHECK(result.duration < minutes(10));
}

}  // namespace ukemi
