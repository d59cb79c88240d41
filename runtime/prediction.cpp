#include "runtime/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/csv_writer.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "kernels/training_rules.hpp"
#include "kernels/training_spec.hpp"
#include "policies/codec_text.hpp"
#include "runtime/step_times.hpp"
#include "scenarios/reader/read_synchronisation.hpp"

namespace ukemi::runtime {

namespace fs = std::filesystem;

namespace {

std::string digest_text(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::string_view name_of_synchronisation(const scenarios::StepSetting& setting) {
    return policies::synchronisation_names()[static_cast<std::size_t>(setting.synchronisation)];
}
// Halfway between neighbours of those that were measured with so many workers.
std::vector<std::int64_t> batches_between(const scenarios::LiveCosts& costs, std::int32_t workers) {
    std::set<std::int64_t> measured;
    for (const scenarios::StepCosts& one : costs.steps) {
        const scenarios::StepSetting& setting = one.setting;
        if (setting.workers == workers) measured.insert(setting.batch * setting.micro_steps);
    }
    std::vector<std::int64_t> between;
    for (auto low = measured.begin(); low != measured.end() && std::next(low) != measured.end();
         ++low) {
        const std::int64_t middle = (*low + *std::next(low)) / 2;
        if (!measured.contains(middle)) between.push_back(middle);
    }
    return between;
}

// Without "training", what our own workers could do.
std::string refusal_of(const scenarios::Scenario& scenario, const policies::Plan& plan,
                       std::int32_t workers) {
    return scenario.training ? kernels::step_refusal(*scenario.training, plan, workers)
                             : kernels::training_refusal(plan, workers);
}

}  // namespace

std::vector<scenarios::StepSetting> unmeasured_settings(const scenarios::LiveCosts& costs,
                                                        const scenarios::Scenario& scenario,
                                                        std::size_t most) {
    const scenarios::StepLaw law = costs.law();
    std::vector<scenarios::StepSetting> all;
    constexpr std::size_t rounds_max = 64;
    for (std::size_t round = 0; round < rounds_max; ++round) {
        const std::size_t before = all.size();
        std::set<scenarios::StepSetting> kinds;  // at their first place, with nothing of a batch
        for (const scenarios::StepCosts& one : costs.steps) {
            scenarios::StepSetting setting = one.setting;
            setting.batch = 1;
            if (!kinds.insert(setting).second) continue;
            const auto batches = batches_between(costs, setting.workers);
            if (round >= batches.size()) continue;
            // Another batch for each, so that six runs are not six times the same guess.
            const std::size_t place = (round + kinds.size()) % batches.size();
            setting.batch = std::max<std::int64_t>(batches[place] / setting.micro_steps, 1);
            const bool known = costs.find(setting) != nullptr || !law.refusal(setting).empty();
            const policies::Plan plan = scenarios::plan_with(scenario.job.plan, setting);
            if (known || !refusal_of(scenario, plan, setting.workers).empty()) continue;
            if (std::ranges::find(all, setting) == all.end()) all.push_back(setting);
        }
        if (all.size() == before) break;
    }
    if (all.size() > most) all.resize(most);
    return all;
}

namespace {

template <class Number>
Number number_of(std::string_view text, Number least, Number most, std::string_view key,
                 std::string_view option) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() ||
        !(value >= least && value <= most)) {
        throw InputError(option, "",
                         fmt::format("expected {} from {} to {}, found {}", key, least, most,
                                     ukemi::quoted(text)));
    }
    return value;
}

policies::Collective collective_of(std::string_view text, std::string_view option) {
    const auto names = policies::collective_names();
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) {
        throw InputError(
            option, "",
            fmt::format("no collective {}{}", ukemi::quoted(text), did_you_mean(text, names)));
    }
    return static_cast<policies::Collective>(found - names.begin());
}

