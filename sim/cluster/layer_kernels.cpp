// layer_kernels.cpp — lists of kernels. Bytes are counted from what each reads and writes.
#include "sim/cluster/layer_kernels.hpp"

#include <algorithm>
#include <string_view>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

std::int64_t divided(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

// Sizes of a transformer on one rank of a tensor group.
class Block {
public:
    Block(const KernelClock& clock, const TransformerShape& shape, const KernelCut& cut)
        : clock_(clock),
          shape_(shape),
          cut_(cut),
          queries_(divided(shape.sequence_length, cut.context)),
          tokens_(cut.batch * queries_),
          hidden_(shape.hidden),
          heads_(divided(shape.heads, cut.tensor)),
          head_(shape.head()),
          value_(static_cast<double>(clock.bytes_a_value())),
          width_(static_cast<double>(divided(tokens_, cut.sequence ? cut.tensor : 1) * hidden_)),
          scores_(static_cast<double>(cut.batch * heads_ * queries_ * shape.sequence_length)) {}

    LayerKernels attention() {
        const std::int64_t own = heads_ * head_;
        const std::int64_t all = own + 2 * divided(shape_.kv(), cut_.tensor) * head_;
        const double own_width = static_cast<double>(tokens_ * own);
        const double all_width = static_cast<double>(tokens_ * all);
        norm();
        first_product(hidden_, all, true);
        const LayerKernels before = sum_;
        if (shape_.flash) {
            flash(value_ * (all_width + own_width));
        } else {
            between_heads(shape_.sequence_length, head_);                   // scores
            moves(2 * value_ * scores_, 3 * value_ * scores_);              // masked softmax
            moves((2 * value_ + 1) * scores_, (2 * value_ + 1) * scores_);  // dropout and its mask
            between_heads(head_, shape_.sequence_length);                   // weighted sum
        }
        sum_.scores = difference(sum_.forward, before.forward);
        sum_.scores_back = difference(sum_.backward, before.backward);
        moves(2 * value_ * own_width, 2 * value_ * own_width);  // heads side by side
        moves_back(2 * value_ * all_width);  // the gradients of query, key and value side by side
        last_product(own, hidden_);
        dropout_and_residual();
        return sum_;
    }

    LayerKernels feed_forward() {
        if (shape_.experts > 1) return experts();
        const std::int64_t inner = divided(shape_.inner(), cut_.tensor);
        const double inner_width = static_cast<double>(tokens_ * inner);
        norm();
        first_product(hidden_, shape_.gated ? 2 * inner : inner, false);
        if (shape_.gated) {  // two values read and one written; backward their gradients
            moves(3 * value_ * inner_width, 5 * value_ * inner_width);
        } else {
            // GELU and its bias: one value read and one written; backward one more, and the bias's
            // sum.
            moves(2 * value_ * inner_width, 3 * value_ * inner_width);
            moves_back(value_ * inner_width);
        }
        last_product(inner, hidden_);
        dropout_and_residual();
        return sum_;
    }

    // As many tokens come from other ranks as go there.
    LayerKernels experts() {
        const std::int64_t inner = divided(shape_.inner(), cut_.whole_experts ? 1 : cut_.tensor);
        const std::int64_t own = divided(tokens_, cut_.whole_experts ? cut_.tensor : 1);
        const std::int64_t taken = own * shape_.experts_per_token;
        const double inner_width = static_cast<double>(taken * inner);
        const double width = static_cast<double>(own * hidden_);
        const double taken_width = static_cast<double>(taken * hidden_);
        norm();
        dense(hidden_, shape_.experts, false);
        // Scores, the best of them, and the loss that balances them: 17 and back 15; how many
        // tokens each rank has for each expert, and how many come: 13; rows of both sorts: 7 and 5.
        small(17 + 13 + 7, 15 + 5);
        moves(value_ * (width + taken_width), value_ * (width + taken_width));  // sorted
        sort_by_expert(taken_width);
        of_experts(hidden_, shape_.gated ? 2 * inner : inner, taken);
        if (shape_.gated) {
            moves(3 * value_ * inner_width, 5 * value_ * inner_width);
        } else {
            moves(2 * value_ * inner_width, 3 * value_ * inner_width);
        }
        of_experts(inner, hidden_, taken);
        sort_by_expert(taken_width);
        moves(value_ * (width + taken_width), value_ * (width + 2 * taken_width));  // weighted sum
        dropout_and_residual();
        return sum_;
    }

    // Table look-ups, their sum and its dropout; backward the gradients of both tables.
    LayerKernels embeddings() {
        for (int i = 0; i < 3; ++i) moves(2 * value_ * width_, 3 * value_ * width_);
        of_weights(clock_.traffic(value_ * table()));
        if (cut_.accumulates && !shape_.tied_embedding) {
            of_weights(clock_.traffic(3 * value_ * table()));
        }
        small(6, 4);
        return sum_;
    }

    LayerKernels final_norm() {
        norm();
        return sum_;
    }

    // The products with the vocabulary, and a cross entropy whose logits are made fp32 first.
    LayerKernels logits() {
        const std::int64_t vocabulary = divided(shape_.vocabulary, cut_.tensor);
        const double values = static_cast<double>(tokens_ * vocabulary);
        forward(clock_.product({tokens_, vocabulary, hidden_, 1, 0, vocabulary}));
        backward(clock_.product({tokens_, hidden_, vocabulary, 1, 0, vocabulary}));
        of_weights(clock_.product({vocabulary, hidden_, tokens_, 1, 0, vocabulary}));
        moves(2 * value_ * values, 2 * value_ * values);      // samples before sequence
        moves((value_ + 4) * values, (value_ + 4) * values);  // to fp32 and back
        moves(4 * values, 8 * values);  // the greatest; the gradient times the loss's
        for (int i = 0; i < 3; ++i) forward(clock_.traffic(8 * values));  // − greatest, exp, ÷ sum
        forward(clock_.traffic(4 * values));                              // the sum
        small(12, 8);  // of the targets: a value a token
        if (cut_.accumulates) of_weights(clock_.traffic(3 * value_ * table()));
        return sum_;
    }

    // Backward: a bias's sum of the gradients, in whichever layer adds it.
    void accumulate(const LayerCost& layer) {
        if (!cut_.accumulates || layer.parameters == 0) return;
        constexpr int tensors = 6;  // of a half of a block
        const bool apart = std::string_view(layer.name).ends_with(".feed_forward");
        const std::int64_t cut_by = apart && cut_.whole_experts ? 1 : cut_.tensor;
        const double parameters =
            static_cast<double>(divided(layer.parameters, cut_by * (apart ? cut_.expert : 1)));
        for (int i = 0; i < tensors; ++i) {
            of_weights(clock_.traffic(3 * value_ * parameters / tensors));
        }
    }
    const LayerKernels& sum() const { return sum_; }

private:
    static KernelSum difference(const KernelSum& whole, const KernelSum& part) {
        return {whole.device_s - part.device_s, whole.launches - part.launches,
                whole.shared_s - part.shared_s};
    }
    void forward(const KernelSum& kernels) { sum_.forward += kernels; }
    void backward(const KernelSum& kernels) { sum_.backward += kernels; }
    void of_weights(const KernelSum& kernels) {
        backward(kernels);
        sum_.weights += kernels;
    }
    void moves(double ahead, double back) {
        forward(clock_.traffic(ahead));
        backward(clock_.traffic(back));
    }
    void moves_back(double bytes) { backward(clock_.traffic(bytes)); }
    void small(int ahead, int back) {
        for (int i = 0; i < ahead; ++i) forward(clock_.traffic(0));
        for (int i = 0; i < back; ++i) backward(clock_.traffic(0));
    }

    void first_product(std::int64_t inputs, std::int64_t outputs, bool bias) {
        const LayerKernels before = sum_;
        dense(inputs, outputs, bias, cut_.pieces);
        sum_.ends.first = difference(sum_.forward, before.forward);
        sum_.ends_back.first = difference(sum_.backward, before.backward);
    }
    void last_product(std::int64_t inputs, std::int64_t outputs) {
        const LayerKernels before = sum_;
        dense(inputs, outputs, false, cut_.pieces);
        sum_.ends.last = difference(sum_.forward, before.forward);
        sum_.ends_back.last = difference(sum_.backward, before.backward);
    }

    // A product with its two backward ones, and a bias added by a kernel of its own. What is made
    // in pieces is one kernel a piece.
    void dense(std::int64_t inputs, std::int64_t outputs, bool bias, std::int64_t pieces = 1) {
        const std::int64_t tokens = divided(tokens_, pieces);
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            forward(clock_.product({tokens, outputs, inputs, 1, 0, 0, true}));
            backward(clock_.product({tokens, inputs, outputs, 1, 0, 0, true}));
        }
        of_weights(clock_.product({outputs, inputs, tokens_, 1, 0, 0, true}));
        make_eight_bits(tokens_, inputs, outputs, 1);
        if (!bias) return;
        const double values = static_cast<double>(tokens_ * outputs);
        forward(clock_.traffic(2 * value_ * values));
        of_weights(clock_.traffic(value_ * values));
    }

    // What has come from several ranks, each in the order of its experts; and the way back.
    void sort_by_expert(double taken_width) {
        if (cut_.expert == 1 || experts_here() == 1) return;
        moves(2 * value_ * taken_width, 2 * value_ * taken_width);
    }
    std::int64_t experts_here() const { return divided(shape_.experts, cut_.expert); }

    // So many tokens, as many for each expert that is here.
    void of_experts(std::int64_t inputs, std::int64_t outputs, std::int64_t taken) {
        const std::int64_t here = experts_here();
        const std::int64_t rows = divided(taken, here);
        const auto one_by_one = [&](const Gemm& gemm) {
            KernelSum sum = clock_.product(gemm);
            sum.launches = here;
            return sum;
        };
        forward(one_by_one({rows, outputs, inputs, here, 0, 0, true}));
        backward(one_by_one({rows, inputs, outputs, here, 0, 0, true}));
        of_weights(one_by_one({outputs, inputs, rows, here, 0, 0, true}));
        make_eight_bits(taken, inputs, outputs, here);
    }

    // Inputs of a product and the gradients of its results, of all `matrices` together; the weights
    // once a step, which counts where it has one micro-batch.
    void make_eight_bits(std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                         std::int64_t matrices) {
        forward(clock_.made_eight_bits(static_cast<double>(rows * inputs), matrices));
        backward(clock_.made_eight_bits(static_cast<double>(rows * outputs), matrices));
        if (cut_.accumulates) return;
        forward(clock_.made_eight_bits(static_cast<double>(matrices * inputs * outputs), matrices));
    }

    // Of all heads at once: sequence × columns from a depth, and the same backward, twice.
    void between_heads(std::int64_t columns, std::int64_t depth) {
        const std::int64_t keys = shape_.sequence_length;
        const std::int64_t batch = cut_.batch * heads_;
        forward(clock_.product({queries_, columns, depth, batch}));
        const bool to_scores = columns == keys;
        if (to_scores) {  // of queries, of keys
            backward(clock_.product({queries_, head_, keys, batch}));
            backward(clock_.product({keys, head_, queries_, batch}));
        } else {  // of values, of scores
            backward(clock_.product({keys, head_, queries_, batch}));
            backward(clock_.product({queries_, keys, head_, batch}));
        }
    }

    void flash(double bytes) {
        const FlashAttention attention{cut_.batch * heads_, queries_, shape_.sequence_length, head_,
                                       bytes};
        forward(clock_.flash_forward(attention));
        backward(clock_.flash_backward(attention));
    }

    // Backward: of the input, of scale and shift in two kernels, and the residual's sum.
    void norm() {
        moves(2 * value_ * width_, 3 * value_ * width_);
        moves_back(2 * value_ * width_);
        moves_back(0);
        moves_back(3 * value_ * width_);
    }

    // Backward: dropout, and the bias's sum.
    void dropout_and_residual() {
        moves((3 * value_ + 1) * width_, (2 * value_ + 1) * width_);
        moves_back(value_ * width_);
    }

    double table() const {
        return static_cast<double>(divided(shape_.vocabulary, cut_.tensor) * hidden_);
    }

    const KernelClock& clock_;
    const TransformerShape& shape_;
    const KernelCut& cut_;
    std::int64_t queries_;  // of a sample
    std::int64_t tokens_;
    std::int64_t hidden_;
    std::int64_t heads_;
    std::int64_t head_;
    double value_;
    double width_;
    double scores_;
    LayerKernels sum_;
};

