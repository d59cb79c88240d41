// two_worlds_bench.cpp — how far the simulated world is from the live one on this machine.
//
// First it measures what a step and a change cost, and only that. Then, for runs that were not
// measured, it writes down what the simulator predicts and lets real workers do the same: alone, by
// two, and through a recorded trace. Two pinned workers at most: with more workers than cores one
// would measure contention. Prints predicted beside measured, and whether the policies decided
// alike. Usage: bench_two_worlds [FOLDER for predictions]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/read_file.hpp"
#include "runtime/calibration.hpp"
#include "runtime/live_run.hpp"
#include "tests/support/committed_plans.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::policies;
using namespace ukemi::records;
using namespace ukemi::runtime;
using namespace ukemi::scenarios;
using namespace ukemi::sim;
namespace fs = std::filesystem;

struct Case {
    std::string name;
    std::int32_t workers = 1;
    double time_scale = 1;
    double wall_s = 8;  // about how long it shall take
    fs::path trace;     // empty: nothing is taken away
};

// Beside the checkout, or where UKEMI_DATA points.
fs::path recorded_trace() {
    const char* given = std::getenv("UKEMI_DATA");
    const fs::path data =
        given != nullptr ? fs::path(given) : fs::path(UKEMI_SOURCE_DIR) / "../shared/data";
    return data / "normalized/avail/aws-v100-4node-us-east-1f.csv";
}

LiveOptions live_options(const fs::path& folder, double time_scale) {
    LiveOptions options;
    options.worker_program = UKEMI_BINARY;
    options.worker_arguments = {"worker"};
    options.folder = folder;
    options.time_scale = time_scale;
    options.cores = {0, 1};
    options.keep = {true, true, true, false};
    return options;
}

Scenario scenario_of(const Case& one, const LiveCosts& costs, const Scenario& base) {
    Scenario scenario = base;
    JobSpec& job = scenario.job;
    job.instances_max = job.workers_min = job.plan.workers_max = one.workers;
    if (!one.trace.empty()) job.workers_min = 1;
    job.plan.fleet.front().count = one.workers;
    job.profile = measured_profile(costs, scenario, one.time_scale, "box.json");
    // As much work as its workers do in the time.
    const StepRate rate = rate_of(job.profile, job.plan, one.workers);
    const double step_s = to_seconds(rate.per) / static_cast<double>(rate.steps);
    const double steps = one.wall_s * one.time_scale / step_s;
    job.samples_total = static_cast<std::int64_t>(steps) * samples_per_step(job.plan, one.workers);
    return scenario;
}

void compare(const Case& one, const LiveCosts& costs, const Scenario& base, const fs::path& out) {
    Scenario scenario = scenario_of(one, costs, base);
    const NamedMarket market =
        one.trace.empty() ? calm_market(scenario) : make_market(scenario, 1, one.trace);
    const PolicyList& list = scenario.policies.front();
    const auto predict = [&] {
        return run_one(scenario, market, list, 1, {true, true, true, false});
    };
    FinishedRun predicted = predict();
    while (to_seconds(predicted.result.duration) > 1.5 * one.wall_s * one.time_scale) {
        scenario.job.samples_total /= 2;  // a trace may leave nobody for most of the time
        predicted = predict();
    }
    const fs::path file = out / (one.name + "-predicted.json");
    write_file_atomically(
        file,
        fmt::format("{{\"duration_s\": {:.9f}, \"time_scale\": {}, \"event_hash\": \"{}\"}}\n",
                    to_seconds(predicted.result.duration), one.time_scale,
                    predicted.result.event_hash));

    const fs::path folder = out / one.name;
    fs::create_directories(folder);
    const LiveRun live = run_live(scenario, market, list, 1, live_options(folder, one.time_scale));
    const double predicted_s = to_seconds(predicted.result.duration) / one.time_scale;
    const double measured_s = to_seconds(live.run.result.duration) / one.time_scale;
    const auto expected = committed_plans(predicted.decisions);
    const auto decided = committed_plans(live.run.decisions);
    fmt::print("{:<20}{:>8}{:>8}{:>12.3f}{:>12.3f}{:>+9.1f} %{:>8}{:>8}  {}\n", one.name,
               one.workers, live.record.steps.size(), predicted_s, measured_s,
               100 * (predicted_s / measured_s - 1), live.run.result.revocations,
               live.run.result.transitions,
               decided == expected
                   ? fmt::format("{} decisions, equal", decided.size())
                   : fmt::format("{} decisions, predicted {}", decided.size(), expected.size()));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const fs::path out = argc > 1 ? argv[1] : "results/two_worlds_bench";
    fs::create_directories(out);
    const fs::path source = UKEMI_SOURCE_DIR;
    const Scenario base = read_scenario(source / "scenarios/learners/two_worlds.json");
    CalibrationOptions options;
    options.workers_max = 2;
    options.steps = 200;
    options.live = live_options(out, 1);
    const LiveCosts costs = measure_costs(base, options);
    write_file_atomically(out / "box.json", costs_json(costs));
    fmt::print("{}\n", costs.device);
    for (const StepCosts& step : costs.steps) {
        fmt::print("step, {}: {:.3f} ms (10 to 90 %: {:.3f} to {:.3f})\n",
                   setting_text(step.setting), step.step.median() * 1e3,
                   step.step.quantile(0.1) * 1e3, step.step.quantile(0.9) * 1e3);
    }
    fmt::print("spawn {:.1f} ms, resize {:.1f} ms, loss {:.1f} ms, checkpoint {:.1f} ms\n\n",
               costs.spawn.at(1).median() * 1e3, costs.grow.median() * 1e3,
               costs.loss.median() * 1e3, costs.checkpoint.median() * 1e3);
    fmt::print("{:<20}{:>8}{:>8}{:>12}{:>12}{:>11}{:>8}{:>8}\n", "run", "workers", "steps",
               "predicted s", "measured s", "error", "losses", "changes");
    std::vector<Case> cases{{"alone", 1, 1, 8, {}}, {"two", 2, 1, 8, {}}};
    if (const fs::path trace = recorded_trace(); fs::exists(trace)) {
        cases.push_back({"recorded_trace", 2, 2000, 35, trace});
    } else {
        fmt::print("(no recorded data beside the checkout: the run through a trace is left out)\n");
    }
    for (const Case& one : cases) compare(one, costs, base, out);
    return 0;
}
