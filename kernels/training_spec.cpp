// training_spec.cpp — what is trained: read from a scenario and from the wire by the same keys.
#include "kernels/training_spec.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "base/invariant.hpp"
#include "base/old_forms.hpp"
#include "base/text_scan.hpp"
#include "kernels/bit_hash.hpp"
#include "kernels/data_complaint.hpp"
#include "kernels/setting_ranges.hpp"
#include "kernels/training_rules.hpp"

namespace ukemi::kernels {
namespace {

using nlohmann::json;

constexpr std::string_view place = "training spec";
constexpr std::array<std::string_view, 3> data_kinds{"synthetic", "idx", "digits"};
constexpr std::array<std::string_view, 2> launch_names{"by_name", "coordinated"};

// ---- data ---------------------------------------------------------------------------------------

// The images of digits are one file, with their labels.
std::string_view images_key(const DataSpec& data) {
    return data.kind == "digits" ? "file" : "images";
}

DataSpec read_data(ConfigReader& training, const std::filesystem::path& folder) {
    DataSpec data;
    auto config = training.object_if_present("data");
    if (!config) {
        data = {"synthetic", {}, {}, 4096, 32, 10, 1};
        return data;
    }
    data.kind = config->one_of("kind", data_kinds);
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
        data.images = path(images_key(data));
        if (data.kind == "idx") data.labels = path("labels");
        data.samples = config->integer("samples_most", 0, samples_most, 0);
    }
    config->finish();
    const DataComplaint complaint = data_complaint(data);
    if (!complaint.problem.empty()) {
        config->fail(complaint.key == "images" ? images_key(data) : complaint.key,
                     complaint.problem);
    }
    return data;
}

std::string path_text(const std::filesystem::path& path, std::string_view key) {
    std::string text = path.string();
    if (first_invalid_utf8(text) != std::string_view::npos) {
        throw InputError(place, fmt::format("/{}", key),
                         "expected a path in UTF-8, found " + ukemi::quoted(text));
    }
    return text;
}

json data_json(const DataSpec& data) {
    if (data.kind == "synthetic") {
        return {{"kind", data.kind},
                {"samples", data.samples},
                {"features", data.features},
                {"classes", data.classes},
                {"seed", data.seed}};
    }
    const std::string_view images = images_key(data);
    json object = {{"kind", data.kind},
                   {images, path_text(data.images, fmt::format("data/{}", images))},
                   {"samples_most", data.samples}};
    if (data.kind == "idx") object["labels"] = path_text(data.labels, "data/labels");
    return object;
}

// ---- model --------------------------------------------------------------------------------------

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

std::vector<std::int32_t> read_layers(ConfigReader& model) {
    refuse_old_key(model, "layers", "the units of each layer, as in \"hidden\": [64, 64]");
    if (!model.has("hidden")) return {64};
    std::vector<std::int32_t> layers;
    for (const double units : model.numbers("hidden", 1, mlp_units_max)) {
        layers.push_back(static_cast<std::int32_t>(units));
        if (layers.back() != units) model.fail("hidden", "expected whole numbers of units");
    }
    return layers;
}

ModelSpec read_model(ConfigReader& training, const DataSpec& data) {
    ModelSpec model;
    if (auto config = training.object_if_present("model")) {
        model.kind = config->one_of("kind", model_kinds(), "softmax");
        if (model.kind == "cnn") {
            model.hidden = {
                static_cast<std::int32_t>(config->integer("filters", 1, image_filters_max, 8))};
        }
        if (model.kind == "mlp") model.hidden = read_layers(*config);
        config->finish();
    }
    check_model(training, model, data);
    return model;
}

json model_json(const ModelSpec& model) {
    json object = {{"kind", model.kind}};
    if (model.kind == "cnn") object["filters"] = model.hidden.at(0);
    if (model.kind == "mlp") object["hidden"] = model.hidden;
    return object;
}

// ---- optimiser and step -------------------------------------------------------------------------

double read_within(ConfigReader& config, std::string_view key, const SettingRange& range,
                   double otherwise) {
    return config.number(key, range.least, range.most, otherwise);
}

OptimiserSettings read_optimiser(ConfigReader& training) {
    OptimiserSettings settings;
    for (const std::string_view key :
         {"momentum", "weight_decay", "averaging_rate", "averaging_momentum"}) {
        refuse_old_key(training, key,
                       fmt::format("\"optimiser\": {{\"{}\": …}} with what else it has", key));
    }
    auto config = training.object_if_present("optimiser");
    if (!config) return settings;
    settings.momentum = read_within(*config, "momentum", momentum_range, settings.momentum);
    settings.weight_decay =
        read_within(*config, "weight_decay", weight_decay_range, settings.weight_decay);
    settings.averaging_rate =
        read_within(*config, "averaging_rate", averaging_rate_range, settings.averaging_rate);
    settings.averaging_momentum =
        read_within(*config, "averaging_momentum", momentum_range, settings.averaging_momentum);
    config->finish();
    return settings;
}

json optimiser_json(const OptimiserSettings& optimiser) {
    return {{"momentum", optimiser.momentum},
            {"weight_decay", optimiser.weight_decay},
            {"averaging_rate", optimiser.averaging_rate},
            {"averaging_momentum", optimiser.averaging_momentum}};
}

void read_bucket(ConfigReader& training, StepSettings& step) {
    refuse_old_key(training, "bucket_kib", "\"bucket\": \"1024 KiB\"");
    if (training.has("bucket")) {
        const std::int64_t bytes = training.bytes("bucket").raw();
        if (bytes < 1 || bytes > bucket_bytes_most) {
            training.fail("bucket",
                          fmt::format("expected from 1 byte to 1 GiB, found {} bytes", bytes));
        }
        step.bucket_bytes = static_cast<std::size_t>(bytes);
    }
    step.noise_smoothing =
        read_within(training, "noise_smoothing", noise_smoothing_range, step.noise_smoothing);
}

void read_error_feedback(ConfigReader& training, StepSettings& step) {
    if (!training.has("error_feedback")) return;
    step.error_feedback = training.flag("error_feedback", step.error_feedback);
}

StepSettings read_step(ConfigReader& training) {
    StepSettings step;
    read_bucket(training, step);
    step.launch = training.choice<LaunchMode>("launch", launch_names, launch_names[0]);
    read_error_feedback(training, step);
    return step;
}

// ---- a script -----------------------------------------------------------------------------------

TrainingSpec read_script(ConfigReader& training, const std::filesystem::path& folder) {
    TrainingSpec spec;
    const std::filesystem::path given = training.text("script");
    if (given.empty()) training.fail("script", "expected the path of a Python file");
    // Whole, so that the same file is the same job wherever a command is run.
    spec.script = std::filesystem::absolute(folder / given).lexically_normal();
    for (const std::string_view key : {"data", "model", "optimiser", "launch"}) {
        if (training.has(key)) training.fail(key, "is for the script to say: leave it out");
    }
    read_bucket(training, spec.step);
    read_error_feedback(training, spec.step);
    return spec;
}

// ---- the wire -----------------------------------------------------------------------------------

// Readers of scenarios give seeds up to 2^63 − 1, which JSON's integers hold.
constexpr std::int64_t seed_most = std::numeric_limits<std::int64_t>::max();
std::int64_t seed_json(std::uint64_t seed) {
    INVARIANT(seed <= static_cast<std::uint64_t>(seed_most));
    return static_cast<std::int64_t>(seed);
}
std::uint64_t read_seed(ConfigReader& config, std::string_view key) {
    return static_cast<std::uint64_t>(config.integer(key, 0, seed_most));
}

}  // namespace

