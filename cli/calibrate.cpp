// calibrate.cpp — `ukemi calibrate`: measures what a live run needs for its steps and changes.
#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/output_folder.hpp"
#include "cli/backends.hpp"
#include "cli/command.hpp"
#include "cli/live_workers.hpp"
#include "runtime/calibration.hpp"
#include "runtime/cost_comparison.hpp"

namespace ukemi::cli {

namespace {

struct CalibrateOptions {
    LiveWorkerOptions live;
    runtime::CalibrationOptions calibration;
    std::string out;
    std::string compare;
    std::vector<std::int64_t> batches;
    bool only_plan = false;
    bool no_machine = false;
    bool force = false;
};

void print_times(std::string_view name, const kernels::MeasuredTimes& times) {
    if (times.s.empty()) return;
    fmt::print("{:<50}{:>12.3f}{:>12.3f}{:>12.3f}{:>8}\n", name, times.median() * 1e3,
               times.quantile(0.1) * 1e3, times.quantile(0.9) * 1e3, times.s.size());
}

void print_costs(const scenarios::LiveCosts& costs) {
    fmt::print("{}\n\n{:<50}{:>12}{:>12}{:>12}{:>8}\n", costs.device, "wall time (ms)", "median",
               "10 %", "90 %", "values");
    for (const scenarios::StepCosts& step : costs.steps) {
        print_times("step, " + scenarios::setting_text(step.setting), step.step);
    }
    for (const auto& [name, times] : scenarios::change_times(costs)) print_times(name, *times);
    for (const scenarios::StepLaw::Line& line : costs.law().lines()) {
        fmt::print(
            "s_sgd, {} worker{}: {:.3f} ms + {:.3f} us a sample ({:.0f} to {:.0f}, off by "
            "{:.1f} % at most)\n",
            line.workers, line.workers == 1 ? "" : "s", line.fit.fixed * 1e3,
            line.fit.per_unit * 1e6, line.fit.x_min, line.fit.x_max, 100 * line.fit.off_most);
    }
}

// The columns of nccl-tests and what it leaves to -I; bytes a second are of the medians.
void print_machine(const kernels::MachineCosts& machine) {
    if (machine.curves.empty()) return;
    fmt::print("\ndevice memory: {:.1f} GiB\n",
               static_cast<double>(machine.device_memory_bytes) / (1 << 30));
    fmt::print("{:<30}{:>6}{:>12}{:>11}{:>11}{:>8}{:>9}{:>9}{:>7}\n", "machine", "ranks", "bytes",
               "p50 us", "p99 us", "cv %", "algbw", "busbw", "#wrong");
    for (const kernels::MachineCurve& curve : machine.curves) {
        const std::string kind = curve.name.substr(0, curve.name.find(' '));
        for (const kernels::MachinePoint& point : curve.points) {
            const double s = point.times.median();
            const double rate = static_cast<double>(point.bytes) / s / 1e9;
            fmt::print("{:<30}{:>6}{:>12}{:>11.1f}{:>11.1f}{:>8.1f}{:>9.3f}{:>9.3f}{:>7}\n",
                       curve.name, curve.ranks, point.bytes, s * 1e6,
                       point.times.quantile(0.99) * 1e6, 100 * point.times.cv(), rate,
                       rate * kernels::bus_factor(kind, curve.ranks), point.wrong);
        }
        if (const auto fit = curve.fit()) {
            fmt::print("{:<30}  {:.1f} us + bytes / {:.3f} GB/s, off by {:.0f} % at most\n", "",
                       fit->fixed * 1e6, 1e-9 / std::max(fit->per_unit, 1e-18),
                       100 * fit->off_most);
        }
    }
}

void calibrate(const CalibrateOptions& given) {
    runtime::CalibrationOptions options = given.calibration;
    const scenarios::Scenario scenario = given.live.read_scenario();
    options.device = given.live.device(scenario);
    options.workers_max = given.live.workers.value_or(std::min(scenario.job.instances_max, 2));
    std::optional<scenarios::LiveCosts>
        earlier;  // read first: a file that does not fit is said at once
    if (!given.compare.empty()) {
        earlier = scenarios::read_costs(given.compare);
        scenarios::expect_costs_of(*earlier, scenario, given.compare, options.device);
    }
    analysis::OutputFile out(given.out, given.force);
    const std::string scratch = given.out + "-checkpoints";
    expect_no_folder(scratch);
    const CommandScratch folder(scratch);
    options.live = given.live.live_options(scenario, scratch);
    if (!given.batches.empty()) {
        options.settings = runtime::batch_grid(scenario, options.workers_max, given.batches);
    } else if (!given.only_plan) {
        options.settings = runtime::calibration_grid(scenario, options.workers_max);
    }
    std::unique_ptr<kernels::MeasuredDevice> device;  // null: the host
    if (!given.no_machine && options.live.remote.hosts.empty()) {
        device = backend_named(given.live.backend).measured_device();
        options.machine.emplace();
        options.machine->device = device.get();
        options.machine->ranks = options.workers_max;
        options.machine->folder = options.live.folder;
        options.machine->operations = 30 / options.repetitions + 1;  // spread over them
    }
    options.on_progress = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
    const scenarios::LiveCosts costs = runtime::measure_costs(scenario, options);
    out.write(scenarios::costs_json(costs));
    print_costs(costs);
    print_machine(costs.machine);
    if (earlier) {
        fmt::print("\n{}",
                   runtime::difference_table(runtime::differences(costs, *earlier, given.compare)));
        fmt::print("there: {}\n", given.compare);
    }
    fmt::print("\ncosts: {}\n", given.out);
}

}  // namespace

void add_calibrate(CLI::App& app) {
    auto options = std::make_shared<CalibrateOptions>();
    CLI::App* command = app.add_subcommand(
        "calibrate", "measure what steps, resizes and checkpoints cost on this machine");
    options->live.add_to(*command);
    options->live.network.add_to(*command);
    runtime::CalibrationOptions& calibration = options->calibration;
    command->add_option("--steps", calibration.steps, "steps of a measured stretch (default: 50)")
        ->check(CLI::Range(1, 1'000'000));
    command->add_option("--stretches", calibration.stretches, "stretches a repetition (default: 5)")
        ->check(CLI::Range(1, 1000));
    command
        ->add_option("--repeat", calibration.repetitions,
                     "repetitions, with new processes each (default: 3)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--out", options->out, "where to write the costs, as box.json")->required();
    command->add_option("--compare", options->compare,
                        "costs measured earlier: say whether both agree within their spread (which "
                        "leaves the exit code as it is)");
    command
        ->add_option("--batches", options->batches,
                     "only the scenario's own Plan and these batches of a worker, as in 32,64,128")
        ->delimiter(',')
        ->check(CLI::Range(1, 1'000'000'000))
        ->excludes(command->add_flag("--only-plan", options->only_plan,
                                     "only the scenario's own Plan, no other batches, codecs and "
                                     "synchronisations"));
    command->add_flag("--no-machine", options->no_machine,
                      "leave out copies, collectives, codecs, monitors and checkpoints by size, as "
                      "--hosts does: they are this machine's");
    command->add_flag("--force", options->force, "replace the file if it is there already");
    command->callback([options] { calibrate(*options); });
}

}  // namespace ukemi::cli
