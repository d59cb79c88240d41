// training_spec.cpp — the spec as JSON, read back as strictly as a scenario.
#include "kernels/training_spec.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "base/invariant.hpp"
#include "base/text_scan.hpp"
#include "kernels/bit_hash.hpp"
#include "kernels/setting_ranges.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

constexpr std::string_view place = "training spec";
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_32 = std::numeric_limits<std::int32_t>::max();
constexpr std::array<std::string_view, 3> data_kinds{"synthetic", "idx", "digits"};
constexpr std::array<std::string_view, 2> launch_names{"by_name", "coordinated"};
constexpr std::array<std::string_view, 2> switch_names{"off", "on"};

// Readers of scenarios give seeds up to 2^63 − 1, which JSON's integers hold.
std::int64_t seed_json(std::uint64_t seed) {
    INVARIANT(seed <= static_cast<std::uint64_t>(most));
    return static_cast<std::int64_t>(seed);
}
std::uint64_t read_seed(ConfigReader& config) {
    return static_cast<std::uint64_t>(config.integer("seed", 0, most));
}
std::int32_t read_small(ConfigReader& config, std::string_view key) {
    return static_cast<std::int32_t>(config.integer(key, 0, most_32));
}

std::string path_json(const std::filesystem::path& path, std::string_view key) {
    std::string text = path.string();
    if (first_invalid_utf8(text) != std::string_view::npos) {
        throw InputError(place, std::string("/data/") + std::string(key),
                         "expected a path in UTF-8, found " + ukemi::quoted(text));
    }
    return text;
}

json data_json(const DataSpec& data) {
    return {{"kind", data.kind},
            {"images", path_json(data.images, "images")},
            {"labels", path_json(data.labels, "labels")},
            {"samples", data.samples},
            {"features", data.features},
            {"classes", data.classes},
            {"seed", seed_json(data.seed)}};
}

DataSpec read_data(ConfigReader config) {
    DataSpec data;
    data.kind = config.one_of("kind", data_kinds);
    data.images = config.text("images");
    data.labels = config.text("labels");
    data.samples = config.integer("samples", 0, most);
    data.features = read_small(config, "features");
    data.classes = read_small(config, "classes");
    data.seed = read_seed(config);
    config.finish();
    return data;
}

json model_json(const ModelSpec& model) {
    json layers = json::array();
    for (const std::int32_t units : model.hidden) layers.push_back({{"units", units}});
    return {{"kind", model.kind}, {"hidden", layers}};
}

ModelSpec read_model(ConfigReader config) {
    ModelSpec model;
    model.kind = config.one_of("kind", model_kinds());
    for (ConfigReader& layer : config.objects("hidden")) {
        model.hidden.push_back(read_small(layer, "units"));
        layer.finish();
    }
    config.finish();
    return model;
}

json optimiser_json(const OptimiserSettings& optimiser) {
    return {{"momentum", optimiser.momentum},
            {"weight_decay", optimiser.weight_decay},
            {"averaging_rate", optimiser.averaging_rate},
            {"averaging_momentum", optimiser.averaging_momentum}};
}

double read_within(ConfigReader& config, std::string_view key, const SettingRange& range) {
    return config.number(key, range.least, range.most);
}

OptimiserSettings read_optimiser(ConfigReader config) {
    OptimiserSettings optimiser;
    optimiser.momentum = read_within(config, "momentum", momentum_range);
    optimiser.weight_decay = read_within(config, "weight_decay", weight_decay_range);
    optimiser.averaging_rate = read_within(config, "averaging_rate", averaging_rate_range);
    optimiser.averaging_momentum = read_within(config, "averaging_momentum", momentum_range);
    config.finish();
    return optimiser;
}

json step_json(const StepSettings& step) {
    return {{"bucket_bytes", step.bucket_bytes},
            {"launch", launch_names[static_cast<std::size_t>(step.launch)]},
            {"noise_smoothing", step.noise_smoothing},
            {"error_feedback", switch_names[step.error_feedback ? 1 : 0]},
            {"seed", seed_json(step.seed)}};
}

StepSettings read_step(ConfigReader config) {
    StepSettings step;
    step.bucket_bytes =
        static_cast<std::size_t>(config.integer("bucket_bytes", 1, bucket_bytes_most));
    step.launch = config.one_of("launch", launch_names) == launch_names[0]
                      ? LaunchMode::by_name
                      : LaunchMode::coordinated;
    step.noise_smoothing = read_within(config, "noise_smoothing", noise_smoothing_range);
    step.error_feedback = config.one_of("error_feedback", switch_names) == switch_names[1];
    step.seed = read_seed(config);
    config.finish();
    return step;
}

}  // namespace

std::string training_spec_text(const TrainingSpec& spec) {
    const json document = {{"data", data_json(spec.data)},
                           {"model", model_json(spec.model)},
                           {"optimiser", optimiser_json(spec.optimiser)},
                           {"step", step_json(spec.step)},
                           {"seed", seed_json(spec.seed)}};
    return document.dump();
}

TrainingSpec training_spec_from(std::string_view text) {
    ConfigReader config = ConfigReader::from_text(text, place);
    TrainingSpec spec;
    spec.data = read_data(config.object("data"));
    spec.model = read_model(config.object("model"));
    spec.optimiser = read_optimiser(config.object("optimiser"));
    spec.step = read_step(config.object("step"));
    spec.seed = read_seed(config);
    config.finish();
    return spec;
}

std::uint64_t job_identity(const TrainingSpec& spec) {
    const std::string text = training_spec_text(spec);
    BitHash hash;
    hash.add(std::as_bytes(std::span(text)));
    return hash.value();
}

}  // namespace ukemi
