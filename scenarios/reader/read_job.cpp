// read_job.cpp — the sections "job" and "cluster": what is to be done, and on how many instances.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/old_forms.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/cluster/cluster_file.hpp"

namespace ukemi::scenarios {

// {"1": "100 samples/s", "8": …} or, for work given as time, {"1": 1.0, "8": 6.5}.
std::vector<policies::ThroughputPoint> read_throughput(ConfigReader& config, bool by_time,
                                                       const policies::Plan& plan) {
    std::vector<policies::ThroughputPoint> points;
    if (by_time && !config.has("throughput")) {
        points.push_back({1, {1, nanoseconds(1)}});
        return points;
    }
    ConfigReader table = config.object("throughput");
    for (const std::string& key : table.keys()) {
        const auto workers = static_cast<std::int32_t>(
            number_of(table, key, instances_most, "numbers of instances"));
        policies::StepRate rate;
        if (by_time) {
            // A nanosecond of work is a step; 1e-9 of a speed is kept.
            const double speed = table.number(key, 1e-3, 1e5);
            rate = {round_nearest(speed * 1e9), whole_seconds(1)};
            if (rate.steps == rate.per.raw()) rate = {1, nanoseconds(1)};
        } else {
            const double samples_per_s = table.rate(key, "samples/s");
            const std::int64_t batch = policies::samples_per_step(plan, workers);
            const double step_s = static_cast<double>(batch) / samples_per_s;
            if (!(step_s >= 1e-6 && step_s <= 1e6)) {
                table.fail(key, fmt::format("expected steps of 1e-6 s to 1e6 s; a batch of {} at "
                                            "this rate takes {:.3g} s",
                                            batch, step_s));
            }
            rate = {1, seconds(step_s)};
        }
        points.push_back({workers, rate});
    }
    std::ranges::sort(points, {}, &policies::ThroughputPoint::workers);
    if (points.empty())
        config.fail("throughput", "expected at least one point, such as {\"1\": 1.0}");
    table.finish();
    return points;
}

namespace {

// {"ring": "20 ms", "star": {"2": "9 ms", "8": "45 ms"}}: what a step waits for under each
// collective.
void read_communication(ConfigReader& config, sim::JobSpec& job) {
    auto table = config.object_if_present("communication");
    if (!table) {
        if (config.has("interference")) {
            config.fail("interference", "goes with \"communication\", which it makes longer");
        }
        return;
    }
    if (job.profile.step_time && !job.profile.step_time->groups.empty()) {
        config.fail("communication",
                    "stands beside \"simulated\" at step_time, whose steps send already: expected "
                    "one of them");
    }
    for (const std::string& name : table->keys()) {
        const auto place = std::ranges::find(policies::collective_names(), name);
        if (place == policies::collective_names().end()) {
            table->fail(name, fmt::format("there is no collective of this name{}",
                                          did_you_mean(name, policies::collective_names())));
        }
        const auto collective =
            static_cast<policies::Collective>(place - policies::collective_names().begin());
        job.profile.communication.push_back(
            {collective, read_times_by_size(*table, name, step_longest)});
    }
    if (job.profile.communication.empty()) {
        config.fail("communication", "expected at least one time, such as {\"ring\": \"20 ms\"}");
    }
    table->finish();
    const auto of_first_group = [&](const policies::ExposedCommunication& one) {
        return policies::time_for_size(one.times, job.plan.workers_max);
    };
    job.plan.collective =
        std::ranges::min(job.profile.communication, {}, of_first_group).collective;
    if (!config.has("interference")) return;
    for (ConfigReader& one : config.objects("interference")) {
        sim::Interference slowed;
        slowed.from = Instant::at(bounded_duration(one, "from", Duration{}, run_longest));
        slowed.until = Instant::at(bounded_duration(one, "until", Duration{}, run_longest));
        if (slowed.until <= slowed.from) one.fail("until", "expected a moment after \"from\"");
        const std::string name = one.one_of("collective", policies::collective_names());
        const auto place = std::ranges::find(policies::collective_names(), name);
        slowed.collective =
            static_cast<policies::Collective>(place - policies::collective_names().begin());
        slowed.factor = one.number("factor", 0.01, 1000);
        slowed.noticed_by =
            static_cast<std::int32_t>(one.integer("noticed_by", 1, 100'000, slowed.noticed_by));
        one.finish();
        job.interference.push_back(slowed);
    }
}

// {"1": 1.0, "2": 1.6, …}: what a machine does with so many learners on each of its GPUs.
void read_learner_speeds(ConfigReader& job, policies::JobProfile& profile,
                         const policies::Plan& plan) {
    refuse_old_key(job, "learners", "it as \"learner_speeds\": {\"1\": 1, \"2\": 1.6}");
    const bool simulated = profile.step_time && !profile.step_time->learner_steps.empty();
    if (simulated && plan.global_batch > 0) {
        job.fail("batch",
                 "expected \"batch_per_worker\" in its place: each of the \"learners\" at "
                 "step_time has one");
    }
    if (!job.has("learner_speeds")) return;
    if (plan.global_batch > 0) {
        job.fail("learner_speeds", "goes with \"batch_per_worker\": each has a batch");
    }
    if (profile.step_time && !profile.step_time->groups.empty()) {
        job.fail("learner_speeds",
                 "stands beside \"simulated\" at step_time: expected it as \"learners\" there, how "
                 "many there may be");
    }
    std::vector<std::int32_t>& speeds =
        profile.step_time ? profile.step_time->learner_speeds : profile.learner_speeds;
    ConfigReader table = job.object("learner_speeds");
    constexpr std::size_t most = 64;
    const std::size_t count = table.keys().size();
    for (std::size_t learners = 1; learners <= std::min(count, most); ++learners) {
        const double speed = table.number(fmt::format("{}", learners), 0.01, 100);
        speeds.push_back(static_cast<std::int32_t>(round_nearest(speed * 1000)));
    }
    if (count == 0 || speeds.front() != 1000) {
        job.fail("learner_speeds",
                 "expected speeds relative to one learner, as in {\"1\": 1, \"2\": 1.6}");
    }
    table.finish();
}

// A fixed batch that the workers share, or one that grows with their number.
void read_batch(ConfigReader& job, policies::Plan& plan) {
    constexpr std::int64_t most = 1'000'000'000;
    if (job.has("steps")) {  // who counts steps may leave out what is in one
        plan.global_batch = job.integer("batch", 1, most, 1);
        return;
    }
    if (!job.has("batch_per_worker")) {
        plan.global_batch = job.integer("batch", 1, most);
        return;
    }
    if (job.has("batch")) {
        job.fail("batch_per_worker", "stands beside \"batch\": expected one of them");
    }
    plan.global_batch = 0;
    plan.batch_per_learner = job.integer("batch_per_worker", 1, 1'000'000);
}

// "samples", or "steps" of one batch.
std::int64_t read_samples(ConfigReader& job, policies::Plan& plan) {
    constexpr std::int64_t most = 1'000'000'000'000'000;
    const bool by_steps = job.has("steps");
    const std::int64_t samples = by_steps ? 0 : job.integer("samples", 1, most);
    if (by_steps && job.has("batch_per_worker")) {
        job.fail("batch_per_worker", "makes steps of different sizes: say \"samples\" instead");
    }
    read_batch(job, plan);
    if (!by_steps) return samples;
    return job.integer("steps", 1, most / plan.global_batch) * plan.global_batch;
}

// What a simulated run shows as the measured noise scale: [{"samples": 0, "noise_scale": 100}, …].
std::vector<sim::NoisePoint> read_noise_scale(ConfigReader& job, std::int64_t samples_total) {
    std::vector<sim::NoisePoint> curve;
    if (!job.has("noise_scale")) return curve;
    for (ConfigReader& point : job.objects("noise_scale")) {
        const std::int64_t samples = point.integer("samples", 0, samples_total);
        if (!curve.empty() && samples <= curve.back().samples) {
            point.fail("samples", fmt::format("expected more than in the point before, which has "
                                              "{}, found {}",
                                              curve.back().samples, samples));
        }
        curve.push_back({samples, point.number("noise_scale", 0, 1e15)});
        point.finish();
    }
    if (curve.empty()) job.fail("noise_scale", "expected at least one point");
    return curve;
}

// A calibration in place of all that it measured. It is looked into when the Plan is known.
void read_costs_file(ConfigReader& job, bool by_time, Scenario& scenario) {
    if (by_time) job.fail("costs", "goes with \"samples\", and this job is given as \"work\"");
    for (const std::string_view key : {"throughput", "step_time", "spawn", "restart", "resize"}) {
        if (!job.has(key)) continue;
        job.fail(key, "stands beside \"costs\", which says it: expected one of them");
    }
    const std::filesystem::path given = job.text("costs");
    if (given.empty()) job.fail("costs", "expected a file, found \"\"");
    scenario.costs = given.is_absolute() ? given : scenario.file.parent_path() / given;
    scenario.job.profile.throughput.push_back({1, {1, whole_seconds(1)}});
}

// A calibration says what a save costs and what comes back of it: its job has checkpoints unless it
// says that it needs none.
void read_checkpoint(ConfigReader& job, bool measured, policies::JobProfile& profile) {
    auto checkpoint = job.object_if_present("checkpoint");
    if (!checkpoint) {
        profile.lossless = !measured;
        return;
    }
    static constexpr std::array<std::string_view, 2> kinds{"lossless", "saved"};
    profile.lossless = checkpoint->one_of("kind", kinds, "saved") == "lossless";
    for (const std::string_view key : {"cost", "restore", "state"}) {
        if (!profile.lossless || !checkpoint->has(key)) continue;
        checkpoint->fail(key, "says nothing where \"kind\" is \"lossless\": leave it out");
    }
    if (!profile.lossless) {
        if (!measured || checkpoint->has("cost")) {
            profile.checkpoint = bounded_duration(*checkpoint, "cost", Duration{}, pause_longest);
        }
        profile.restore =
            bounded_duration(*checkpoint, "restore", Duration{}, pause_longest, Duration{});
        static constexpr std::array<std::string_view, 2> states{"replicated", "sharded"};
        profile.sharded = checkpoint->one_of("state", states, "replicated") == "sharded";
    }
    checkpoint->finish();
}

// What changes of the group cost, in one number each.
void read_pauses(ConfigReader& config, policies::JobProfile& profile) {
    profile.restart = bounded_duration(config, "restart", Duration{}, pause_longest, Duration{});
    profile.spawn = bounded_duration(config, "spawn", Duration{}, pause_longest, Duration{});
    profile.resize = bounded_duration(config, "resize", Duration{}, pause_longest, profile.restart);
}

void read_clock(ConfigReader& job_config, sim::JobSpec& job) {
    auto clock = job_config.object_if_present("clock");
    if (!clock) return;
    job.tick = bounded_duration(*clock, "tick", whole_seconds(1), days(1));
    static constexpr std::array<std::string_view, 2> orders{"before_decision", "after_decision"};
    job.completion_after_decision =
        clock->one_of("completion", orders, "before_decision") == "after_decision";
    clock->finish();
}

}  // namespace

void read_job(ConfigReader config, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    if (config.has("model_size")) scenario.model_size = config.bytes("model_size");
    const bool by_time = config.has("work");
    for (const std::string_view key : {"work", "samples"}) {
        if (!config.has(key) || !config.has("steps")) continue;
        config.fail("steps", fmt::format("stands beside \"{}\": expected one of them", key));
    }
    if (by_time == (config.has("samples") || config.has("steps"))) {
        config.fail("", fmt::format("expected either \"work\" (a duration) or \"samples\" (a "
                                    "number), found {}",
                                    by_time ? "both" : "neither"));
    }
    if (by_time) {
        config.expect_absent({"batch", "batch_per_worker", "samples_per_epoch", "links",
                              "communication", "interference"},
                             "goes with \"samples\", and this job is given as \"work\"");
    }
    job.plan.global_batch = 1;
    if (by_time) {
        const Duration work = bounded_duration(config, "work", whole_seconds(1), work_longest);
        job.samples_total = work.raw();
    } else {
        constexpr std::int64_t most = 1'000'000'000'000'000;
        job.samples_total = read_samples(config, job.plan);
        job.has_epochs = config.has("samples_per_epoch");
        job.samples_per_epoch = config.integer("samples_per_epoch", 1, most, job.samples_total);
        job.noise_scale = read_noise_scale(config, job.samples_total);
    }
    if (read_pipelines(config, by_time, job)) {
        // They say how long a step takes.
    } else if (config.has("costs")) {
        read_costs_file(config, by_time, scenario);
    } else if (!read_step_time(config, by_time, scenario)) {
        job.profile.throughput = read_throughput(config, by_time, job.plan);
        job.profile.batch_grows = job.plan.global_batch == 0;
    }
    read_learner_speeds(config, job.profile, job.plan);
    if (!by_time) read_communication(config, job);
    read_links(config, scenario);
    if (config.has("deadline")) {
        job.deadline =
            Instant::at(bounded_duration(config, "deadline", whole_seconds(1), run_longest));
    }
    read_transition(config, scenario.model_size, job);
    policies::JobProfile& profile = job.profile;
    if (!job.transition) read_pauses(config, profile);
    read_checkpoint(config, !scenario.costs.empty(), profile);
    check_pipelines(config, job);
    read_clock(config, job);
    if (config.has("give_up_after")) {
        scenario.give_up_after =
            bounded_duration(config, "give_up_after", whole_seconds(1), run_longest);
    }
    config.finish();
}

void read_cluster(ConfigReader config, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    if (sim::names_machines(config)) {
        config.fail("",
                    "names machines: `ukemi simulate` runs steps on a modelled cluster; a job "
                    "on a market has a \"count\" here");
    }
    if (config.has("instance")) scenario.market.instance_type = config.text("instance");
    const bool fixed = config.has("count");
    if (fixed && (config.has("count_max") || config.has("count_min"))) {
        config.fail("", "expected either \"count\" or \"count_min\" and \"count_max\", found both");
    }
    const auto count = [&](std::string_view key) {
        const std::int64_t value = fixed ? config.integer("count", 1, instances_most)
                                         : config.integer(key, 1, instances_most, 1);
        return static_cast<std::int32_t>(value);
    };
    job.plan.workers_max = count("count_max");
    job.workers_min = count("count_min");
    job.instances_max = job.plan.workers_max;
    if (config.has("count_start")) {
        job.plan.workers_max = static_cast<std::int32_t>(
            config.integer("count_start", job.workers_min, job.instances_max));
    }
    if (job.workers_min > job.plan.workers_max) {
        config.fail("count_min",
                    fmt::format("expected at most \"count_max\", which is {}, found {}",
                                job.plan.workers_max, job.workers_min));
    }
    config.finish();
}

void check_work(const ConfigReader& root, const sim::JobSpec& job) {
    const std::int64_t per_step = policies::samples_per_step(job.plan, job.workers_min);
    const std::int64_t steps = (job.samples_total + per_step - 1) / per_step;
    const policies::StepRate rate = policies::rate_of(job.profile, job.plan, job.workers_min);
    const Int128 time = static_cast<Int128>(steps) * rate.per.raw() / rate.steps;
    if (time <= work_longest.raw()) return;
    throw InputError(
        root.file(), "/job",
        fmt::format("expected work that {} instance{} can do in {}, found more", job.workers_min,
                    job.workers_min == 1 ? "" : "s", format_duration(work_longest)));
}

}  // namespace ukemi::scenarios