void take_part(std::string_view key, std::string_view value, scenarios::StepSetting& setting,
               std::string_view option) {
    static constexpr std::array<std::string_view, 6> keys{
        "workers", "batch", "micro_steps", "synchronisation", "collective", "codec"};
    if (key == "workers") {
        setting.workers = number_of<std::int32_t>(value, 1, 256, key, option);
    } else if (key == "batch") {
        setting.batch = number_of<std::int64_t>(value, 1, 1'000'000'000, key, option);
    } else if (key == "micro_steps") {
        setting.micro_steps = number_of<std::int32_t>(value, 1, 1024, key, option);
    } else if (key == "synchronisation") {
        setting.synchronisation = scenarios::parse_synchronisation(value, option, "");
    } else if (key == "collective") {
        setting.collective = collective_of(value, option);
    } else if (key == "codec") {
        const policies::CodecChoice choice = policies::parse_codec(value, option, "");
        setting.codec = choice.codec;
        setting.codec_level = choice.level;
    } else if (key == "learners") {
        throw InputError(option, "",
                         "learners is no longer read: write micro_steps=2, the batches that a "
                         "worker computes for a step");
    } else {
        throw InputError(
            option, "",
            fmt::format("unknown part {}{}", ukemi::quoted(key), did_you_mean(key, keys)));
    }
}

}  // namespace

scenarios::StepSetting parse_setting(std::string_view text, const scenarios::Scenario& scenario,
                                     std::string_view option) {
    scenarios::StepSetting setting =
        scenarios::setting_of(scenario.job.plan, scenario.job.instances_max);
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
        const std::size_t equals = part.find('=');
        if (equals == std::string_view::npos) {
            throw InputError(
                option, "",
                fmt::format("expected parts such as batch=96, found {}", ukemi::quoted(part)));
        }
        take_part(part.substr(0, equals), part.substr(equals + 1), setting, option);
    }
    const std::string refused =
        refusal_of(scenario, scenarios::plan_with(scenario.job.plan, setting), setting.workers);
    if (!refused.empty()) throw InputError(option, "", refused);
    return setting;
}

scenarios::Scenario scenario_with(const scenarios::Scenario& scenario,
                                  const scenarios::StepSetting& setting, std::int64_t steps) {
    scenarios::Scenario fixed = scenario;
    sim::JobSpec& job = fixed.job;
    job.plan = scenarios::plan_with(job.plan, setting);
    job.instances_max = job.workers_min = job.plan.workers_max = setting.workers;
    for (policies::FleetLine& line : job.plan.fleet) line.count = setting.workers;
    job.samples_total = steps * policies::samples_per_step(job.plan, setting.workers);
    job.samples_per_epoch = job.samples_total;
    return fixed;
}

namespace {

// The scenario's own Plan for each number of workers, where it was measured and is not predicted.
std::vector<scenarios::StepSetting> controls_of(const scenarios::LiveCosts& costs,
                                                const scenarios::Scenario& scenario,
                                                std::span<const scenarios::StepSetting> settings) {
    std::set<std::int32_t> workers;
    for (const scenarios::StepSetting& setting : settings) workers.insert(setting.workers);
    std::vector<scenarios::StepSetting> controls;
    for (const std::int32_t count : workers) {
        const scenarios::StepSetting own = scenarios::setting_of(scenario.job.plan, count);
        if (costs.find(own) != nullptr) controls.push_back(own);
    }
    return controls;
}

double total_of(const scenarios::LiveCosts& costs, const fs::path& costs_file,
                const scenarios::Scenario& scenario, const PredictedRun& run,
                const std::string& device) {
    scenarios::Scenario fixed = scenario_with(scenario, run.setting, run.steps);
    fixed.job.profile = scenarios::measured_profile(costs, fixed, 1, costs_file, device);
    const scenarios::FinishedRun simulated =
        scenarios::run_one(fixed, calm_market(fixed), scenarios::first_policies(fixed), fixed.seed,
                           {false, false, false, false});
    return to_seconds(simulated.result.duration);
}

}  // namespace

