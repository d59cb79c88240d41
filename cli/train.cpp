// train.cpp — `ukemi train`: the scenario's job with real workers, and its prediction beforehand.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "cli/command.hpp"
#include "cli/live_workers.hpp"
#include "cli/results.hpp"
#include "cli/table.hpp"
#include "records/run_json.hpp"
#include "scenarios/calibration.hpp"
#include "sim/world.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

struct Options {
    LiveWorkerOptions live;
    std::string policies;
    std::string revocations;
    double time_scale = 1;
    std::optional<std::uint64_t> seed;
    std::string costs;
    std::string resume;
    std::string out;
    bool force = false;
    bool json = false;
    bool log_events = false;
};

PolicyList the_list(const Options& options, const Scenario& scenario) {
    std::vector<PolicyList> lists = options.policies.empty()
                                        ? scenario.policies
                                        : parse_policies(options.policies, scenario, "--policies");
    if (options.policies.empty() || lists.size() == 1) return std::move(lists.front());
    throw InputError("--policies", "",
                     fmt::format("expected one list, as one run has, found {}", lists.size()));
}

NamedMarket the_market(const Options& options, const Scenario& scenario, std::uint64_t seed) {
    if (options.revocations.empty()) return calm_market(scenario);
    if (options.revocations == "scenario") return make_market(scenario, seed);
    return make_market(scenario, seed, options.revocations);
}

// One line on the terminal that is overwritten as steps are committed.
std::function<void(const LiveRecord::Step&)> step_line(const Scenario& scenario) {
    if (isatty(STDERR_FILENO) != 1) return {};
    auto last = std::make_shared<std::chrono::steady_clock::time_point>();
    return [last, total = scenario.job.samples_total](const LiveRecord::Step& step) {
        const auto now = std::chrono::steady_clock::now();
        if (now - *last < std::chrono::milliseconds(200)) return;
        *last = now;
        fmt::print(
            stderr, "\r\x1b[Kstep {}, {} workers, {:.1f} %, loss {:.4f}", step.step, step.workers,
            100 * static_cast<double>(step.samples) / static_cast<double>(total), step.report.loss);
        std::fflush(stderr);
    };
}

// Simulates what is about to happen, with measured costs, and keeps it before it happens.
std::string predict(const Options& options, const Scenario& scenario, const NamedMarket& market,
                    const PolicyList& list, std::uint64_t seed, const fs::path& folder) {
    check_policies(list, scenario, simulated_capabilities(market.data, scenario.job));
    const FinishedRun run = run_one(scenario, market, list, seed, {true, true, true, false});
    ReplayInputs inputs;
    inputs.scenario = &scenario;
    if (!options.revocations.empty()) inputs.traces = {options.revocations};
    inputs.policies = {list.label()};
    inputs.seeds = {seed};
    write_results(folder, inputs, std::span(&run, 1), false);
    fmt::print("predicted: {:.3f} s, {:.6f} USD, {} transitions, {} plans ({})\n",
               to_seconds(run.result.duration), to_dollars(run.result.cost), run.result.transitions,
               run.result.plans, folder.string());
    return fmt::format("{:016x}", text_digest(read_file(folder / "runs.json")));
}

void print_summary(const LiveRun& live, const fs::path& folder) {
    const RunResult& result = live.run.result;
    fmt::print("{}", policy_table(std::span(&result, 1)));
    fmt::print("\nsteps: {}, torn: {}", live.record.steps.size(), live.record.torn_steps);
    if (result.loss) fmt::print(", last loss: {:.4f}", *result.loss);
    if (result.accuracy) fmt::print(", training accuracy: {:.3f}", *result.accuracy);
    fmt::print("\nresults: {}\n", folder.string());
    for (const std::string& incident : live.record.incidents) {
        fmt::print(stderr, "incident: {}\n", incident);
    }
}

// What a run that did not finish leaves behind, and how to go on from it.
void print_last_checkpoint(const LiveRecord& record) {
    if (record.last_checkpoint.empty()) {
        fmt::print(stderr, "there is no checkpoint: the work would begin anew\n");
    } else {
        fmt::print(stderr, "the last checkpoint is {}; --resume {} goes on from it\n",
                   record.last_checkpoint.string(), record.last_checkpoint.string());
    }
}

