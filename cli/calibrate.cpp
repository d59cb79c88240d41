// calibrate.cpp — `ukemi calibrate`: measures what a live run needs for its steps and changes.
#include <fmt/format.h>

#include <memory>

#include "base/read_file.hpp"
#include "cli/command.hpp"
#include "cli/live_workers.hpp"
#include "scenarios/calibration.hpp"

namespace ukemi {

namespace {

struct Options {
    LiveWorkerOptions live;
    CalibrationOptions calibration;
    std::string out;
};

void print_times(std::string_view name, const MeasuredTimes& times) {
    if (times.s.empty()) return;
    fmt::print("{:<22}{:>12.3f}{:>12.3f}{:>12.3f}{:>8}\n", name, times.median() * 1e3,
               times.quantile(0.1) * 1e3, times.quantile(0.9) * 1e3, times.s.size());
}

void calibrate(const Options& given) {
    CalibrationOptions options = given.calibration;
    const Scenario scenario = given.live.read_scenario();
    options.workers_max = given.live.workers.value_or(std::min(scenario.job.instances_max, 2));
    const std::filesystem::path out = given.out;
    options.live = given.live.live_options(out.string() + "-checkpoints");
    const LiveCosts costs = measure_costs(scenario, options);
    std::filesystem::remove_all(options.live.folder);
    write_file_atomically(out, costs_json(costs));
    fmt::print("{}\n\n{:<22}{:>12}{:>12}{:>12}{:>8}\n", costs.device, "wall time (ms)", "median",
               "10 %", "90 %", "values");
    for (const StepCosts& step : costs.steps) {
        print_times(fmt::format("step, {} worker{}", step.workers, step.workers == 1 ? "" : "s"),
                    step.step);
    }
    print_times("spawn", costs.spawn);
    print_times("restart", costs.restart);
    print_times("resize", costs.resize);
    print_times("loss of a member", costs.loss);
    print_times("checkpoint", costs.checkpoint);
    print_times("restart, restoring", costs.restore);
    fmt::print("\ncosts: {}\n", out.string());
}

}  // namespace

void add_calibrate(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(
        "calibrate", "measure what steps, resizes and checkpoints cost on this machine");
    options->live.add_to(*command);
    CalibrationOptions& calibration = options->calibration;
    command->add_option("--steps", calibration.steps, "steps of a measured stretch (default: 50)")
        ->check(CLI::Range(1, 1'000'000));
    command->add_option("--stretches", calibration.stretches, "stretches a repetition (default: 5)")
        ->check(CLI::Range(1, 1000));
    command
        ->add_option("--repeat", calibration.repetitions,
                     "repetitions, with new processes each (default: 3)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--out", options->out, "where to write the costs, as box.json")->required();
    command->callback([options] { calibrate(*options); });
}

}  // namespace ukemi
