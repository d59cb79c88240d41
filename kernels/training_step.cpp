// training_step.cpp — the order of things within a step: what can fail comes first, and the replica
// is touched only when everything has arrived.
#include "kernels/training_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/invariant.hpp"
#include "kernels/encoded_exchange.hpp"
#include "kernels/host_schedule.hpp"
#include "kernels/launcher.hpp"
#include "kernels/learners/learner_group.hpp"
#include "kernels/link_probe.hpp"

namespace ukemi::kernels {
namespace {

using StepClock = std::chrono::steady_clock;

std::int64_t ns_between(StepClock::time_point from, StepClock::time_point to) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
}

double squared_norm(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    return sum;
}

// The one model from which all replicas start anew with this step.
enum class Restart : std::uint8_t { none, own, central, rank_0 };

// Equal on all ranks: their replicas have done the same steps, and their Plans are compared later.
Restart restart_of(const Replica& replica, const policies::Plan& plan) {
    const policies::Synchronisation before = replica.synchronisation();
    if (replica.steps() == 0) return Restart::none;
    if (before == plan.synchronisation) {
        const bool dropped = plan.learning_rate < replica.learning_rate();
        return before == policies::Synchronisation::synchronous_averaging && dropped
                   ? Restart::central
                   : Restart::none;
    }
    if (before == policies::Synchronisation::synchronous_averaging) return Restart::central;
    return before == policies::Synchronisation::pair_averaging ? Restart::rank_0 : Restart::own;
}

template <class Values>
std::span<std::byte> bytes_of(Values& values) {
    return std::as_writable_bytes(std::span(values));
}

static_assert(std::is_trivially_copyable_v<StepWord>);

bool agree(std::span<const StepWord> words, std::int64_t samples) {
    std::int64_t together = 0;
    for (std::size_t rank = 0; rank < words.size(); ++rank) {
        const StepWord& word = words[rank];
        if (word.rank != rank || word.plan_version != words[0].plan_version ||
            word.plan_digest != words[0].plan_digest || word.step != words[0].step) {
            return false;
        }
        together += word.samples;
    }
    return together == samples;
}

// All but the noise scale.
StepReport report_of(std::vector<StepWord> words, const policies::Plan& plan) {
    StepReport report;
    double lost = 0;
    double whole = 0;
    double loss = 0;
    double correct = 0;
    std::vector<LocalNorm> norms;
    for (const StepWord& word : words) {
        report.samples += word.samples;
        loss += word.loss_sum;
        correct += word.correct;
        lost += word.codec_lost;
        whole += word.codec_whole;
        norms.push_back({word.samples, word.local_squared_norm});
    }
    report.loss = loss / static_cast<double>(report.samples);
    report.accuracy = correct / static_cast<double>(report.samples);
    // Rank 0's, though all have it: one number, whatever the ranks' machines are.
    const bool whole_average =
        plan.codec == policies::Codec::none || plan.codec == policies::Codec::fp16;
    const auto noise = plan.synchronisation == policies::Synchronisation::s_sgd && whole_average
                           ? noise_of_replicas(norms, words[0].average_squared_norm)
                           : std::nullopt;
    report.average_squared_norm = words[0].average_squared_norm;
    report.codec_error = whole > 0 ? std::sqrt(lost / whole) : 0;
    report.noise_measured = noise.has_value();
    report.squared_norm = noise ? noise->squared_norm : 0;
    report.covariance_trace = noise ? noise->covariance_trace : 0;
    const bool same = std::ranges::all_of(
        words, [&](const StepWord& word) { return word.wants_hold == words[0].wants_hold; });
    report.hold = same ? words[0].wants_hold : 0;
    report.words = std::move(words);
    return report;
}

}  // namespace

struct TrainingStep::State {
    State(const Model& of_model, const DataSet& on_data, Communicator& with_peers,
          StepSettings with_settings, LearnerGroup* with_learners)
        : model(of_model),
          data(on_data),
          peers(with_peers),
          settings(with_settings),
          members(with_peers.membership()),
          order(with_settings.seed, on_data.count),
          workspace(of_model.make_workspace()),
          buckets(make_buckets(of_model.tensors(), with_settings.bucket_bytes)),
          gradient(of_model.parameter_count()),
          learners(with_learners),
          links(with_peers, with_settings.link_steps) {
        if (members.size > 1) {
            launcher.emplace(
                peers, LaunchSettings{.coordinated = settings.launch == LaunchMode::coordinated});
        }
    }

