// transformers.cpp — BERT and GPT-2 from hidden size, layers, heads and vocabulary.
//
// Multiply-adds a token and layer: 12 h² in the matrices, 2 s h in attention (scores and weighted
// sum over the whole sequence): 24 s h² + 4 s² h FLOP a sequence and layer, and 2 s h V for the
// logits (Narayanan et al., SC 2021, appendix; times three for training that is their eq. without
// recomputation). Flash attention computes the half of the scores that a causal mask leaves, and
// computes them again in the backward pass: five products there for two forward (Dao 2023,
// FlashAttention-2, section 3.1; its section 4.1 counts so); it moves queries, keys, values and
// results only (Dao et al., NeurIPS 2022). Kept for the backward pass a sequence and layer: s h (34
// + 5 a s / h) bytes at two bytes a value (Korthikanti et al., 2022, eq. 1), of which 2 s h + a s²
// are one-byte masks; besides the logits, in fp32 whatever the precision, and the inputs of their
// product and of the norm before it: s (4 v + 4 h) bytes at two bytes a value (section 4.3).
#include <fmt/format.h>

#include <utility>

#include "base/invariant.hpp"
#include "sim/cluster/models/architectures.hpp"

namespace ukemi::sim {
namespace {

class Transformer {
public:
    Transformer(std::string name, const TransformerShape& shape) : shape_(shape) {
        INVARIANT(shape.head_width > 0 || shape.hidden % shape.heads == 0);
        profile_.name = std::move(name);
        profile_.transformer = shape;
        profile_.sample = fmt::format("sequence of {} tokens", shape.sequence_length);
    }

    void layer(const std::string& name) {
        profile_.layers.emplace_back();
        profile_.layers.back().name = name;
    }

    void tensor(std::string_view kind, std::int64_t elements, std::int64_t rows = 0) {
        LayerCost& layer = profile_.layers.back();
        profile_.tensors.push_back({fmt::format("{}.{}", layer.name, kind), elements, rows});
        layer.parameters += elements;
    }

    // Applied to every token.
    void dense(std::string_view kind, std::int64_t inputs, std::int64_t outputs) {
        tensor(fmt::format("{}.weight", kind), inputs * outputs, outputs);
        tensor(fmt::format("{}.bias", kind), outputs);
        const std::int64_t tokens = shape_.sequence_length;
        profile_.layers.back().forward_flops +=
            2.0 * static_cast<double>(inputs * outputs) * static_cast<double>(tokens);
        moves(tokens * (inputs + outputs));
    }

    // A product with every expert's weights beside a product with one: each token takes some.
    void expert_dense(std::int64_t expert, std::string_view kind, std::int64_t inputs,
                      std::int64_t outputs) {
        tensor(fmt::format("expert{}.{}.weight", expert, kind), inputs * outputs, outputs);
        tensor(fmt::format("expert{}.{}.bias", expert, kind), outputs);
        if (expert > 0) return;
        const std::int64_t taken = shape_.experts_per_token * shape_.sequence_length;
        profile_.layers.back().forward_flops +=
            2.0 * static_cast<double>(inputs * outputs) * static_cast<double>(taken);
        moves(taken * (inputs + outputs));
    }

    // Scores of all experts for every token (no bias), then the experts.
    void experts() {
        const std::int64_t h = shape_.hidden;
        tensor("router.weight", h * shape_.experts, shape_.experts);
        profile_.layers.back().forward_flops +=
            2.0 * static_cast<double>(width()) * static_cast<double>(shape_.experts);
        moves(width() + shape_.sequence_length * shape_.experts);
        for (std::int64_t expert = 0; expert < shape_.experts; ++expert) {
            if (shape_.gated) expert_dense(expert, "gate", h, shape_.inner());
            expert_dense(expert, "inner", h, shape_.inner());
            expert_dense(expert, "outer", shape_.inner(), h);
        }
    }

    void norm(std::string_view kind) {
        tensor(fmt::format("{}.scale", kind), shape_.hidden);
        tensor(fmt::format("{}.shift", kind), shape_.hidden);
        moves(2 * width());
    }

    // Scores and the weighted sum; softmax and dropout move the scores three times more.
    void attend() {
        const std::int64_t queries = shape_.sequence_length * shape_.queries();
        const double product = 2.0 * static_cast<double>(shape_.sequence_length) *
                               static_cast<double>(queries);  // over all pairs
        LayerCost& layer = profile_.layers.back();
        moves(2 * queries + 2 * shape_.sequence_length * shape_.kv() * shape_.head());
        if (shape_.flash) {
            layer.forward_flops += product;
            layer.wide_flops += product;
            layer.flops_again += product / 2;
        } else {
            layer.forward_flops += 2 * product;
            layer.wide_flops += 2 * product;
            moves(8 * shape_.heads * shape_.sequence_length * shape_.sequence_length);
        }
    }

