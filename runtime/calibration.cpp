#include "runtime/calibration.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <deque>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "kernels/link_probe.hpp"
#include "kernels/training_spec.hpp"
#include "runtime/step_times.hpp"

namespace ukemi::runtime {

using Wall = std::chrono::steady_clock;

std::vector<scenarios::StepSetting> calibration_grid(const scenarios::Scenario& scenario,
                                                     std::int32_t workers_max) {
    std::vector<scenarios::StepSetting> grid;
    if (!scenario.training) return grid;  // measure_costs says so
    const kernels::TrainingSpec& training = *scenario.training;
    const auto add = [&](const scenarios::StepSetting& setting) {
        const policies::Plan plan = scenarios::plan_with(scenario.job.plan, setting);
        if (kernels::step_refusal(training, plan, setting.workers).empty()) {
            grid.push_back(setting);
        }
    };
    for (std::int32_t workers = 1; workers <= workers_max; ++workers) {
        scenarios::StepSetting own = scenarios::setting_of(scenario.job.plan, workers);
        scenarios::StepSetting plain = own;
        plain.synchronisation = policies::Synchronisation::s_sgd;
        plain.codec = policies::Codec::none;
        plain.codec_level = 0;
        plain.micro_steps = 1;
        std::vector<scenarios::StepSetting> wanted;
        for (const std::int64_t batch : {own.batch / 2, own.batch, 2 * own.batch}) {
            plain.batch = std::max<std::int64_t>(batch, 1);
            wanted.push_back(plain);
        }
        plain.batch = wanted.front().batch;
        plain.micro_steps = 2;
        wanted.push_back(plain);
        plain.micro_steps = 1;
        plain.batch = own.batch;
        for (const policies::Synchronisation other :
             {policies::Synchronisation::synchronous_averaging,
              policies::Synchronisation::pair_averaging}) {
            // Their exchange hides behind computing: more of it, the larger the batch.
            for (const std::int64_t batch : {own.batch / 2, own.batch, 2 * own.batch}) {
                wanted.push_back(plain);
                wanted.back().batch = std::max<std::int64_t>(batch, 1);
                wanted.back().synchronisation = other;
            }
        }
        for (std::size_t codec = 1; codec < policies::codec_names().size(); ++codec) {
            // Singular values of a whole layer take seconds on a CPU.
            if (static_cast<policies::Codec>(codec) == policies::Codec::atomo) continue;
            wanted.push_back(plain);
            wanted.back().codec = static_cast<policies::Codec>(codec);
        }
        for (const scenarios::StepSetting& setting : wanted) {
            if (setting != own) add(setting);
        }
    }
    return grid;
}

std::vector<scenarios::StepSetting> batch_grid(const scenarios::Scenario& scenario,
                                               std::int32_t workers_max,
                                               std::span<const std::int64_t> batches) {
    std::vector<scenarios::StepSetting> grid;
    for (std::int32_t workers = 1; workers <= workers_max; ++workers) {
        const scenarios::StepSetting own = scenarios::setting_of(scenario.job.plan, workers);
        for (const std::int64_t batch : batches) {
            scenarios::StepSetting plain = own;
            plain.synchronisation = policies::Synchronisation::s_sgd;
            plain.codec = policies::Codec::none;
            plain.codec_level = 0;
            plain.micro_steps = 1;
            plain.batch = batch;
            const bool there = std::ranges::find(grid, plain) != grid.end();
            if (plain != own && !there) grid.push_back(plain);
        }
    }
    return grid;
}

double warm_after_s(std::span<const double> done_s) {
    INVARIANT(std::ssize(done_s) == steps_until_warm + steps_when_warm);
    kernels::MeasuredTimes warm;
    for (std::size_t step = steps_until_warm; step < done_s.size(); ++step) {
        warm.s.push_back(done_s[step] - done_s[step - 1]);
    }
    return done_s[steps_until_warm - 1] - static_cast<double>(steps_until_warm) * warm.median();
}

std::span<const double> first_reports(std::span<const double> done_s) {
    constexpr std::size_t wanted = steps_until_warm + steps_when_warm;
    if (done_s.size() >= wanted) return done_s.first(wanted);
    throw std::runtime_error(fmt::format("the group stood after {} reports of its first {} steps",
                                         done_s.size(), wanted));
}

namespace {

double seconds_since(Wall::time_point start) {
    return std::chrono::duration<double>(Wall::now() - start).count();
}

// The most that the process has had resident; 0 if that is not to be known.
std::int64_t memory_of(int process) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(status, line);) {
        if (!line.starts_with("VmHWM:")) continue;
        const std::size_t digit = line.find_first_of("0123456789");
        if (digit == std::string::npos) return 0;
        std::int64_t kibibytes = 0;
        std::from_chars(line.data() + digit, line.data() + line.size(), kibibytes);
        return kibibytes * 1024;
    }
    return 0;
}