    // What one run() knows, beside the buffers.
    struct Run {
        Run(const policies::Plan& of_plan, std::int64_t of_step) : plan(of_plan), step(of_step) {}
        const policies::Plan& plan;
        std::int64_t step;
        std::int64_t samples = 0;  // of all ranks
        Restart restart = Restart::none;
        std::span<const float> weights;  // at which the gradient is taken
        std::optional<int> peer;
        std::future<Outcome> exchange;
        std::span<const float> kept;  // by error feedback, to go out with this gradient
        StepWord word;
    };

    void take_schedule(const policies::Plan& plan);
    Outcome measure_links(Run& run);
    Outcome find_weights(const Replica& replica, Run& run);
    void begin_averaging(const Replica& replica, Run& run);
    void begin_pairing(Run& run);
    void compute(Run& run);
    void bucket_finished(std::size_t bucket, Run& run);
    Outcome run_learners(const Replica& replica, Run& run, std::int64_t position);
    Outcome sum_over_workers(std::span<float> corrections, Run& run);
    Outcome run_replica(const Replica& replica, Run& run);
    void begin_encoding(const Replica& replica, const Run& run);
    bool encodes(const policies::Plan& plan) const {
        return launcher && plan.codec != policies::Codec::none;
    }
    Outcome finish_exchange(Run& run);
    void take_mean(Run& run);
    Outcome gather_words(const StepWord& own, std::vector<StepWord>& words);
    void apply(Replica& replica, const Run& run, StepReport& report);

    const Model& model;
    const DataSet& data;
    Communicator& peers;
    StepSettings settings;
    Membership members;
    SampleOrder order;
    std::unique_ptr<Model::Workspace> workspace;
    std::vector<Bucket> buckets;
    std::vector<std::uint32_t> samples;
    std::vector<float> gradient;   // summed over samples, then their mean
    std::vector<float> exchanged;  // averaging: the sum of corrections; pairs: the peer's weights
    std::vector<float> restarted;  // the common model of a restart
    LearnerGroup* learners;
    std::unique_ptr<LearnerGroup> own_learners;
    LinkProbe links;
    std::optional<policies::Collective> scheduled;
    std::vector<std::int32_t> scheduled_tree;
    Schedule schedule;
    std::unique_ptr<EncodedExchange> encoded;  // of the last codec
    std::optional<Launcher> launcher;          // destroyed first: it waits for what uses the rest
};

void TrainingStep::State::take_schedule(const policies::Plan& plan) {
    if (scheduled == plan.collective && scheduled_tree == plan.tree) return;
    schedule = schedule_on_hosts(plan.collective, members.size, peers.hosts(), plan.tree);
    scheduled = plan.collective;
    scheduled_tree = plan.tree;
}

// No part of the step's times.
Outcome TrainingStep::State::measure_links(Run& run) {
    run.word.host = links.host();
    std::optional<LinkProbe::Met> met;
    const Outcome outcome = links.before_step(run.step, met);
    if (outcome != Outcome::ok || !met) return outcome;
    run.word.link_host = met->host;
    run.word.link_round_trip_ns = met->speed.round_trip_ns;
    run.word.link_bytes_per_second = met->speed.bytes_per_second;
    return outcome;
}

// A restart's model is kept beside the replica until the step is certain.
Outcome TrainingStep::State::find_weights(const Replica& replica, Run& run) {
    run.restart = restart_of(replica, run.plan);
    run.weights = replica.weights();
    if (run.restart == Restart::none) return Outcome::ok;
    const auto model_of = run.restart == Restart::central ? replica.central() : run.weights;
    restarted.assign(model_of.begin(), model_of.end());
    run.weights = restarted;
    if (run.restart != Restart::rank_0 || members.size == 1) return Outcome::ok;
    return peers.broadcast("restart", bytes_of(restarted), 0);
}