Prediction predict_runs(const scenarios::LiveCosts& costs, const fs::path& costs_file,
                        const scenarios::Scenario& scenario,
                        std::span<const scenarios::StepSetting> settings, double wall_s,
                        const std::string& device) {
    scenarios::expect_one_replica(scenario);
    const scenarios::StepLaw law = costs.law();
    const scenarios::StepLaw least = costs.least_law();
    Prediction prediction;
    prediction.scenario = scenario.name;
    prediction.device = costs.device;
    prediction.costs_digest = digest_text(text_digest(scenarios::costs_json(costs)));
    prediction.seed = scenario.seed;
    prediction.stretch_steps = costs.stretch_steps;
    prediction.stretches = costs.steps.front().step.s.size();
    for (const scenarios::StepCosts& one : costs.steps) {
        prediction.stretches = std::min(prediction.stretches, one.step.s.size());
    }
    const auto add = [&](PredictedRun run) {
        run.steps = std::clamp<std::int64_t>(std::llround(wall_s / run.step_s), 10, 1'000'000);
        run.total_s = total_of(costs, costs_file, scenario, run, device);
        prediction.runs.push_back(run);
    };
    for (const scenarios::StepSetting& setting : settings) {
        if (costs.find(setting) != nullptr) {
            throw InputError(costs_file.string(), "/steps",
                             fmt::format("{}: was measured, there is nothing to predict",
                                         scenarios::setting_text(setting)));
        }
        const std::string refused = law.refusal(setting);
        if (!refused.empty()) throw InputError(costs_file.string(), "/steps", refused);
        const double step_s = law.step_s(setting);
        // Two laws with errors of their own: the least of something is no more than its mean.
        add({.setting = setting,
             .step_s = step_s,
             .step_least_s = std::min(least.step_s(setting), step_s),
             .covered = law.covers(setting)});
    }
    for (const scenarios::StepSetting& setting : controls_of(costs, scenario, settings)) {
        const kernels::MeasuredTimes& measured = costs.find(setting)->step;
        add({.setting = setting,
             .step_s = measured.middle_mean(),
             .step_least_s = measured.quantile(0),
             .control = true});
    }
    return prediction;
}

std::string prediction_json(const Prediction& prediction) {
    nlohmann::ordered_json document;
    document["kind"] = "ukemi prediction";
    document["scenario"] = prediction.scenario;
    document["device"] = prediction.device;
    document["costs_digest"] = prediction.costs_digest;
    document["seed"] = prediction.seed;
    document["stretch_steps"] = prediction.stretch_steps;
    document["stretches"] = prediction.stretches;
    document["runs"] = nlohmann::ordered_json::array();
    for (const PredictedRun& run : prediction.runs) {
        document["runs"].push_back({{"setting", scenarios::setting_text(run.setting)},
                                    {"steps", run.steps},
                                    {"step_s", run.step_s},
                                    {"step_least_s", run.step_least_s},
                                    {"total_s", run.total_s},
                                    {"batch_within_measured", run.covered},
                                    {"control", run.control}});
    }
    return document.dump(1) + "\n";
}

std::string write_prediction(const Prediction& prediction, const fs::path& folder) {
    const std::string text = prediction_json(prediction);
    const std::string digest = digest_text(text_digest(text));
    write_file_atomically(folder / "prediction.json", text);
    write_file_atomically(folder / "prediction.digest", digest + "\n");
    return digest;
}

namespace {

void check_written(const Prediction& prediction, const fs::path& folder) {
    const std::string text = read_file(folder / "prediction.json");
    const std::string digest = read_file(folder / "prediction.digest");
    if (text != prediction_json(prediction) || digest != digest_text(text_digest(text)) + "\n") {
        throw InputError((folder / "prediction.json").string(), "",
                         "is not the prediction of these runs: it is written before they start");
    }
}

std::vector<double> ends_of_steps(const LiveRecord& record) {
    std::vector<double> ends_s;
    for (const LiveRecord::Step& step : record.steps) {
        ends_s.push_back(to_seconds(step.at.since_start()));
    }
    return ends_s;
}

// Until there are `due`.
void add_stretches(std::span<const double> ends_s, std::int64_t stretch, std::size_t due,
                   kernels::MeasuredTimes& means) {
    const auto length = static_cast<std::size_t>(std::max<std::int64_t>(stretch, 1));
    const std::size_t missing = due - std::min(due, means.s.size());
    for (const double mean : stretch_means_s(ends_s, length, missing)) means.s.push_back(mean);
}

}  // namespace

