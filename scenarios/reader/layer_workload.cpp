// layer_workload.cpp — words, layers, and what waits for what.
#include "scenarios/reader/layer_workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/text_scan.hpp"

namespace ukemi::scenarios {
namespace {

using sim::ExchangeKind;

constexpr std::array<std::string_view, 6> loops = {
    "DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER",
    "MICRO"};
constexpr std::array<std::pair<std::string_view, ExchangeKind>, 4> exchanges = {{
    {"ALLREDUCE", ExchangeKind::all_reduce},
    {"ALLGATHER", ExchangeKind::all_gather},
    {"REDUCESCATTER", ExchangeKind::reduce_scatter},
    {"ALLTOALL", ExchangeKind::all_to_all},
}};

// The first number of families: of all ranks, then those of groups.
enum Family : std::uint32_t {
    family_all,
    family_tensor,
    family_data,
    family_expert,
    family_expert_data
};

struct Word {
    std::string_view text;
    std::size_t at = 0;
};

class LayerText {
public:
    LayerText(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    [[noreturn]] void fail(std::size_t at, std::string_view expected,
                           std::string_view found) const {
        const TextPlace place = place_of(text_, at);
        throw InputError(file_, place.line, place.column,
                         fmt::format("expected {}, found {}", expected,
                                     found.empty() ? "the end" : quoted(found)));
    }

    // The next word; of this line only, if so asked. Empty at the end.
    Word word(bool of_line = false) {
        while (at_ < text_.size() && is_space(text_[at_]) && !(of_line && text_[at_] == '\n')) {
            ++at_;
        }
        Word found{{}, at_};
        while (at_ < text_.size() && !is_space(text_[at_])) ++at_;
        found.text = text_.substr(found.at, at_ - found.at);
        return found;
    }

    std::int64_t number(std::string_view what, std::int64_t least, std::int64_t most) {
        const Word found = word();
        const auto value = parse_whole(found.text, DecimalGrammar::relaxed);
        if (!value || *value < least || *value > most) {
            fail(found.at, fmt::format("{}, a whole number from {} to {}", what, least, most),
                 found.text);
        }
        return *value;
    }

private:
    static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
};

struct LayerPass {
    std::int64_t time_ns = 0;
    std::optional<ExchangeKind> exchange;
    Family family = family_all;
    std::int64_t bytes = 0;
};
struct TextLayer {
    std::string name;
    std::array<LayerPass, 3> passes;  // forward, input, weights
    std::int64_t update_ns = 0;
};

struct Degrees {
    bool all_together = false;  // no groups
    std::int64_t tensor = 1;
    std::int64_t expert = 1;
};

constexpr std::int64_t longest_ns = 1'000'000'000'000'000;
constexpr std::int64_t largest_bytes = std::int64_t{1} << 50;

LayerPass read_pass(LayerText& text, const Degrees& degrees, bool of_weights) {
    LayerPass pass;
    pass.time_ns = text.number("a time in cycles", 0, longest_ns);
    const Word kind = text.word();
    std::string_view name = kind.text;
    const auto ends = [&](std::string_view tail) {
        if (!name.ends_with(tail)) return false;
        name.remove_suffix(tail.size());
        return true;
    };
    pass.family = of_weights ? family_data : family_tensor;
    if (ends("_DP_EP")) {
        pass.family = family_expert_data;
    } else if (ends("_EP")) {
        pass.family = family_expert;
    }
    if (degrees.all_together) pass.family = family_all;
    for (const auto& [known, exchange] : exchanges) {
        if (name == known) pass.exchange = exchange;
    }
    if (!pass.exchange && kind.text != "NONE") {
        text.fail(kind.at,
                  "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, also with _EP or _DP_EP",
                  kind.text);
    }
    pass.bytes = text.number("bytes", 0, largest_bytes);
    return pass;
}

Degrees read_first_line(LayerText& text, std::int64_t ranks) {
    Degrees degrees;
    const Word loop = text.word();
    if (!is_layer_workload(loop.text)) {
        text.fail(loop.at, fmt::format("one of {}", fmt::join(loops, ", ")), loop.text);
    }
    degrees.all_together = loop.text == "DATA" || loop.text == "MICRO";
    for (Word key = text.word(true); !key.text.empty(); key = text.word(true)) {
        const std::int64_t value = text.number(key.text, 0, largest_bytes);
        const auto divides = [&](std::int64_t whole) {
            if (value < 1 || whole % value != 0) {
                text.fail(key.at, fmt::format("{} to divide {} ranks", key.text, whole),
                          fmt::format("{}", value));
            }
        };
        if (key.text == "model_parallel_NPU_group:") {
            divides(ranks);
            degrees.tensor = value;
        } else if (key.text == "ep:") {
            divides(ranks / degrees.tensor);
            degrees.expert = value;
        } else if (key.text == "pp:" && value != 1) {
            text.fail(key.at, "pp: 1, since pipelines are not played", fmt::format("{}", value));
        } else if (key.text == "all_gpus:" && value != ranks) {
            text.fail(key.at, fmt::format("as many ranks as the job has workers, {}", ranks),
                      fmt::format("{}", value));
        }
    }
    return degrees;
}

// Ranks go tensor first, then expert, then the rest.
std::vector<std::vector<std::int32_t>> families_of(const Degrees& degrees, std::int64_t ranks) {
    std::vector<std::vector<std::int32_t>> families(5);
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const std::int64_t tensor = rank % degrees.tensor;
        const std::int64_t replica = rank / degrees.tensor;
        const std::array<std::int64_t, 5> groups = {
            0, replica, tensor, tensor + degrees.tensor * (replica / degrees.expert),
            tensor + degrees.tensor * (replica % degrees.expert)};
        for (std::size_t i = 0; i < groups.size(); ++i) {
            families[i].push_back(static_cast<std::int32_t>(groups[i]));
        }
    }
    return families;
}

// Adds nodes one behind the other.
class LayerProgram {
public:
    LayerProgram(const Degrees& degrees, std::int64_t ranks)
        : sizes_{ranks, degrees.tensor, ranks / degrees.tensor, degrees.expert,
                 ranks / degrees.tensor / degrees.expert} {}

