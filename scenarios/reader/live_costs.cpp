// live_costs.cpp — measured costs as a document, and what is made of them.
#include "scenarios/reader/live_costs.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/config_reader.hpp"
#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "base/plain_text.hpp"
#include "kernels/training_rules.hpp"
#include "policies/codec_text.hpp"
#include "scenarios/reader/read_codec.hpp"
#include "scenarios/reader/read_synchronisation.hpp"

namespace ukemi::scenarios {

namespace {

constexpr int costs_version = 3;  // of the document

void expect_version(ConfigReader& config) {
    const std::int64_t version = config.integer("version", 1, 1'000'000);
    if (version == costs_version) return;
    config.fail("version",
                fmt::format("this file is of version {}, and this ukemi reads version {}: {}",
                            version, costs_version,
                            version < costs_version ? "measure anew with ukemi calibrate"
                                                    : "a newer ukemi has written it"));
}

nlohmann::ordered_json times_json(const kernels::MeasuredTimes& times) {
    nlohmann::ordered_json object;
    if (!times.s.empty()) {
        object["mean_s"] = times.mean();
        object["middle_mean_s"] = times.middle_mean();
        object["median_s"] = times.median();
        object["p10_s"] = times.quantile(0.1);
        object["p90_s"] = times.quantile(0.9);
        object["p99_s"] = times.quantile(0.99);
        object["cv"] = times.cv();
    }
    object["raw_s"] = times.s;
    return object;
}

kernels::MeasuredTimes times_from(ConfigReader config) {
    kernels::MeasuredTimes times;
    times.s = config.numbers("raw_s", 0, 1e6);
    for (const char* derived :
         {"mean_s", "middle_mean_s", "median_s", "p10_s", "p90_s", "p99_s", "cv"}) {
        if (config.has(derived)) config.number(derived, 0, 1e6);
    }
    config.finish();
    return times;
}

nlohmann::ordered_json sizes_json(const TimesBySize& sizes) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const auto& [workers, times] : sizes) {
        all.push_back({{"workers", workers}, {"times", times_json(times)}});
    }
    return all;
}

