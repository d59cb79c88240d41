// read_learning.cpp — the section "learning" and the job's "step_time": what a batch costs, and
// what it is worth.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/reader/curve_file.hpp"
#include "scenarios/reader/read_synchronisation.hpp"
#include "scenarios/reader/sections.hpp"
#include "scenarios/reader/simulated_steps.hpp"
#include "sim/learning/recorded_curves.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int64_t batch_most = 1'000'000'000;
constexpr std::int64_t learned_samples_most = 1'000'000'000'000;

std::vector<policies::BatchTime> read_compute(ConfigReader& config) {
    if (!config.has("table")) {
        const Duration fixed =
            bounded_duration(config, "fixed", Duration{}, step_longest, Duration{});
        return policies::affine_time(
            fixed, bounded_duration(config, "per_sample", nanoseconds(1), whole_seconds(60)));
    }
    for (const std::string_view key : {"fixed", "per_sample"}) {
        if (config.has(key)) config.fail(key, "stands beside \"table\": expected one of them");
    }
    ConfigReader table = config.object("table");
    std::vector<policies::BatchTime> points;
    for (const std::string& key : table.keys()) {
        points.push_back({number_of(table, key, batch_most, "batches"),
                          bounded_duration(table, key, nanoseconds(1), step_longest)});
    }
    std::ranges::sort(points, {}, &policies::BatchTime::batch);
    if (points.empty()) {
        config.fail("table", "expected at least one time, such as {\"32\": \"12 ms\"}");
    }
    if (!std::ranges::is_sorted(points, {}, &policies::BatchTime::time)) {
        config.fail("table", "expected times that do not fall with the batch");
    }
    table.finish();
    return points;
}

std::vector<sim::NoiseScalePoint> read_noise(ConfigReader& config) {
    std::vector<sim::NoiseScalePoint> curve;
    for (ConfigReader& point : config.objects("noise_scale")) {
        sim::NoiseScalePoint one;
        one.samples = point.integer("samples", 0, learned_samples_most);
        if (!curve.empty() && one.samples <= curve.back().samples) {
            point.fail("samples", fmt::format("expected more than in the point before, found {}",
                                              one.samples));
        }
        one.noise_scale = point.number("noise_scale", 0, 1e12);
        one.squared_norm = point.number("squared_norm", 0, 1e30, 0);
        point.finish();
        curve.push_back(one);
    }
    if (curve.empty()) config.fail("noise_scale", "expected at least one point");
    return curve;
}

std::vector<sim::MetricPoint> read_metric(ConfigReader& config, std::string_view key) {
    std::vector<sim::MetricPoint> curve;
    if (!config.has(key)) return curve;
    for (ConfigReader& point : config.objects(key)) {
        const sim::MetricPoint one{point.integer("samples", 0, learned_samples_most),
                                   point.number("value", -1e9, 1e9)};
        point.finish();
        if (!curve.empty() && one.samples <= curve.back().samples) {
            point.fail("samples", fmt::format("expected more than in the point before, found {}",
                                              one.samples));
        }
        curve.push_back(one);
    }
    return curve;
}

void read_drops(ConfigReader& config, sim::NoiseScaleLaw& law) {
    if (!config.has("drops")) return;
    for (ConfigReader& one : config.objects("drops")) {
        sim::RateDrop drop;
        drop.samples = one.integer("samples", 1, learned_samples_most);
        drop.factor = one.number("factor", 1e-6, 1, 0.1);
        drop.noise_factor = one.number("noise_factor", 1e-3, 1e6, 1 / drop.factor);
        one.finish();
        if (!law.drops.empty() && drop.samples <= law.drops.back().samples) {
            one.fail("samples", "expected more than in the drop before");
        }
        law.drops.push_back(drop);
    }
}

void read_rate(ConfigReader& learning, sim::NoiseScaleLaw& law, policies::Plan& plan) {
    static constexpr std::array<std::string_view, 2> rules{"ada_scale", "plan"};
    auto config = learning.object_if_present("learning_rate");
    if (!config) return;
    law.rule = config->choice<sim::RateRule>("rule", rules, "ada_scale");
    law.reference_rate = config->number("reference", 1e-9, 1e6, 0.1);
    law.reference_over_best = config->number("reference_over_best", 1e-6, 1.999, 1);
    law.rate_limit = config->has("limit") ? config->number("limit", 1e-9, 1e9) : 0;
    plan.learning_rate = law.reference_rate;
    read_drops(*config, law);
    config->finish();
}

// {"reference": 0.764, "scale": 0.018}, and a target below what no excess at all would give.
void read_accuracy(ConfigReader& config, sim::NoiseScaleLaw& law) {
    auto accuracy = config.object_if_present("accuracy");
    if (!accuracy) return;
    if (!law.metric.empty())
        config.fail("accuracy", "stands beside \"metric\": expected one of them");
    law.accuracy = {accuracy->number("reference", 0, 1), accuracy->number("scale", 1e-9, 1)};
    accuracy->finish();
    if (!config.has("target")) return;
    const double target = config.number("target", 0, 1);
    law.excess = (law.accuracy->reference - target) / law.accuracy->scale;
    const double longest = learned_samples_most / static_cast<double>(law.samples);
    if (law.excess <= -1 || longest * (1 + law.excess) < 1) {
        config.fail("target", fmt::format("expected less than {}, which takes forever, found {}",
                                          law.accuracy->reference + law.accuracy->scale, target));
    }
}

