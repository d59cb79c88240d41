// train.cpp — `ukemi train`: the scenario's job with real workers, and its prediction beforehand.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "base/read_file.hpp"
#include "base/shell_word.hpp"
#include "base/socket_address.hpp"
#include "base/text_digest.hpp"
#include "cli/command.hpp"
#include "cli/notice_options.hpp"
#include "cli/progress_line.hpp"
#include "cli/run_options.hpp"
#include "cli/train_agents.hpp"
#include "cli/train_resume.hpp"
#include "records/run_json.hpp"
#include "runtime/calibration.hpp"
#include "runtime/notices/metadata_service.hpp"
#include "runtime/notices/notice_watch.hpp"
#include "runtime/run_journal.hpp"
#include "sim/job/world.hpp"

namespace ukemi::cli {

namespace {

namespace fs = std::filesystem;

// What workers are told is a signed number. The range is of unsigned ones: CLI11 reads a signed one
// that is too large as the largest.
constexpr auto seed_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

constexpr std::string_view own_market = "scenario";  // as --revocations has it

void set_limits(const TrainOptions& options, runtime::LiveOptions& live) {
    live.stop_within =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.stop_within_s));
    if (options.budget_usd) live.budget = dollars(*options.budget_usd);
    live.stop_at = runtime::world_time(options.stop_at);
}

// The command lines of all workers that there may be at once.
void print_commands(const runtime::LiveOptions& live, int workers_max) {
    if (live.remote.hosts.empty()) {
        std::vector<std::string> words{live.worker_program.string()};
        words.insert(words.end(), live.worker_arguments.begin(), live.worker_arguments.end());
        for (int i = 0; i < workers_max; ++i) fmt::print("{}\n", shell_line(words));
        return;
    }
    int left = workers_max;
    for (const runtime::WorkerHost& host : live.remote.hosts) {
        const std::vector<std::string> words =
            runtime::remote_command(live.remote, host, live.worker_arguments);
        for (int i = 0; i < host.slots && left > 0; ++i, --left) {
            fmt::print("{}\n", shell_line(words));
        }
    }
}

scenarios::PolicyList the_list(const TrainOptions& options, const scenarios::Scenario& scenario) {
    if (options.policies.empty()) return scenarios::first_policies(scenario);
    std::vector<scenarios::PolicyList> lists =
        scenarios::parse_policies(options.policies, scenario, "--policies");
    if (lists.size() == 1) return std::move(lists.front());
    throw InputError("--policies", "",
                     fmt::format("expected one list, as one run has, found {}", lists.size()));
}

scenarios::NamedMarket the_market(const TrainOptions& options, const scenarios::Scenario& scenario,
                                  std::uint64_t seed) {
    if (!options.agents.empty()) {
        return scenarios::told_market(scenario, "agents");
    }
    if (options.revocations.empty()) return scenarios::calm_market(scenario);
    if (options.revocations == own_market) return scenarios::make_market(scenario, seed);
    return scenarios::make_market(scenario, seed, options.revocations);
}

analysis::ReplayInputs inputs_of(const TrainOptions& options, const scenarios::Scenario& scenario,
                                 const scenarios::PolicyList& list, std::uint64_t seed) {
    analysis::ReplayInputs inputs;
    inputs.scenario = &scenario;
    const bool own = options.revocations.empty() || options.revocations == own_market;
    if (!own) inputs.traces = {options.revocations};
    inputs.policies = {list.label()};
    inputs.seeds = {seed};
    return inputs;
}

// Incidents as they happen; on a terminal also a line that is overwritten as steps are committed.
class ProgressReport {
public:
    ProgressReport(std::int64_t samples_total, runtime::NoticeWatch& notices)
        : samples_total_(samples_total), notices_(&notices) {}

