// layer_workload.cpp — words, layers, and what waits for what.
#include "scenarios/reader/layer_workload.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/input_error.hpp"
#include "base/text_scan.hpp"

namespace ukemi::scenarios {
namespace {

using sim::ExchangeKind;

// Who the groups of a loop are. Of those of ASTRA-sim's dimensions, the first dimension of the
// network is the tensor group or the replicas, and the others are the other.
enum class LoopGroups : std::uint8_t { all_ranks, by_first_line, tensor_first, replicas_first };

struct LoopKind {
    std::string_view name;
    LoopGroups groups = LoopGroups::by_first_line;
    bool sends_inputs = true;    // forward, and of gradients of inputs
    bool sends_weights = true;   // of gradients of weights
    bool weights_first = false;  // are computed before gradients of inputs, which the first layer
                                 // then has none of
};
constexpr std::string_view recomputing_loop = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
constexpr std::array<LoopKind, 7> loops = {{
    {"DATA", LoopGroups::all_ranks, false, true, true},
    {"MODEL", LoopGroups::all_ranks, true, false},
    {"HYBRID_DATA_MODEL", LoopGroups::tensor_first},
    {"HYBRID_MODEL_DATA", LoopGroups::replicas_first},
    {recomputing_loop},
    {"HYBRID_TRANSFORMER"},
    {"MICRO", LoopGroups::all_ranks, false, true},
}};

const LoopKind* loop_named(std::string_view name) {
    const auto found = std::ranges::find(loops, name, &LoopKind::name);
    return found == loops.end() ? nullptr : &*found;
}
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

// Before the backward pass of `before`, the layers from `from` up to it go forward again.
struct RunAgain {
    std::int64_t from = 0;
    std::int64_t before = 0;
};

struct Degrees {
    LoopKind loop;
    std::int64_t ranks = 1;
    std::int64_t tensor = 1;
    std::int64_t expert = 1;
    bool of_simai = false;  // whose all-gathers say the gathered buffer, and not a rank's part
    std::vector<RunAgain> again = {};

    std::int64_t replicas() const { return ranks / tensor; }
    bool all_together() const { return loop.groups == LoopGroups::all_ranks; }
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
    if (degrees.all_together()) pass.family = family_all;
    for (const auto& [known, exchange] : exchanges) {
        if (name == known) pass.exchange = exchange;
    }
    if (!pass.exchange && kind.text != "NONE") {
        text.fail(kind.at,
                  "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, also with _EP or _DP_EP",
                  kind.text);
    }
    if (pass.exchange && !(of_weights ? degrees.loop.sends_weights : degrees.loop.sends_inputs)) {
        text.fail(kind.at,
                  fmt::format("NONE: in {} gradients of weights are {}", degrees.loop.name,
                              of_weights ? "not sent" : "all that is sent"),
                  kind.text);
    }
    pass.bytes = text.number("bytes", 0, largest_bytes);
    return pass;
}

// Of a loop whose first line, which ends at `end`, does not say it.
std::int64_t tensor_of(LayerText& text, std::size_t end, const Degrees& degrees,
                       std::int64_t first_dimension) {
    const LoopGroups groups = degrees.loop.groups;
    if (groups == LoopGroups::all_ranks) return 1;
    if (groups == LoopGroups::by_first_line) {
        text.fail(end, fmt::format("model_parallel_NPU_group: of {}", degrees.loop.name), {});
    }
    if (first_dimension < 1) {
        text.fail(end,
                  fmt::format("model_parallel_NPU_group: of {}, or a network of ASTRA-sim's, whose "
                              "first dimension says it",
                              degrees.loop.name),
                  {});
    }
    return groups == LoopGroups::tensor_first ? first_dimension : degrees.ranks / first_dimension;
}

// Words of a first line that SimAI has added to ASTRA-sim's; the last five say nothing of a step.
constexpr std::array<std::string_view, 8> words_of_simai = {
    "ep:", "all_gpus:", "pp:", "vpp:", "ga:", "mode:", "pp_comm:", "pp_comm"};

// What stands behind the name of the loop. Degrees are looked at when all have been read: they may
// stand in any order.
class FirstLine {
public:
    FirstLine(LayerText& text, Degrees& degrees) : text_(text), degrees_(degrees) {
        Word key = text_.word(true);
        for (; !key.text.empty(); key = text_.word(true)) take(key);
        end_ = key.at;
    }

    void set_degrees(std::int64_t first_dimension) {
        degrees_.tensor =
            tensor_ ? divisor(*tensor_, degrees_.ranks, fmt::format("{} ranks", degrees_.ranks))
                    : tensor_of(text_, end_, degrees_, first_dimension);
        if (!expert_) return;
        const std::int64_t replicas = degrees_.replicas();
        degrees_.expert = divisor(*expert_, replicas,
                                  fmt::format("{} replicas ({} ranks by tensor groups of {})",
                                              replicas, degrees_.ranks, degrees_.tensor));
    }

