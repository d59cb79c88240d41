// read_step_job.cpp — keys of "job": what is computed, how it is cut and sent, what holds it up.
#include "scenarios/read_step_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sim/cluster/known_curves.hpp"
#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/memory_need.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/step/collective_choice.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi {

namespace {

template <class Kind>
Kind one_of_names(ConfigReader& config, std::string_view key,
                  std::span<const std::string_view> names, std::string_view otherwise) {
    const std::string name = config.one_of(key, names, otherwise);
    return static_cast<Kind>(std::ranges::find(names, name) - names.begin());
}

std::string place(const ConfigReader& config, std::string_view key) {
    return fmt::format("{}: at {}/{}", config.file(), config.path(), key);
}

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

BucketRule read_buckets(ConfigReader& job) {
    BucketRule rule;
    auto config = job.object_if_present("buckets");
    if (!config) return rule;
    rule.kind = one_of_names<BucketKind>(*config, "rule", bucket_kind_names, "filled");
    if (rule.kind == BucketKind::filled) {
        rule.first = size_of(*config, "first", rule.first);
        rule.size = size_of(*config, "size", rule.size);
    } else if (rule.kind == BucketKind::chunks) {
        rule.size = size_of(*config, "size", mebibytes(1));
    }
    config->finish();
    return rule;
}

LaunchRule read_launch(ConfigReader& job) {
    LaunchRule rule;
    auto config = job.object_if_present("launch");
    if (!config) return rule;
    rule.kind = one_of_names<LaunchKind>(*config, "rule", launch_kind_names, "in_order");
    rule.overhead = short_duration(*config, "overhead", rule.overhead);
    if (rule.kind == LaunchKind::coordinated) {
        rule.cycle = short_duration(*config, "cycle", rule.cycle);
        rule.fusion = size_of(*config, "fusion", rule.fusion);
        rule.response_cache = config->flag("response_cache", rule.response_cache);
        rule.message = short_duration(*config, "message", rule.message);
    }
    config->finish();
    return rule;
}

void read_hindrances(ConfigReader& config, StepJob& job) {
    if (auto stragglers = config.object_if_present("stragglers")) {
        job.stragglers.independent = stragglers->number("independent", 0, 4, 0);
        job.stragglers.persistent = stragglers->number("persistent", 0, 4, 0);
        job.stragglers.machine = stragglers->number("machine", 0, 4, 0);
        stragglers->finish();
    }
    if (auto input = config.object_if_present("input")) {
        job.input.samples_per_second = input->rate("rate", "samples/s");
        job.input.ahead = input->integer("ahead", 1, 10'000, job.input.ahead);
        input->finish();
    }
}

void take_workers(ConfigReader& config, std::span<const DeviceId> left, StepJob& job) {
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
}

std::string_view gpu_of(const ConfigReader& config, const Topology& topology, DeviceId worker) {
    const std::string& preset = topology.machine(topology.device(worker).machine).preset;
    const std::string_view gpu = machine_named(preset, config.file()).gpu;
    if (gpu.empty()) {
        config.fail("", fmt::format("expected machines with GPUs, found {} without", preset));
    }
    return gpu;
}

// Fills in what each worker computes, after it has been checked that the batch fits.
void read_compute(ConfigReader& config, const Topology& topology, const ModelProfile& model,
                  StepJobEntry& entry) {
    const auto precision = one_of_names<Precision>(config, "precision", precision_names, "fp32");
    static constexpr std::array<std::string_view, 3> optimizers{"sgd", "momentum", "adam"};
    const auto optimizer = one_of_names<Optimizer>(config, "optimizer", optimizers, "momentum");
    std::optional<CostCurve> given;
    if (auto compute = config.object_if_present("compute")) {
        const double fixed_s = to_seconds(short_duration(*compute, "fixed", {}));
        const double sample_s = to_seconds(short_duration(*compute, "per_sample", {}));
        given = CostCurve::affine(fixed_s, sample_s, place(config, "compute"));
        entry.curve = "of the scenario";
        compute->finish();
    }
    std::string_view last;
    Duration time;
    for (const DeviceId worker : entry.job.workers) {
        const std::string_view gpu = gpu_of(config, topology, worker);
        if (gpu != last) {
            last = gpu;
            const GpuProfile& profile = gpu_named(gpu, config.file());
            check_memory(model, profile, entry.job.batch, MemoryRule::of(precision, optimizer),
                         place(config, "batch"));
            const std::string where = place(config, "precision");
            const auto curve = given ? KnownCurve{*given, entry.curve, true}
                                     : curve_for(model, profile, precision, where);
            time = curve.curve.step_time(entry.job.batch);
            entry.alone_s = std::max(entry.alone_s, to_seconds(time));
            entry.gpus += fmt::format("{}{}", entry.gpus.empty() ? "" : ", ", gpu);
            if (!given) {
                entry.curve = curve.measured ? std::string(curve.source)
                                             : fmt::format("roofline, {}", curve.source);
            }
        }
        entry.job.compute.push_back(time);
    }
    entry.job.buckets = gradient_buckets(model, read_buckets(config), value_bytes(precision),
                                         place(config, "buckets"));
    entry.gradient = model.gradient_bytes(value_bytes(precision));
}

void choose_collective(ConfigReader& config, const Topology& topology, StepJobEntry& entry) {
    StepJob& job = entry.job;
    job.collective =
        one_of_names<Collective>(config, "collective", collective_names(), "automatic");
    job.per_host = workers_per_machine(topology, job.workers);
    if (job.workers.size() < 2) return;
    const std::string where = place(config, "collective");
    if (job.collective == Collective::automatic) {
        const auto priced =
            price_collectives(topology, job.workers, job.per_host, job.buckets, where);
        job.collective = priced.front().algorithm;
        entry.why = reason_for(priced);
    }
    ClusterNetwork network(topology);  // for the complaints
    const PlacedCollective placed(network, job.collective, job.workers, job.per_host, where);
}

}  // namespace

StepJobEntry read_step_job(ConfigReader config, const Topology& topology,
                           std::span<const DeviceId> left) {
    StepJobEntry entry;
    StepJob& job = entry.job;
    entry.model = config.text("model");
    const ModelProfile model = model_named(entry.model, place(config, "model"));
    job.name = config.text("name", entry.model);
    if (job.name.empty()) config.fail("name", "expected a name, found \"\"");
    take_workers(config, left, job);
    job.batch = config.integer("batch", 1, 1'000'000);
    job.accumulation = config.integer("accumulation", 1, 10'000, 1);
    job.launch = read_launch(config);
    static constexpr std::array<std::string_view, 1> codecs{"none"};
    config.one_of("codec", codecs, "none");
    read_compute(config, topology, model, entry);
    read_hindrances(config, job);
    choose_collective(config, topology, entry);
    job.steps = config.integer("steps", 1, steps_most, 20);
    config.finish();
    return entry;
}

}  // namespace ukemi