// The corrections depend on the models before the step alone, so their exchange hides behind the
// gradient's computation.
void TrainingStep::State::begin_averaging(const Replica& replica, Run& run) {
    exchanged.resize(gradient.size());
    if (run.restart == Restart::none) {
        replica.correction(exchanged);
    } else {
        std::ranges::fill(exchanged, 0.0F);  // all replicas are at the central model
    }
    if (!launcher) return;
    for (const Bucket& bucket : buckets) {
        launcher->launch(bucket.name, schedule,
                         std::span(exchanged).subspan(bucket.begin, bucket.end - bucket.begin));
    }
}

// Several learners, each with a replica of its own: what goes out is the sum of their corrections.
Outcome TrainingStep::State::run_learners(const Replica& replica, Run& run, std::int64_t position) {
    if (learners == nullptr) {
        own_learners = std::make_unique<LearnerGroup>(data, cpu_learners(model, data));
        learners = own_learners.get();
    }
    const OptimiserSettings& optimiser = replica.settings();
    const bool anew = run.restart != Restart::none;
    LearnerOrder wanted;
    wanted.learners = run.plan.learners_per_gpu;
    wanted.batch = run.plan.batch_per_learner;
    wanted.position = position;
    wanted.samples_of_all = run.samples;
    wanted.seed = settings.seed;
    wanted.step = {replica.rule(run.plan.learning_rate),
                   static_cast<float>(optimiser.averaging_rate)};
    wanted.central_momentum = static_cast<float>(optimiser.averaging_momentum);
    wanted.steps_done = replica.steps();
    wanted.central = anew ? std::span<const float>(restarted) : replica.central();
    wanted.central_previous = anew ? std::span<const float>(restarted) : replica.central_previous();
    wanted.restart = anew;
    const auto begun = StepClock::now();
    const LearnersDone done = learners->run(wanted, [&](std::span<float> corrections) {
        run.word.compute_ns = ns_between(begun, StepClock::now());
        const Outcome outcome = sum_over_workers(corrections, run);
        exchanged.assign(corrections.begin(), corrections.end());
        return outcome;
    });
    run.word.input_ns = done.input_waited.count();  // all before the exchange
    run.word.compute_ns -= run.word.input_ns;
    run.word.loss_sum = done.sum.loss_sum;
    run.word.correct = done.sum.correct;
    return done.outcome;
}

Outcome TrainingStep::State::sum_over_workers(std::span<float> corrections, Run& run) {
    if (!launcher) return Outcome::ok;
    const auto begun = StepClock::now();
    for (const Bucket& bucket : buckets) {
        launcher->launch(bucket.name, schedule,
                         corrections.subspan(bucket.begin, bucket.end - bucket.begin));
    }
    const LaunchResult result = launcher->wait_all();
    run.word.communication_ns = result.busy_ns;
    run.word.exposed_ns = ns_between(begun, StepClock::now());
    run.word.sent_bytes = static_cast<std::int64_t>(corrections.size_bytes());
    return result.outcome;
}

void TrainingStep::State::begin_pairing(Run& run) {
    run.peer = peer_of(settings.seed, run.step, members.rank, members.size);
    exchanged.assign(run.weights.begin(), run.weights.end());  // alone: the mean with oneself
    if (!run.peer) return;
    run.exchange = std::async(std::launch::async, [this, &run] {
        const auto begun = StepClock::now();
        const Outcome outcome =
            peers.exchange("pair", *run.peer, std::as_bytes(run.weights), bytes_of(exchanged));
        run.word.communication_ns += ns_between(begun, StepClock::now());
        return outcome;
    });
}

void TrainingStep::State::begin_encoding(const Replica& replica, const Run& run) {
    const policies::Plan& plan = run.plan;
    const bool same = encoded && encoded->settings().codec == plan.codec &&
                      encoded->settings().level == plan.codec_level;
    if (!same) {
        const EncodedSettings chosen{.codec = plan.codec,
                                     .level = plan.codec_level,
                                     .error_feedback = settings.error_feedback,
                                     .seed = settings.seed};
        encoded = std::make_unique<EncodedExchange>(chosen, model.tensors(), buckets, members);
    }
    const auto weight = static_cast<double>(members.size) /
                        static_cast<double>(std::max<std::int64_t>(run.samples, 1));
    encoded->begin(run.step, replica.codec_memory(), static_cast<float>(weight));
}

