#include "cli/fitted_scenarios.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/output_folder.hpp"
#include "base/plain_text.hpp"
#include "sim/learning/fitted_task.hpp"
#include "sim/learning/published_schedules.hpp"

namespace ukemi::cli {
namespace {

using nlohmann::ordered_json;

struct WrittenTask {
    sim::FittedTask task;
    std::string about;
    std::string rate_policy;
    ordered_json parameters;  // by policy
    ordered_json cluster;
    std::string spot_price;
    std::string on_demand_price;
};

// Fitted constants are known to three digits at best.
double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

ordered_json rate_of(const sim::NoiseScaleLaw& law) {
    ordered_json rate{{"rule", "plan"}, {"reference", law.reference_rate}};
    if (law.reference_over_best != 1) {
        rate["reference_over_best"] = rounded(law.reference_over_best);
    }
    if (law.rate_limit > 0) rate["limit"] = rounded(law.rate_limit);
    for (const sim::RateDrop& drop : law.drops) {
        rate["drops"].push_back({{"samples", drop.samples},
                                 {"factor", drop.factor},
                                 {"noise_factor", rounded(drop.noise_factor)}});
    }
    return rate;
}

// The curve is long: a point a line.
std::string lines_of(const std::vector<sim::NoiseScalePoint>& curve) {
    std::string text;
    for (const sim::NoiseScalePoint& one : curve) {
        text += fmt::format(
            "{}\n      {{\"samples\": {}, \"noise_scale\": {:.5g}, \"squared_norm\": {:.4g}}}",
            text.empty() ? "[" : ",", one.samples, one.noise_scale, one.squared_norm);
    }
    return text + "\n    ]";
}

ordered_json learning_of(const sim::NoiseScaleLaw& law) {
    ordered_json learning{{"model", "noise_scale_law"},
                          {"noise_scale", "CURVE"},
                          {"noise_exponent", law.noise_exponent},
                          {"learning_rate", rate_of(law)}};
    if (law.until_samples) learning["until"] = "samples";
    if (law.accuracy) {
        learning["accuracy"] = {{"reference", law.accuracy->reference},
                                {"scale", rounded(law.accuracy->scale)}};
    }
    return learning;
}

std::string scenario_text(const WrittenTask& written) {
    const sim::FittedTask& task = written.task;
    const auto nanoseconds_text = [](double time_s) {
        return fmt::format("{} ns", round_nearest(time_s * 1e9));
    };
    std::vector<std::string> lists;
    for (const std::int64_t batch : task.batches) {
        lists.push_back(fmt::format("constant_batch:{}+{}", batch, written.rate_policy));
    }
    const ordered_json scenario{
        {"name", task.name},
        {"description", written.about},
        {"seed", 1},
        {"job",
         {{"samples", task.law.samples},
          {"batch", task.law.reference_batch},
          {"samples_per_epoch", task.law.samples / task.epochs},
          {"step_time",
           {{"fixed", nanoseconds_text(task.fixed_s)},
            {"per_sample", nanoseconds_text(task.per_sample_s)},
            {"worker_batch_max", task.gpu_batch_most}}},
          {"give_up_after", "3660 d"}}},
        {"learning", learning_of(task.law)},
        {"cluster", written.cluster},
        {"market",
         {{"spot_price", written.spot_price}, {"on_demand_price", written.on_demand_price}}},
        {"plan", {{"market", "on_demand"}}},
        {"policy_parameters", written.parameters},
        {"replay", lists}};
    std::string text = scenario.dump(2) + "\n";
    constexpr std::string_view mark = "\"CURVE\"";
    return text.replace(text.find(mark), mark.size(), lines_of(task.law.noise));
}

WrittenTask pollux_task(sim::FittedTask task) {
    WrittenTask written;
    // About a thousand looks at the largest batch, and as often in steps at every other.
    const double steps_least =
        static_cast<double>(task.law.samples) / static_cast<double>(task.batches.back());
    const std::int64_t every = std::max<std::int64_t>(1, round_nearest(steps_least / 1000));
    written.parameters["ada_scale"] = {{"every_steps", every}};
    written.about = fmt::format(
        "{} as Pollux's authors recorded it at batches {} to {} (OSDI'21 artifact, "
        "validation-BATCH.csv): written by `ukemi fit --learning`. The noise scale is that of the "
        "largest batch, so that it takes its recorded steps, at the temperature of the smallest; "
        "all other batches are predicted. Step times are a line through two medians of "
        "scalability.csv (T4). The rate 0.1 is any: the record has only what AdaScale makes of it",
        task.name, task.batches.front(), task.batches.back());
    written.cluster = {{"instance", "g4dn.xlarge"}, {"count", 1}};
    written.spot_price = "0.16 USD/h";
    written.on_demand_price = "0.526 USD/h";
    written.rate_policy = "ada_scale";
    task.name = "pollux_" + task.name;
    written.task = std::move(task);
    return written;
}

WrittenTask goyal_task() {
    WrittenTask written;
    written.task.name = "goyal";
    written.task.law = sim::goyal_law();
    written.task.epochs = 90;
    for (std::int64_t batch = 256; batch <= 65'536; batch *= 2) {
        written.task.batches.push_back(batch);
    }
    // Gavel's ResNet-50 on a V100, 87.7 ms at batch 16 and 227.8 ms at 64.
    written.task.per_sample_s = (0.2278 - 0.0877) / 48;
    written.task.fixed_s = 0.0877 - 16 * written.task.per_sample_s;
    written.task.gpu_batch_most = 64;
    written.about = fmt::format(
        "ResNet-50 on ImageNet after 90 epochs, by Goyal et al.'s recipe (arXiv:1706.02677): rate "
        "0.1 at batch 256 and in proportion to the batch, five epochs of warm-up, drops after 30, "
        "60 and 80 epochs: written by `ukemi fit --learning`. Fitted on their rows 16384, 32768, "
        "256 "
        "at rates 0.05 and 0.2, and 8192 at rate 0.1: rate over best {:.3f}, limit {:.2f}, {:.2f} "
        "% "
        "of error an excess of 1. The noise scale is Pollux's at batch 12800. Time is that of the "
        "samples on eight V100 (Gavel), without synchronisation. With learning.until "
        "\"target\" a run ends when it is as good as batch 256 after 90 epochs",
        written.task.law.reference_over_best, written.task.law.rate_limit,
        100 * written.task.law.accuracy->scale);
    written.cluster = {{"instance", "p3.2xlarge"}, {"count", 8}};
    written.spot_price = "0.92 USD/h";
    written.on_demand_price = "3.06 USD/h";
    written.rate_policy = "scaled_rate";
    written.parameters["scaled_rate"] = {{"every_steps", 20}};
    std::vector<std::int64_t> drop_steps;
    for (const sim::RateDrop& drop : written.task.law.drops) {
        drop_steps.push_back(drop.samples / written.task.law.reference_batch);
    }
    written.parameters["ada_scale"] = {{"drop_at", drop_steps}, {"every_steps", 20}};
    return written;
}

}  // namespace

void write_fitted_scenarios(const std::filesystem::path& data, const std::filesystem::path& folder,
                            bool force) {
    std::vector<WrittenTask> tasks;
    for (sim::FittedTask& task : sim::fitted_tasks(data / "pollux/traces")) {
        tasks.push_back(pollux_task(std::move(task)));
    }
    tasks.push_back(goyal_task());
    std::filesystem::create_directories(folder);
    for (const WrittenTask& one : tasks) {
        const std::filesystem::path file = folder / (one.task.name + ".json");
        analysis::OutputFile(file, force).write(scenario_text(one));
        fmt::print("wrote {}\n", one_line(file.string()));
    }
}

}  // namespace ukemi::cli
