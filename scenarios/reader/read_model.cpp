// read_model.cpp — models of one's own.
#include "scenarios/reader/read_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_notes.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/chakra_model.hpp"
#include "scenarios/reader/profiler_trace.hpp"
#include "scenarios/reader/read_compute.hpp"
#include "sim/cluster/layer_stack.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi::scenarios {
namespace {

constexpr std::int64_t parameters_most = std::int64_t{1} << 50;  // and values that are kept
constexpr std::int64_t tensors_most = 1'000'000;

// So that no sum of them overflows. What has many tensors is slow to read, too.
void expect_counts(const ConfigReader& config, double parameters, double kept) {
    const auto most = static_cast<double>(parameters_most);
    if (parameters > most) {
        config.fail(
            "", fmt::format("expected at most {:.4g} parameters, found {:.4g}", most, parameters));
    }
    if (kept > most) {
        config.fail("", fmt::format("expected at most {:.4g} values that a sample keeps for the "
                                    "backward pass, found {:.4g}",
                                    most, kept));
    }
}

// Before it is made, by the sizes of its matrices.
void expect_counts(const ConfigReader& config, const sim::TransformerShape& shape) {
    const std::int64_t products = shape.gated ? 3 : 2;
    const std::int64_t tensors = shape.layers * (8 + 2 * products * shape.experts);
    if (tensors > tensors_most) {
        config.fail("experts", fmt::format("expected at most {} tensors of weights, found {} in {} "
                                           "blocks of {} experts",
                                           tensors_most, tensors, shape.layers, shape.experts));
    }
    const std::int64_t block = shape.hidden * (2 * shape.queries() + 2 * shape.kv() * shape.head());
    const double of_experts = static_cast<double>(shape.experts * products) *
                              static_cast<double>(shape.hidden * shape.inner());
    const auto layers = static_cast<double>(shape.layers);
    const std::int64_t outputs = shape.tied_embedding ? 0 : shape.vocabulary;
    const sim::BlockKept kept = sim::block_kept(shape);
    expect_counts(
        config,
        layers * (static_cast<double>(block) + of_experts) +
            static_cast<double>((shape.vocabulary + outputs + shape.positions) * shape.hidden),
        layers * static_cast<double>(kept.whole_values + kept.values) +
            static_cast<double>(shape.sequence_length * shape.vocabulary));
}

sim::ModelProfile read_transformer(ConfigReader& config, const std::string& name) {
    sim::TransformerShape shape;
    shape.layers = config.integer("layers", 1, 10'000);
    shape.hidden = config.integer("hidden", 1, 1 << 20);
    shape.heads = config.integer("heads", 1, 1 << 14);
    shape.kv_heads = config.integer("kv_heads", 1, 1 << 14, shape.heads);
    shape.feed_forward = config.integer("feed_forward", 1, 1 << 22, 4 * shape.hidden);
    shape.vocabulary = config.integer("vocabulary", 1, 1 << 24);
    shape.sequence_length = config.integer("sequence", 1, 1 << 22);
    shape.positions = config.integer("positions", 0, 1 << 22, shape.sequence_length);
    if (shape.positions > 0 && shape.positions < shape.sequence_length) {
        config.fail("positions", fmt::format("expected 0, where they are rotated, or at least the "
                                             "{} tokens of a sequence, found {}",
                                             shape.sequence_length, shape.positions));
    }
    shape.tied_embedding = config.flag("tied_embedding", true);
    shape.gated = config.flag("gated", false);
    shape.flash = config.flag("flash_attention", false);
    constexpr std::int64_t experts_most = 4096;
    if (!config.has("experts")) {
        config.expect_absent({"experts_per_token"}, "goes with \"experts\", which are not there");
    }
    shape.experts = config.integer("experts", 1, experts_most, 1);
    shape.experts_per_token = config.integer("experts_per_token", 1, experts_most,
                                             std::min<std::int64_t>(shape.experts, 2));
    if (shape.experts_per_token > shape.experts) {
        config.fail("experts_per_token", fmt::format("expected at most the {} experts, found {}",
                                                     shape.experts, shape.experts_per_token));
    }
    shape.head_width = config.integer("head", 0, 1 << 14, 0);
    if (shape.head_width == 0 && shape.hidden % shape.heads != 0) {
        config.fail("heads", fmt::format("expected a divisor of the hidden size {}, found {}",
                                         shape.hidden, shape.heads));
    }
    if (shape.heads % shape.kv_heads != 0) {
        config.fail("kv_heads", fmt::format("expected a divisor of the {} heads, found {}",
                                            shape.heads, shape.kv_heads));
    }
    expect_counts(config, shape);
    return sim::gpt2(name, shape);
}

constexpr std::int64_t side_most = 1 << 16;
constexpr std::int64_t layers_most = 100'000;

// What a window leaves of a side; complains where it does not fit, or gives more than is counted.
void check_window(const ConfigReader& config, const sim::LayerStack::Shape& shape,
                  const sim::LayerStack::Window& window, std::int64_t channels) {
    if (shape.height + 2 * window.pad_height < window.height ||
        shape.width + 2 * window.pad_width < window.width) {
        config.fail("window", fmt::format("expected at most what is left of the image, {} x {} and "
                                          "its padding, found {}",
                                          shape.height, shape.width, window.height));
    }
    const auto outputs = static_cast<double>(channels);
    const double weights = outputs * static_cast<double>(shape.channels) *
                           static_cast<double>(window.width * window.height);
    const double values = outputs * static_cast<double>(shape.height + 2 * window.pad_height) *
                          static_cast<double>(shape.width + 2 * window.pad_width);
    expect_counts(config, weights, values);
}

sim::LayerStack::Window read_window(ConfigReader& config, std::int64_t stride) {
    const std::int64_t side = config.integer("window", 1, side_most);
    const std::int64_t step = config.integer("stride", 1, side_most, stride);
    return sim::LayerStack::square(side, step, config.integer("pad", 0, side_most, 0));
}

// Keys of layers and of models, and which kinds have them.
struct KindKey {
    std::string_view key;
    std::string_view kinds;
};
constexpr std::array<KindKey, 6> layer_keys = {{
    {"channels", "convolution"},
    {"window", "convolution or pool"},
    {"stride", "convolution or pool"},
    {"pad", "convolution or pool"},
    {"bias", "convolution or dense"},
    {"outputs", "dense"},
}};
constexpr std::array<KindKey, 22> model_keys = {{
    {"layers", "layers or transformer"},
    {"hidden", "transformer"},
    {"heads", "transformer"},
    {"kv_heads", "transformer"},
    {"feed_forward", "transformer"},
    {"vocabulary", "transformer"},
    {"sequence", "transformer"},
    {"positions", "transformer"},
    {"tied_embedding", "transformer"},
    {"gated", "transformer"},
    {"flash_attention", "transformer"},
    {"experts", "transformer"},
    {"experts_per_token", "transformer"},
    {"head", "transformer"},
    {"input", "layers"},
    {"parameters", "counted"},
    {"tensors", "counted"},
    {"forward_flops", "counted"},
    {"values_kept", "counted, profiled or chakra"},
    {"traces", "profiled or chakra"},
    {"system", "chakra"},
    {"value_bytes", "chakra"},
}};

void expect_keys_of(std::string_view kind, std::span<const KindKey> keys, ConfigReader& config) {
    for (const KindKey& one : keys) {
        if (one.kinds.find(kind) != std::string_view::npos) continue;
        config.expect_absent({one.key},
                             fmt::format("goes with the kind {}, found {}", one.kinds, kind));
    }
}

void add_layer(ConfigReader& config, sim::LayerStack& net, std::string_view kind,
               const std::string& name) {
    if (kind == "convolution") {
        const std::int64_t channels = config.integer("channels", 1, 1 << 20);
        const auto window = read_window(config, 1);
        check_window(config, net.shape(), window, channels);
        net.convolution(name, channels, window, config.flag("bias", false));
    } else if (kind == "batch_norm") {
        net.batch_norm(name);
    } else if (kind == "pool") {
        const auto window = read_window(config, 2);
        check_window(config, net.shape(), window, net.shape().channels);
        net.pool(window);
    } else if (kind == "global_pool") {
        net.global_pool();
    } else {
        const std::int64_t outputs = config.integer("outputs", 1, 1 << 24);
        const auto inputs = static_cast<double>(net.shape().values());
        expect_counts(config, inputs * static_cast<double>(outputs), 0);
        net.dense(name, outputs, config.flag("bias", true));
    }
}

sim::ModelProfile read_layers(ConfigReader& config, const std::string& name) {
    const std::vector<double> input = config.numbers("input", 1, side_most);
    if (input.size() != 3) config.fail("input", "expected channels, height and width");
    for (const double side : input) {
        if (std::trunc(side) == side) continue;
        config.fail("input", fmt::format("expected whole channels and pixels, found {}", side));
    }
    const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(input[i]); };
    sim::LayerStack net(name, fmt::format("image of {} x {}", whole(1), whole(2)),
                        {whole(0), whole(1), whole(2)});
    static constexpr std::array<std::string_view, 5> kinds{"convolution", "batch_norm", "pool",
                                                           "global_pool", "dense"};
    int number = 0;
    std::int64_t count = 0;
    auto kept = static_cast<double>(net.shape().values());
    for (ConfigReader& layer : config.objects("layers")) {
        ++number;
        const std::string kind = layer.one_of("kind", kinds);
        expect_keys_of(kind, layer_keys, layer);
        const std::int64_t times = layer.integer("times", 1, 10'000, 1);
        count += times;
        if (count > layers_most) {
            layer.fail("times", fmt::format("expected at most {} layers in all, found {}",
                                            layers_most, count));
        }
        for (std::int64_t i = 1; i <= times; ++i) {
            add_layer(layer, net, kind,
                      fmt::format("{}{}{}", kind, number, times > 1 ? fmt::format("_{}", i) : ""));
            kept += static_cast<double>(net.shape().values());
            expect_counts(layer, 0, kept);
        }
        layer.finish();
    }
    sim::ModelProfile model = net.finished();
    if (model.tensors.empty()) config.fail("layers", "expected a layer with parameters");
    double parameters = 0;
    for (const sim::LayerCost& layer : model.layers) {
        parameters += static_cast<double>(layer.parameters);
    }
    expect_counts(config, parameters, kept);
    return model;
}

sim::ModelProfile read_counted(ConfigReader& config, const std::string& name) {
    const std::int64_t parameters = config.integer("parameters", 1, parameters_most);
    const std::int64_t tensors = config.integer("tensors", 1, 100'000);
    const double flops = config.number("forward_flops", 1, 1e30);
    if (tensors > parameters) config.fail("tensors", "expected at most as many as parameters");
    sim::ModelProfile model;
    model.name = name;
    model.sample = "sample";
    model.layers_are_tensors = true;
    model.values_kept = config.integer("values_kept", 0, parameters_most, 0);
    for (std::int64_t i = 0; i < tensors; ++i) {
        const std::int64_t elements = parameters / tensors + (i < parameters % tensors ? 1 : 0);
        sim::LayerCost layer;
        layer.name = fmt::format("part{}", i);
        layer.forward_flops = flops / static_cast<double>(tensors);
        layer.parameters = elements;
        layer.values_moved = 2 * model.values_kept / tensors;
        model.tensors.push_back({layer.name + ".weight", elements});
        model.layers.push_back(layer);
    }
    return model;
}

// The tensors of a trace in forward order, and when each is ready.
void take_gradients(const ProfiledStep& step, sim::ModelProfile& model) {
    model.tensors.clear();
    model.layers.clear();
    model.measured->ready.clear();
    model.measured->backward_share = step.backward_share;
    for (std::size_t i = step.gradients.size(); i-- > 0;) {
        const ProfiledStep::Gradient& gradient = step.gradients[i];
        const std::string name = fmt::format("tensor{}", model.tensors.size());
        model.tensors.push_back({name, gradient.elements});
        model.measured->ready.push_back(gradient.ready);
        sim::LayerCost layer;
        layer.name = name;
        layer.parameters = gradient.elements;
        // Its share of the backward pass stands for its arithmetic, which is not known.
        layer.forward_flops = gradient.ready - (i > 0 ? step.gradients[i - 1].ready : 0);
        model.layers.push_back(layer);
    }
}

bool are_equal(const ProfiledStep& step, const std::vector<sim::GradientTensor>& tensors) {
    return std::ranges::equal(step.gradients, tensors | std::views::reverse, {},
                              &ProfiledStep::Gradient::elements, &sim::GradientTensor::elements);
}

using StepParser = std::function<ProfiledStep(const std::string& file)>;

// Of one worker, by traces of several batches.
sim::ModelProfile read_traced(ConfigReader& config, const std::string& name, std::int64_t batch,
                              std::string_view recorder, const StepParser& parse) {
    sim::ModelProfile model;
    model.name = name;
    model.sample = "sample";
    model.layers_are_tensors = true;
    model.values_kept = config.integer("values_kept", 0, parameters_most, 0);
    sim::MeasuredPasses& measured = model.measured.emplace();
    ConfigReader traces = config.object("traces");
    std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
    std::int64_t steps = 0;
    std::map<std::int64_t, std::string> by_batch;
    for (const std::string& key : traces.keys()) {
        by_batch[batch_of_key(traces, key)] = traces.text(key);
    }
    traces.finish();
    if (KeyExplorer::of(config.file()) != nullptr) {  // only keys are looked for, and no files
        measured.steps = {{1, 1}};
        take_gradients({1, 1, 0.5, {{1, 1}}}, model);
        return model;
    }
    if (by_batch.empty()) config.fail("traces", "expected a trace of at least one batch");
    for (const auto& [trace_batch, given] : by_batch) {
        const std::string file = config.beside(given).string();
        const std::string key = std::to_string(trace_batch);
        const ProfiledStep step = traces.of_file(key, [&] { return parse(file); });
        if (!model.tensors.empty() && !are_equal(step, model.tensors)) {
            traces.fail(key, fmt::format("{}: expected the gradients of the traces of other "
                                         "batches",
                                         file));
        }
        measured.steps.push_back({trace_batch, step.seconds});
        steps += step.steps;
        if (std::abs(trace_batch - batch) >= nearest) continue;
        nearest = std::abs(trace_batch - batch);
        take_gradients(step, model);
    }
    measured.source = fmt::format("{} step{} of {}", steps, steps == 1 ? "" : "s", recorder);
    return model;
}

sim::ModelProfile read_profiled(ConfigReader& config, const std::string& name, std::int64_t batch) {
    return read_traced(config, name, batch, "PyTorch's profiler", [](const std::string& file) {
        return parse_profiler_trace(read_file(file, profiler_bytes_max), file);
    });
}

sim::ModelProfile read_chakra(ConfigReader& config, const std::string& name, std::int64_t batch) {
    const std::string system_file = config.text("system", "");
    const std::int64_t value_bytes = config.integer("value_bytes", 1, 8, 4);
    AstraSystem system;
    if (!system_file.empty() && KeyExplorer::of(config.file()) == nullptr) {
        const std::string file = config.beside(system_file).string();
        const std::vector<std::int32_t> alone = {1};
        system = config.of_file("system", [&] {
            return parse_astra_system(read_file(file, astra_system_bytes_max), file, alone);
        });
    }
    return read_traced(config, name, batch, "a Chakra trace", [&](const std::string& file) {
        return chakra_step(parse_chakra(read_text_file(file, chakra_bytes_max), file), file, system,
                           value_bytes);
    });
}

}  // namespace

sim::ModelProfile read_model(ConfigReader& job, std::int64_t batch) {
    if (!job.is_object("model")) {
        const std::string name = job.text("model");
        return sim::model_named(name, job.place_of("model"));
    }
    ConfigReader config = job.object("model");
    static constexpr std::array<std::string_view, 5> kinds{"transformer", "layers", "counted",
                                                           "profiled", "chakra"};
    const std::string kind = config.one_of("kind", kinds);
    expect_keys_of(kind, model_keys, config);
    const std::string name = config.text("name", kind);
    if (name.empty()) config.fail("name", "expected a name, found \"\"");
    sim::ModelProfile model = kind == "transformer" ? read_transformer(config, name)
                              : kind == "layers"    ? read_layers(config, name)
                              : kind == "counted"   ? read_counted(config, name)
                              : kind == "profiled"  ? read_profiled(config, name, batch)
                                                    : read_chakra(config, name, batch);
    config.finish();
    return model;
}

}  // namespace ukemi::scenarios