// The first progress at which the metric is there, rising or falling as the curve does.
void read_target(ConfigReader& config, sim::NoiseScaleLaw& law) {
    if (law.accuracy || !config.has("target")) return;
    if (law.metric.size() < 2) {
        config.fail("target", "goes with \"metric\", at least two points, or with \"accuracy\"");
    }
    const double target = config.number("target", -1e9, 1e9);
    const bool rises = law.metric.back().value >= law.metric.front().value;
    const double first = law.metric.front().value;
    if (rises ? first >= target : first <= target) {
        config.fail("target", fmt::format("the metric is there from the start: it {} from {}",
                                          rises ? "rises" : "falls", first));
    }
    for (std::size_t right = 1; right < law.metric.size(); ++right) {
        const sim::MetricPoint& a = law.metric[right - 1];
        const sim::MetricPoint& b = law.metric[right];
        if (rises ? b.value < target : b.value > target) continue;
        const double part = b.value == a.value ? 1 : (target - a.value) / (b.value - a.value);
        const double way = std::clamp(part, 0.0, 1.0) * static_cast<double>(b.samples - a.samples);
        law.samples = std::max<std::int64_t>(1, a.samples + round_nearest(way));
        return;
    }
    config.fail("target", fmt::format("the metric never gets there: its last value is {}",
                                      law.metric.back().value));
}

std::shared_ptr<const sim::LearningModel> read_law(ConfigReader& config, sim::JobSpec& job,
                                                   std::int64_t reference) {
    sim::NoiseScaleLaw law;
    law.samples = job.samples_total;
    law.reference_batch = reference;
    law.noise = read_noise(config);
    read_rate(config, law, job.plan);
    law.noise_exponent = config.number("noise_exponent", 0, 1, 0);
    law.metric = read_metric(config, "metric");
    read_accuracy(config, law);
    read_target(config, law);
    static constexpr std::array<std::string_view, 2> ends{"target", "samples"};
    law.until_samples = config.one_of("until", ends, "target") == "samples";
    law.spread = config.number("spread", 0, 1, 0);
    if (law.samples > learned_samples_most) {
        config.fail("", fmt::format("expected at most {} samples to learn from, found {}",
                                    learned_samples_most, law.samples));
    }
    job.samples_total = law.samples;
    return sim::make_noise_scale_law(std::move(law));
}

// {"256": [{"samples": 0, "value": 0.1}, …]}
std::vector<sim::RecordedCurve> read_curve_table(ConfigReader table) {
    std::vector<sim::RecordedCurve> curves;
    for (const std::string& key : table.keys()) {
        curves.push_back({number_of(table, key, batch_most, "batches"), read_metric(table, key)});
    }
    table.finish();
    std::ranges::sort(curves, {}, &sim::RecordedCurve::batch);
    return curves;
}

std::shared_ptr<const sim::LearningModel> read_curves(ConfigReader& config, sim::JobSpec& job,
                                                      std::int64_t reference) {
    sim::RecordedCurves all;
    all.reference_batch = reference;
    const bool in_file = config.has("curves_file");
    if (in_file) {
        if (config.has("curves")) {
            config.fail("curves_file", "stands beside \"curves\": expected one of them");
        }
        const std::string name = config.text("curves_file");
        if (name.empty()) config.fail("curves_file", "expected a file, found \"\"");
        const std::filesystem::path file = config.beside(name);
        all.curves = config.of_file("curves_file", [&] { return read_curve_file(file); });
    } else if (!config.has("curves")) {
        config.fail("curves", "expected curves here or in \"curves_file\", found neither");
    } else {
        all.curves = read_curve_table(config.object("curves"));
    }
    all.target = config.number("target", -1e9, 1e9);
    all.spread = config.number("spread", 0, 1, 0);
    const std::string problem = sim::curves_problem(all);
    if (!problem.empty()) config.fail(in_file ? "curves_file" : "curves", problem);
    auto model = sim::make_recorded_curves(std::move(all));
    job.samples_total = std::max<std::int64_t>(1, model->target() / sim::progress_per_sample);
    return model;
}