    // ASTRA-sim goes back to the nearest checkpoint, the layer's own included, and forward to the
    // next layer that has it do so: where that is another one, it leaves layers out or does not
    // end.
    void set_again(std::int64_t layers) {
        for (const auto* const list : {&checkpoints_, &initiates_}) {
            for (const Said& said : *list) {
                if (said.value < layers) continue;
                text_.fail(said.key.at, fmt::format("one of layers 0 to {}", layers - 1),
                           said.key.text);
            }
        }
        for (const Said& said : initiates_) {
            RunAgain again{-1, said.value};
            for (const Said& kept : checkpoints_) {
                if (kept.value <= again.before) again.from = std::max(again.from, kept.value);
            }
            const bool ends = std::ranges::none_of(initiates_, [&](const Said& other) {
                return other.value > again.from && other.value < again.before;
            });
            if (again.from < 0 || again.from == again.before || !ends) {
                text_.fail(said.key.at,
                           "a layer behind a checkpoint, with no other that initiates between them",
                           said.key.text);
            }
            degrees_.again.push_back(again);
        }
    }

private:
    struct Said {
        Word key;
        std::int64_t value = 0;
    };

    void take(const Word& key) {
        if (std::ranges::find(taken_, key.text) != taken_.end()) {
            text_.fail(key.at, fmt::format("{} once in the line", key.text), key.text);
        }
        taken_.push_back(key.text);
        if (key.text == "checkpoints:" || key.text == "checkpoint_initiates:") {
            return read_layers(key, key.text == "checkpoints:" ? checkpoints_ : initiates_);
        }
        const bool is_simai = std::ranges::find(words_of_simai, key.text) != words_of_simai.end();
        if (!is_simai && key.text != "model_parallel_NPU_group:") {
            text_.fail(key.at,
                       fmt::format("model_parallel_NPU_group:, checkpoints:, "
                                   "checkpoint_initiates:, {} or the end of the line",
                                   fmt::join(words_of_simai, ", ")),
                       key.text);
        }
        degrees_.of_simai = degrees_.of_simai || is_simai;
        const std::int64_t value = text_.number(key.text, 0, largest_bytes);
        if (key.text == "model_parallel_NPU_group:") {
            tensor_ = {key, value};
        } else if (key.text == "ep:") {
            expert_ = {key, value};
        } else if (key.text == "pp:" && value != 1) {
            text_.fail(key.at, "pp: 1, since pipelines are not played", fmt::format("{}", value));
        } else if (key.text == "all_gpus:" && value != degrees_.ranks) {
            text_.fail(key.at,
                       fmt::format("as many ranks as the job has workers, {}", degrees_.ranks),
                       fmt::format("{}", value));
        }
    }

    // A count, then so many numbers of layers.
    void read_layers(const Word& key, std::vector<Said>& layers) {
        const std::int64_t count =
            text_.number(fmt::format("how many layers follow {}", key.text), 0, layers_max);
        if (count > 0 && degrees_.loop.name != recomputing_loop) {
            text_.fail(key.at,
                       fmt::format("{} 0, since {} runs nothing forward again", key.text,
                                   degrees_.loop.name),
                       fmt::format("{}", count));
        }
        for (std::int64_t i = 0; i < count; ++i) {
            const Word layer = text_.word(true);
            const auto value = parse_whole(layer.text, DecimalGrammar::relaxed);
            if (!value || *value < 0) {
                text_.fail(layer.at, fmt::format("{} layers by number in {}", count, key.text),
                           layer.text);
            }
            layers.push_back({layer, *value});
        }
    }

    std::int64_t divisor(const Said& said, std::int64_t whole, const std::string& what) const {
        if (said.value >= 1 && whole % said.value == 0) return said.value;
        text_.fail(said.key.at, fmt::format("{} to divide {}", said.key.text, what),
                   fmt::format("{}", said.value));
    }

