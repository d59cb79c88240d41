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

// What the file itself says of its one job, where it cannot be told from what was read.
struct WrittenJob {
    std::string place = "/job";  // "/jobs/0" of a list
    bool says_replicas = false;  // its layout; of others they are what workers there are
    bool has_machines = false;
    bool separate_servers = false;

    explicit WrittenJob(const std::filesystem::path& file) {
        ConfigReader root = ConfigReader::from_file(file);
        if (root.has("job")) {
            note(root.object("job"));
        } else {
            place = "/jobs/0";
            note(std::move(root.objects("jobs").front()));
        }
    }

private:
    void note(ConfigReader job) {
        says_replicas = job.has("layout") && job.object("layout").has("data");
        has_machines = job.has("machines");
        separate_servers = job.has("servers") && job.object("servers").flag("separate", false);
    }
};

// How many workers each machine holds, if it can be asked for its first machines.
std::int32_t workers_of_a_machine(const StepScenario& scenario, std::int32_t machines) {
    const auto refuse = [&](std::string_view problem) {
        throw InputError(scenario.file.string(), "", problem);
    };
    if (scenario.jobs.size() != 1) {
        refuse(fmt::format("expected one job, found {}", scenario.jobs.size()));
    }
    const WrittenJob written(scenario.file);
    if (written.has_machines) {
        refuse(
            "expected no \"machines\" of the job: it is run on the first machines, as many as "
            "the replay holds");
    }
    if (written.separate_servers) {
        refuse(
            "expected no \"servers\" that are \"separate\": machines are the instances of the "
            "replay, and nothing there pays for others");
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
    Duration compute;  // of the worker that is always the slowest, nothing to wait for
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

std::vector<ConfigOverride> overrides_of(const std::filesystem::path& file, std::int64_t workers,
                                         std::int64_t batch, const StepAsked& asked) {
    const WrittenJob written(file);
    std::vector<ConfigOverride> overrides;
    const auto set = [&](std::string_view key, std::string value) {
        overrides.push_back({fmt::format("{}/{}", written.place, key), std::move(value)});
    };
    set("workers", fmt::format("{}", workers));
    set("batch", fmt::format("{}", batch));
    set("codec", policies::text_of(asked.codec));
    if (written.says_replicas) set("layout/data", fmt::format("{}", workers));
    if (asked.micro_steps > 1) set("accumulation", fmt::format("{}", asked.micro_steps));
    if (asked.learners.count > 1) {
        const auto sharing = static_cast<std::size_t>(asked.learners.sharing);
        set("learners", fmt::format(R"({{"count": {}, "sharing": "{}"}})", asked.learners.count,
                                    sim::learner_sharing_names[sharing]));
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
    const sim::StragglerDraws draws(job, scenario.topology, scenario.seed);
    const Duration compute =
        job.stragglers.persistent > 0 ? draws.slowest_compute(job) : std::ranges::max(job.compute);
    return {mean_of_steps(result, scenario.warm_up), compute, job.longest_update(),
            scenario.jobs.front().coded, job};
}

struct SimulatedGroup {
    policies::GroupTime times;
    sim::CodedBytes coded;
};

// Steps of so many machines at each batch of one GPU, which never fall with it.
SimulatedGroup group_steps(const std::filesystem::path& file, std::int32_t count, std::int32_t gpus,
                           std::span<const std::int64_t> batches, const StepAsked& asked) {
    SimulatedGroup all;
    policies::GroupTime& group = all.times;
    group.workers = count;
    const std::int64_t workers = static_cast<std::int64_t>(gpus) * count;
    Duration longest;
    Duration longest_twice;
    Duration longest_further;
    bool alike = true;
    for (const std::int64_t batch : batches) {
        const MeanStep once = mean_step(file, workers, batch, asked);
        all.coded = once.coded;
        longest = std::max(longest, once.whole);
        group.steps.push_back({batch * gpus, longest});
        group.compute.push_back({batch * gpus, once.compute});
        group.update = once.update;
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
    return all;
}

// What one machine computes is what all groups do unless they say otherwise.
void leave_out_the_same(std::vector<policies::GroupTime>& groups,
                        const std::vector<policies::BatchTime>& compute, Duration update) {
    const auto is_the_same = [&](const policies::GroupTime& group) {
        return group.update == update &&
               std::ranges::equal(group.compute, compute, {}, &policies::BatchTime::time,
                                  &policies::BatchTime::time);
    };
    if (!std::ranges::all_of(groups, is_the_same)) return;
    for (policies::GroupTime& group : groups) {
        group.compute.clear();
        group.update = {};
    }
}

// Of 1 to `machines` machines; `row`: a StepTime, or what it has of several learners.
template <class Row>
void fill_groups(const std::filesystem::path& file, std::int32_t machines, std::int32_t gpus,
                 std::span<const std::int64_t> batches, const StepAsked& asked, Row& row) {
    for (const std::int32_t count : machine_counts(machines)) {
        row.groups.push_back(group_steps(file, count, gpus, batches, asked).times);
    }
    row.compute = row.groups.front().compute;
    row.update = row.groups.front().update;
    leave_out_the_same(row.groups, row.compute, row.update);
    row.worker_batch_max = batches.back() * gpus;
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
    fill_groups(file, machines, gpus, batches, {}, time);
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
    fill_groups(file, machines, gpus, batches.first(fits), asked, row);
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
        SimulatedGroup group = group_steps(file, count, gpus, batches, {choice});
        row.groups.push_back(std::move(group.times));
        row.encoding.push_back({count, group.coded.encode + group.coded.decode});
        if (row.groups.size() == 1) row.bytes = group.coded.message.raw();
    }
    // One machine, which may have no row above, is what StepTime says.
    std::vector<policies::BatchTime> alone;
    Duration update;
    for (const std::int64_t batch : batches) {
        const StepScenario one = read_step_scenario(file, overrides_of(file, gpus, batch, {}));
        const sim::StepJob& job = one.jobs.front().job;
        alone.push_back({batch * gpus, std::ranges::max(job.compute)});
        update = job.longest_update();
    }
    leave_out_the_same(row.groups, alone, update);
    return row;
}

}  // namespace ukemi::scenarios