    void keep_block() {
        const BlockKept kept = block_kept(shape_);
        profile_.values_kept += kept.whole_values + kept.values;
        profile_.inputs_kept += kept.whole_inputs + kept.inputs;
        profile_.twice_kept += kept.twice;
        profile_.bytes_kept += kept.whole_bytes + kept.bytes;
    }

    void logits() {  // the embedding's matrix again, or one of its own
        layer("logits");
        if (!shape_.tied_embedding)
            tensor("weight", shape_.vocabulary * shape_.hidden, shape_.vocabulary);
        profile_.layers.back().forward_flops =
            2.0 * static_cast<double>(width()) * static_cast<double>(shape_.vocabulary);
        profile_.layers.back().wide_flops = profile_.layers.back().forward_flops;
        const std::int64_t values = shape_.sequence_length * shape_.vocabulary;
        moves(width() + values);
        profile_.values_kept += 2 * width();
        profile_.logits = values;
    }

    std::int64_t width() const { return shape_.sequence_length * shape_.hidden; }
    ModelProfile finished() { return std::move(profile_); }

private:
    void moves(std::int64_t values) { profile_.layers.back().values_moved += values; }

    TransformerShape shape_;
    ModelProfile profile_;
};

}  // namespace

BlockKept block_kept(const TransformerShape& shape, bool scores) {
    const std::int64_t sequence = shape.sequence_length;
    const std::int64_t width = sequence * shape.hidden;
    const std::int64_t given = sequence * shape.queries();
    const std::int64_t inner = sequence * shape.inner() * shape.experts_per_token;
    BlockKept kept;
    kept.whole_values = 4 * width;
    kept.whole_inputs = 2 * width;
    kept.whole_bytes = 2 * width;
    // Queries and what the heads give; keys and values; before and after the inner function.
    kept.values =
        2 * given + 2 * sequence * shape.kv() * shape.head() + (shape.gated ? 3 : 2) * inner;
    kept.inputs = inner;
    (shape.flash ? kept.twice : kept.inputs) += given;
    if (shape.experts > 1) {  // the router's input stays as it is
        kept.whole_values += shape.experts_per_token * width;
        kept.whole_inputs += (shape.experts_per_token - 1) * width;
    }
    const std::int64_t pairs = shape.heads * sequence * sequence;
    if (shape.flash) {
        kept.bytes = 4 * shape.heads * sequence;
    } else if (scores) {  // after the softmax and after its dropout
        kept.values += 2 * pairs;
        kept.bytes = pairs;
    }
    return kept;
}

ModelProfile bert(std::string name, const TransformerShape& shape) {
    Transformer net(std::move(name), shape);
    const std::int64_t h = shape.hidden;
    net.layer("embeddings");
    net.tensor("word", shape.vocabulary * h, shape.vocabulary);
    net.tensor("position", shape.positions * h, shape.positions);
    net.tensor("segment", 2 * h, 2);
    net.norm("norm");
    for (std::int64_t i = 0; i < shape.layers; ++i) {
        net.layer(fmt::format("layer{}.attention", i));
        for (const std::string_view kind : {"query", "key", "value"}) net.dense(kind, h, h);
        net.attend();
        net.dense("output", h, h);
        net.norm("norm");
        net.layer(fmt::format("layer{}.feed_forward", i));
        net.dense("inner", h, 4 * h);
        net.dense("outer", 4 * h, h);
        net.norm("norm");
        net.keep_block();
    }
    net.layer("pooler");  // the first token only
    net.tensor("dense.weight", h * h, h);
    net.tensor("dense.bias", h);
    return net.finished();
}

ModelProfile gpt2(std::string name, const TransformerShape& shape) {
    Transformer net(std::move(name), shape);
    const std::int64_t h = shape.hidden;
    net.layer("embeddings");
    net.tensor("word", shape.vocabulary * h, shape.vocabulary);
    if (shape.positions > 0) net.tensor("position", shape.positions * h, shape.positions);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
        net.layer(fmt::format("layer{}.attention", i));
        net.norm("norm");
        net.dense("query_key_value", h, shape.queries() + 2 * shape.kv() * shape.head());
        net.attend();
        net.dense("output", shape.queries(), h);
        net.layer(fmt::format("layer{}.feed_forward", i));
        net.norm("norm");
        if (shape.experts > 1) {
            net.experts();
        } else {
            if (shape.gated) net.dense("gate", h, shape.inner());
            net.dense("inner", h, shape.inner());
            net.dense("outer", shape.inner(), h);
        }
        net.keep_block();
    }
    net.layer("final");
    net.norm("norm");
    net.logits();
    return net.finished();
}

}  // namespace ukemi::sim
