#include "scenarios/reader/simulated_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/input_error.hpp"
#include "scenarios/reader/read_collective.hpp"
#include "scenarios/reader/step_scenario.hpp"

namespace ukemi::scenarios {

namespace {

std::vector<std::int32_t> machine_counts(std::int32_t most) {
    std::vector<std::int32_t> counts;
    for (std::int32_t count = 1; count < most; count += std::max(1, count / 8)) {
        counts.push_back(count);
    }
    counts.push_back(most);
    return counts;
}

// How many workers each machine holds, if it can be asked for its first machines.
std::int32_t workers_of_a_machine(const StepScenario& scenario, std::int32_t machines) {
    const auto refuse = [&](std::string_view problem) {
        throw InputError(scenario.file.string(), "", problem);
    };
    if (scenario.jobs.size() != 1) {
        refuse(fmt::format("expected one job, found {}", scenario.jobs.size()));
    }
    if (scenario.jobs.front().job.workload) refuse("expected a model, not a \"workload\"");
    if (scenario.jobs.front().job.accumulation != 1) {
        refuse("expected no \"accumulation\": a Plan says how many micro-steps there are");
    }
    const StepJobEntry& entry = scenario.jobs.front();
    const policies::Layout& degrees = entry.request.degrees;
    if (degrees.tensor > 1 || degrees.pipeline > 1 || entry.request.context > 1) {
        refuse("expected no \"layout\" that cuts the model: workers here are replicas");
    }
    if (entry.codec.name != "none") refuse("expected no \"codec\": a Plan says which there is");
    if (entry.job.learners > 1) refuse("expected no \"learners\": a Plan says how many there are");
    if (entry.job.asynchronous) refuse("expected workers that wait for each other");
    if (entry.job.validation.every > 0) refuse("expected no \"validation\" between the steps");
    if (!scenario.events.links.empty() || !scenario.events.departures.empty()) {
        refuse("expected no \"events\": a replay has its own");
    }
    const sim::Topology& topology = scenario.topology;
    std::vector<std::int32_t> workers(topology.machines().size(), 0);
    for (const sim::DeviceId worker : topology.workers()) {
        ++workers[static_cast<std::size_t>(topology.device(worker).machine)];
    }
    if (static_cast<std::int64_t>(workers.size()) < machines) {
        refuse(
            fmt::format("expected at least {} machines, as many as the job may have here, "
                        "found {}",
                        machines, workers.size()));
    }
    if (std::ranges::any_of(workers, [&](std::int32_t one) { return one != workers.front(); })) {
        refuse("expected machines with as many GPUs each");
    }
    return workers.front();
}

struct MeanStep {
    Duration whole;
    Duration compute;  // of the slowest kind of worker, nothing to wait for
    Duration update;
    sim::CodedBytes coded;
    sim::StepJob job;
};

// What a step of the scenario is made of here.
struct StepAsked {
    policies::CodecChoice codec;
    sim::LearnerRule learners = {};
    std::int64_t micro_steps = 1;
};

// Whether each micro-step more takes as long as its worker computes in a step of one.
bool are_alike(const sim::StepJob& of_one, const sim::StepJob& of_two) {
    const sim::Stragglers& slow = of_one.stragglers;
    return !of_one.layout && slow.independent == 0 && slow.persistent == 0 && slow.machine == 0 &&
           of_one.compute == of_two.compute;
}

// A layout that says of how many replicas it is; of others they are what workers there are.
bool says_replicas(const std::filesystem::path& file) {
    ConfigReader root = ConfigReader::from_file(file);
    if (!root.has("job")) return false;
    ConfigReader job = root.object("job");
    return job.has("layout") && job.object("layout").has("data");
}

std::vector<ConfigOverride> overrides_of(const std::filesystem::path& file, std::int64_t workers,
                                         std::int64_t batch, const StepAsked& asked) {
    std::vector<ConfigOverride> overrides = {{"/job/workers", fmt::format("{}", workers)},
                                             {"/job/batch", fmt::format("{}", batch)},
                                             {"/job/codec", policies::text_of(asked.codec)}};
    if (says_replicas(file)) overrides.push_back({"/job/layout/data", fmt::format("{}", workers)});
    if (asked.micro_steps > 1) {
        overrides.push_back({"/job/accumulation", fmt::format("{}", asked.micro_steps)});
    }
    if (asked.learners.count > 1) {
        const auto sharing = static_cast<std::size_t>(asked.learners.sharing);
        overrides.push_back({"/job/learners", fmt::format(R"({{"count": {}, "sharing": "{}"}})",
                                                          asked.learners.count,
                                                          sim::learner_sharing_names[sharing])});
    }
    return overrides;
}

MeanStep mean_step(const std::filesystem::path& file, std::int64_t workers, std::int64_t batch,
                   const StepAsked& asked) {
    const std::vector<ConfigOverride> overrides = overrides_of(file, workers, batch, asked);
    const StepScenario scenario = read_step_scenario(file, overrides);
    const sim::StepJob& job = scenario.jobs.front().job;
    const std::vector<sim::StepJob> jobs = {job};
    sim::StepOptions options;
    options.seed = scenario.seed;
    options.network = scenario.network;
    const sim::JobSteps result =
        sim::run_steps(scenario.topology, jobs, scenario.cross_traffic, options).front();
    return {mean_of_steps(result, scenario.warm_up), std::ranges::max(job.compute),
            job.longest_update(), scenario.jobs.front().coded, job};
}

// Steps of so many machines at each batch of one GPU, which never fall with it.
policies::GroupTime group_time(const std::filesystem::path& file, std::int32_t count,
                               std::int32_t gpus, std::span<const std::int64_t> batches,
                               const StepAsked& asked, std::vector<MeanStep>& steps) {
    policies::GroupTime group{count, {}};
    const std::int64_t workers = static_cast<std::int64_t>(gpus) * count;
    Duration longest;
    Duration longest_twice;
    Duration longest_further;
    bool alike = true;
    for (const std::int64_t batch : batches) {
        steps.push_back(mean_step(file, workers, batch, asked));
        const MeanStep& once = steps.back();
        longest = std::max(longest, once.whole);
        group.steps.push_back({batch * gpus, longest});
        StepAsked more = asked;
        more.micro_steps = 2;
        if (batch == batches.front()) {
            const auto overrides = overrides_of(file, workers, batch, more);
            alike = are_alike(once.job, read_step_scenario(file, overrides).jobs.front().job);
        }
        if (alike) continue;
        const Duration twice = mean_step(file, workers, batch, more).whole;
        // Of many where steps end with a cycle: of one more it would be a whole cycle, or nothing.
        const std::int64_t further = once.job.launch.kind == sim::LaunchKind::coordinated ? 64 : 1;
        more.micro_steps = 2 + further;
        const Duration longer = mean_step(file, workers, batch, more).whole - twice;
        longest_twice = std::max(longest_twice, twice);
        longest_further = std::max(longest_further,
                                   nanoseconds(std::max<std::int64_t>(longer.raw(), 0) / further));
        group.twice.push_back({batch * gpus, longest_twice});
        group.further.push_back({batch * gpus, longest_further});
    }
    return group;
}

}  // namespace

Duration mean_of_steps(const sim::JobSteps& result, std::int64_t warm_up) {
    const auto counted = std::span(result.steps).subspan(static_cast<std::size_t>(warm_up));
    const Duration total = counted.back().end - counted.front().begin;
    return nanoseconds(total.raw() / static_cast<std::int64_t>(counted.size()));
}

policies::StepTime simulated_steps(const std::filesystem::path& file,
                                   std::span<const std::int64_t> batches, std::int32_t machines) {
    const StepScenario scenario = read_step_scenario(file);
    const std::int32_t gpus = workers_of_a_machine(scenario, machines);
    policies::StepTime time;
    time.bytes = scenario.jobs.front().gradient.raw();
    if (const double rate = scenario.jobs.front().job.input.samples_per_second; rate > 0) {
        time.input_of_a_million = seconds(std::min(1e6 / rate, 1e9));
    }
    for (const std::int32_t count : machine_counts(machines)) {
        std::vector<MeanStep> steps;
        time.groups.push_back(group_time(file, count, gpus, batches, {}, steps));
        if (count > 1) continue;
        time.update = steps.front().update;
        for (std::size_t i = 0; i < batches.size(); ++i) {
            time.compute.push_back({batches[i] * gpus, steps[i].compute});
        }
    }
    time.worker_batch_max = batches.back() * gpus;
    return time;
}

std::string simulated_exchange(const std::filesystem::path& file) {
    const StepScenario scenario = read_step_scenario(file);
    const StepJobEntry& entry = scenario.jobs.front();
    const sim::StepJob& job = entry.job;
    if (!job.servers.empty()) return "parameter servers";
    const std::string_view name =
        job.nccl ? nccl_collective
                 : policies::collective_names()[static_cast<std::size_t>(job.collective)];
    const std::string picked = job.nccl && !entry.why.empty() ? ": " + entry.why : "";
    return fmt::format("{}{}{}", name, why_collective(entry), picked);
}

bool simulated_in_layout(const std::filesystem::path& file) {
    return read_step_scenario(file).jobs.front().job.layout.has_value();
}

policies::LearnerSteps simulated_learners(const std::filesystem::path& file,
                                          std::span<const std::int64_t> batches,
                                          std::int32_t machines, std::int32_t learners) {
    const StepScenario one = read_step_scenario(file);
    const std::int32_t gpus = workers_of_a_machine(one, machines);
    const StepAsked asked{{}, {learners, one.jobs.front().learners.sharing}};
    std::size_t fits = 0;
    for (; fits < batches.size(); ++fits) {
        const auto overrides = overrides_of(file, gpus, batches[fits], asked);
        // Of the first batch the refusal says why; of later ones it ends them.
        const MemoryCheck check = fits == 0 ? MemoryCheck::refuse : MemoryCheck::skip;
        const StepScenario scenario = read_step_scenario(file, overrides, check);
        const StepJobEntry& entry = scenario.jobs.front();
        if (entry.memory.need.total() > entry.gpu_memory) break;
    }
    policies::LearnerSteps row;
    row.learners = learners;
    const auto fitting = batches.first(fits);
    for (const std::int32_t count : machine_counts(machines)) {
        std::vector<MeanStep> steps;
        row.groups.push_back(group_time(file, count, gpus, fitting, asked, steps));
        if (count > 1) continue;
        row.update = steps.front().update;
        for (std::size_t i = 0; i < fitting.size(); ++i) {
            row.compute.push_back({fitting[i] * gpus, steps[i].compute});
        }
    }
    row.worker_batch_max = fitting.back() * gpus;
    return row;
}

policies::CodecTime simulated_codec(const std::filesystem::path& file,
                                    std::span<const std::int64_t> batches, std::int32_t machines,
                                    const policies::CodecChoice& choice) {
    const std::int32_t gpus = workers_of_a_machine(read_step_scenario(file), machines);
    const std::int32_t least = gpus > 1 ? 1 : 2;  // who is alone sends nothing
    policies::CodecTime row;
    row.codec = choice.codec;
    row.level = kernels::level_meant(choice.codec, choice.level);
    row.usual_level = row.level == kernels::level_meant(choice.codec, 0);
    for (const std::int32_t count : machine_counts(machines)) {
        if (count < least) continue;
        std::vector<MeanStep> steps;
        row.groups.push_back(group_time(file, count, gpus, batches, {choice}, steps));
        row.encoding.push_back({count, steps.front().coded.encode + steps.front().coded.decode});
        if (row.groups.size() > 1) continue;
        row.bytes = steps.front().coded.message.raw();
    }
    return row;
}

}  // namespace ukemi::scenarios
