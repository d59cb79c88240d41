// read_training.cpp — the section "training": what live workers train, and how the first Plan does.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/input_error.hpp"
#include "kernels/data_complaint.hpp"
#include "kernels/setting_ranges.hpp"
#include "kernels/training_rules.hpp"
#include "scenarios/reader/sections.hpp"

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
    const DataComplaint complaint = data_complaint(data);
    if (!complaint.problem.empty()) {
        const bool file = data.kind == "digits" && complaint.key == "images";
        config->fail(file ? "file" : complaint.key, complaint.problem);
    }
    return data;
}

// Whether there is such a model of such data: a worker would only find out when it builds it. The
// shape of an IDX file is known once that is read.
void check_model(const ConfigReader& training, const ModelSpec& model, const DataSpec& data) {
    if (data.kind == "idx") return;
    constexpr std::int32_t digit_pixels = 64;
    const bool digits = data.kind == "digits";
    DataSet shape;
    shape.features = digits ? digit_pixels : data.features;
    shape.classes = digits ? 10 : data.classes;
    try {
        make_model(model, shape);
    } catch (const InputError& error) {
        training.fail("model", error.what());
    }
}

ModelSpec read_model(ConfigReader& training, const DataSpec& data) {
    ModelSpec model;
    if (auto config = training.object_if_present("model")) {
        model.kind = config->one_of("kind", model_kinds(), "softmax");
        if (model.kind == "cnn") {
            model.hidden = {
                static_cast<std::int32_t>(config->integer("filters", 1, image_filters_max, 8))};
        }
        if (model.kind == "mlp") {
            const auto width =
                static_cast<std::int32_t>(config->integer("hidden", 1, mlp_units_max, 64));
            const auto layers = config->integer("layers", 1, mlp_layers_max, 1);
            model.hidden.assign(static_cast<std::size_t>(layers), width);
        }
        config->finish();
    }
    check_model(training, model, data);
    return model;
}

OptimiserSettings read_optimiser(ConfigReader& training) {
    const auto number = [&](std::string_view key, const SettingRange& range, double otherwise) {
        return training.number(key, range.least, range.most, otherwise);
    };
    OptimiserSettings optimiser;
    optimiser.momentum = number("momentum", momentum_range, optimiser.momentum);
    optimiser.weight_decay = number("weight_decay", weight_decay_range, optimiser.weight_decay);
    optimiser.averaging_rate =
        number("averaging_rate", averaging_rate_range, optimiser.averaging_rate);
    optimiser.averaging_momentum =
        number("averaging_momentum", momentum_range, optimiser.averaging_momentum);
    return optimiser;
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
    spec.model = read_model(*config, spec.data);
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
    spec.optimiser = read_optimiser(*config);
    constexpr std::int64_t kib = 1024;
    spec.step.bucket_bytes = static_cast<std::size_t>(
        config->integer("bucket_kib", 1, bucket_bytes_most / kib, 1024) * kib);
    static constexpr std::array<std::string_view, 2> launches{"by_name", "coordinated"};
    spec.step.launch = config->choice<LaunchMode>("launch", launches, "by_name");
    read_plan_codec(*config, plan, spec.step.error_feedback);
    read_workers_learners(*config, plan);
    config->finish();
    if (plan.global_batch > 0 && plan.global_batch < scenario.job.instances_max) {
        root.fail("job", fmt::format("a batch of {} cannot be shared by {} workers",
                                     plan.global_batch, scenario.job.instances_max));
    }
    scenario.training = std::move(spec);
}

}  // namespace ukemi
