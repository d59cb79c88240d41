// read_real_learning.cpp — "learning" with true gradients: the data and the model are those of the
// section "training"; how its virtual workers keep together. What that costs is in
// read_real_costs.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "base/old_forms.hpp"
#include "kernels/codec.hpp"
#include "kernels/setting_ranges.hpp"
#include "scenarios/reader/read_codec.hpp"
#include "scenarios/reader/read_synchronisation.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/learning/real/real_gradients.hpp"
#include "sim/learning/real/rules.hpp"

namespace ukemi::scenarios {

namespace {

std::vector<std::string_view> rule_names() {
    std::vector<std::string_view> names;
    for (const sim::SynchronisationRule& rule : sim::synchronisation_rules())
        names.push_back(rule.name);
    return names;
}

std::string_view rule_of_plan(policies::Synchronisation synchronisation) {
    const auto name = policies::synchronisation_names()[static_cast<std::size_t>(synchronisation)];
    return sim::find_synchronisation_rule(name) != nullptr ? name : "s_sgd";
}

// The first Plan's codec; a policy may turn to the others that `codecs` lists.
void read_first_codec(ConfigReader& learning, sim::SynchronisationSettings& settings,
                      policies::Plan& plan) {
    const policies::CodecChoice choice = read_codec(learning);
    plan.codec = choice.codec;
    plan.codec_level = kernels::level_meant(choice.codec, choice.level);
    settings.error_feedback = read_error_feedback(learning, choice.codec, settings.error_feedback);
    const sim::SynchronisationRule& rule = *sim::find_synchronisation_rule(settings.rule);
    if (plan.codec != policies::Codec::none && !rule.codecs) {
        learning.fail("codec", fmt::format("goes with s_sgd, whose gradients travel; {} sends {}",
                                           rule.name, rule.sends));
    }
}

sim::SynchronisationSettings read_synchronisation_settings(ConfigReader& learning,
                                                           Scenario& scenario) {
    const kernels::OptimiserSettings& optimiser = scenario.training->optimiser;
    policies::Plan& plan = scenario.job.plan;
    const policies::Synchronisation of_plan = plan.synchronisation;
    sim::SynchronisationSettings settings;
    settings.rule = rule_of_plan(of_plan);
    if (of_plan == policies::Synchronisation::synchronous_averaging) {
        settings.averaging_rate = optimiser.averaging_rate;
        settings.averaging_momentum = optimiser.averaging_momentum;
    }
    const bool said = learning.has("synchronisation");
    settings.rule = read_synchronisation_rule(learning, rule_names(), settings.rule);
    const sim::SynchronisationRule& rule = *sim::find_synchronisation_rule(settings.rule);
    if (said && !rule.momentum && optimiser.momentum > 0) {
        learning.fail("synchronisation", fmt::format("{} applies gradients as they come: leave "
                                                     "\"momentum\" at /training/optimiser out",
                                                     rule.name));
    }
    if (auto config = learning.object_if_present("synchronisation_settings")) {
        constexpr std::int64_t steps_most = 1'000'000'000;
        settings.averaging_rate = config->number("averaging_rate", 0, 1, settings.averaging_rate);
        settings.averaging_momentum =
            config->number("averaging_momentum", 0, 0.9999, settings.averaging_momentum);
        settings.period = config->integer("period", 1, steps_most, 1);
        settings.uniform_peers = config->flag("uniform_peers", false);
        settings.change_step = config->integer("change_step", 0, steps_most, 0);
        if (config->has("clock_lead_max")) {
            settings.clock_lead_max = config->integer("clock_lead_max", 0, steps_most);
        }
        settings.by_staleness = config->flag("by_staleness", false);
        settings.backups =
            static_cast<std::int32_t>(config->integer("backups", 0, instances_most, 0));
        settings.straggling = config->number("straggling", 0, 4, 0);
        config->finish();
    }
    plan.synchronisation = rule.kind;
    read_first_codec(learning, settings, plan);
    return settings;
}

sim::TestSamples read_test_samples(ConfigReader& learning) {
    static constexpr std::array<std::string_view, 2> kinds{"drawn", "last"};
    if (!learning.has("test_samples")) return sim::TestSamples::drawn;
    return learning.one_of("test_samples", kinds) == "last" ? sim::TestSamples::last
                                                            : sim::TestSamples::drawn;
}

// What a machine can train in a sitting, and hold in memory.
void check_sizes(const ConfigReader& root, const sim::JobSpec& job) {
    constexpr std::int64_t samples_most = 100'000'000;
    if (job.samples_total > samples_most) {
        root.fail("job", fmt::format("expected at most {} samples that are really trained with, "
                                     "found {}",
                                     samples_most, job.samples_total));
    }
    constexpr std::int64_t learners_most = 1024;
    const std::int64_t learners = std::int64_t{job.instances_max} * job.plan.learners_per_gpu;
    if (learners > learners_most) {
        root.fail("training",
                  fmt::format("expected at most {} learners in all, found {} on {} workers",
                              learners_most, learners, job.instances_max));
    }
}

}  // namespace

std::shared_ptr<const sim::LearningModel> read_real_gradients(ConfigReader& root,
                                                              ConfigReader& learning,
                                                              Scenario& scenario) {
    if (!scenario.training) {
        root.fail("learning",
                  "with real gradients needs the section \"training\": which data, "
                  "which model");
    }
    if (!scenario.training->script.empty()) {
        root.fail("training",
                  "with real gradients in simulated time trains what ukemi has itself: expected "
                  "\"data\" and \"model\", found a script");
    }
    sim::JobSpec& job = scenario.job;
    const bool rows = job.profile.step_time && !job.profile.step_time->codecs.empty();
    if (job.plan.codec != policies::Codec::none || rows) {
        learning.fail("codec",
                      "is where true gradients have theirs: leave \"codec\" at /training "
                      "and \"codecs\" at /job/step_time out");
    }
    auto task = std::make_shared<sim::RealTask>();
    const kernels::DataSet all = kernels::load_data(scenario.training->data);
    const double test_share = learning.number("test_share", 0.001, 0.999, 0.2);
    if (all.count < 2) root.fail("training", "expected at least two samples, one to test with");
    std::tie(task->training, task->test) =
        sim::split_data(all, test_share, read_test_samples(learning));
    task->model = kernels::make_model(scenario.training->model, task->training);
    task->optimiser = scenario.training->optimiser;
    task->noise_smoothing = learning.number("noise_smoothing", kernels::noise_smoothing_range.least,
                                            kernels::noise_smoothing_range.most, 0.99);
    refuse_old_key(learning, "learners_per_worker", "\"learners\" at /training");
    check_sizes(root, job);
    task->synchronisation = read_synchronisation_settings(learning, scenario);
    read_real_costs(learning, *task, scenario);
    const std::int64_t epoch = task->training.count;
    if (job.samples_per_epoch != job.samples_total && job.samples_per_epoch != epoch) {
        root.fail("job", fmt::format("has {} samples an epoch, and the data have {} to train with",
                                     job.samples_per_epoch, epoch));
    }
    job.samples_per_epoch = epoch;
    job.has_epochs = true;
    sim::RealGradients settings;
    settings.samples = job.samples_total;
    constexpr std::int64_t samples_most = 1'000'000'000'000;
    settings.evaluate_every = learning.integer("evaluate_every", 1, samples_most, epoch);
    if (learning.has("target")) settings.target = learning.number("target", 0, 1);
    settings.task = std::move(task);
    return sim::make_real_gradients(std::move(settings));
}

}  // namespace ukemi::scenarios