    void operator()(const runtime::LiveRecord& record) {
        for (const std::string& remark : notices_->take_remarks()) say_on_the_way(remark + "\n");
        told_ = std::max(told_, record.incidents_before);  // said by the coordinator before
        agents_told_ = std::max(agents_told_, record.agents_before);
        for (; told_ < record.incidents.size(); ++told_) {
            say_on_the_way(fmt::format("incident: {}\n", record.incidents[told_]));
        }
        for (; agents_told_ < record.agents.size(); ++agents_told_) {
            say_on_the_way(record.agents[agents_told_] + "\n");
        }
        const auto now = std::chrono::steady_clock::now();
        if (isatty(STDERR_FILENO) != 1 || record.steps.empty() || now < next_) return;
        next_ = now + std::chrono::milliseconds(200);
        const runtime::LiveRecord::Step& step = record.steps.back();
        say_on_the_way(fmt::format(
            "step {}, {} workers, {:.1f} %, loss {:.4f}", step.step, step.workers,
            100 * static_cast<double>(step.samples) / static_cast<double>(samples_total_),
            step.report.loss));
    }

private:
    std::int64_t samples_total_;
    runtime::NoticeWatch* notices_;
    std::size_t told_ = 0;
    std::size_t agents_told_ = 0;
    std::chrono::steady_clock::time_point next_;
};

// Simulates what is about to happen, with measured costs, and keeps it before it happens.
struct WrittenPrediction {
    std::string digest;
    plots::FigureResult figures;
};
WrittenPrediction predict(const TrainOptions& options, const scenarios::Scenario& scenario,
                          const scenarios::NamedMarket& market, const scenarios::PolicyList& list,
                          std::uint64_t seed, analysis::OutputFolder& folder) {
    scenarios::check_policies(list, scenario,
                              sim::simulated_capabilities(market.data, scenario.job));
    const scenarios::FinishedRun run =
        scenarios::run_one(scenario, market, list, seed, {true, true, true, false});
    analysis::ReplayInputs inputs = inputs_of(options, scenario, list, seed);
    inputs.predicted = {options.costs, options.time_scale, options.live.workers,
                        options.revocations.empty()};
    plots::FigureResult figures = analysis::write_results(folder, inputs, std::span(&run, 1), {});
    fmt::print("predicted: {:.3f} s, {:.6f} USD, {} transitions, {} plans ({})\n",
               to_seconds(run.result.duration), to_dollars(run.result.cost), run.result.transitions,
               run.result.plans, folder.path().string());
    return {fmt::format("{:016x}", text_digest(read_file(folder.path() / "runs.json"))),
            std::move(figures)};
}

void print_summary(const runtime::LiveRun& live, const fs::path& folder) {
    const records::RunResult& result = live.run.result;
    fmt::print("{}", analysis::policy_table(std::span(&result, 1)));
    fmt::print("\nsteps: {} made, {} of the model, torn: {}", live.record.steps.size(),
               live.record.steps_of_model, live.record.torn_steps);
    if (result.loss) fmt::print(", last loss: {:.4f}", *result.loss);
    if (result.accuracy) fmt::print(", training accuracy: {:.3f}", *result.accuracy);
    if (result.revocations + result.failures > 0) {
        fmt::print("\nlosses: {} taken away, {} failed", result.revocations, result.failures);
    }
    if (!live.record.incidents.empty()) fmt::print("\nincidents: {}", live.record.incidents.size());
    fmt::print("\nresults: {}\n", folder.string());
}

void print_run(const runtime::LiveRun& live, bool as_json, const fs::path& folder) {
    if (!as_json) return print_summary(live, folder);
    fmt::print("{}", records::runs_json(std::span(&live.run.result, 1)));
}

// Whether the last checkpoint has all steps.
bool has_all_steps(const runtime::LiveRecord& record) {
    return !record.last_checkpoint.empty() &&
           (record.steps.empty() || record.last_saved_step > record.steps.back().step);
}

