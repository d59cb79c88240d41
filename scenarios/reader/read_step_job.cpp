// read_step_job.cpp — keys of "job": what is computed, how it is cut and sent, what holds it up.
#include "scenarios/reader/read_step_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/key_notes.hpp"
#include "scenarios/reader/read_collective.hpp"
#include "scenarios/reader/read_model.hpp"
#include "scenarios/reader/read_pass_times.hpp"
#include "scenarios/reader/read_step_codec.hpp"
#include "scenarios/reader/read_step_layout.hpp"
#include "scenarios/reader/read_variable_update.hpp"
#include "sim/cluster/cost_curve.hpp"
#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/memory_need.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/step/codec_kernels.hpp"
#include "sim/step/layer_times.hpp"
#include "sim/step/monitor_time.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::scenarios {

namespace {

Bytes size_of(ConfigReader& config, std::string_view key, Bytes otherwise) {
    if (!config.has(key)) return otherwise;
    const Bytes size = config.bytes(key);
    constexpr std::int64_t least = 1024;
    if (size.raw() < least) {
        config.fail(key, fmt::format("expected at least {} bytes, found {}", least, size.raw()));
    }
    return size;
}

Duration short_duration(ConfigReader& config, std::string_view key, Duration otherwise) {
    const Duration given = config.duration(key, otherwise);
    if (given > hours(1)) config.fail(key, "expected at most 1 h");
    return given;
}

// What a mode of updating variables takes where the scenario does not say.
struct ModeDefaults {
    sim::BucketKind buckets = sim::BucketKind::tensors;
    sim::LaunchKind launch = sim::LaunchKind::by_name;
    std::string_view collective = "ring";
};
ModeDefaults defaults_of(sim::VariableUpdate update) {
    switch (update) {
        case sim::VariableUpdate::all_reduce:
            return {sim::BucketKind::filled, sim::LaunchKind::in_order, cheapest_collective};
        case sim::VariableUpdate::replicated:
            return {sim::BucketKind::tensors, sim::LaunchKind::in_order, cheapest_collective};
        case sim::VariableUpdate::distributed_all_reduce:
            return {sim::BucketKind::tensors, sim::LaunchKind::in_order, "ring"};
        case sim::VariableUpdate::horovod:
            return {sim::BucketKind::tensors, sim::LaunchKind::coordinated, "ring"};
        default: return {};
    }
}

// What says how gradients are summed goes with updates that sum them; of two models that are
// averaged, only when they begin.
void expect_sums(ConfigReader& config, sim::VariableUpdate update) {
    const bool alone = update == sim::VariableUpdate::independent;
    const bool pairs = update == sim::VariableUpdate::pair_averaging;
    const auto refuse = [&](std::string_view key) {
        config.fail(key, fmt::format("does not go with {}, which {}",
                                     sim::variable_update_names[static_cast<std::size_t>(update)],
                                     alone   ? "sends nothing"
                                     : pairs ? "sends whole models"
                                             : "sums on servers"));
    };
    if (!alone && !pairs && !sim::has_servers(update)) return;
    for (const std::string_view key : {"collective", "nccl_algorithms"}) {
        if (config.has(key)) refuse(key);
    }
    if ((alone || pairs) && config.has("buckets")) refuse("buckets");
    for (const std::string_view key : {"launch", "transport"}) {
        if (alone && config.has(key)) refuse(key);
    }
}

sim::BucketRule read_buckets(ConfigReader& job, sim::BucketKind otherwise) {
    sim::BucketRule rule;
    rule.kind = otherwise;
    auto config = job.object_if_present("buckets");
    if (!config) return rule;
    rule.kind = config->choice<sim::BucketKind>(
        "rule", sim::bucket_kind_names,
        sim::bucket_kind_names[static_cast<std::size_t>(otherwise)]);
    if (rule.kind == sim::BucketKind::filled) {
        rule.first = size_of(*config, "first", rule.first);
        rule.size = size_of(*config, "size", rule.size);
    } else if (rule.kind == sim::BucketKind::chunks) {
        config->expect_absent({"first"}, "goes with \"rule\": \"filled\"");
        rule.size = size_of(*config, "size", mebibytes(1));
    } else {
        config->expect_absent({"first"}, "goes with \"rule\": \"filled\"");
        config->expect_absent({"size"}, "goes with \"rule\": \"filled\" or \"chunks\"");
    }
    config->finish();
    return rule;
}

// Once it is known whether collectives take NCCL's times, which begin with an overhead of their
// own.
void read_launch(ConfigReader& config, sim::LaunchKind otherwise, sim::StepJob& job) {
    sim::LaunchRule& rule = job.launch;
    rule.kind = otherwise;
    if (job.nccl) rule.overhead = {};
    auto launch = config.object_if_present("launch");
    if (!launch) return;
    if (job.pair_model > Bytes{}) {
        if (launch->has("rule")) {
            launch->fail("rule", "does not go with pair_averaging, which sends whole models");
        }
        rule.overhead = short_duration(*launch, "overhead", rule.overhead);
        return launch->finish();
    }
    rule.kind = launch->choice<sim::LaunchKind>(
        "rule", sim::launch_kind_names,
        sim::launch_kind_names[static_cast<std::size_t>(otherwise)]);
    rule.overhead = short_duration(*launch, "overhead", rule.overhead);
    if (rule.kind == sim::LaunchKind::coordinated) {
        rule.cycle = short_duration(*launch, "cycle", rule.cycle);
        rule.fusion = size_of(*launch, "fusion", rule.fusion);
        rule.response_cache = launch->flag("response_cache", rule.response_cache);
        rule.message = short_duration(*launch, "message", rule.message);
        rule.request = short_duration(*launch, "request", rule.request);
        if (rule.request > milliseconds(1)) launch->fail("request", "expected at most 1 ms");
        if (launch->has("request_bytes")) rule.request_bytes = launch->bytes("request_bytes");
        if (rule.request_bytes > mebibytes(1)) {
            launch->fail("request_bytes", "expected at most 1 MiB");
        }
    } else {
        launch->expect_absent(
            {"cycle", "fusion", "response_cache", "message", "request", "request_bytes"},
            "goes with \"rule\": \"coordinated\"");
    }
    launch->finish();
}

void read_hindrances(ConfigReader& config, sim::StepJob& job) {
    if (auto stragglers = config.object_if_present("stragglers")) {
        job.stragglers.independent = stragglers->number("independent", 0, 4, 0);
        job.stragglers.persistent = stragglers->number("persistent", 0, 4, 0);
        job.stragglers.machine = stragglers->number("machine", 0, 4, 0);
        stragglers->finish();
    }
    if (auto validation = config.object_if_present("validation")) {
        job.validation.every = validation->integer("every", 1, steps_most);
        job.validation.samples = validation->integer("samples", 1, 1'000'000'000'000);
        job.validation.distributed = validation->flag("distributed", true);
        validation->finish();
    }
    if (auto input = config.object_if_present("input")) {
        job.input.samples_per_second = input->rate("rate", "samples/s");
        job.input.ahead = input->integer("ahead", 1, 10'000, job.input.ahead);
        input->finish();
    }
}

void take_workers(ConfigReader& config, std::vector<sim::DeviceId>& left, sim::StepJob& job) {
    const auto most = static_cast<std::int64_t>(left.size());
    if (most == 0) config.fail("workers", "no worker of the cluster is left for this job");
    constexpr std::int64_t any = 1 << 20;
    const std::int64_t count = config.integer("workers", 1, any, most);
    if (count > most) {
        config.fail("workers",
                    fmt::format("expected at most {}, the workers of the cluster that no other "
                                "job has, found {}",
                                most, count));
    }
    job.workers.assign(left.begin(), left.begin() + count);
    left.erase(left.begin(), left.begin() + count);
}

// Whether the order of ranks is the scenario's, and not the machines': a layout's places, and a
// schedule by name that knows no machines.
bool keeps_order(ConfigReader& config) {
    if (config.has("layout")) return true;
    if (!config.has("collective") || KeyExplorer::of(config.file()) != nullptr) return false;
    const std::string name = config.text("collective");
    const auto named = std::ranges::find(policies::collective_names(), name);
    if (named == policies::collective_names().end()) return false;
    const auto which =
        static_cast<policies::Collective>(named - policies::collective_names().begin());
    return which != policies::Collective::automatic && !sim::goes_by_machine(which);
}

// Those of a machine one after another, machines in the order of their first workers.
void stand_by_machine(const sim::Topology& topology, std::vector<sim::DeviceId>& workers) {
    std::map<sim::MachineId, std::size_t> first;
    for (const sim::DeviceId worker : workers) {
        first.try_emplace(topology.device(worker).machine, first.size());
    }
    std::ranges::stable_sort(workers, {}, [&](sim::DeviceId worker) {
        return first.at(topology.device(worker).machine);
    });
}

// A step of a layout if no stage waited for another: each on the slowest of its workers, divided
// evenly.
double alone_in_layout_s(const sim::StepJob& job, const sim::LayoutRequest& request) {
    const sim::LayoutWork& work = *job.layout;
    const sim::PipelineSpec spec = request.pipeline();
    // In two-way pipelines hosts wait for pairs of passes, not for each.
    const bool host_waits = spec.workers > 1 && spec.copies() == 1;
    const std::size_t each = job.compute.size() / static_cast<std::size_t>(spec.workers);
    double all_s = 0;
    for (std::int32_t stage = 0; stage < spec.stages() / spec.copies(); ++stage) {
        std::vector<Duration> longest(work.other_kinds.size() + 1);  // by kind
        const std::size_t first = static_cast<std::size_t>(spec.worker_of(stage)) * each;
        for (std::size_t rank = first; rank < first + each; ++rank) {
            Duration& of_kind = longest[work.kind_of(rank)];
            of_kind = std::max(of_kind, job.compute[rank]);
        }
        double slowest_s = 0;
        for (std::size_t kind = 0; kind < longest.size(); ++kind) {
            if (longest[kind] == Duration{}) continue;
            const sim::StageWork& here = work.stages_on(kind)[static_cast<std::size_t>(stage)];
            const double share = sim::share_alone(here, job.accumulation, host_waits);
            slowest_s = std::max(slowest_s, share * to_seconds(longest[kind]));
        }
        all_s += slowest_s;
    }
    double updated = 0;
    for (const double share : work.update_shares) updated += share;
    return (all_s + to_seconds(job.longest_update()) * updated) / request.degrees.pipeline;
}

// What a GPU keeps of each parameter for the exchange: error feedback what has not been sent, pair
// averaging the partner's model.
std::int64_t values_exchanged(const sim::StepCodec& codec, sim::VariableUpdate update) {
    const bool rest = sim::keeps_rest(kernels::find_codec(codec.name)->kind);
    return rest || update == sim::VariableUpdate::pair_averaging ? 1 : 0;
}

// What is computed and sent where, as the layout says; without one, the buckets of all gradients.
void cut_model(ConfigReader& config, const sim::ModelProfile& model, const MemoryKind& memory,
               std::span<const double> layers_ready, StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    const sim::LayoutRequest& request = entry.request;
    entry.memory = sim::layout_memory(model, request, memory.rule);
    entry.whole = sim::memory_need(model, job.batch, memory.rule);
    if (job.learners > 1) entry.memory.need = entry.whole;
    if (request.is_plain()) {
        entry.alone_s =
            to_seconds(job.accumulation * std::ranges::max(job.compute) + job.longest_update());
        job.buckets = sim::gradient_buckets(model, request.buckets, request.value_bytes,
                                            config.place_of("buckets"), layers_ready);
        entry.gradient = model.gradient_bytes(request.value_bytes);
        entry.buckets = static_cast<std::int64_t>(job.buckets.size());
        return;
    }
    entry.alone_s = alone_in_layout_s(job, request);
    std::vector<Bytes> sizes(static_cast<std::size_t>(request.degrees.pipeline));
    std::vector<std::int64_t> counts(sizes.size());
    std::int32_t stage = 0;
    for (const sim::StageWork& work : job.layout->stages) {
        const auto rank = static_cast<std::size_t>(request.pipeline().worker_of(stage++));
        for (const auto& buckets : {work.buckets, work.expert_buckets}) {
            for (const sim::GradientBucket& bucket : buckets) {
                sizes[rank] += bucket.bytes;
                ++counts[rank];
            }
        }
    }
    const auto most = static_cast<std::size_t>(std::ranges::max_element(sizes) - sizes.begin());
    entry.gradient = sizes[most];
    entry.buckets = counts[most];
}

// Puts buckets on servers, or leaves them where they are.
void update_variables(const ConfigReader& config, const sim::Topology& topology,
                      const ServerRequest& request, StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    const std::string_view name =
        sim::variable_update_names[static_cast<std::size_t>(request.update)];
    entry.update = request.update;
    if (request.update == sim::VariableUpdate::all_reduce) return;
    if (job.layout) {
        refuse_beside(entry.request, config, "variable_update",
                      fmt::format("{} updates whole models", name));
    }
    if (request.update == sim::VariableUpdate::pair_averaging) {
        if (job.workers.size() < 2) config.fail("variable_update", "pair_averaging is for several");
        job.pair_model = entry.gradient;
    }
    if (request.update == sim::VariableUpdate::independent || job.pair_model > Bytes{}) {
        job.buckets.clear();
    }
    if (request.update == sim::VariableUpdate::replicated &&
        topology.device(job.workers.front()).machine !=
            topology.device(job.workers.back()).machine) {
        config.fail("variable_update", "replicated is for the workers of one machine");
    }
    job.servers = servers_of(config, topology, job.workers, request);
    job.sums_by_machine = request.update == sim::VariableUpdate::distributed_replicated;
    job.asynchronous = request.asynchronous || job.pair_model > Bytes{};
    if (!job.servers.empty()) {
        const std::vector<Bytes> load = sim::place_on_servers(job.buckets, job.servers.size());
        entry.most_on_a_server = std::ranges::max(load);
        // The servers update, in no time.
        entry.alone_s -= to_seconds(job.longest_update());
        job.update.clear();
    }
    if (job.asynchronous && job.input.samples_per_second > 0) {
        config.fail("input", "workers that do not wait for each other have no common input");
    }
}

// What measuring costs: operations on the GPU, and for the variance a second all-reduce.
void read_monitor(ConfigReader& config, const sim::ModelProfile& model, StepJobEntry& entry) {
    const auto monitor =
        config.choice<sim::GradientMonitor>("monitor", sim::gradient_monitor_names, "none");
    std::optional<Duration> operation;
    if (config.has("monitor_operation")) {
        operation = config.duration("monitor_operation");
        if (*operation > seconds(1)) config.fail("monitor_operation", "expected at most 1 s");
    }
    // One that is varied may be none.
    if (operation && !config.has("monitor")) {
        config.fail("monitor_operation", "goes with a \"monitor\"");
    }
    if (monitor == sim::GradientMonitor::none) return;
    const std::string name(sim::gradient_monitor_names[static_cast<std::size_t>(monitor)]);
    sim::StepJob& job = entry.job;
    if (!job.servers.empty() || job.layout || job.buckets.empty()) {
        refuse_beside(entry.request, config, "monitor",
                      name + " is for gradients of all workers that are all-reduced");
    }
    const std::string where = config.place_of("monitor");
    job.monitoring = sim::monitor_time(monitor, *entry.least_gpu, model, where, operation);
    if (monitor != sim::GradientMonitor::gradient_variance) return;
    if (entry.codec.name != "none") config.fail("monitor", name + " is for whole gradients");
    sim::add_squares(job.buckets);
    entry.buckets = static_cast<std::int64_t>(job.buckets.size());
}

// Stragglers stretch steps, so sums of times stay far below what an Instant holds.
void check_length(const ConfigReader& config, const sim::StepJob& job) {
    const double pass_s = to_seconds(std::ranges::max(job.compute));
    double step_s = pass_s * static_cast<double>(job.accumulation);
    if (job.input.samples_per_second > 0) {
        step_s += static_cast<double>(job.samples_per_step()) / job.input.samples_per_second;
    }
    if (job.validation.every > 0) {
        const double share =
            static_cast<double>(job.validation.samples) / static_cast<double>(job.batch);
        step_s += pass_s * (share + 1);
    }
    for (const sim::GradientBucket& bucket : job.buckets) {
        step_s += to_seconds(bucket.encode + bucket.decode);
    }
    if (!(step_s * static_cast<double>(job.steps) <= to_seconds(days(366)))) {
        config.fail("steps", "expected at most a year of steps, input, codec and validation");
    }
}

// By arithmetic, of which the backward pass has twice as much and what it computes again; or as it
// was measured, the update of the step before included: that waits for all gradients, as the
// forward pass for it.
double forward_share_of(const sim::ModelProfile& model) {
    if (model.measured) return 1 - model.measured->backward_share;
    const double forward = model.forward_flops();
    return forward > 0 ? forward / (3 * forward + model.flops_again()) : 1.0 / 3;
}

// What goes with the layout that was asked for.
void expect_fitting_layout(ConfigReader& config, const sim::ModelProfile& model,
                           const StepJobEntry& entry) {
    if (entry.learners.count > 1 && !entry.request.is_plain()) {
        config.fail("learners", entry.request.synchronised_norm
                                    ? "expected no \"batch_norm\": \"synchronised\" beside them"
                                    : "each has the whole model: expected no \"layout\"");
    }
    if (model.measured && (entry.request.synchronised_norm || entry.request.split_dense)) {
        config.fail("layout", "of a trace no layers are known: expected \"shard\" alone");
    }
}

}  // namespace

StepJobEntry read_step_job(ConfigReader config, const sim::Topology& topology, MemoryCheck check,
                           WorkersLeft& left) {
    StepJobEntry entry;
    sim::StepJob& job = entry.job;
    job.batch = config.integer("batch", 1, 1'000'000);
    sim::ModelProfile model = read_model(config, job.batch);
    entry.model = model.name;
    job.forward_share = forward_share_of(model);
    job.name = config.text("name", entry.model);
    if (job.name.empty()) config.fail("name", "expected a name, found \"\"");
    const ServerRequest servers = read_variable_update(config, topology, left);
    const ModeDefaults defaults = defaults_of(servers.update);
    expect_sums(config, servers.update);
    take_workers(config, left.workers, job);
    if (!keeps_order(config)) stand_by_machine(topology, job.workers);
    job.accumulation = config.integer("accumulation", 1, 10'000, 1);
    entry.codec = read_step_codec(config);
    MemoryKind memory = read_memory_kind(config);
    if (memory.loss != sim::LossKind::megatron && model.logits == 0) {
        config.fail("loss", fmt::format("{} has no logits", model.name));
    }
    entry.request = read_step_layout(config, static_cast<std::int64_t>(job.workers.size()));
    entry.learners = read_learners(config);
    expect_fitting_layout(config, model, entry);
    job.learners = entry.learners.count;
    memory.rule.learners = job.learners;
    memory.rule.values_exchanged = values_exchanged(entry.codec, servers.update);
    entry.memory_rule = memory.rule;
    entry.request.micro_batches = job.accumulation;
    entry.request.batch = job.batch;
    entry.request.value_bytes = sim::value_bytes(memory.precision);
    entry.request.buckets = read_buckets(config, defaults.buckets);
    sim::expect_countable(sim::memory_need(model, job.batch, memory.rule), model, job.batch,
                          config.place_of("batch"));
    if (!entry.request.is_plain()) {
        const bool by_norm = entry.request.synchronised_norm && !config.has("layout");
        job.layout = sim::make_layout(model, entry.request,
                                      config.place_of(by_norm ? "batch_norm" : "layout"));
    }
    expect_codec_fits_layout(config, entry);
    const std::vector<double> layers_ready =
        read_pass_times(config, topology, check, model, memory, entry);
    cut_model(config, model, memory, layers_ready, entry);
    read_hindrances(config, job);
    update_variables(config, topology, servers, entry);
    const policies::Layout& degrees = entry.request.degrees;
    if (job.validation.every > 0 && (job.asynchronous || degrees.tensor > 1 ||
                                     degrees.pipeline > 1 || entry.request.context > 1)) {
        config.fail("validation", "is for synchronous workers that hold the whole model");
    }
    encode_gradients(config, model, entry);
    read_monitor(config, model, entry);
    if (job.pair_model > Bytes{} || !job.servers.empty()) {
        read_transport(config, true, entry);
    } else {
        const bool open = defaults.collective == cheapest_collective;
        read_collective(
            config, topology,
            open ? usual_collective(topology, job.workers, left.nccl_log, cheapest_collective)
                 : defaults.collective,
            entry);
    }
    read_launch(config, defaults.launch, job);
    job.steps = config.integer("steps", 1, steps_most, 20);
    check_length(config, job);
    config.finish();
    entry.profile = std::move(model);
    return entry;
}

}  // namespace ukemi::scenarios
