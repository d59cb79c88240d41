// predict.cpp — `ukemi predict`: what runs will take that nobody measured, written down; then the
// runs.
#include <fmt/format.h>

#include <memory>

#include "analysis/output_folder.hpp"
#include "base/input_error.hpp"
#include "cli/command.hpp"
#include "cli/live_workers.hpp"
#include "cli/run_options.hpp"
#include "runtime/prediction.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

struct PredictOptions {
    LiveWorkerOptions live;
    std::string costs;
    std::string out;
    std::vector<std::string> settings;
    std::size_t most = 8;
    int repetitions = 3;
    double wall_s = 3;
    bool force = false;
    bool no_run = false;
};

std::vector<scenarios::StepSetting> the_settings(const PredictOptions& options,
                                                 const scenarios::LiveCosts& costs,
                                                 const scenarios::Scenario& scenario) {
    std::vector<scenarios::StepSetting> settings;
    for (const std::string& text : options.settings) {
        settings.push_back(runtime::parse_setting(text, scenario, "--run"));
    }
    if (settings.empty()) settings = runtime::unmeasured_settings(costs, scenario, options.most);
    if (settings.empty()) {
        throw InputError(
            options.costs, "/steps",
            "there are no batches between those measured: calibrate with more of them, "
            "or name runs with --run");
    }
    return settings;
}

void predict(const PredictOptions& options) {
    const scenarios::Scenario scenario = options.live.read_scenario();
    const std::string device = options.live.device(scenario);
    const scenarios::LiveCosts costs = scenarios::read_costs(options.costs);
    const fs::path folder = options.out;
    analysis::OutputFolder out(folder, options.force);
    const std::string checkpoints = folder.string() + "-checkpoints";
    expect_no_folder(checkpoints);
    const auto settings = the_settings(options, costs, scenario);
    const runtime::Prediction prediction =
        runtime::predict_runs(costs, options.costs, scenario, settings, options.wall_s, device);
    const std::string digest = runtime::write_prediction(prediction, out.staging());
    out.commit();
    fmt::print("{} runs predicted, digest {}, written before any of them ({})\n", settings.size(),
               digest, (folder / "prediction.json").string());
    std::fflush(stdout);
    if (options.no_run) return;
    const CommandScratch scratch(checkpoints);
    const runtime::LiveOptions live = options.live.live_options(scenario, checkpoints);
    const auto compared =
        runtime::run_predicted(scenario, prediction, folder, options.repetitions, live);
    out.add("comparison.csv", runtime::comparison_csv(compared, digest));
    fmt::print("{}\n\n{}", prediction.device, runtime::comparison_table(compared));
    fmt::print("\nmedian of {}, in turn; error = predicted / measured - 1: {}\n",
               options.repetitions, (folder / "comparison.csv").string());
}

}  // namespace

void add_predict(CLI::App& app) {
    auto options = std::make_shared<PredictOptions>();
    CLI::App* command = app.add_subcommand(
        "predict", "predict runs that no calibration measured, then run them and compare");
    options->live.add_to(*command);
    options->live.network.add_to(*command);
    command->add_option("--costs", options->costs, "costs measured by `ukemi calibrate`")
        ->required();
    add_results_option(*command, options->out, "folder for the prediction and the comparison")
        ->required();
    command
        ->add_option("--run", options->settings,
                     "a run, as in workers=2,batch=96,micro_steps=2,synchronisation=pair_averaging,"
                     "codec=top_k:0.01 (default: what lies between the measured ones)")
        ->allow_extra_args(false);
    command->add_option("--most", options->most, "runs at most, without --run (default: 8)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--repeat", options->repetitions, "times that each is run (default: 3)")
        ->check(CLI::Range(1, 1000));
    command->add_option("--seconds", options->wall_s, "about so long each time (default: 3)")
        ->check(CLI::Range(0.01, 86'400.0));
    command->add_flag("--only-predict", options->no_run, "stop before anything runs");
    command->add_flag("--force", options->force, "replace results that are there already");
    command->callback([options] { predict(*options); });
}

}  // namespace ukemi::cli