LayerKernels of_transformer(const KernelClock& clock, const TransformerShape& shape,
                            const LayerCost& layer, const KernelCut& cut) {
    Block block(clock, shape, cut);
    const std::string_view name = layer.name;
    if (name == "logits") return block.logits();
    if (name == "embeddings") return block.embeddings();
    if (name.ends_with(".attention")) block.attention();
    if (name.ends_with(".feed_forward")) block.feed_forward();
    if (name == "final") block.final_norm();
    block.accumulate(layer);
    return block.sum();
}

// A product as it stands, with both backward ones; or what it moves. A batch normalisation is taken
// with the activation after it, which is not in the list of layers: 3 + 2 values forward for each
// of its own (statistics, then the result; the activation's two), 5 + 3 backward.
LayerKernels of_image_network(const KernelClock& clock, const LayerCost& layer,
                              const KernelCut& cut) {
    const auto value = static_cast<double>(clock.bytes_a_value());
    const double moved = value * static_cast<double>(cut.batch * layer.values_moved);
    LayerKernels sum;
    if (layer.rows == 0) {
        const bool norm = layer.parameters > 0;
        sum.forward += clock.traffic(norm ? 1.5 * moved : moved);
        sum.backward += clock.traffic(norm ? 2.5 * moved : 1.5 * moved);
        if (!norm) return sum;
        sum.forward += clock.traffic(moved);
        sum.backward += clock.traffic(1.5 * moved);
    } else {
        const std::int64_t rows = cut.batch * layer.rows;
        const double bytes = moved + value * static_cast<double>(layer.parameters);
        const auto saved = [&](const Gemm& gemm) {
            return clock.product_saving(gemm, layer.fp32_saving);
        };
        sum.forward += saved({rows, layer.columns, layer.depth, 1, bytes, 0});
        sum.backward += saved({rows, layer.depth, layer.columns, 1, bytes, 0});
        sum.backward += saved({layer.columns, layer.depth, rows, 1, bytes, 0});
    }
    if (cut.accumulates) {
        sum.backward += clock.traffic(3 * value * static_cast<double>(layer.parameters));
    }
    return sum;
}

}  // namespace

bool has_kernel_shapes(const ModelProfile& model) {
    return model.transformer || std::ranges::all_of(model.layers, [](const LayerCost& layer) {
               return layer.forward_flops == 0 || layer.rows > 0;
           });
}

LayerKernels layer_kernels(const KernelClock& clock, const ModelProfile& model,
                           const LayerCost& layer, const KernelCut& cut) {
    INVARIANT(cut.batch >= 1 && cut.tensor >= 1);
    if (!model.transformer) return of_image_network(clock, layer, cut);
    return of_transformer(clock, *model.transformer, layer, cut);
}

KernelSum update_kernels(const KernelClock& clock, std::int64_t parameters,
                         std::int64_t state_values) {
    const auto count = static_cast<double>(parameters);
    KernelSum sum;
    double bytes = 4 * 3 + 8 * static_cast<double>(state_values);  // weight, gradient, states
    if (clock.bytes_a_value() == 2) {
        sum += clock.traffic(count * (2 + 4));  // the gradient, made fp32
        sum += clock.traffic(count * 4);        // its norm
        sum += clock.traffic(count * (4 + 2));  // the weight, made half precision again
    }
    sum += clock.traffic(count * bytes);
    return sum;
}

}  // namespace ukemi::sim