// How the run ended, where its model is, and how to go on from there.
void say_how_it_ended(const runtime::LiveRun& live, const TrainOptions& options) {
    const runtime::LiveRecord& record = live.record;
    const bool finished = live.run.result.finished;
    const std::int64_t done =
        record.steps.empty() ? record.last_saved_step : record.steps.back().step + 1;
    if (live.failure || !record.stopped.empty()) {
        say_on_the_way(fmt::format("stopped before step {}: {}\n", done, record.stopped));
    } else if (live.run.result.stuck) {
        say_on_the_way(fmt::format(
            "the run could not go on before step {}: the market stays as it is, and no policy "
            "buys what is missing\n",
            done));
    } else if (!finished) {
        say_on_the_way(
            fmt::format("the run gave up before step {}, and the work is not done\n", done));
    }
    if (record.last_checkpoint.empty()) {
        if (record.failed && done == 0) return;  // that says it all
        say_on_the_way("no model is saved: the work would begin anew\n");
        return;
    }
    const std::string file = record.last_checkpoint.string();
    const bool has_all = has_all_steps(record);
    const std::string what = has_all ? fmt::format("the model is saved, all {} steps of it", done)
                                     : fmt::format("the last checkpoint has {} of {} steps",
                                                   record.last_saved_step, done);
    const std::string how = finished && has_all
                                ? ""
                                : fmt::format("; --resume {}{} goes on from it", file,
                                              options.out.empty() ? "" : " with another --out");
    say_on_the_way(fmt::format("{}: {}{}\n", what, file, how));
}

// Takes the folder away again if nothing was put into it.
struct FolderIfUsed {
    fs::path folder;
    ~FolderIfUsed() {
        std::error_code ignored;
        if (fs::is_empty(folder, ignored)) fs::remove(folder, ignored);
    }
};

// A resumed run has a folder of its own: what was done before it stays as it is.
fs::path results_folder(const TrainOptions& options, const analysis::ReplayInputs& inputs) {
    if (!options.out.empty()) return options.out;
    std::string name = analysis::default_results_folder(inputs).string() + "-live";
    if (!options.resume.empty()) {
        name += "-from-" + analysis::file_name_of(fs::path(options.resume).stem().string());
    }
    return name;
}

void set_up(const TrainOptions& options, const Resumed& resumed, runtime::LiveOptions& live) {
    live.resume_from = resumed.checkpoint;
    live.before = resumed.before;
    live.keeps_account = true;
    set_limits(options, live);
    live.time_scale = options.time_scale;
    live.link_steps = options.link_steps;
    live.keep = {true, true, true, options.log_events};
}

nlohmann::json about_run(const TrainOptions& options, const scenarios::Scenario& scenario,
                         const std::string& device) {
    nlohmann::json about = {{"backend", options.live.backend},
                            {"time_scale", options.time_scale},
                            {"workers_max", scenario.job.instances_max},
                            {"revocations", options.revocations},
                            {"cores", options.live.cores},
                            {"hosts", options.live.network.hosts},
                            {"agents", options.agents},
                            {"device", device}};
    if (scenario.training && !scenario.training->script.empty()) about["backend"] = "pytorch";
    return about;
}

// The results folder of a run that has ended.
bool write_live(analysis::OutputFolder& results, const analysis::ReplayInputs& inputs,
                runtime::LiveRun& live, bool has_provider) {
    live.run.files = {{"steps.csv", runtime::steps_csv(live.record)},
                      {"live.json", runtime::live_json(live.record)}};
    if (has_provider) live.run.files.push_back({"provider.jsonl", live.provider});
    return analysis::say_figures(
        analysis::write_results(results, inputs, std::span(&live.run, 1), {}));
}

// There is something to measure, and somebody who does.
void expect_links(const TrainOptions& options, const scenarios::Scenario& scenario) {
    if (options.link_steps.value_or(0) == 0) return;
    if (options.live.network.hosts.empty() && options.agents.empty()) {
        throw InputError("--measure-links", "", "goes with --hosts or --agents");
    }
    if (scenario.training && !scenario.training->script.empty()) {
        throw InputError("--measure-links", "", "workers of a script do not measure links");
    }
}

void open_door(runtime::RunLease& lease, const runtime::AgentDoor& door) {
    lease.has_begun();
    say_on_the_way(fmt::format("agents may join at {}\n", door.address.text()));
}

