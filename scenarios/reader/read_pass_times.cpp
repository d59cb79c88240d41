// read_pass_times.cpp — by kind of GPU: the curve or the kernels of a micro-batch.
#include "scenarios/reader/read_pass_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/old_forms.hpp"
#include "scenarios/reader/read_compute.hpp"
#include "sim/cluster/layer_kernels.hpp"
#include "sim/step/layer_times.hpp"

namespace ukemi::scenarios {

namespace {

const sim::Machine& machine_of(const ConfigReader& config, const sim::Topology& topology,
                               sim::DeviceId worker) {
    const sim::Machine& machine = topology.machine(topology.device(worker).machine);
    if (machine.gpu.empty()) {
        config.fail("",
                    fmt::format("expected machines with GPUs, found {} without", machine.preset));
    }
    return machine;
}

// Two described ones may have one name.
using GpuKind = std::pair<std::string_view, const sim::GpuProfile*>;
GpuKind kind_of_gpu(const sim::Machine& machine) {
    return {machine.gpu, machine.described_gpu.get()};
}

struct PassTime {
    Duration passes;
    Duration update;  // once a step, after the gradients' sums; zero where it is not told apart
    // Of kernels: StepJob::forward_share, and layers as in sim::ready_shares().
    std::optional<double> forward_share = {};
    std::optional<double> validation_share = {};  // of `passes`: a validation's forward pass
    std::vector<double> layers_ready = {};
    std::optional<sim::LayoutWork> layout = {};
};

// The passes of all learners of a GPU, and in the entry's words what bounds them. Each updates
// parameters of its own, which is bound by the device's memory: one after another.
PassTime of_learners(const sim::LearnerStep& passes, Duration update, StepJobEntry& entry) {
    const std::int64_t count = entry.learners.count;
    entry.curve += fmt::format(
        "; {} learners {}: {:.4g} ms alone, {:.4g} ms of the device, bound by {}", count,
        entry.learners.sharing == sim::LearnerSharing::in_turn ? "in turn" : "side by side",
        1e3 * passes.alone_s, 1e3 * passes.device_s, sim::bound_of(passes, entry.learners));
    return {seconds(sim::round_seconds(passes, entry.learners)), count * update};
}

// So that it can be counted in nanoseconds, for several learners, too.
void expect_countable(const ConfigReader& config, const StepJobEntry& entry, double pass_s) {
    if (pass_s <= to_seconds(days(366))) return;
    config.fail("batch", fmt::format("{} with a batch of {} computes for {:.4g} s: expected at "
                                     "most a year",
                                     entry.model, entry.job.batch, pass_s));
}

PassTime curve_time(const ConfigReader& config, const sim::CostCurve& curve, StepJobEntry& entry) {
    expect_countable(config, entry, curve.step_seconds(entry.job.batch));
    const Duration time = curve.step_time(entry.job.batch);
    const Duration update = std::min(seconds(curve.update_seconds()), time);
    if (entry.learners.count > 1) {
        if (!curve.has_device_seconds()) {
            config.fail("learners",
                        "expected a \"compute\" of two batches or more, whose "
                        "difference tells computing from launching");
        }
        const double device_s = curve.device_seconds(entry.job.batch);
        return of_learners({to_seconds(time - update), device_s - to_seconds(update)}, update,
                           entry);
    }
    return {time - update, update};
}

// Kernels, one by one.
PassTime kernels_time(const ConfigReader& config, const sim::KernelClock& clock,
                      const sim::ModelProfile& model, const MemoryKind& memory,
                      StepJobEntry& entry) {
    if (!sim::has_kernel_shapes(model)) {
        config.fail("compute", fmt::format("{} is counted, and has no shapes of kernels: expected "
                                           "another form than \"kernels\"",
                                           model.name));
    }
    if (memory.precision == sim::Precision::fp8 && !model.transformer) {
        config.fail("precision", "kernels in fp8 are known of transformers: expected bf16");
    }
    const sim::LayerTimes times = sim::layer_times(model, entry.request, clock);
    const sim::PassMoments moments = sim::pass_moments(times, entry.job.accumulation);
    const sim::KernelSum updating =
        sim::update_kernels(clock, model.parameters(), memory.state_values);
    const double pass_s = moments.end_s / static_cast<double>(entry.job.accumulation);
    expect_countable(config, entry, pass_s + updating.device_s);
    const Duration update = seconds(updating.device_s);
    if (!entry.request.is_plain()) {
        // Of what the device does, which is not all that a pass takes.
        PassTime time{seconds(times.whole_s), update};
        time.forward_share = sim::pass_moments(times, 1).forward_s / times.whole_s;
        time.layout = sim::make_layout(model, entry.request, config.place_of("layout"), &times);
        return time;
    }
    PassTime time = entry.learners.count > 1 ? of_learners({pass_s, times.shared_s}, update, entry)
                                             : PassTime{seconds(pass_s), update};
    const double backward_s = moments.end_s - moments.forward_s;  // of the last micro-batch
    time.forward_share = 1 - backward_s / pass_s;
    time.validation_share = sim::pass_moments(times, 1).forward_s / pass_s;
    for (const double end_s : moments.backward_end_s) {
        time.layers_ready.push_back((end_s - moments.forward_s) / backward_s);
    }
    return time;
}

PassTime pass_time(const ConfigReader& config, const ComputeCurves& curves,
                   const sim::ModelProfile& model, const sim::GpuProfile& gpu,
                   const MemoryKind& memory, StepJobEntry& entry) {
    if (const auto clock = curves.kernels(gpu, memory.precision, entry.curve)) {
        return kernels_time(config, *clock, model, memory, entry);
    }
    return curve_time(config,
                      curves.curve(model, gpu, memory.precision, memory.state_values, entry.curve),
                      entry);
}

// The pipeline ranks that such GPUs have.
std::vector<std::int32_t> stage_ranks_on(const ConfigReader& config, const sim::Topology& topology,
                                         const sim::GpuProfile& gpu, const StepJobEntry& entry) {
    const std::size_t each =
        entry.job.workers.size() / static_cast<std::size_t>(entry.request.degrees.pipeline);
    std::vector<std::int32_t> found;
    for (std::size_t rank = 0; rank < entry.job.workers.size(); ++rank) {
        const sim::Machine& machine = machine_of(config, topology, entry.job.workers[rank]);
        const sim::GpuProfile* described = machine.described_gpu.get();
        if (described != nullptr ? described != &gpu : machine.gpu != gpu.name) continue;
        const auto stage_rank = static_cast<std::int32_t>(rank / each);
        if (found.empty() || found.back() != stage_rank) found.push_back(stage_rank);
    }
    return found;
}

void check_fits(const ConfigReader& config, const sim::Topology& topology,
                const sim::ModelProfile& model, const sim::GpuProfile& gpu,
                const MemoryKind& memory, const StepJobEntry& entry) {
    const std::string where = config.place_of("batch");
    if (entry.request.is_plain()) {
        sim::check_memory(model, gpu, entry.job.batch, memory.rule, where);
    } else {
        sim::check_layout_memory(model, gpu, entry.request, memory.rule, where,
                                 stage_ranks_on(config, topology, gpu, entry));
    }
}

}  // namespace

MemoryKind read_memory_kind(ConfigReader& config) {
    const auto precision = config.choice<sim::Precision>("precision", sim::precision_names, "fp32");
    static constexpr std::array<std::string_view, 3> kinds{"sgd", "momentum", "adam"};
    for (const std::string_view key : {"optimizer", "optimiser"}) {
        refuse_old_key(config, key, "\"optimiser_state\": \"adam\"");
    }
    const auto optimiser = config.choice<sim::OptimiserKind>("optimiser_state", kinds, "momentum");
    const auto loss = config.choice<sim::LossKind>("loss", sim::loss_names, "megatron");
    return {precision, sim::MemoryRule::of(precision, optimiser, loss),
            static_cast<std::int64_t>(optimiser), loss};
}

sim::LearnerRule read_learners(ConfigReader& config) {
    sim::LearnerRule rule;
    if (!config.has("learners")) return rule;
    constexpr std::int64_t most = 64;
    if (!config.is_object("learners")) {
        rule.count = config.integer("learners", 1, most);
        return rule;
    }
    ConfigReader learners = config.object("learners");
    rule.count = learners.integer("count", 1, most);
    rule.sharing = learners.choice<sim::LearnerSharing>("sharing", sim::learner_sharing_names,
                                                        sim::learner_sharing_names.front());
    learners.finish();
    return rule;
}

std::vector<double> read_pass_times(ConfigReader& config, const sim::Topology& topology,
                                    MemoryCheck check, const sim::ModelProfile& model,
                                    const MemoryKind& memory, StepJobEntry& entry) {
    const ComputeCurves curves(config, model, entry.job.batch);
    std::map<GpuKind, std::size_t> kinds;  // of `times`
    std::vector<PassTime> times;
    std::string first_curve;           // what bounds the first kind
    std::vector<std::size_t> kind_of;  // by rank
    for (const sim::DeviceId worker : entry.job.workers) {
        const sim::Machine& machine = machine_of(config, topology, worker);
        const std::string_view name = sim::gpu_name_of(machine);
        const auto [kind, is_new] = kinds.emplace(kind_of_gpu(machine), times.size());
        if (is_new) {
            const sim::GpuProfile& gpu = sim::gpu_profile_of(machine, config.file());
            const sim::GpuProfile*& least = entry.least_gpu;
            if (least == nullptr || gpu.memory_gb_per_s < least->memory_gb_per_s) least = &gpu;
            entry.gpu_memory = times.empty() ? gpu.memory : std::min(entry.gpu_memory, gpu.memory);
            // Else what it needs and what there is stands in the entry.
            if (check == MemoryCheck::refuse)
                check_fits(config, topology, model, gpu, memory, entry);
            const std::string before = std::exchange(entry.curve, {});
            times.push_back(pass_time(config, curves, model, gpu, memory, entry));
            if (times.size() == 1) {
                first_curve = entry.curve;
            } else if (entry.curve == first_curve) {
                entry.curve = before;
            } else {
                entry.curve = fmt::format("{}; on {}: {}", before, name, entry.curve);
            }
            entry.gpus += fmt::format("{}{}", entry.gpus.empty() ? "" : ", ", name);
        }
        kind_of.push_back(kind->second);
        entry.job.compute.push_back(times[kind->second].passes);
        entry.job.update.push_back(times[kind->second].update);
    }
    // Of as slow ones, whose gradients come last.
    PassTime& slowest = *std::ranges::max_element(
        times, {}, [](const PassTime& time) { return std::pair(time.passes, time.forward_share); });
    if (slowest.forward_share) entry.job.forward_share = *slowest.forward_share;
    entry.job.validation_share = slowest.validation_share;
    if (times.front().layout) {
        entry.job.layout = std::move(times.front().layout);
        for (PassTime& other : std::span(times).subspan(1)) {
            entry.job.layout->other_kinds.push_back(std::move(other.layout->stages));
        }
        if (times.size() > 1) entry.job.layout->kinds = std::move(kind_of);
    }
    return std::move(slowest.layers_ready);
}

}  // namespace ukemi::scenarios
