// read_predictor.cpp — "predictor": what policies ask how long work and changes will take, and how
// far it is from the truth.
#include "scenarios/reader/live_costs.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

// What it starts from instead of the job's own profile: a table, or a calibration of this training.
void read_guess(ConfigReader& config, Scenario& scenario) {
    sim::JobSpec& job = scenario.job;
    if (config.has("costs") && config.has("throughput")) {
        config.fail("throughput", "stands beside \"costs\", which says it: expected one of them");
    }
    const bool by_time = job.samples_per_epoch == 0;  // work that is a duration has no epochs
    if (config.has("throughput")) {
        job.guess = job.profile;
        job.guess->step_time.reset();
        job.guess->throughput = read_throughput(config, by_time, job.plan);
        job.guess->batch_grows = job.plan.global_batch == 0;
    }
    if (!config.has("costs")) return;
    if (by_time) config.fail("costs", "goes with \"samples\", and this job is given as \"work\"");
    const std::filesystem::path given = config.text("costs");
    if (given.empty()) config.fail("costs", "expected a file, found \"\"");
    const auto file = scenario.file.parent_path() / given;
    job.guess = config.of_file(
        "costs", [&] { return measured_profile(read_costs(file), scenario, 1, file, {}); });
}

}  // namespace

void read_predictor(ConfigReader& root, Scenario& scenario) {
    policies::PredictorChoice& choice = scenario.job.predictor;
    if (!root.is_object("predictor")) {
        choice.kind =
            root.choice<policies::PredictorKind>("predictor", policies::predictor_kind_names,
                                                 policies::name_of(policies::PredictorKind::exact));
        return;
    }
    ConfigReader config = root.object("predictor");
    const std::string kind = config.one_of("kind", policies::predictor_kind_names);
    choice.kind = static_cast<policies::PredictorKind>(
        std::ranges::find(policies::predictor_kind_names, kind) -
        policies::predictor_kind_names.begin());
    if (choice.kind != policies::PredictorKind::exact) {
        const auto share = [&](std::string_view key) {
            return config.number(key, policies::predictor_share_min, policies::predictor_share_max,
                                 1);
        };
        choice.step_time = share("step_time");
        choice.transition_time = share("transition_time");
        choice.checkpoint_time = share("checkpoint_time");
        choice.spread = config.number("spread", 0, policies::predictor_spread_max, 0);
    }
    if (choice.kind == policies::PredictorKind::calibrated) read_guess(config, scenario);
    config.finish();
}

}  // namespace ukemi::scenarios