void train(const TrainOptions& options) {
    scenarios::Scenario scenario = options.live.read_scenario();
    const std::optional<runtime::AgentDoor> agents = agents_of(options, scenario);
    if (options.ranks && own_rank() > 0) return be_agent_of_rank(options, *agents);
    const FileDescriptor held = agents ? hold_door(*agents) : FileDescriptor();
    const std::string device = options.live.device(scenario);
    const runtime::LiveOptions would = options.live.worker_options(scenario);  // or a complaint
    expect_links(options, scenario);
    if (options.dry_run) return print_commands(would, scenario.job.instances_max);
    const std::uint64_t seed = options.seed.value_or(scenario.seed);
    auto notice_sources = sources_in(options.notices);
    const scenarios::PolicyList list = the_list(options, scenario);
    const scenarios::NamedMarket market = the_market(options, scenario, seed);
    const std::optional<runtime::ProviderSetup> provider = provider_of(options, market);
    analysis::ReplayInputs inputs = inputs_of(options, scenario, list, seed);
    Resumed resumed;
    if (!agents) resumed = resumed_run(options, scenario, seed, nullptr);
    if (resumed.finished) return;
    const fs::path folder = results_folder(options, inputs);
    analysis::OutputFolder results(folder, options.force);
    OwnCheckpoints own_checkpoints(options, checkpoint_folder(options, folder));
    nlohmann::json about = about_run(options, scenario, device);
    bool drawn = true;
    if (!options.costs.empty()) {
        scenario.job.profile =
            scenarios::measured_profile(scenarios::read_costs(options.costs), scenario,
                                        options.time_scale, options.costs, device);
        analysis::OutputFolder predicted(folder.string() + "-predicted", options.force);
        WrittenPrediction written = predict(options, scenario, market, list, seed, predicted);
        about["prediction_digest"] = written.digest;
        drawn = analysis::say_figures(written.figures);
    }
    runtime::LiveOptions live_options =
        options.live.live_options(scenario, checkpoint_folder(options, folder));
    live_options.agents = agents;
    live_options.provider = provider;
    const FolderIfUsed checkpoints{live_options.folder};
    std::unique_ptr<runtime::RunLease> lease;
    if (agents) lease = lend(options, runtime::live_job_identity(scenario, seed), live_options);
    if (agents) resumed = resumed_run(options, scenario, seed, lease.get());
    if (resumed.finished) return end_run(*lease, live_options.folder);
    set_up(options, resumed, live_options);
    runtime::NoticeWatch notices(std::move(notice_sources));
    live_options.host_loss = [&notices] { return notices.loss(); };
    ProgressReport progress(scenario.job.samples_total, notices);
    live_options.on_progress = [&](const runtime::LiveRecord& record) {
        own_checkpoints.note(record);
        progress(record);
    };
    if (agents) live_options.on_open = [&] { open_door(*lease, *agents); };
    std::optional<OwnAgent> own_agent;
    if (options.ranks) own_agent.emplace(options, *agents);
    say_what_was_before(resumed);
    runtime::LiveRun live = runtime::run_live(scenario, market, list, seed, live_options);
    own_agent.reset();
    progress(live.record);
    say_how_it_ended(live, options);  // before anything else can fail
    const bool ends_here = lease && !live.record.replaced;
    // Machines that were bought have a bill, though nobody trained on them.
    if ((live.interrupted || live.record.failed) && live.record.steps.empty() && !provider) {
        if (ends_here) end_run(*lease, live_options.folder);
        throw ExitWith{exit_machine_failed};
    }
    inputs.live = about.dump();
    drawn = write_live(results, inputs, live, provider.has_value()) && drawn;
    if (ends_here) end_run(*lease, live_options.folder);
    print_run(live, options.json, folder);
    if (live.failure) std::rethrow_exception(live.failure);
    const bool is_done = live.run.result.finished && has_all_steps(live.record);
    if (!is_done || !drawn) throw ExitWith{exit_machine_failed};
}