// Its sum over this rank's samples is complete: measured before it becomes everybody's.
void TrainingStep::State::bucket_finished(std::size_t index, Run& run) {
    const Bucket& bucket = buckets[index];
    const auto part = std::span(gradient).subspan(bucket.begin, bucket.end - bucket.begin);
    run.word.local_squared_norm += squared_norm(part);
    if (run.plan.synchronisation != policies::Synchronisation::s_sgd) return;
    if (encodes(run.plan)) {
        launcher->launch(bucket.name, [this, index, part] {
            return encoded->exchange(index, peers, schedule, part);
        });
        return;
    }
    if (!run.kept.empty()) {  // a mean over ranks, where this is a sum over samples
        const auto weight = static_cast<float>(run.samples) / static_cast<float>(members.size);
        for (std::size_t i = 0; i < part.size(); ++i)
            part[i] += weight * run.kept[bucket.begin + i];
    }
    if (launcher) launcher->launch(bucket.name, schedule, part);
}

void TrainingStep::State::compute(Run& run) {
    std::ranges::fill(gradient, 0.0F);
    std::size_t bucket = 0;
    const Model::Finished finished = [&](std::size_t tensor) {
        if (tensor == buckets[bucket].first_tensor) bucket_finished(bucket++, run);
    };
    const int parts = run.plan.accumulation * run.plan.learners_per_gpu;
    for (int part = 0; part < parts; ++part) {
        const Share share = share_of(run.word.samples, part, parts);
        const auto micro_batch = std::span(samples).subspan(static_cast<std::size_t>(share.begin),
                                                            static_cast<std::size_t>(share.count));
        const bool last = part + 1 == parts;
        const BatchResult result = model.gradient(run.weights, data, micro_batch, gradient,
                                                  *workspace, last ? finished : Model::Finished());
        run.word.loss_sum += result.loss_sum;
        run.word.correct += result.correct;
    }
    INVARIANT(bucket == buckets.size());  // the model has named every tensor
    const auto own = static_cast<double>(std::max<std::int64_t>(run.word.samples, 1));
    run.word.local_squared_norm /= own * own;
}

Outcome TrainingStep::State::finish_exchange(Run& run) {
    if (run.exchange.valid()) {
        run.word.sent_bytes = static_cast<std::int64_t>(run.weights.size_bytes());
        return run.exchange.get();
    }
    if (!launcher || run.plan.synchronisation == policies::Synchronisation::pair_averaging) {
        return Outcome::ok;
    }
    const LaunchResult result = launcher->wait_all();
    run.word.communication_ns += result.busy_ns;
    if (encodes(run.plan)) {
        const EncodedMeasures measured = encoded->measures();
        run.word.codec_ns = measured.codec_ns;
        run.word.communication_ns -= std::min(run.word.communication_ns, measured.codec_ns);
        run.word.sent_bytes = measured.bytes;
        run.word.codec_lost = measured.lost;
        run.word.codec_whole = measured.whole;
    } else {
        run.word.sent_bytes = static_cast<std::int64_t>(std::span(gradient).size_bytes());
    }
    return result.outcome;
}

// Over the samples of all ranks where the gradient is everybody's, else over one's own.
void TrainingStep::State::take_mean(Run& run) {
    const bool common = run.plan.synchronisation == policies::Synchronisation::s_sgd;
    if (common && encodes(run.plan)) {  // the codec has averaged
        run.word.average_squared_norm = squared_norm(gradient);
        return;
    }
    const std::int64_t count = common ? run.samples : std::max<std::int64_t>(run.word.samples, 1);
    const auto divisor = static_cast<float>(count);
    for (float& value : gradient) value /= divisor;
    if (common) run.word.average_squared_norm = squared_norm(gradient);
}

Outcome TrainingStep::State::gather_words(const StepWord& own, std::vector<StepWord>& words) {
    words.assign(static_cast<std::size_t>(members.size), own);
    if (members.size == 1) return Outcome::ok;
    return peers.all_gather("words", std::as_bytes(std::span(&own, 1)), bytes_of(words));
}