    void forward(const TextLayer& layer) {
        compute(layer.name, layer.passes[0].time_ns);
        exchange(layer.name, layer.passes[0]);
    }
    void backward(const TextLayer& layer) {
        compute(layer.name + " input gradient", layer.passes[1].time_ns);
        exchange(layer.name + " input gradient", layer.passes[1]);
        compute(layer.name + " weight gradient", layer.passes[2].time_ns);
        const std::optional<std::uint32_t> behind = last_;
        exchange(layer.name + " weight gradient", layer.passes[2]);
        if (layer.passes[2].exchange) compute(layer.name + " update", layer.update_ns);
        if (last_ != behind) last_ = behind;  // what follows does not wait for it
    }
    std::vector<sim::WorkNode> nodes;

private:
    void add(sim::WorkNode node) {
        if (last_) node.after.push_back(*last_);
        last_ = static_cast<std::uint32_t>(nodes.size());
        nodes.push_back(std::move(node));
    }
    void compute(const std::string& name, std::int64_t time_ns) {
        if (time_ns == 0) return;
        sim::WorkNode node;
        node.name = name;
        node.time = nanoseconds(time_ns);
        add(std::move(node));
    }
    void exchange(const std::string& name, const LayerPass& pass) {
        if (!pass.exchange) return;
        sim::WorkNode node;
        node.name = name;
        node.kind = sim::WorkKind::collective;
        node.exchange = *pass.exchange;
        node.family = pass.family;
        const bool parts = node.exchange == ExchangeKind::all_gather ||
                           node.exchange == ExchangeKind::reduce_scatter;
        node.bytes = bytes(parts ? pass.bytes / sizes_[pass.family] : pass.bytes);
        add(std::move(node));
    }

    std::array<std::int64_t, 5> sizes_;  // of groups, by family
    std::optional<std::uint32_t> last_;
};

}  // namespace

bool is_layer_workload(std::string_view text) {
    const std::string_view first = text.substr(0, text.find_first_of(" \t\r\n"));
    return std::ranges::find(loops, first) != loops.end();
}

sim::Workload parse_layer_workload(std::string_view text, std::string_view file,
                                   std::int64_t ranks) {
    LayerText words(text, file);
    const Degrees degrees = read_first_line(words, ranks);
    const std::int64_t count = words.number("the number of layers", 1, layers_max);
    std::vector<TextLayer> layers;
    for (std::int64_t i = 0; i < count; ++i) {
        const Word name = words.word();
        if (name.text.empty()) words.fail(name.at, fmt::format("layer {} of {}", i + 1, count), {});
        TextLayer& layer = layers.emplace_back();
        layer.name = name.text;
        words.number("a number that is not used", INT64_MIN, INT64_MAX);
        for (std::size_t pass = 0; pass < layer.passes.size(); ++pass) {
            layer.passes[pass] = read_pass(words, degrees, pass == 2);
        }
        layer.update_ns = words.number("the time of an update", 0, longest_ns);
    }
    if (const Word rest = words.word(); !rest.text.empty()) {
        words.fail(rest.at, fmt::format("the end after {} layers", count), rest.text);
    }
    LayerProgram program(degrees, ranks);
    for (const TextLayer& layer : layers) program.forward(layer);
    for (std::size_t i = layers.size(); i-- > 0;) program.backward(layers[i]);
    sim::Workload workload;
    workload.source = fmt::format("{} layers", count);
    workload.programs.push_back(std::move(program.nodes));
    workload.program_of.assign(static_cast<std::size_t>(ranks), 0);
    workload.families = families_of(degrees, ranks);
    return workload;
}

}  // namespace ukemi::scenarios