    LayerText& text_;
    Degrees& degrees_;
    std::vector<std::string_view> taken_;
    std::optional<Said> tensor_;
    std::optional<Said> expert_;
    std::vector<Said> checkpoints_;
    std::vector<Said> initiates_;
    std::size_t end_ = 0;
};

// And the number of layers below it.
std::pair<Degrees, std::int64_t> read_head(LayerText& text, std::int64_t ranks,
                                           std::int64_t first_dimension) {
    const Word loop = text.word();
    const LoopKind* const kind = loop_named(loop.text);
    if (kind == nullptr) {
        std::vector<std::string_view> names;
        std::ranges::transform(loops, std::back_inserter(names), &LoopKind::name);
        text.fail(loop.at, fmt::format("one of {}", fmt::join(names, ", ")), loop.text);
    }
    Degrees degrees{*kind, ranks};
    FirstLine line(text, degrees);
    line.set_degrees(first_dimension);
    const std::int64_t count = text.number("the number of layers", 1, layers_max);
    line.set_again(count);
    return {std::move(degrees), count};
}

// Ranks go tensor first, then expert, then the rest; or the replicas first.
std::vector<std::vector<std::int32_t>> families_of(const Degrees& degrees) {
    const bool turned = degrees.loop.groups == LoopGroups::replicas_first;
    const std::int64_t first = turned ? degrees.replicas() : degrees.tensor;
    std::vector<std::vector<std::int32_t>> families(5);
    for (std::int64_t rank = 0; rank < degrees.ranks; ++rank) {
        const std::int64_t tensor = turned ? rank / first : rank % first;
        const std::int64_t replica = turned ? rank % first : rank / first;
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
    explicit LayerProgram(const Degrees& degrees)
        : sizes_{degrees.ranks, degrees.tensor, degrees.replicas(), degrees.expert,
                 degrees.replicas() / degrees.expert},
          waits_for_inputs_(degrees.loop.groups == LoopGroups::by_first_line),
          weights_first_(degrees.loop.weights_first),
          gathers_whole_(degrees.of_simai) {}

    void forward(const TextLayer& layer) {
        compute(layer.name, layer.passes[0].time_ns);
        exchange(layer.name, layer.passes[0]);
    }
    void backward(const TextLayer& layer, bool is_first) {
        if (weights_first_) {
            weights_beside(layer);
            if (!is_first) compute(layer.name + " input gradient", layer.passes[1].time_ns);
            return;
        }
        compute(layer.name + " input gradient", layer.passes[1].time_ns);
        std::vector<std::uint32_t> beside;  // what is sent while weights' gradients are computed
        if (waits_for_inputs_) {
            exchange(layer.name + " input gradient", layer.passes[1]);
        } else if (layer.passes[1].exchange && !is_first) {
            const std::vector<std::uint32_t> computed = last_;
            exchange(layer.name + " input gradient", layer.passes[1]);
            beside = std::exchange(last_, computed);
        }
        weights_beside(layer);
        last_.insert(last_.end(), beside.begin(), beside.end());
    }
    // Sends the gradients of weights, and waits for nothing.
    void send_only(const TextLayer& layer) {
        exchange(layer.name + " weight gradient", layer.passes[2]);
        last_.clear();
    }
    std::vector<sim::WorkNode> nodes;

private:
    void add(sim::WorkNode node) {
        node.after = std::exchange(last_, {static_cast<std::uint32_t>(nodes.size())});
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
        const bool parts = node.exchange == ExchangeKind::reduce_scatter ||
                           (node.exchange == ExchangeKind::all_gather && gathers_whole_);
        node.bytes = bytes(parts ? pass.bytes / sizes_[pass.family] : pass.bytes);
        add(std::move(node));
    }
    // What follows waits until they are computed, and neither until they are sent nor for the
    // update.
    void weights_beside(const TextLayer& layer) {
        compute(layer.name + " weight gradient", layer.passes[2].time_ns);
        std::vector<std::uint32_t> computed = last_;
        exchange(layer.name + " weight gradient", layer.passes[2]);
        if (layer.passes[2].exchange) compute(layer.name + " update", layer.update_ns);
        last_ = std::move(computed);
    }

    std::array<std::int64_t, 5> sizes_;  // of groups, by family
    bool waits_for_inputs_;              // before it computes the gradients of weights
    bool weights_first_;
    bool gathers_whole_;               // bytes of an all-gather are of what it ends with
    std::vector<std::uint32_t> last_;  // what the next node waits for
};

std::vector<sim::WorkNode> program_of(const Degrees& degrees,
                                      const std::vector<TextLayer>& layers) {
    LayerProgram program(degrees);
    if (degrees.loop.name == "MICRO") {
        for (const TextLayer& layer : layers) program.send_only(layer);
        return std::move(program.nodes);
    }
    for (const TextLayer& layer : layers) program.forward(layer);
    std::map<std::size_t, std::size_t> again;  // by the layer before whose backward pass it is
    for (const RunAgain& one : degrees.again) {
        again.emplace(static_cast<std::size_t>(one.before), static_cast<std::size_t>(one.from));
    }
    for (std::size_t i = layers.size(); i-- > 0;) {
        if (const auto run = again.find(i); run != again.end()) {
            for (std::size_t k = run->second; k < i; ++k) program.forward(layers[k]);
        }
        program.backward(layers[i], i == 0);
    }
    return std::move(program.nodes);
}

}  // namespace

bool is_layer_workload(std::string_view text) {
    constexpr std::size_t looked_at = 256;
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] == '{' || text[first] == '[') return false;
    return std::ranges::all_of(text.substr(0, looked_at), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= ' ' && byte != 0x7f) || c == '\t' || c == '\r' || c == '\n';
    });
}

sim::Workload parse_layer_workload(std::string_view text, std::string_view file, std::int64_t ranks,
                                   std::int64_t first_dimension) {
    LayerText words(text, file);
    const auto [degrees, count] = read_head(words, ranks, first_dimension);
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
    sim::Workload workload;
    workload.programs.push_back(program_of(degrees, layers));
    workload.source = fmt::format("{} layers", count);
    workload.program_of.assign(static_cast<std::size_t>(ranks), 0);
    workload.families = families_of(degrees);
    return workload;
}

}  // namespace ukemi::scenarios
