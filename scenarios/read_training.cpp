// read_training.cpp — the section "training": what live workers train, and how the first Plan does.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/training_rules.hpp"
#include "scenarios/sections.hpp"

namespace ukemi {

namespace {

DataSpec read_data(ConfigReader& training, const std::filesystem::path& folder) {
    DataSpec data;
    auto config = training.object_if_present("data");
    if (!config) {
        data = {"synthetic", {}, {}, 4096, 32, 10, 1};
        return data;
    }
    static constexpr std::array<std::string_view, 3> kinds{"synthetic", "idx", "digits"};
    data.kind = config->one_of("kind", kinds);
    const auto path = [&](std::string_view key) -> std::filesystem::path {
        if (!config->has(key)) return {};
        const std::filesystem::path given = config->text(key);
        return given.empty() || given.is_absolute() ? given : folder / given;
    };
    constexpr std::int64_t samples_most = 10'000'000;
    if (data.kind == "synthetic") {
        data.samples = config->integer("samples", 1, samples_most, 4096);
        data.features = static_cast<std::int32_t>(config->integer("features", 1, 100'000, 32));
        data.classes = static_cast<std::int32_t>(config->integer("classes", 2, 256, 10));
        data.seed = static_cast<std::uint64_t>(config->integer("seed", 0, 1'000'000'000, 1));
    } else {
        data.images = path(data.kind == "idx" ? "images" : "file");
        if (data.kind == "idx") data.labels = path("labels");
        data.samples = config->integer("samples_most", 0, samples_most, 0);
    }
    config->finish();
    return data;
}

ModelSpec read_model(ConfigReader& training) {
    ModelSpec model;
    auto config = training.object_if_present("model");
    if (!config) return model;
    model.kind = config->one_of("kind", model_kinds(), "softmax");
    if (model.kind == "cnn") {
        model.hidden = {static_cast<std::int32_t>(config->integer("filters", 1, 1024, 8))};
    }
    if (model.kind == "mlp") {
        const auto width = static_cast<std::int32_t>(config->integer("hidden", 1, 65'536, 64));
        const auto layers = config->integer("layers", 1, 64, 1);
        model.hidden.assign(static_cast<std::size_t>(layers), width);
    }
    config->finish();
    return model;
}

// Replicas of each worker where they average, micro-batches where they share its gradient.
void read_workers_learners(ConfigReader& training, Plan& plan) {
    plan.learners_per_gpu =
        static_cast<std::int32_t>(training.integer("learners", 1, learners_most, 1));
    if (plan.learners_per_gpu == 1) return;
    const std::string refused = training_refusal(plan, 1);
    if (!refused.empty()) training.fail("learners", refused);
}

}  // namespace

void read_training(ConfigReader& root, const std::filesystem::path& folder, Scenario& scenario) {
    auto config = root.object_if_present("training");
    if (!config) return;
    TrainingSpec spec;
    spec.seed = scenario.seed;
    spec.step.seed = scenario.seed;
    spec.data = read_data(*config, folder);
    spec.model = read_model(*config);
    Plan& plan = scenario.job.plan;
    plan.learning_rate = config->number("learning_rate", 0, 1e6, 0.05);
    plan.accumulation = static_cast<std::int32_t>(config->integer("accumulation", 1, 10'000, 1));
    static constexpr std::array<std::string_view, 3> synchronisations{
        "s_sgd", "synchronous_averaging", "pair_averaging"};
    const std::string chosen = config->one_of("synchronisation", synchronisations, "s_sgd");
    plan.synchronisation = static_cast<Synchronisation>(
        std::ranges::find(synchronisation_names(), chosen) - synchronisation_names().begin());
    plan.collective = config->choice<Collective>("collective", collective_names(), "automatic");
    const std::string refused = schedule_refusal(plan.collective, scenario.job.instances_max);
    if (!refused.empty()) config->fail("collective", refused);
    spec.optimiser.momentum = config->number("momentum", 0, 0.9999, 0);
    spec.optimiser.weight_decay = config->number("weight_decay", 0, 1e3, 0);
    spec.optimiser.averaging_rate = config->number("averaging_rate", 1e-6, 1, 0.1);
    spec.optimiser.averaging_momentum = config->number("averaging_momentum", 0, 0.9999, 0);
    spec.step.bucket_bytes =
        static_cast<std::size_t>(config->integer("bucket_kib", 1, 1 << 20, 1024)) * 1024;
    static constexpr std::array<std::string_view, 2> launches{"by_name", "coordinated"};
    spec.step.launch = config->choice<LaunchMode>("launch", launches, "by_name");
    read_codec(*config, plan, spec.step.error_feedback);
    read_workers_learners(*config, plan);
    config->finish();
    if (plan.global_batch > 0 && plan.global_batch < scenario.job.instances_max) {
        root.fail("job", fmt::format("a batch of {} cannot be shared by {} workers",
                                     plan.global_batch, scenario.job.instances_max));
    }
    scenario.training = std::move(spec);
}

}  // namespace ukemi
