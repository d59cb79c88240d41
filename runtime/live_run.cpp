#include "runtime/live_run.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/csv_writer.hpp"
#include "kernels/checkpoint_file.hpp"
#include "kernels/codec.hpp"
#include "kernels/replica_state.hpp"
#include "kernels/training_spec.hpp"
#include "runtime/live_journal.hpp"
#include "runtime/live_pieces.hpp"
#include "sim/job/world.hpp"

namespace ukemi::runtime {

policies::Capabilities live_capabilities(const sim::MarketData& market, const sim::JobSpec& job,
                                         bool scripted) {
    policies::Capabilities can = sim::simulated_capabilities(market, job);
    can.world = "live workers";
    can.knobs =
        can.knobs | policies::KnobSet{policies::Knob::batch, policies::Knob::accumulation,
                                      policies::Knob::learning_rate,
                                      policies::Knob::synchronisation, policies::Knob::codec};
    if (!scripted) can.knobs = can.knobs | policies::KnobSet{policies::Knob::collective};
    if (job.plan.synchronisation != policies::Synchronisation::pair_averaging) {
        can.knobs = can.knobs | policies::KnobSet{policies::Knob::learners_per_gpu};
    }
    can.learners_max = std::numeric_limits<std::int32_t>::max();
    can.codecs.clear();
    for (const kernels::CodecEntry& entry : kernels::all_codecs()) {
        if (entry.kind == policies::Codec::none) continue;
        can.codecs.push_back(
            {entry.kind, entry.level_min, entry.level_max, entry.whole_levels, true});
    }
    return can;
}

namespace {

const kernels::TrainingSpec& training_of(const scenarios::Scenario& scenario) {
    if (scenario.training) return *scenario.training;
    throw InputError(scenario.file.string(), "/training",
                     "missing: a live run needs to know what its workers train");
}

kernels::TrainingSpec seeded_training(const scenarios::Scenario& scenario, std::uint64_t seed) {
    kernels::TrainingSpec training = training_of(scenario);
    training.seed = seed;
    training.step.seed = seed;
    return training;
}

CrewSetup crew_setup(const scenarios::Scenario& scenario, std::uint64_t seed,
                     const LiveOptions& options) {
    CrewSetup crew;
    crew.training = seeded_training(scenario, seed);
    crew.worker_program = options.worker_program;
    crew.worker_arguments = options.worker_arguments;
    crew.folder = options.folder;
    crew.deadlines = options.deadlines;
    crew.cores = options.cores;
    crew.listen = options.listen;
    crew.remote = options.remote;
    crew.scripts_by_relay = options.scripts_by_relay;
    crew.agents = options.agents;
    if (options.share != nullptr) crew.wake = options.share->wake();
    return crew;
}

// The number of the model's parameters; nothing of a script, whose model only its workers make.
std::optional<std::size_t> count_parameters(const scenarios::Scenario& scenario,
                                            const kernels::TrainingSpec& training) {
    if (training.script.empty()) {
        const kernels::DataSet data = kernels::load_data(training.data);
        return kernels::make_model(training.model, data)->parameter_count();
    }
    std::error_code ignored;
    if (std::filesystem::is_regular_file(training.script, ignored)) return std::nullopt;
    throw InputError(
        scenario.file.string(), "/training/script",
        fmt::format("expected a Python file, found none at {}", training.script.string()));
}

// What would only come to light in the workers, said before any of them starts.
void check_training(const scenarios::Scenario& scenario, const CrewSetup& crew) {
    const sim::JobSpec& job = scenario.job;
    if (job.profile.lossless) {
        throw InputError(scenario.file.string(), "/job/checkpoint",
                         "a live run can lose its model: expected what a checkpoint costs, as in "
                         "{\"cost\": \"1 s\"}");
    }
    if (job.change_costs().whole_program) {
        throw InputError(scenario.file.string(), "/job/transition",
                         "a live group changes without ending the program: \"whole_program\" is "
                         "for simulations");
    }
    if (job.pipelines) {
        throw InputError(scenario.file.string(), "/job/pipelines",
                         "real workers are replicas: pipelines are for simulations");
    }
    const scenarios::MarketSource& market = scenario.market;
    if (market.rules.uneven() || !job.profile.communication.empty()) {
        throw InputError(scenario.file.string(), market.rules.uneven() ? "/market" : "/job",
                         "real workers are as fast as they are: a live run has no "
                         "\"machine_speeds\", \"slow_machines\" or \"communication\"");
    }
    for (const scenarios::ZoneSource& zone : market.zones) {
        if (zone.speed_per_mille == 1000) continue;
        throw InputError(scenario.file.string(), "/market",
                         "real workers are as fast as they are: a live run has no \"speed\"");
    }
    for (const sim::TransferRow& row : market.transfer.rows) {
        if (row.bandwidth.raw() <= 0) continue;
        throw InputError(scenario.file.string(), "/market/transfer",
                         "real workers move their model as fast as they can: a live run has no "
                         "\"bandwidth\" between regions");
    }
    for (const std::int32_t workers : {job.workers_min, job.instances_max}) {
        const std::string refused = kernels::step_refusal(crew.training, job.plan, workers);
        if (refused.empty()) continue;
        throw InputError(scenario.file.string(), "/training",
                         fmt::format("with {} workers: {}", workers, refused));
    }
}

// What policies could make of learners that no worker could then train.
void check_learners(const scenarios::Scenario& scenario, const scenarios::PolicyList& list) {
    policies::KnobSet turned;
    for (const auto& policy : scenarios::make_policies(list)) turned = turned | policy->knobs();
    policies::Plan several = scenario.job.plan;
    several.learners_per_gpu = std::max(several.learners_per_gpu, 2);
    const bool has_several = scenario.job.plan.learners_per_gpu > 1;
    if (!has_several && !turned.has(policies::Knob::learners_per_gpu)) return;
    const std::string refused =
        kernels::step_refusal(training_of(scenario), several, scenario.job.workers_min);
    if (!refused.empty()) {
        throw InputError(
            list.where, "",
            fmt::format("\"{}\" turns the number of learners, and with two of them: {}",
                        list.label(), refused));
    }
    const bool averages = kernels::learners_average(several);
    for (const policies::Knob knob : {policies::Knob::synchronisation, policies::Knob::batch,
                                      policies::Knob::accumulation, policies::Knob::codec}) {
        const bool fits = !averages && knob != policies::Knob::synchronisation;
        if (fits || !turned.has(knob)) continue;
        throw InputError(list.where, "",
                         fmt::format("\"{}\" turns {}: several learners a worker leave it as it is",
                                     list.label(), policies::name_of(knob)));
    }
}

void resume(const std::filesystem::path& file, std::optional<std::size_t> parameters,
            LiveSetup& live) {
    const kernels::Checkpoint saved = kernels::read_checkpoint(file);
    if (saved.job != kernels::job_identity(live.crew.training)) {
        throw InputError(file.string(), "",
                         "is of another training: script, data, model, optimiser or seed differ");
    }
    if (parameters) kernels::expect_trainable_state(saved.state, *parameters, file.string());
    live.resume_from = file;
    live.resume_samples = saved.position;
    live.resume_steps = saved.step;
}

constexpr std::int64_t link_steps_usual = 100;

std::int64_t link_steps_of(const scenarios::PolicyList& list, const LiveOptions& options) {
    if (options.link_steps) return *options.link_steps;
    const auto made = scenarios::make_policies(list);
    const bool looks =
        std::ranges::any_of(made, [](const auto& policy) { return policy->looks_at_links(); });
    return looks ? link_steps_usual : 0;
}

LiveSetup live_setup(const scenarios::Scenario& scenario, const scenarios::PolicyList& list,
                     std::uint64_t seed, const LiveOptions& options) {
    LiveSetup live;
    live.crew = crew_setup(scenario, seed, options);
    live.crew.link_steps = link_steps_of(list, options);
    live.time_scale = options.time_scale;
    live.stop_requests = options.stop_requests;
    live.stop_within = options.stop_within;
    live.host_loss = options.host_loss;
    live.on_agents = options.on_agents;
    live.lost_to = options.lost_to;
    live.remarks = options.remarks;
    live.first_pause = options.first_pause;
    live.share = options.share;
    live.wall = options.wall;
    return live;
}

// With all that can be refused looked at.
LiveSetup checked_setup(const scenarios::Scenario& scenario, const scenarios::PolicyList& list,
                        std::uint64_t seed, const LiveOptions& options) {
    LiveSetup live = live_setup(scenario, list, seed, options);
    live.budget = options.budget;
    live.stop_at = options.stop_at;
    if (options.before) {
        live.earlier_time = options.before->totals.duration;
        live.earlier_cost = options.before->totals.cost;
    }
    const auto parameters = count_parameters(scenario, live.crew.training);
    check_training(scenario, live.crew);
    check_learners(scenario, list);
    if (!options.resume_from.empty()) resume(options.resume_from, parameters, live);
    return live;
}

void note_resumed(const LiveSetup& live, const LiveOptions& options, LiveRecord& record) {
    if (live.resume_from.empty()) return;
    LiveRecord::Resumed resumed;
    resumed.from = live.resume_from.filename().string();
    resumed.folder = live.resume_from.parent_path();
    resumed.steps = live.resume_steps;
    resumed.samples = live.resume_samples;
    if (options.before) resumed.pieces = options.before->pieces;
    resumed.time = live.earlier_time;
    resumed.cost = live.earlier_cost;
    record.resumed = std::move(resumed);
}

// It could not live through its past.
bool is_refused(const LiveTrainer* trainer) { return trainer != nullptr && trainer->relives(); }

// Whatever broke the run off: its workers are still there.
void keep_model(LiveTrainer& trainer, LiveRecord& record) {
    try {
        trainer.keep_model();
    } catch (const std::exception& error) {
        record.incidents.push_back(fmt::format("the model is not saved: {}", error.what()));
    }
}

// Nobody knows beforehand how long real workers take: what the scenario says is where it starts.
sim::JobSpec live_job(const scenarios::Scenario& scenario, const sim::MarketData& market) {
    sim::JobSpec job = scenarios::job_on(scenario, market);
    if (job.predictor.kind == policies::PredictorKind::disturbed) {
        throw InputError(scenario.file.string(), "/predictor",
                         "a live run corrects its forecast by what it measures: expected "
                         "\"calibrated\", found \"disturbed\"");
    }
    job.predictor.kind = policies::PredictorKind::calibrated;
    return job;
}

// What it could not take back is the last that is said.
void end_provider(CommandProvider& provider, LiveRun& live_run) {
    const records::RunResult& result = live_run.run.result;
    provider.ended(Instant{} + result.duration, result.cost);
    for (std::string& kept : provider.finish())
        live_run.record.incidents.push_back(std::move(kept));
    live_run.provider = provider.log();
}

void note_outcome(const LiveOptions& options, const LiveTrainer& trainer, LiveRun& live_run) {
    records::RunResult& result = live_run.run.result;
    const LiveRecord& record = live_run.record;
    const bool told = (options.stop_requests != nullptr && options.stop_requests->load() > 0) ||
                      trainer.machine_goes();
    live_run.interrupted = told && !result.finished;
    if (!result.finished && !record.stopped.empty()) result.unfinished_because = record.stopped;
    if (record.steps.empty()) return;
    result.loss = record.steps.back().report.loss;
    result.accuracy = record.steps.back().report.accuracy;
}

policies::Capabilities checked_capabilities(const scenarios::Scenario& scenario,
                                            const scenarios::NamedMarket& market,
                                            const scenarios::PolicyList& list,
                                            const sim::JobSpec& job) {
    const bool scripted = !training_of(scenario).script.empty();
    policies::Capabilities world_can = live_capabilities(market.data, job, scripted);
    scenarios::check_policies(list, scenario, world_can);
    const std::string refused = policies::refusal(world_can, job.plan);
    if (!refused.empty()) throw InputError(scenario.file.string(), "", refused);
    return world_can;
}

}  // namespace

void expect_live(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market,
                 const scenarios::PolicyList& list) {
    checked_capabilities(scenario, market, list, live_job(scenario, market.data));
    const CrewSetup crew = crew_setup(scenario, scenario.seed, {});
    count_parameters(scenario, crew.training);
    check_training(scenario, crew);
    check_learners(scenario, list);
}

std::uint64_t live_job_identity(const scenarios::Scenario& scenario, std::uint64_t seed) {
    return kernels::job_identity(seeded_training(scenario, seed));
}

namespace {

// With every checkpoint, what the run has come to until then is kept, and then its owner is told.
std::function<void(const LiveRecord&)> progress_of(const LiveOptions& options, std::uint64_t job,
                                                   const sim::World*& running, LiveRecord& kept) {
    if (!options.keeps_account) return options.on_progress;
    return
        [&options, &running, &kept, job, saved = std::size_t{0}](const LiveRecord& record) mutable {
            const std::size_t before = std::exchange(saved, record.saved_samples.size());
            if (before < saved) {
                const Instant at = record.last_saved_at;  // the World hears of it after this
                keep_account(options, job, running->so_far(records::Cause::checkpoint, at), kept);
            }
            if (options.on_progress) options.on_progress(record);
        };
}

// What was before it is in none of these times but those of LiveSetup.
LiveRun run_piece(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market,
                  const scenarios::PolicyList& list, std::uint64_t seed,
                  const LiveOptions& options) {
    const sim::JobSpec job = live_job(scenario, market.data);
    const policies::Capabilities world_can = checked_capabilities(scenario, market, list, job);
    LiveSetup live = checked_setup(scenario, list, seed, options);
    const sim::World* running = nullptr;
    live.spent_by = [&running, earlier = live.earlier_cost](Instant now) {
        return running->spent_by(now) + earlier;
    };
    LiveRun live_run;
    const std::uint64_t identity = kernels::job_identity(live.crew.training);
    live.zones = static_cast<std::uint32_t>(market.data.zones.size());
    live.on_progress = progress_of(options, identity, running, live_run.record);
    records::DecisionLog log(scenarios::decision_log_header(
        scenario, market.name, job, world_can, list, seed, options.keep.all_questions));
    std::optional<ProviderSetup> provider_setup = options.provider;
    const auto journaled =
        begin_journal(options, log.text() + scenario.resolved, live, provider_setup);
    note_resumed(live, options, live_run.record);
    std::optional<CommandProvider> provider;
    if (provider_setup) live.provider = &provider.emplace(std::move(*provider_setup));
    sim::WorldSetup setup;
    setup.market = &market.data;
    setup.job = &job;
    setup.policies = scenarios::make_policies(list);
    setup.oracle = list.needs_oracle();
    setup.seed = seed;
    setup.keep_timeline = options.keep.timeline;
    if (options.keep.decisions) setup.log = &log;
    if (options.keep.events) {
        setup.on_event = [&](Instant at, sim::Phase phase, const sim::Event& event) {
            live_run.run.events += scenarios::event_line(at, phase, event);
        };
    }
    setup.capabilities = world_can;
    if ((options.agents && !provider) || options.share != nullptr) setup.places = 0;
    if (provider) setup.provider = &*provider;
    LiveTrainer* trainer = nullptr;
    const policies::Controller* learnt = nullptr;
    setup.make_trainer = [&](policies::Controller& controller, records::Ledger& ledger,
                             sim::RunQueue& queue) {
        if (provider) provider->attach(queue);
        learnt = &controller;
        auto made =
            std::make_unique<LiveTrainer>(job, live, controller, ledger, queue, live_run.record);
        trainer = made.get();
        return made;
    };
    sim::World world(std::move(setup));
    running = &world;
    records::RunResult& result = live_run.run.result;
    try {
        result = world.run();
    } catch (const std::exception& error) {
        if (is_refused(trainer) || live_run.record.steps.empty()) throw;
        live_run.failure = std::current_exception();
        live_run.record.stopped = error.what();
        keep_model(*trainer, live_run.record);
        result = world.broken_off();
    }
    live_run.record.steps_of_model = learnt->steps_done();
    const bool broke = live_run.failure != nullptr;
    keep_account(options, identity, broke ? world.so_far(records::Cause::wasted, {}) : result,
                 live_run.record);
    if (provider) end_provider(*provider, live_run);
    note_outcome(options, *trainer, live_run);
    result.scenario = scenario.name;
    result.trace = market.name;
    result.policy = list.label();
    if (options.keep.decisions) live_run.run.decisions = log.text();
    return live_run;
}

}  // namespace

LiveRun run_live(const scenarios::Scenario& scenario, const scenarios::NamedMarket& market,
                 const scenarios::PolicyList& list, std::uint64_t seed,
                 const LiveOptions& options) {
    if (!options.before) return run_piece(scenario, market, list, seed, options);
    expect_money_left(options);
    LiveRun live_run = run_piece(scenario_after(*options.before, scenario),
                                 market_after(*options.before, market), list, seed, options);
    make_whole(*options.before, scenario.job, live_run);
    return live_run;
}

namespace {

void add_rank_times(CsvWriter& csv, const LiveRecord::Step& step) {
    kernels::StepWord most;  // of the slowest rank, each
    for (const kernels::StepWord& word : step.report.words) {
        most.compute_ns = std::max(most.compute_ns, word.compute_ns);
        most.exposed_ns = std::max(most.exposed_ns, word.exposed_ns);
        most.input_ns = std::max(most.input_ns, word.input_ns);
        most.communication_ns = std::max(most.communication_ns, word.communication_ns);
        most.codec_ns = std::max(most.codec_ns, word.codec_ns);
        most.sent_bytes = std::max(most.sent_bytes, word.sent_bytes);
    }
    for (const std::int64_t time_ns :
         {most.compute_ns, most.exposed_ns, most.input_ns, most.communication_ns, most.codec_ns}) {
        csv.add(static_cast<double>(time_ns) * 1e-9);
    }
    csv.add(most.sent_bytes);
}

}  // namespace

std::string steps_csv(const LiveRecord& record) {
    CsvWriter csv({"t_s", "step", "workers", "samples", "loss", "accuracy", "squared_norm",
                   "covariance_trace", "noise_scale", "compute_s", "exposed_communication_s",
                   "input_wait_s", "communication_s", "encoding_s", "sent_bytes", "codec_error",
                   "learners"});
    for (const LiveRecord::Step& step : record.steps) {
        const kernels::StepReport& report = step.report;
        csv.add(to_seconds(step.at.since_start())).add(step.step).add(step.workers);
        csv.add(step.samples).add(report.loss).add(report.accuracy).add(report.squared_norm);
        csv.add(report.covariance_trace).add(report.noise_scale);
        add_rank_times(csv, step);
        csv.add(report.codec_error).add(step.learners);
        csv.end_row();
    }
    return csv.text();
}

namespace {

nlohmann::ordered_json resumed_json(const LiveRecord& record) {
    if (!record.resumed) return nullptr;
    const LiveRecord::Resumed& resumed = *record.resumed;
    nlohmann::ordered_json json = {{"from", resumed.from},       {"steps", resumed.steps},
                                   {"samples", resumed.samples}, {"earlier_pieces", nullptr},
                                   {"earlier_s", nullptr},       {"earlier_usd", nullptr}};
    if (resumed.pieces == 0) return json;  // nobody knows
    json["earlier_pieces"] = resumed.pieces;
    json["earlier_s"] = to_seconds(resumed.time);
    json["earlier_usd"] = to_dollars(resumed.cost);
    return json;
}

}  // namespace

std::string live_json(const LiveRecord& record) {
    const auto seconds_of = [](std::chrono::nanoseconds time) {
        return static_cast<double>(time.count()) * 1e-9;
    };
    const auto list = [&](const std::vector<std::chrono::nanoseconds>& times) {
        nlohmann::ordered_json values = nlohmann::ordered_json::array();
        for (const auto time : times) values.push_back(seconds_of(time));
        return values;
    };
    nlohmann::ordered_json document;
    document["steps_made"] = record.steps.size();
    document["steps_of_model"] = record.steps_of_model;
    document["torn_steps"] = record.torn_steps;
    document["digest_at_last_change"] = fmt::format("{:016x}", record.digest);
    document["spawn_wall_s"] = list(record.spawns);
    document["checkpoint_wall_s"] = list(record.checkpoint_times);
    document["last_checkpoint"] = record.last_checkpoint.filename().string();
    document["stopped"] = record.stopped;
    document["resumed"] = resumed_json(record);
    document["transitions"] = nlohmann::ordered_json::array();
    for (const LiveRecord::Transition& one : record.transitions) {
        document["transitions"].push_back(
            {{"t_s", to_seconds(one.at.since_start())},
             {"workers", one.workers},
             {"learners", one.learners},
             {"group_changed", one.group_changed},
             {"rendezvous_wall_s", seconds_of(one.rendezvous)},
             {"state_transfer_wall_s", seconds_of(one.state_transfer)},
             {"total_wall_s", seconds_of(one.total)},
             {"exchange", one.exchange}});
    }
    document["takeovers"] = nlohmann::ordered_json::array();
    for (const LiveRecord::Takeover& one : record.takeovers) {
        document["takeovers"].push_back({{"t_s", to_seconds(one.at.since_start())},
                                         {"term", one.term},
                                         {"gap_s", to_seconds(one.at - one.since)},
                                         {"cost_usd", to_dollars(one.cost)}});
    }
    document["links"] = nlohmann::ordered_json::array();
    for (const auto& [hosts, link] : record.links) {
        document["links"].push_back(
            {{"hosts", {hosts.first, hosts.second}},
             {"workers", {index_of(link.workers[0]), index_of(link.workers[1])}},
             {"t_s", to_seconds(link.at.since_start())},
             {"round_trip_wall_s", seconds_of(link.round_trip)},
             {"bytes_per_wall_second", link.bytes_per_second},
             {"times", link.times}});
    }
    document["incidents"] = record.incidents;
    document["agents"] = record.agents;
    return document.dump(1) + "\n";
}

}  // namespace ukemi::runtime