void expect_not_interrupted(const CalibrationOptions& options) {
    if (options.live.stop_requests == nullptr || options.live.stop_requests->load() == 0) return;
    throw std::runtime_error("calibration: interrupted");
}

// Drives a crew through what is to be measured, step by step, and waits for each to be over.
class Measurement {
public:
    Measurement(const scenarios::Scenario& scenario, const CalibrationOptions& options,
                scenarios::LiveCosts& costs, std::int64_t link_steps = 0)
        : plan_(hardly_learning(scenario.job.plan)),
          options_(options),
          costs_(costs),
          crew_(setup(scenario, link_steps)) {}

    // All at once, as a run does.
    void spawn(std::int32_t count) {
        const auto start = Wall::now();
        spawn_unmeasured(count);
        costs_.spawn[count].s.push_back(seconds_since(start));
    }
    void spawn_unmeasured(std::int32_t count) {
        for (std::int32_t more = 0; more < count; ++more) {
            ready_.push_back(InstanceId{next_id_++});
            crew_.spawn(ready_.back());
        }
        for (std::int32_t more = 0; more < count; ++more) wait<WorkerReady>();
    }

    // The same group under the setting's Plan.
    void change_plan(const scenarios::StepSetting& setting) {
        policies::Plan next = scenarios::plan_with(plan_, setting);
        next.version = PlanVersion{++version_};
        crew_.begin_transition(members_, next);
        step_ = wait<GroupEntered>().step;
    }

    // Forms a group of the first `workers` and lets it make some steps; returns what it took until
    // these were as short as they stay.
    double enter(std::int32_t workers, const std::filesystem::path& checkpoint = {}) {
        const auto start = Wall::now();
        members_.assign(ready_.begin(), ready_.begin() + workers);
        return enter_members(start, checkpoint);
    }

    // The members, and others to whom they send the model.
    double grow(std::int32_t workers) {
        const double s = enter(workers);
        costs_.rendezvous.s.push_back(wall_seconds(entered_.rendezvous));
        costs_.state_transfer.s.push_back(wall_seconds(entered_.state_transfer));
        return s;
    }