void add_agent_options(CLI::App& command, TrainOptions& options) {
    command.add_option("--agents", options.agents,
                       "ADDRESS:PORT of this machine, in numbers: workers run where agents are "
                       "that join there (ukemi agent), and what they offer is the market");
    command.add_option("--secret-file", options.secret_file,
                       "the secret that agents have, too, in a file of mode 0600 (default: what "
                       "the variable UKEMI_AGENT_SECRET holds)");
    command.add_option("--rendezvous", options.rendezvous,
                       "redis:HOST:PORT, in numbers: who leads the run is agreed on there, and "
                       "agents find it there (default: a file in the folder of checkpoints)");
    command.add_option("--redis-password-file", options.redis_password_file,
                       "that Redis's password, in a file of mode 0600 (default: what the variable "
                       "UKEMI_REDIS_PASSWORD holds, or none)");
    command.add_option("--provider", options.provider,
                       "command:PROGRAM is asked for machines and takes them back (JSON in and "
                       "out, runtime/README.md); they start agents. static:HOSTS is --hosts, "
                       "trace:FILE is --revocations");
    command.add_flag("--ranks", options.ranks,
                     "this command is started once a rank, by mpirun or srun: rank 0 leads the "
                     "run, and each rank is an agent of one slot");
    command.add_flag("--dry-run", options.dry_run,
                     "print the command lines that start the workers, and start nothing");
}

}  // namespace

void add_train(CLI::App& app) {
    auto options = std::make_shared<TrainOptions>();
    options->live.keeps_least = true;
    CLI::App* command = app.add_subcommand(
        "train", "run the scenario's job with real workers, adapting as it goes");
    options->live.add_to(*command);
    options->live.network.add_to(*command);
    command->add_option("--policies", options->policies,
                        "what adapts the run: a+b (default: the scenario's first list)");
    command->add_option("--revocations", options->revocations,
                        "a recorded trace that takes workers away and gives them back, or "
                        "`scenario` for the scenario's own market (default: nothing is taken)");
    command
        ->add_option("--time-scale", options->time_scale,
                     "seconds of the scenario in a second of the wall (default: 1)")
        ->check(CLI::Range(1e-3, 1e6));
    command
        ->add_option(
            "--stop-within", options->stop_within_s,
            "seconds for the last step and for saving when told to stop by SIGINT, SIGTERM "
            "or SIGHUP; a second SIGINT stops at once (default: 20)")
        ->check(CLI::Range(0.0, 86'400.0));
    command->add_option(
        "--notices", options->notices,
        "who announces that this machine will be taken: policies see it as they see any notice, "
        "and the run saves and ends --stop-within before that moment: aws, azure, gce, "
        "file:PATH, command:PROGRAM, sigterm:SECONDS, one or several (ukemi list notices)");
    add_agent_options(*command, *options);
    command
        ->add_option("--measure-links", options->link_steps,
                     "measure round trips and bandwidth between the workers' hosts when a group "
                     "begins and every so many steps; 0: never (default: 100 if a policy looks at "
                     "them, else never)")
        ->check(CLI::Range(0, 1'000'000'000));
    command
        ->add_option("--budget", options->budget_usd,
                     "USD: the run saves and ends before its machines have cost so much")
        ->check(CLI::Range(0.0, 1e9));
    command
        ->add_option("--stop-at", options->stop_at,
                     "a time such as 2026-11-23T08:22:00Z: the run saves and ends before")
        ->check([](const std::string& text) {
            return std::string(
                runtime::world_time(text) ? "" : "expected a time such as 2026-11-23T08:22:00Z");
        });
    command->add_option("--seed", options->seed, "of weights, samples and draws")
        ->check(CLI::Range(std::uint64_t{0}, seed_max));
    command->add_option("--costs", options->costs,
                        "costs measured by `ukemi calibrate`: predict the run before it starts");
    command->add_option("--resume", options->resume,
                        "a checkpoint to go on from, or a run's folder of them: the newest that is "
                        "whole and that account.json there knows, or, if its coordinator was "
                        "killed and its agents still have its "
                        "workers (--agents), where these stand. Clock, deadline, market, --budget "
                        "and bill go on from what account.json beside it says; the time in between "
                        "does not count");
    add_results_option(*command, options->out,
                       "folder for results (default: results/<scenario>-<hash>-live, and "
                       "-from-<checkpoint> if it is resumed); the model is saved beside it, in "
                       "<out>-checkpoints, or with --resume FOLDER in that folder");
    command->add_flag("--force", options->force,
                      "replace results that are there; a new run also removes old checkpoints");
    command->add_flag("--json", options->json, "print the run as JSON instead of the table");
    command->add_flag("--log-events", options->log_events, "also write events.jsonl");
    command->callback([options] { train(with_provider(*options)); });
}

}  // namespace ukemi::cli
