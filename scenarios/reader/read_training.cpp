// read_training.cpp — the section "training": what live workers train, and how the first Plan does.
#include <fmt/format.h>

#include <array>

#include "kernels/training_rules.hpp"
#include "scenarios/reader/read_synchronisation.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

// Replicas of each worker where they average, micro-batches where they share its gradient.
void read_workers_learners(ConfigReader& training, policies::Plan& plan) {
    plan.learners_per_gpu =
        static_cast<std::int32_t>(training.integer("learners", 1, kernels::learners_most, 1));
    if (plan.learners_per_gpu == 1) return;
    const std::string refused = kernels::training_refusal(plan, 1);
    if (!refused.empty()) training.fail("learners", refused);
}

}  // namespace

void read_training(ConfigReader& root, const std::filesystem::path& folder, Scenario& scenario) {
    auto config = root.object_if_present("training");
    if (!config) return;
    kernels::TrainingSpec spec = kernels::read_training_spec(*config, folder);
    spec.seed = scenario.seed;
    spec.step.seed = scenario.seed;
    policies::Plan& plan = scenario.job.plan;
    // Of a script it is a factor on what the script's own optimiser has.
    const double usual_rate = spec.script.empty() ? 0.05 : 1;
    plan.learning_rate = config->number("learning_rate", 0, 1e6, usual_rate);
    plan.accumulation = static_cast<std::int32_t>(config->integer("accumulation", 1, 10'000, 1));
    static constexpr std::array<std::string_view, 3> synchronisations{
        "s_sgd", "synchronous_averaging", "pair_averaging"};
    plan.synchronisation = read_synchronisation(*config, synchronisations, "s_sgd");
    plan.collective = config->choice<policies::Collective>(
        "collective", policies::collective_names(), "automatic");
    const std::string refused =
        kernels::schedule_refusal(plan.collective, scenario.job.instances_max);
    if (!refused.empty()) config->fail("collective", refused);
    read_plan_codec(*config, plan, spec.step.error_feedback);
    read_workers_learners(*config, plan);
    const std::string unfit = kernels::step_refusal(spec, plan, scenario.job.instances_max);
    if (!spec.script.empty() && !unfit.empty()) config->fail("script", unfit);
    config->finish();
    if (plan.global_batch > 0 && plan.global_batch < scenario.job.instances_max) {
        root.fail("job", fmt::format("a batch of {} cannot be shared by {} workers",
                                     plan.global_batch, scenario.job.instances_max));
    }
    scenario.training = std::move(spec);
}

}  // namespace ukemi::scenarios
