#include "scenarios/calibration.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/config_reader.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/statistics.hpp"

namespace ukemi {

using Wall = std::chrono::steady_clock;

double MeasuredTimes::mean() const { return summarise(s).mean; }

double MeasuredTimes::median() const { return quantile(0.5); }

double MeasuredTimes::quantile(double q) const {
    std::vector<double> sorted = s;
    std::ranges::sort(sorted);
    return ukemi::quantile(sorted, q);
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

namespace {

// What the costs depend on: the same text for the same work.
std::string training_text(const Scenario& scenario) {
    INVARIANT(scenario.training.has_value());
    const Plan& plan = scenario.job.plan;
    TrainingSpec spec = *scenario.training;
    spec.seed = spec.step.seed = 0;  // other samples and weights cost the same
    return fmt::format("{} batch {} per worker {} accumulation {} synchronisation {} collective {}",
                       training_spec_text(spec), plan.global_batch, plan.batch_per_learner,
                       plan.accumulation,
                       synchronisation_names()[static_cast<std::size_t>(plan.synchronisation)],
                       collective_names()[static_cast<std::size_t>(plan.collective)]);
}

double seconds_since(Wall::time_point start) {
    return std::chrono::duration<double>(Wall::now() - start).count();
}

// Drives a crew through what is to be measured, step by step, and waits for each to be over.
class Measurement {
public:
    Measurement(const Scenario& scenario, const CalibrationOptions& options, LiveCosts& costs)
        : plan_(scenario.job.plan), options_(options), costs_(costs), crew_(setup(scenario)) {}

    void spawn(std::int32_t count) {
        for (std::int32_t more = 0; more < count; ++more) {
            crew_.spawn(InstanceId{next_id_++});
            costs_.spawn.s.push_back(wall_seconds(wait<WorkerReady>().spawn));
            ready_.push_back(InstanceId{next_id_ - 1});
        }
    }

    // Forms a group of the first `workers` and lets it make one step.
    double enter(std::int32_t workers, const std::filesystem::path& checkpoint = {}) {
        const auto start = Wall::now();
        members_.assign(ready_.begin(), ready_.begin() + workers);
        return enter_members(start, checkpoint);
    }

    double kill_last() {
        const auto start = Wall::now();
        crew_.kill(members_.back());
        wait<WorkerDied>();
        crew_.abandon();
        std::erase(ready_, members_.back());
        members_.pop_back();
        return enter_members(start, {});
    }

    double stretch(std::int64_t steps) {
        const auto start = Wall::now();
        run_to(step_ + steps);
        return seconds_since(start) / static_cast<double>(steps);
    }

    double save(std::filesystem::path& file) {
        const auto start = Wall::now();
        crew_.save();
        file = wait<CheckpointSaved>().file;
        return seconds_since(start);
    }

    // Everybody leaves; whoever comes next starts anew.
    void kill_all() {
        for (const InstanceId worker : ready_) {
            crew_.kill(worker);
            wait<WorkerDied>();
        }
        ready_.clear();
        crew_.abandon();
    }

private:
    CrewSetup setup(const Scenario& scenario) const {
        CrewSetup crew;
        crew.training = *scenario.training;
        crew.worker_program = options_.live.worker_program;
        crew.worker_arguments = options_.live.worker_arguments;
        crew.folder = options_.live.folder;
        crew.deadlines = options_.live.deadlines;
        crew.cores = options_.live.cores;
        return crew;
    }

    static double wall_seconds(std::chrono::nanoseconds time) {
        return static_cast<double>(time.count()) * 1e-9;
    }

    double enter_members(Wall::time_point start, const std::filesystem::path& checkpoint) {
        crew_.begin_transition(members_, plan_, checkpoint);
        step_ = wait<GroupEntered>().step;
        const double entered_s = seconds_since(start);
        run_to(step_ + 1);
        return entered_s;
    }

    void run_to(std::int64_t step) {
        crew_.run_until(step);
        while (step_ < step) step_ = wait<GroupHeld>().step;
    }

    // The next report of this kind; a death or a failure that nobody ordered ends the measurement.
    template <class Wanted>
    Wanted wait() {
        const auto deadline = Wall::now() + std::chrono::seconds(60);
        for (;;) {
            while (!reports_.empty()) {
                const CrewEvent event = std::move(reports_.front());
                reports_.pop_front();
                if (const auto* wanted = std::get_if<Wanted>(&event)) return *wanted;
                if (const auto* died = std::get_if<WorkerDied>(&event); died && !died->expected) {
                    throw std::runtime_error("calibration: a worker died: " + died->why);
                }
                if (const auto* failed = std::get_if<TransitionFailed>(&event)) {
                    throw std::runtime_error("calibration: no group: " + failed->why);
                }
                if (const auto* failed = std::get_if<CheckpointFailed>(&event)) {
                    throw std::runtime_error("calibration: no checkpoint: " + failed->why);
                }
            }
            if (Wall::now() > deadline) throw std::runtime_error("calibration: nothing happens");
            for (CrewEvent& event : crew_.poll(std::chrono::milliseconds(100))) {
                reports_.push_back(std::move(event));
            }
        }
    }

    const Plan plan_;
    const CalibrationOptions& options_;
    LiveCosts& costs_;
    Crew crew_;
    std::deque<CrewEvent> reports_;
    std::vector<InstanceId> ready_;
    std::vector<InstanceId> members_;
    std::int64_t step_ = 0;
    std::uint32_t next_id_ = 0;
};

void measure_once(const Scenario& scenario, const CalibrationOptions& options, LiveCosts& costs) {
    Measurement run(scenario, options, costs);
    run.spawn(options.workers_max);
    for (std::int32_t workers = 1; workers <= options.workers_max; ++workers) {
        (workers == 1 ? costs.restart : costs.resize).s.push_back(run.enter(workers));
        run.stretch(std::max<std::int64_t>(options.steps / 5, 5));  // warm-up
        StepCosts& step = costs.steps[static_cast<std::size_t>(workers - 1)];
        for (int stretch = 0; stretch < options.stretches; ++stretch) {
            step.step.s.push_back(run.stretch(options.steps));
        }
    }
    std::filesystem::path file;
    for (int save = 0; save < options.stretches; ++save) {
        costs.checkpoint.s.push_back(run.save(file));
    }
    if (options.workers_max > 1) {
        costs.resize.s.push_back(run.enter(options.workers_max - 1));
        costs.resize.s.push_back(run.enter(options.workers_max));
        costs.loss.s.push_back(run.kill_last());
    }
    run.kill_all();
    run.spawn(1);
    costs.restore.s.push_back(run.enter(1, file));
}

}  // namespace

LiveCosts measure_costs(const Scenario& scenario, const CalibrationOptions& options) {
    if (!scenario.training) {
        throw InputError(scenario.file.string(), "/training",
                         "missing: there is nothing to measure without it");
    }
    LiveCosts costs;
    costs.training = training_text(scenario);
    costs.device = this_device();
    for (std::int32_t workers = 1; workers <= options.workers_max; ++workers) {
        costs.steps.push_back({workers, {}});
    }
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
        measure_once(scenario, options, costs);
    }
    return costs;
}

namespace {

struct NamedTimes {
    const char* name;
    MeasuredTimes LiveCosts::*times;
};
constexpr NamedTimes named_times[] = {
    {"spawn", &LiveCosts::spawn},           {"restart", &LiveCosts::restart},
    {"resize", &LiveCosts::resize},         {"loss", &LiveCosts::loss},
    {"checkpoint", &LiveCosts::checkpoint}, {"restore", &LiveCosts::restore},
};

nlohmann::ordered_json times_json(const MeasuredTimes& times) {
    nlohmann::ordered_json object;
    if (!times.s.empty()) {
        object["mean_s"] = times.mean();
        object["median_s"] = times.median();
        object["p10_s"] = times.quantile(0.1);
        object["p90_s"] = times.quantile(0.9);
    }
    object["raw_s"] = times.s;
    return object;
}

MeasuredTimes times_from(ConfigReader config) {
    MeasuredTimes times;
    times.s = config.numbers("raw_s", 0, 1e6);
    for (const char* derived : {"mean_s", "median_s", "p10_s", "p90_s"}) {
        if (config.has(derived)) config.number(derived, 0, 1e6);
    }
    config.finish();
    return times;
}

}  // namespace

std::string costs_json(const LiveCosts& costs) {
    nlohmann::ordered_json document;
    document["kind"] = "ukemi live costs";
    document["version"] = 1;
    document["device"] = costs.device;
    document["training"] = costs.training;
    document["steps"] = nlohmann::ordered_json::array();
    for (const StepCosts& step : costs.steps) {
        document["steps"].push_back({{"workers", step.workers}, {"step", times_json(step.step)}});
    }
    for (const NamedTimes& one : named_times) document[one.name] = times_json(costs.*one.times);
    return document.dump(1) + "\n";
}

LiveCosts read_costs(const std::filesystem::path& file) {
    ConfigReader config = ConfigReader::from_file(file);
    static constexpr std::string_view kinds[] = {"ukemi live costs"};
    config.one_of("kind", kinds);
    config.integer("version", 1, 1);
    LiveCosts costs;
    costs.device = config.text("device");
    costs.training = config.text("training");
    for (ConfigReader& step : config.objects("steps")) {
        StepCosts one;
        one.workers = static_cast<std::int32_t>(step.integer("workers", 1, 100'000));
        one.step = times_from(step.object("step"));
        if (one.step.s.empty()) step.fail("step", "expected at least one measured time");
        if (!costs.steps.empty() && one.workers <= costs.steps.back().workers) {
            step.fail("workers", "expected numbers of workers that grow");
        }
        step.finish();
        costs.steps.push_back(std::move(one));
    }
    if (costs.steps.empty()) config.fail("steps", "expected at least one number of workers");
    for (const NamedTimes& one : named_times) {
        costs.*one.times = times_from(config.object(one.name));
    }
    config.finish();
    return costs;
}

JobProfile measured_profile(const LiveCosts& costs, const Scenario& scenario, double time_scale,
                            const std::filesystem::path& file) {
    if (!scenario.training || costs.training != training_text(scenario)) {
        throw InputError(file.string(), "/training",
                         fmt::format("these costs are of another training than that of {}",
                                     scenario.file.string()));
    }
    if (costs.device != this_device()) {
        throw InputError(file.string(), "/device",
                         fmt::format("these costs were measured on another machine ({}; this is "
                                     "{})",
                                     costs.device, this_device()));
    }
    const auto scaled = [&](const MeasuredTimes& times) {
        return times.s.empty() ? Duration{} : seconds(times.median() * time_scale);
    };
    JobProfile profile = scenario.job.profile;
    profile.throughput.clear();
    for (const StepCosts& step : costs.steps) {
        profile.throughput.push_back(
            {step.workers, {1, std::max(seconds(step.step.mean() * time_scale), nanoseconds(1))}});
    }
    profile.spawn = scaled(costs.spawn);
    profile.restart = scaled(costs.restart);
    MeasuredTimes resizes = costs.resize;
    resizes.s.insert(resizes.s.end(), costs.loss.s.begin(), costs.loss.s.end());
    profile.resize = scaled(resizes);
    if (!profile.lossless) {
        profile.checkpoint = scaled(costs.checkpoint);
        profile.restore = std::max(scaled(costs.restore) - profile.restart, Duration{});
    }
    return profile;
}

}  // namespace ukemi