void TrainingStep::State::apply(Replica& replica, const Run& run, StepReport& report) {
    NoiseAverages noise = replica.noise();
    if (report.noise_measured) {
        noise.add({report.squared_norm, report.covariance_trace}, settings.noise_smoothing);
    }
    report.noise_scale = noise.noise_scale().value_or(0);
    if (run.restart != Restart::none) replica.restart_from(restarted);
    const double learning_rate = run.plan.learning_rate;
    if (learners_average(run.plan)) {
        replica.apply_learners(learning_rate, exchanged);
    } else if (run.plan.synchronisation == policies::Synchronisation::synchronous_averaging) {
        replica.apply_averaged(gradient, learning_rate, exchanged);
    } else if (run.plan.synchronisation == policies::Synchronisation::pair_averaging) {
        replica.apply_paired(gradient, learning_rate, exchanged);
    } else {
        replica.apply_gradient(gradient, learning_rate);
    }
    replica.note_noise(noise);
    if (encodes(run.plan)) replica.note_codec(encoded->memory());
    if (!learners_average(run.plan)) return;
    learners->committed(replica.steps(), replica.central(), replica.central_previous());
}

// The gradient at one model, and its exchange.
Outcome TrainingStep::State::run_replica(const Replica& replica, Run& run) {
    const auto begun = StepClock::now();
    if (run.plan.synchronisation == policies::Synchronisation::synchronous_averaging) {
        begin_averaging(replica, run);
    } else if (run.plan.synchronisation == policies::Synchronisation::pair_averaging) {
        begin_pairing(run);
    } else if (encodes(run.plan)) {
        begin_encoding(replica, run);
    } else {
        run.kept = replica.codec_memory().kept;
    }
    compute(run);
    const auto computed = StepClock::now();
    const Outcome outcome = finish_exchange(run);
    if (outcome != Outcome::ok) return outcome;
    run.word.compute_ns = ns_between(begun, computed);
    run.word.exposed_ns = ns_between(computed, StepClock::now());
    take_mean(run);
    return outcome;
}

TrainingStep::TrainingStep(const Model& model, const DataSet& data, Communicator& peers,
                           StepSettings settings, LearnerGroup* learners)
    : state_(std::make_unique<State>(model, data, peers, settings, learners)) {}
TrainingStep::~TrainingStep() = default;

StepResult TrainingStep::run(Replica& replica, const policies::Plan& plan,
                             std::uint64_t plan_digest, std::int64_t step, std::int64_t position,
                             std::uint32_t hold_seen) {
    State& state = *state_;
    const Membership& members = state.members;
    INVARIANT(training_refusal(plan, members.size).empty());
    INVARIANT(replica.size() == state.gradient.size());
    state.take_schedule(plan);
    const auto failed = [&](Outcome outcome) {
        return StepResult{.outcome = outcome, .report = {}, .suspect = state.peers.suspect()};
    };

    State::Run run(plan, step);
    run.samples = policies::samples_per_step(plan, members.size);
    const Share share = share_of(run.samples, members.rank, members.size);
    run.word = {.plan_version = index_of(plan.version),
                .plan_digest = plan_digest,
                .step = step,
                .wants_hold = hold_seen,
                .rank = static_cast<std::uint32_t>(members.rank),
                .samples = share.count};
    if (const Outcome outcome = state.measure_links(run); outcome != Outcome::ok) {
        return failed(outcome);
    }
    const auto begun = StepClock::now();
    if (!learners_average(plan)) {
        state.samples.resize(static_cast<std::size_t>(share.count));
        state.order.fill(position + share.begin, state.samples);
    }
    const auto ready = StepClock::now();
    if (const Outcome outcome = state.find_weights(replica, run); outcome != Outcome::ok) {
        return failed(outcome);
    }
    const auto restarted = StepClock::now();
    const Outcome exchanged = learners_average(plan)
                                  ? state.run_learners(replica, run, position + share.begin)
                                  : state.run_replica(replica, run);
    if (exchanged != Outcome::ok) return failed(exchanged);
    run.word.input_ns += ns_between(begun, ready);
    run.word.communication_ns += ns_between(ready, restarted);
    run.word.exposed_ns += ns_between(ready, restarted);
    std::vector<StepWord> words;
    const Outcome gathered = state.gather_words(run.word, words);
    if (gathered != Outcome::ok) return failed(gathered);
    if (!agree(words, run.samples)) {
        return {.outcome = Outcome::aborted, .report = {}, .plan_disagreement = true};
    }
    StepResult result{.report = report_of(std::move(words), plan)};
    state.apply(replica, run, result.report);
    return result;
}

}  // namespace ukemi::kernels