    // One more starts while the members train: what they lose by it where they share processors.
    void start_beside(std::int64_t steps) {
        const double alone_s = stretch(steps);
        const std::int64_t heard = ready_heard_;
        const auto start = Wall::now();
        ready_.push_back(InstanceId{next_id_++});
        crew_.spawn(ready_.back());
        kernels::MeasuredTimes beside;
        do {
            beside.s.push_back(stretch(5));
        } while (ready_heard_ == heard);
        const double slower = std::max(1 - alone_s / beside.mean(), 0.0);
        costs_.start_beside.s.push_back(seconds_since(start) * slower);
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

    // From the end of one step to that of another, as in a run that goes on: what it takes to start
    // and to hold the group is no part of a step.
    double stretch(std::int64_t steps) {
        done_.clear();
        run_to(step_ + steps + 1);
        INVARIANT(!done_.empty());
        std::vector<double> ends_s;
        for (const Wall::time_point end : done_) {
            ends_s.push_back(std::chrono::duration<double>(end - done_.front()).count());
        }
        return mean_step_s(ends_s);
    }

    double save(std::filesystem::path& file) {
        const auto start = Wall::now();
        crew_.save();
        file = wait<CheckpointSaved>().file;
        return seconds_since(start);
    }

    void note_memory() {
        if (!options_.live.remote.hosts.empty()) return;  // their processes are elsewhere
        for (const InstanceId worker : ready_) {
            costs_.worker_memory_bytes =
                std::max(costs_.worker_memory_bytes, memory_of(crew_.process_of(worker)));
        }
    }

    // All workers leave; those that come next start anew.
    void kill_all() {
        for (const InstanceId worker : ready_) {
            crew_.kill(worker);
            wait<WorkerDied>();
        }
        ready_.clear();
        crew_.abandon();
    }

private:
    // What is measured does not depend on what is learned; and a rate that suits the scenario's own
    // steps, for as long as it trains, may lead others, for longer, to no number.
    static policies::Plan hardly_learning(policies::Plan plan) {
        plan.learning_rate *= 1e-3;
        return plan;
    }

    CrewSetup setup(const scenarios::Scenario& scenario, std::int64_t link_steps) const {
        CrewSetup crew;
        crew.link_steps = link_steps;
        crew.training = *scenario.training;
        crew.worker_program = options_.live.worker_program;
        crew.worker_arguments = options_.live.worker_arguments;
        crew.folder = options_.live.folder;
        crew.deadlines = options_.live.deadlines;
        crew.cores = options_.live.cores;
        crew.listen = options_.live.listen;
        crew.remote = options_.live.remote;
        crew.scripts_by_relay = options_.live.scripts_by_relay;
        return crew;
    }

    static double wall_seconds(std::chrono::nanoseconds time) {
        return static_cast<double>(time.count()) * 1e-9;
    }

    double enter_members(Wall::time_point start, const std::filesystem::path& checkpoint) {
        policies::Plan plan = plan_;
        plan.version = PlanVersion{++version_};
        crew_.begin_transition(members_, plan, checkpoint);
        entered_ = wait<GroupEntered>();
        step_ = entered_.step;
        const double entered_s = seconds_since(start);
        done_.clear();
        run_to(step_ + steps_until_warm + steps_when_warm);
        std::vector<double> done_s;
        for (const Wall::time_point at : done_) {
            done_s.push_back(std::chrono::duration<double>(at - start).count());
        }
        return std::max(entered_s, warm_after_s(first_reports(done_s)));
    }

    void note_links(const kernels::StepReport& report) {
        for (const kernels::StepWord& word : report.words) {
            if (word.link_round_trip_ns <= 0) continue;
            scenarios::LinkCosts& link = link_between(word.host, word.link_host);
            link.round_trip.s.push_back(static_cast<double>(word.link_round_trip_ns) * 1e-9);
            link.mebibyte.s.push_back((1 << 20) / word.link_bytes_per_second);
        }
    }
    scenarios::LinkCosts& link_between(std::int32_t host, std::int32_t other) {
        for (scenarios::LinkCosts& link : costs_.links) {
            if (link.host == host && link.other == other) return link;
        }
        costs_.links.push_back({host, other, {}, {}});
        return costs_.links.back();
    }

    void run_to(std::int64_t step) {
        crew_.run_until(step);
        while (step_ < step) step_ = wait<GroupHeld>().step;
    }

    // The next report of this kind; a death or a failure that nobody ordered ends the measurement.
    template <class Wanted>
    Wanted wait() {
        constexpr std::chrono::seconds patience{60};  // without a step
        auto deadline = Wall::now() + patience;
        for (;;) {
            expect_not_interrupted(options_);
            while (!reports_.empty()) {
                const CrewEvent event = std::move(reports_.front());
                reports_.pop_front();
                if (const auto* done = std::get_if<StepDone>(&event)) {
                    deadline = Wall::now() + patience;
                    done_.push_back(done->at);
                    note_links(done->report);
                }
                if (std::holds_alternative<WorkerReady>(event)) ++ready_heard_;
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

    const policies::Plan plan_;
    const CalibrationOptions& options_;
    scenarios::LiveCosts& costs_;
    Crew crew_;
    std::deque<CrewEvent> reports_;
    std::vector<InstanceId> ready_;
    std::vector<InstanceId> members_;
    GroupEntered entered_{};  // the last group
    std::int64_t step_ = 0;
    std::vector<Wall::time_point> done_;  // the steps of a stretch, or of a new group
    std::int64_t ready_heard_ = 0;        // of all that were started
    std::uint32_t next_id_ = 0;
    std::uint32_t version_ = 0;
};

scenarios::StepCosts& costs_of(scenarios::LiveCosts& costs, const scenarios::StepSetting& setting) {
    for (scenarios::StepCosts& one : costs.steps) {
        if (one.setting == setting) return one;
    }
    costs.steps.push_back({setting, {}});
    return costs.steps.back();
}

// Settings take turns, a stretch each, so that a disturbance of some seconds does not fall on one
// of them alone.
void measure_steps(Measurement& run, const CalibrationOptions& options,
                   std::span<const scenarios::StepSetting> settings, scenarios::LiveCosts& costs) {
    for (int stretch = 0; stretch < options.stretches; ++stretch) {
        for (const scenarios::StepSetting& setting : settings) {
            if (settings.size() > 1 || stretch == 0) {
                run.change_plan(setting);
                run.stretch(std::max<std::int64_t>(options.steps / 5, 5));  // warm-up
            }
            costs_of(costs, setting).step.s.push_back(run.stretch(options.steps));
        }
    }
}

// Begins with a group of `workers`, and ends with one.
void measure_changes(Measurement& run, std::int32_t workers, const std::filesystem::path& file,
                     std::int64_t steps, scenarios::LiveCosts& costs) {
    if (workers > 1) {
        costs.shrink.s.push_back(run.enter(workers - 1));
        costs.grow.s.push_back(run.grow(workers));
        costs.loss.s.push_back(run.kill_last());
    }
    run.start_beside(steps);
    run.kill_all();
    run.spawn(1);
    costs.restore.s.push_back(run.enter(1, file));
    for (std::int32_t size = 1;; size = std::min(2 * size, workers)) {
        run.kill_all();
        run.spawn(size);
        costs.restart[size].s.push_back(run.enter(size));
        if (size == workers) break;
    }
}

using Progress = std::function<void(const std::string&)>;

void measure_once(const scenarios::Scenario& scenario, const CalibrationOptions& options,
                  const Progress& tell, scenarios::LiveCosts& costs) {
    Measurement run(scenario, options, costs);
    run.spawn(options.workers_max);
    for (std::int32_t workers = 1; workers <= options.workers_max; ++workers) {
        if (workers == 1) {
            costs.restart[1].s.push_back(run.enter(1));
        } else {
            costs.grow.s.push_back(run.grow(workers));
        }
        std::vector<scenarios::StepSetting> settings{
            scenarios::setting_of(scenario.job.plan, workers)};
        std::ranges::copy_if(
            options.settings, std::back_inserter(settings),
            [&](const scenarios::StepSetting& one) { return one.workers == workers; });
        tell(fmt::format("steps of {} worker{}", workers, workers == 1 ? "" : "s"));
        measure_steps(run, options, settings, costs);
        run.change_plan(scenarios::setting_of(scenario.job.plan, workers));
        run.stretch(1);
    }
    tell("checkpoints and changes of the group");
    run.note_memory();
    std::filesystem::path file;
    for (int save = 0; save < options.stretches; ++save) {
        costs.checkpoint.s.push_back(run.save(file));
    }
    for (int change = 0; change < options.changes; ++change) {
        measure_changes(run, options.workers_max, file, options.steps, costs);
    }
}

// By a group of its own, so that no step or change that is measured has a part of it.
void measure_links(const scenarios::Scenario& scenario, const CalibrationOptions& options,
                   scenarios::LiveCosts& costs) {
    const auto hosts = static_cast<std::int32_t>(options.live.remote.hosts.size());
    constexpr std::int64_t in_each_step = 1;
    Measurement run(scenario, options, costs, in_each_step);
    run.spawn_unmeasured(options.workers_max);
    run.enter(options.workers_max);
    run.stretch(options.stretches * std::max<std::int64_t>(kernels::link_rounds(hosts), 1));
    std::ranges::sort(costs.links, {}, [](const scenarios::LinkCosts& link) {
        return std::pair(link.host, link.other);
    });
}

}  // namespace

scenarios::LiveCosts measure_costs(const scenarios::Scenario& scenario,
                                   const CalibrationOptions& options) {
    scenarios::expect_one_replica(scenario);
    if (!scenario.training) {
        throw InputError(scenario.file.string(), "/training",
                         "missing: there is nothing to measure without it");
    }
    scenarios::LiveCosts costs;
    costs.training = scenarios::training_text(scenario);
    costs.device = options.device;
    costs.stretch_steps = options.steps;
    const auto& hosts = options.live.remote.hosts;
    const bool scripted = !scenario.training->script.empty();
    if (hosts.size() > 1 && options.workers_max > hosts.front().slots && !scripted) {
        if (options.on_progress) options.on_progress("links between the hosts");
        measure_links(scenario, options, costs);
    }
    for (int repetition = 0; repetition < options.repetitions; ++repetition) {
        const Progress tell = [&](const std::string& what) {
            if (!options.on_progress) return;
            options.on_progress(
                fmt::format("repetition {} of {}: {}", repetition + 1, options.repetitions, what));
        };
        measure_once(scenario, options, tell, costs);
        if (!options.machine) continue;
        tell("copies, collectives, codecs, monitors, checkpoints by size");
        costs.machine.add(kernels::measure_machine(*options.machine));
        expect_not_interrupted(options);
    }
    std::ranges::sort(costs.steps, {}, &scenarios::StepCosts::setting);
    return costs;
}

}  // namespace ukemi::runtime