std::vector<ComparedRun> run_predicted(const scenarios::Scenario& scenario,
                                       const Prediction& prediction, const fs::path& folder,
                                       int repetitions, const LiveOptions& live) {
    check_written(prediction, folder);
    std::vector<ComparedRun> compared;
    for (const PredictedRun& run : prediction.runs) compared.push_back({run, {}, {}, {}});
    for (int repetition = 0; repetition < repetitions; ++repetition) {
        for (ComparedRun& one : compared) {
            const scenarios::Scenario fixed =
                scenario_with(scenario, one.predicted.setting, one.predicted.steps);
            const LiveRun done = run_live(fixed, calm_market(fixed),
                                          scenarios::first_policies(fixed), fixed.seed, live);
            if (done.interrupted || !done.run.result.finished) {
                throw std::runtime_error(
                    fmt::format("{}: the run {}", scenarios::setting_text(one.predicted.setting),
                                done.interrupted ? "was interrupted" : "did not finish"));
            }
            const std::vector<double> ends_s = ends_of_steps(done.record);
            one.step.s.push_back(mean_step_s(ends_s));
            const std::size_t due = prediction.stretches *
                                    static_cast<std::size_t>(repetition + 1) /
                                    static_cast<std::size_t>(repetitions);
            add_stretches(ends_s, prediction.stretch_steps, std::max<std::size_t>(due, 1),
                          one.least);
            one.total.s.push_back(to_seconds(done.run.result.duration));
        }
    }
    return compared;
}

double ComparedRun::step_error() const { return predicted.step_s / step.median() - 1; }
double ComparedRun::least_error() const { return predicted.step_least_s / least.quantile(0) - 1; }
double ComparedRun::total_error() const { return predicted.total_s / total.median() - 1; }

std::string comparison_csv(std::span<const ComparedRun> runs, std::string_view digest) {
    CsvWriter csv({"workers",
                   "batch",
                   "micro_steps",
                   "synchronisation",
                   "collective",
                   "codec",
                   "steps",
                   "step_s_predicted",
                   "step_s_measured",
                   "step_error",
                   "step_least_s_predicted",
                   "step_least_s_measured",
                   "step_least_error",
                   "total_s_predicted",
                   "total_s_measured",
                   "total_error",
                   "repetitions",
                   "batch_within_measured",
                   "control",
                   "prediction_digest"});
    for (const ComparedRun& run : runs) {
        const scenarios::StepSetting& setting = run.predicted.setting;
        csv.add(setting.workers).add(setting.batch).add(setting.micro_steps);
        csv.add(name_of_synchronisation(setting));
        csv.add(policies::collective_names()[static_cast<std::size_t>(setting.collective)]);
        csv.add(policies::text_of(policies::CodecChoice{setting.codec, setting.codec_level}))
            .add(run.predicted.steps);
        csv.add(run.predicted.step_s).add(run.step.median()).add(run.step_error());
        csv.add(run.predicted.step_least_s).add(run.least.quantile(0)).add(run.least_error());
        csv.add(run.predicted.total_s).add(run.total.median()).add(run.total_error());
        csv.add(run.total.s.size()).add(run.predicted.covered ? "yes" : "no");
        csv.add(run.predicted.control ? "yes" : "no").add(digest);
        csv.end_row();
    }
    return csv.text();
}

std::string comparison_table(std::span<const ComparedRun> runs) {
    std::string text = fmt::format("{:<44}{:>6}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>8}{:>9}{:>9}\n", "",
                                   "steps", "step ms", "measured", "error", "least ms", "measured",
                                   "error", "total s", "measured", "error");
    std::size_t predicted = 0;
    std::size_t near = 0;
    bool controls = false;
    bool beyond = false;
    for (const ComparedRun& run : runs) {
        if (run.predicted.control && !std::exchange(controls, true)) {
            text += "measured by the calibration, and now again: how far the machine has moved\n";
        }
        if (!run.predicted.control) {
            ++predicted;
            near += std::max(std::abs(run.step_error()), std::abs(run.total_error())) <= 0.1;
        }
        beyond = beyond || !run.predicted.covered;
        text += fmt::format(
            "{:<44}{:>6}{:>9.3f}{:>9.3f}{:>+7.1f} %{:>9.3f}{:>9.3f}{:>+7.1f} %"
            "{:>8.2f}{:>9.2f}{:>+7.1f} %\n",
            setting_text(run.predicted.setting) + (run.predicted.covered ? "" : " *"),
            run.predicted.steps, run.predicted.step_s * 1e3, run.step.median() * 1e3,
            100 * run.step_error(), run.predicted.step_least_s * 1e3, run.least.quantile(0) * 1e3,
            100 * run.least_error(), run.predicted.total_s, run.total.median(),
            100 * run.total_error());
    }
    if (beyond) text += "* its batch lies beyond those that were measured\n";
    text += fmt::format("{} of {} within 10 % (step and total time)\n", near, predicted);
    return text;
}

}  // namespace ukemi::runtime