TrainingSpec read_training_spec(ConfigReader& training, const std::filesystem::path& folder) {
    if (training.has("script")) return read_script(training, folder);
    TrainingSpec spec;
    spec.data = read_data(training, folder);
    spec.model = read_model(training, spec.data);
    spec.optimiser = read_optimiser(training);
    spec.step = read_step(training);
    return spec;
}

std::string training_spec_text(const TrainingSpec& spec) {
    if (!spec.script.empty()) {
        const json document = {{"script", path_text(spec.script, "script")},
                               {"bucket", fmt::format("{} B", spec.step.bucket_bytes)},
                               {"noise_smoothing", spec.step.noise_smoothing},
                               {"error_feedback", spec.step.error_feedback},
                               {"seed", seed_json(spec.seed)},
                               {"step_seed", seed_json(spec.step.seed)}};
        return document.dump();
    }
    const json document = {{"data", data_json(spec.data)},
                           {"model", model_json(spec.model)},
                           {"optimiser", optimiser_json(spec.optimiser)},
                           {"bucket", fmt::format("{} B", spec.step.bucket_bytes)},
                           {"launch", launch_names[static_cast<std::size_t>(spec.step.launch)]},
                           {"noise_smoothing", spec.step.noise_smoothing},
                           {"error_feedback", spec.step.error_feedback},
                           {"seed", seed_json(spec.seed)},
                           {"step_seed", seed_json(spec.step.seed)}};
    return document.dump();
}

TrainingSpec training_spec_from(std::string_view text) {
    ConfigReader config = ConfigReader::from_text(text, place);
    TrainingSpec spec = read_training_spec(config, {});
    spec.seed = read_seed(config, "seed");
    spec.step.seed = read_seed(config, "step_seed");
    config.finish();
    // No worker fills in what it was not told.
    if (training_spec_text(spec) != text) {
        config.fail("", "expected every key, as training_spec_text writes it");
    }
    return spec;
}

std::string step_refusal(const TrainingSpec& spec, const policies::Plan& plan, int workers) {
    const std::string refused = training_refusal(plan, workers);
    if (!refused.empty() || spec.script.empty()) return refused;
    if (plan.collective != policies::Collective::automatic) {
        return "workers of a script exchange as PyTorch does: expected the collective automatic";
    }
    if (learners_average(plan)) {
        return "workers of a script average with one learner each";
    }
    return {};
}

std::uint64_t job_identity(const TrainingSpec& spec) {
    const std::string text = training_spec_text(spec);
    BitHash hash;
    hash.add(std::as_bytes(std::span(text)));
    return hash.value();
}

}  // namespace ukemi::kernels