// {"steps": "steps/mine.json", "batches": [32, 64]}
policies::StepTime read_simulated(ConfigReader& step_time, Scenario& scenario) {
    const std::int32_t machines = scenario.job.instances_max;
    for (const std::string_view key :
         {"fixed", "per_sample", "table", "exchange", "gradient", "link"}) {
        if (!step_time.has(key)) continue;
        step_time.fail(key, "stands beside \"simulated\": expected one of them");
    }
    ConfigReader config = step_time.object("simulated");
    const std::filesystem::path given = config.text("steps");
    const std::filesystem::path file =
        given.is_absolute() ? given : scenario.file.parent_path() / given;
    std::vector<std::int64_t> batches;
    constexpr double batch_of_a_gpu_most = 1'000'000;
    for (const double number : config.numbers("batches", 1, batch_of_a_gpu_most)) {
        const std::int64_t batch = round_nearest(number);
        if (static_cast<double>(batch) != number || (!batches.empty() && batch <= batches.back())) {
            config.fail("batches", "expected whole numbers of samples, each above the one before");
        }
        batches.push_back(batch);
    }
    constexpr std::size_t batches_most = 32;
    if (batches.empty() || batches.size() > batches_most) {
        config.fail("batches", fmt::format("expected 1 to {} batches of one GPU, found {}",
                                           batches_most, batches.size()));
    }
    constexpr std::int64_t learners_most = 16;
    const std::int64_t learners = config.integer("learners", 1, learners_most, 1);
    config.finish();
    policies::StepTime time = config.of_file("steps", [&] {
        policies::StepTime steps = simulated_steps(file, batches, machines);
        for (std::int32_t count = 2; count <= learners; ++count) {
            steps.learner_steps.push_back(simulated_learners(file, batches, machines, count));
        }
        return steps;
    });
    scenario.step_exchange = fmt::format("{}: {}", given.string(), simulated_exchange(file));
    scenario.steps_in_layout = simulated_in_layout(file);
    scenario.step_gpus = time.worker_batch_max / batches.back();
    read_simulated_codecs(step_time, time, [&](const policies::CodecChoice& choice) {
        return simulated_codec(file, batches, machines, choice);
    });
    return time;
}

}  // namespace

bool read_step_time(ConfigReader& job_config, bool by_time, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    if (!job_config.has("step_time")) return false;
    for (const std::string_view key : {"work", "throughput"}) {
        if (!job_config.has(key)) continue;
        job_config.fail("step_time",
                        fmt::format("stands beside \"{}\": expected one of them", key));
    }
    INVARIANT(!by_time);
    if (!job_config.is_object("step_time")) {  // "320 ms", whatever the group and its batch
        job.profile.throughput = {
            {1, {1, bounded_duration(job_config, "step_time", nanoseconds(1000), step_longest)}}};
        return true;
    }
    auto config = job_config.object_if_present("step_time");
    refuse_times_at_synchronisation(*config);
    policies::StepTime time;
    if (config->has("simulated")) {
        time = read_simulated(*config, scenario);
    } else {
        time.compute = read_compute(*config);
    }
    const std::int64_t simulated_most = time.worker_batch_max;
    time.worker_batch_max =
        config->integer("worker_batch_max", 1, batch_most,
                        time.groups.empty() ? batch_most : time.worker_batch_max);
    if (!time.groups.empty() && time.worker_batch_max > simulated_most) {
        config->fail("worker_batch_max",
                     fmt::format("expected at most {}, what a machine has of the largest of "
                                 "\"batches\" at \"simulated\": nobody knows whether more fit, "
                                 "found {}",
                                 simulated_most, time.worker_batch_max));
    }
    if (config->has("exchange")) {
        time.synchronisation = read_time_table(*config, "exchange", step_longest);
    }
    if (time.groups.empty()) read_codec_times(*config, time);
    config->finish();
    // A profile always has one; step_time takes its place.
    job.profile.throughput = {{1, {1, policies::step_of(time, job.plan, 1)}}};
    job.profile.step_time = std::move(time);
    return true;
}

void expect_steps_of_single_gpus(const ConfigReader& section, std::string_view key,
                                 const Scenario& scenario) {
    if (scenario.step_gpus == 1) return;
    section.fail(key,
                 fmt::format("its \"simulated\" at /job/step_time has machines of {} GPUs, and "
                             "here each GPU is one: expected steps on machines of one GPU",
                             scenario.step_gpus));
}

void read_learning(ConfigReader& root, Scenario& scenario) {
    auto config = root.object_if_present("learning");
    if (!config) return;
    sim::JobSpec& job = scenario.job;
    if (!job.profile.step_time) {
        root.fail("learning", "needs \"step_time\" at /job: how long a step of any batch takes");
    }
    if (!job.noise_scale.empty()) {
        root.fail("learning", "has its own \"noise_scale\": leave that at /job out");
    }
    static constexpr std::array<std::string_view, 4> models{"noise_scale_law", "recorded_curves",
                                                            "critical_regimes", "real_gradients"};
    const std::string model = config->one_of("model", models, "noise_scale_law");
    if (model == "real_gradients") {
        job.learning = read_real_gradients(root, *config, scenario);
        config->finish();
        return;
    }
    if (model == "critical_regimes") {
        job.learning = read_critical_regimes(*config, job);
        config->finish();
        return;
    }
    const std::int64_t reference = config->integer(
        "reference_batch", 1, batch_most, policies::samples_per_step(job.plan, job.workers_min));
    job.learning = model == "noise_scale_law" ? read_law(*config, job, reference)
                                              : read_curves(*config, job, reference);
    config->finish();
}

}  // namespace ukemi::scenarios