TimesBySize sizes_from(ConfigReader& config, std::string_view key) {
    TimesBySize sizes;
    for (ConfigReader& one : config.objects(key)) {
        const auto workers = static_cast<std::int32_t>(one.integer("workers", 1, 100'000));
        if (!sizes.empty() && workers <= sizes.rbegin()->first) {
            one.fail("workers", "expected sizes that grow");
        }
        sizes[workers] = times_from(one.object("times"));
        if (sizes[workers].s.empty()) one.fail("times", "expected at least one measured time");
        one.finish();
    }
    return sizes;
}

nlohmann::ordered_json fit_json(const LineFit& fit, const char* unit) {
    return {{"fixed_s", fit.fixed},  {fmt::format("per_{}_s", unit), fit.per_unit},
            {"points", fit.points},  {"from", fit.x_min},
            {"to", fit.x_max},       {"off_most", fit.off_most},
            {"off_rms", fit.off_rms}};
}

nlohmann::ordered_json setting_json(const StepSetting& setting) {
    const auto name = [](auto names, auto value) { return names[static_cast<std::size_t>(value)]; };
    return {{"workers", setting.workers},
            {"batch", setting.batch},
            {"micro_steps", setting.micro_steps},
            {"synchronisation", name(policies::synchronisation_names(), setting.synchronisation)},
            {"collective", name(policies::collective_names(), setting.collective)},
            {"codec", policies::text_of({setting.codec, setting.codec_level})}};
}

StepSetting setting_from(ConfigReader& config) {
    StepSetting setting;
    setting.workers = static_cast<std::int32_t>(config.integer("workers", 1, 100'000));
    setting.batch = config.integer("batch", 1, 1'000'000'000);
    setting.micro_steps = static_cast<std::int32_t>(config.integer("micro_steps", 1, 1'000'000));
    setting.synchronisation = read_synchronisation(config, policies::synchronisation_names());
    const auto collectives = policies::collective_names();
    setting.collective = static_cast<policies::Collective>(
        std::ranges::find(collectives, config.one_of("collective", collectives)) -
        collectives.begin());
    const policies::CodecChoice choice = read_codec(config);
    setting.codec = choice.codec;
    setting.codec_level = choice.level;
    return setting;
}

nlohmann::ordered_json machine_json(const kernels::MachineCosts& machine) {
    nlohmann::ordered_json curves = nlohmann::ordered_json::array();
    for (const kernels::MachineCurve& curve : machine.curves) {
        nlohmann::ordered_json one{{"name", curve.name}, {"ranks", curve.ranks}};
        one["points"] = nlohmann::ordered_json::array();
        for (const kernels::MachinePoint& point : curve.points) {
            one["points"].push_back({{"bytes", point.bytes},
                                     {"wrong", point.wrong},
                                     {"times", times_json(point.times)}});
        }
        if (const auto fit = curve.fit()) one["fit"] = fit_json(*fit, "byte");
        curves.push_back(std::move(one));
    }
    return {{"warm_up", machine.warm_up},
            {"device_memory_bytes", machine.device_memory_bytes},
            {"curves", std::move(curves)}};
}

kernels::MachineCosts machine_from(ConfigReader config) {
    kernels::MachineCosts machine;
    machine.warm_up = static_cast<int>(config.integer("warm_up", 0, 1'000'000));
    machine.device_memory_bytes =
        config.integer("device_memory_bytes", 0, std::int64_t{1} << 50, 0);
    for (ConfigReader& read : config.objects("curves")) {
        kernels::MachineCurve curve{
            read.text("name"), static_cast<int>(read.integer("ranks", 1, 100'000)), {}};
        for (ConfigReader& point : read.objects("points")) {
            kernels::MachinePoint one;
            one.bytes = point.integer("bytes", 0, std::int64_t{1} << 50);
            if (!curve.points.empty() && one.bytes <= curve.points.back().bytes) {
                point.fail("bytes", "expected sizes that grow");
            }
            one.wrong = point.integer("wrong", 0, std::int64_t{1} << 50);
            one.times = times_from(point.object("times"));
            point.finish();
            curve.points.push_back(std::move(one));
        }
        read.object_if_present("fit");  // derived
        read.finish();
        machine.curves.push_back(std::move(curve));
    }
    config.finish();
    return machine;
}

constexpr double longest_s = 1e8;  // whatever the file says, sums of it fit a Duration

Duration scaled_median(const kernels::MeasuredTimes& times, double time_scale) {
    return times.s.empty() ? Duration{} : seconds(std::min(times.median() * time_scale, longest_s));
}

// For people and plots; the reader makes its own.
nlohmann::ordered_json law_json(const LiveCosts& costs) {
    const StepLaw law = costs.law();
    nlohmann::ordered_json document;
    document["form"] =
        "fixed + per_sample * micro_steps * batch + (micro_steps - 1) * micro + exchange(kind), or "
        "a line of its own for a kind measured at two batches or more";
    document["lines"] = nlohmann::ordered_json::array();
    for (const StepLaw::Line& line : law.lines()) {
        nlohmann::ordered_json one{{"workers", line.workers}, {"micro_s", line.micro_s}};
        one["line"] = fit_json(line.fit, "sample");
        document["lines"].push_back(std::move(one));
    }
    document["residuals"] = nlohmann::ordered_json::array();
    for (const StepLaw::Residual& residual : law.residuals()) {
        nlohmann::ordered_json one = setting_json(residual.setting);
        one["measured_s"] = residual.measured_s;
        one["law_s"] = residual.law_s;
        document["residuals"].push_back(std::move(one));
    }
    return document;
}

constexpr std::int32_t hosts_most = 10'000;

LinkCosts link_from(ConfigReader& config) {
    LinkCosts link;
    link.host = static_cast<std::int32_t>(config.integer("host", 0, hosts_most));
    link.other = static_cast<std::int32_t>(config.integer("other", link.host + 1, hosts_most));
    link.round_trip = times_from(config.object("round_trip"));
    link.mebibyte = times_from(config.object("mebibyte"));
    config.finish();
    return link;
}

LiveCosts costs_from(ConfigReader config) {
    static constexpr std::string_view kinds[] = {"ukemi live costs"};
    if (!config.has("kind")) config.fail("", "expected costs, as ukemi calibrate writes them");
    config.one_of("kind", kinds);
    expect_version(config);
    LiveCosts costs;
    costs.device = config.text("device");
    costs.training = config.text("training");
    costs.stretch_steps = config.integer("stretch_steps", 0, 1'000'000'000, 0);
    for (ConfigReader& step : config.objects("steps")) {
        StepCosts one;
        one.setting = setting_from(step);
        one.step = times_from(step.object("step"));
        if (one.step.s.empty() || one.step.quantile(0) < 1e-9) {
            step.fail("step", "expected at least one measured time");
        }
        if (!costs.steps.empty() && !(costs.steps.back().setting < one.setting)) {
            step.fail("workers", "expected settings in order, each once");
        }
        step.finish();
        costs.steps.push_back(std::move(one));
    }
    if (costs.steps.empty()) config.fail("steps", "expected at least one number of workers");
    for (const NamedTimesBySize& one : cost_times_by_size) {
        costs.*one.times = sizes_from(config, one.name);
    }
    for (const NamedTimes& one : cost_times) {
        const bool came_later = one.times == &LiveCosts::start_beside;
        if (came_later && !config.has(one.name)) continue;
        costs.*one.times = times_from(config.object(one.name));
    }
    costs.worker_memory_bytes = config.integer("worker_memory_bytes", 0, std::int64_t{1} << 50, 0);
    if (config.has("links")) {  // came later
        for (ConfigReader& link : config.objects("links")) costs.links.push_back(link_from(link));
    }
    if (auto machine = config.object_if_present("machine")) {
        costs.machine = machine_from(std::move(*machine));
    }
    config.object_if_present("law");  // derived
    config.finish();
    return costs;
}

}  // namespace

std::string costs_json(const LiveCosts& costs) {
    nlohmann::ordered_json document;
    document["kind"] = "ukemi live costs";
    document["version"] = costs_version;
    document["device"] = costs.device;
    document["training"] = costs.training;
    document["stretch_steps"] = costs.stretch_steps;
    document["steps"] = nlohmann::ordered_json::array();
    for (const StepCosts& step : costs.steps) {
        nlohmann::ordered_json one = setting_json(step.setting);
        one["step"] = times_json(step.step);
        document["steps"].push_back(std::move(one));
    }
    for (const NamedTimesBySize& one : cost_times_by_size) {
        document[one.name] = sizes_json(costs.*one.times);
    }
    for (const NamedTimes& one : cost_times) document[one.name] = times_json(costs.*one.times);
    document["worker_memory_bytes"] = costs.worker_memory_bytes;
    document["machine"] = machine_json(costs.machine);
    if (!costs.links.empty()) document["links"] = nlohmann::ordered_json::array();
    for (const LinkCosts& link : costs.links) {
        document["links"].push_back({{"host", link.host},
                                     {"other", link.other},
                                     {"round_trip", times_json(link.round_trip)},
                                     {"mebibyte", times_json(link.mebibyte)}});
    }
    document["law"] = law_json(costs);
    return document.dump(1) + "\n";
}

LiveCosts read_costs(const std::filesystem::path& file) {
    return costs_from(ConfigReader::from_file(file));
}

LiveCosts costs_from_text(std::string_view text, const std::filesystem::path& file) {
    return costs_from(ConfigReader::from_text(text, file.string()));
}

policies::TimeBySize medians_of(const TimesBySize& times, double time_scale) {
    policies::TimeBySize medians;
    for (const auto& [workers, measured] : times) {
        medians.push_back({workers, scaled_median(measured, time_scale)});
    }
    return medians;
}

std::vector<std::pair<std::string, const kernels::MeasuredTimes*>> change_times(
    const LiveCosts& costs) {
    std::vector<std::pair<std::string, const kernels::MeasuredTimes*>> all;
    for (const NamedTimesBySize& one : cost_times_by_size) {
        for (const auto& [workers, times] : costs.*one.times) {
            const char* plural = workers == 1 ? "" : "s";
            all.emplace_back(fmt::format("{}, {} worker{}", one.name, workers, plural), &times);
        }
    }
    for (const NamedTimes& one : cost_times) all.emplace_back(one.name, &(costs.*one.times));
    for (const LinkCosts& link : costs.links) {
        const std::string ends = fmt::format("hosts {} and {}", link.host, link.other);
        all.emplace_back("round trip, " + ends, &link.round_trip);
        all.emplace_back("1 MiB, " + ends, &link.mebibyte);
    }
    return all;
}

StepLaw LiveCosts::law() const {
    std::vector<MeasuredStep> measured;
    for (const StepCosts& one : steps) measured.push_back({one.setting, one.step.middle_mean()});
    return StepLaw(measured);
}

StepLaw LiveCosts::least_law() const {
    std::vector<MeasuredStep> measured;
    for (const StepCosts& one : steps) measured.push_back({one.setting, one.step.quantile(0)});
    return StepLaw(measured);
}

const StepCosts* LiveCosts::find(const StepSetting& setting) const {
    const auto found = std::ranges::find(steps, setting, &StepCosts::setting);
    return found == steps.end() ? nullptr : &*found;
}

std::string this_device() {
    std::string processor = "unknown processor";
    std::ifstream cpu("/proc/cpuinfo");
    for (std::string line; std::getline(cpu, line);) {
        if (!line.starts_with("model name")) continue;
        processor = one_line(line.substr(std::min(line.find(": "), line.size() - 2) + 2));
        break;
    }
    utsname system{};
    const bool known = uname(&system) == 0;
    return fmt::format("{}, {} cores, {} {}", processor, std::thread::hardware_concurrency(),
                       known ? system.sysname : "unknown", known ? system.machine : "system");
}

// What the costs depend on beside the setting: the same text for the same work.
std::string training_text(const Scenario& scenario) {
    INVARIANT(scenario.training.has_value());
    kernels::TrainingSpec spec = *scenario.training;
    spec.seed = spec.step.seed = 0;  // other samples and weights cost the same
    return kernels::training_spec_text(spec);
}

void expect_one_replica(const Scenario& scenario) {
    if (!scenario.training || !kernels::learners_average(scenario.job.plan)) return;
    throw InputError(scenario.file.string(), "/training/learners",
                     "costs are measured with one replica a worker: expected 1, found several "
                     "learners that average");
}

void expect_costs_of(const LiveCosts& costs, const Scenario& scenario,
                     const std::filesystem::path& file, const std::string& device) {
    if (scenario.training && costs.training != training_text(scenario)) {
        throw InputError(file.string(), "/training",
                         fmt::format("these costs are of another training than that of {}",
                                     scenario.file.string()));
    }
    if (!device.empty() && costs.device != device) {
        throw InputError(file.string(), "/device",
                         fmt::format("these costs were measured on another machine ({}; this is "
                                     "{})",
                                     costs.device, device));
    }
}

policies::JobProfile measured_profile(const LiveCosts& costs, const Scenario& scenario,
                                      double time_scale, const std::filesystem::path& file,
                                      const std::string& device) {
    // A job without "training" takes the costs as they are: a profile of what they were measured
    // on.
    expect_one_replica(scenario);
    expect_costs_of(costs, scenario, file, device);
    const auto scaled = [&](const kernels::MeasuredTimes& times) {
        return scaled_median(times, time_scale);
    };
    policies::JobProfile profile = scenario.job.profile;
    profile.throughput.clear();
    profile.batch_grows = scenario.job.plan.global_batch == 0;
    profile.step_time.reset();
    const StepLaw law = costs.law();
    std::string why;
    const std::int32_t workers_max = costs.steps.back().setting.workers;
    for (std::int32_t workers = 1; workers <= workers_max; ++workers) {
        const StepSetting setting = setting_of(scenario.job.plan, workers);
        const StepCosts* measured = costs.find(setting);
        const std::string refused = measured != nullptr ? "" : law.refusal(setting);
        if (why.empty()) why = refused;
        if (!refused.empty()) continue;
        const double s = measured != nullptr ? measured->step.middle_mean() : law.step_s(setting);
        profile.throughput.push_back(
            {workers, {1, std::max(seconds(std::min(s * time_scale, longest_s)), nanoseconds(1))}});
    }
    if (profile.throughput.empty()) {
        throw InputError(file.string(), "/steps", fmt::format("no step can be predicted: {}", why));
    }
    if (scenario.links_of_costs) {
        profile.links.links = measured_links(costs, scenario, time_scale, file);
    }
    const policies::TimeBySize restarts = medians_of(costs.restart, time_scale);
    const std::int32_t largest = scenario.job.plan.workers_max;
    profile.spawn = policies::time_for_size(medians_of(costs.spawn, time_scale), largest);
    profile.restart = policies::time_for_size(restarts, largest);
    const Duration grown = scaled(costs.grow) + scaled(costs.start_beside);
    const Duration lost = scaled(costs.loss);
    const bool both = !costs.grow.s.empty() && !costs.loss.s.empty();
    profile.resize = both ? nanoseconds((grown.raw() + lost.raw()) / 2) : std::max(grown, lost);
    if (!profile.lossless) {
        profile.checkpoint = scaled(costs.checkpoint);
        profile.restore =
            std::max(scaled(costs.restore) - policies::time_for_size(restarts, 1), Duration{});
    }
    return profile;
}

void limit_workers(sim::JobSpec& job, std::int32_t workers) {
    const bool starts_full = job.plan.workers_max == job.instances_max;
    job.instances_max = workers;
    job.plan.workers_max = starts_full ? workers : std::min(job.plan.workers_max, workers);
    job.workers_min = std::min(job.workers_min, workers);
    for (policies::FleetLine& line : job.plan.fleet) line.count = job.plan.workers_max;
}

}  // namespace ukemi::scenarios