// Takes the folder away again if nothing was put into it.
struct FolderIfUsed {
    fs::path folder;
    ~FolderIfUsed() {
        std::error_code ignored;
        if (fs::is_empty(folder, ignored)) fs::remove(folder, ignored);
    }
};

void train(const Options& options) {
    Scenario scenario = options.live.read_scenario();
    const std::string device = options.live.device();
    const std::uint64_t seed = options.seed.value_or(scenario.seed);
    const PolicyList list = the_list(options, scenario);
    const NamedMarket market = the_market(options, scenario, seed);
    ReplayInputs inputs;
    inputs.scenario = &scenario;
    if (!options.revocations.empty()) inputs.traces = {options.revocations};
    inputs.policies = {list.label()};
    inputs.seeds = {seed};
    const fs::path folder = options.out.empty()
                                ? fs::path(default_results_folder(inputs).string() + "-live")
                                : fs::path(options.out);
    check_results_folder(folder, options.force);
    nlohmann::json about = {{"backend", options.live.backend},
                            {"time_scale", options.time_scale},
                            {"workers_max", scenario.job.instances_max},
                            {"revocations", options.revocations},
                            {"cores", options.live.cores},
                            {"device", device}};
    if (!options.costs.empty()) {
        scenario.job.profile = measured_profile(read_costs(options.costs), scenario,
                                                options.time_scale, options.costs, device);
        const fs::path predicted = folder.string() + "-predicted";
        check_results_folder(predicted, options.force);
        about["prediction_digest"] = predict(options, scenario, market, list, seed, predicted);
    }
    LiveOptions live_options = options.live.live_options(folder.string() + "-checkpoints");
    live_options.time_scale = options.time_scale;
    live_options.resume_from = options.resume;
    live_options.keep = {true, true, true, options.log_events};
    live_options.on_step = step_line(scenario);
    const FolderIfUsed checkpoints{live_options.folder};
    LiveRun live = run_live(scenario, market, list, seed, live_options);
    if (live_options.on_step) fmt::print(stderr, "\r\x1b[K");
    if (live.interrupted) {
        fmt::print(stderr, "interrupted after {} steps\n", live.record.steps.size());
        print_last_checkpoint(live.record);
        throw ExitWith{exit_machine_failed};
    }
    inputs.live = about.dump();
    live.run.files = {{"steps.csv", steps_csv(live.record)}, {"live.json", live_json(live.record)}};
    write_results(folder, inputs, std::span(&live.run, 1), false);
    if (options.json) {
        fmt::print("{}", runs_json(std::span(&live.run.result, 1)));
    } else {
        print_summary(live, folder);
    }
    if (!live.run.result.finished) {
        fmt::print(stderr, "{}\n",
                   live.run.result.stuck
                       ? fmt::format("the run ended at {:.3f} s because it could not go on: the "
                                     "market stays as it is, and no policy buys what is missing",
                                     to_seconds(live.run.result.duration))
                       : std::string("the run gave up before the work was done"));
        print_last_checkpoint(live.record);
        throw ExitWith{exit_machine_failed};
    }
}

}  // namespace

void add_train(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(
        "train", "run the scenario's job with real workers, adapting as it goes");
    options->live.add_to(*command);
    command->add_option("--policies", options->policies,
                        "what adapts the run: a+b (default: the scenario's first list)");
    command->add_option("--revocations", options->revocations,
                        "a recorded trace that takes workers away and gives them back, or "
                        "`scenario` for the scenario's own market (default: nothing is taken)");
    command
        ->add_option("--time-scale", options->time_scale,
                     "seconds of the scenario in a second of the wall (default: 1)")
        ->check(CLI::Range(1e-3, 1e6));
    command->add_option("--seed", options->seed, "of weights, samples and draws")
        ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
    command->add_option("--costs", options->costs,
                        "costs measured by `ukemi calibrate`: predict the run before it starts");
    command->add_option("--resume", options->resume, "a checkpoint to go on from");
    command->add_option("--out", options->out,
                        "folder for results (default: results/<scenario>-<hash>-live)");
    command->add_flag("--force", options->force, "replace results that are there already");
    command->add_flag("--json", options->json, "print the run as JSON instead of the table");
    command->add_flag("--log-events", options->log_events, "also write events.jsonl");
    command->callback([options] { train(*options); });
}

}  // namespace ukemi
