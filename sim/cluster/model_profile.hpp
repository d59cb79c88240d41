// model_profile.hpp — a network as training costs see it: gradients, arithmetic, bytes.
//
// Everything is counted from the shapes of the layers by the code in models/, never typed: tensors
// in forward order with their elements, multiply-adds of the forward pass, and the values that the
// backward pass needs again. One sample is an image, or a sequence of `sequence_length` tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::sim {

struct GradientTensor {
    std::string name;
    std::int64_t elements = 0;
    std::int64_t rows = 0;  // of a matrix: its outputs, or words; 0: a vector, or not known
};

struct LayerCost {
    std::string name;
    double forward_flops = 0;  // of one sample, a multiply-add being two
    double flops_again = 0;  // of the backward pass, beyond two products for each of the forward's
    // Of forward_flops, what stays bf16 where a step is fp8: products of tokens with each other,
    // and the logits. All that is computed again stays so.
    double wide_flops = 0;
    std::int64_t parameters = 0;
    std::int64_t values_moved = 0;  // read and written by the forward pass, of one sample
    // How many times fewer multiplications a library needs in single precision: 2.25 in a 3 x 3
    // convolution of stride 1, by minimal filtering F(2 x 2, 3 x 3) with 16 in place of 36 (Lavin
    // and Gray, CVPR 2016, equation 8), which cuDNN has for both passes.
    double fp32_saving = 1;
    // As a matrix product, of one sample: rows x columns from a depth. 0: it is none, or several.
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t depth = 0;
};

struct TransformerShape {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t vocabulary = 0;
    std::int64_t positions = 0;        // that have an embedding; 0: tokens are rotated instead
    std::int64_t sequence_length = 0;  // of one sample
    std::int64_t kv_heads = 0;         // heads of keys and values; 0: as many as queries have
    std::int64_t feed_forward = 0;     // inner width; 0: four times the hidden one
    bool gated = false;                // two inner products, one of which gates the other (SwiGLU)
    bool flash = false;                // scores stay on the chip (FlashAttention)
    // Of each block as many inner layers, of which every token takes some (Shazeer et al., ICLR
    // 2017), each as often as the others. 1: no experts.
    std::int64_t experts = 1;
    std::int64_t experts_per_token = 1;
    std::int64_t head_width = 0;  // of a head; 0: the hidden size over the heads
    bool tied_embedding = true;   // the words' is also the matrix that makes the logits

    std::int64_t head() const { return head_width > 0 ? head_width : hidden / heads; }
    std::int64_t queries() const { return heads * head(); }  // of all heads, a token
    std::int64_t kv() const { return kv_heads > 0 ? kv_heads : heads; }
    std::int64_t inner() const { return feed_forward > 0 ? feed_forward : 4 * hidden; }
};

// What a block keeps of one sample for the backward pass: values at the step's precision and single
// bytes, whole on every rank of a tensor group or divided among them (Korthikanti et al., 2022,
// section 4.1, by inner width and heads). Flash attention keeps a sum in fp32 a head and token; of
// experts, what each token's have, and the token once more for each. Where products have inputs of
// eight bits, that is how their inputs are kept, and what the heads give is there twice: as it is
// for the backward pass of flash attention, in eight bits for the product after it
// (NVIDIA/TransformerEngine, pytorch/module/layernorm_linear.py and linear.py).
struct BlockKept {
    std::int64_t whole_values = 0;  // inputs of norms and of products
    std::int64_t whole_inputs = 0;  // of these, those of products with weights
    std::int64_t whole_bytes = 0;   // masks of dropout
    std::int64_t values = 0;        // divided: heads and inner values
    std::int64_t inputs = 0;        // of these, those of products with weights
    std::int64_t twice = 0;         // inputs that attention keeps, too, and `inputs` has not
    std::int64_t bytes = 0;
};
BlockKept block_kept(const TransformerShape& shape, bool scores = true);

// Steps of one worker as somebody has measured them, in place of what layers would take.
struct MeasuredPasses {
    struct Step {
        std::int64_t batch = 0;
        double seconds = 0;
    };
    std::vector<Step> steps;    // by batch, rising
    double backward_share = 0;  // of a step: from the backward pass's begin to the last gradient
    std::vector<double> ready;  // by tensor: share of the backward pass after which it is ready
    std::string source;
};

struct ModelProfile {
    std::string name;
    std::string sample;  // "image of 224 x 224"
    std::vector<GradientTensor> tensors;
    std::vector<LayerCost> layers;
    // Each of `layers` stands for a tensor, since only their number is known: nobody knows what is
    // launched.
    bool layers_are_tensors = false;
    std::int64_t values_kept = 0;  // of one sample, for the backward pass, at the step's precision
    std::int64_t inputs_kept = 0;  // of these, inputs of products with blocks' weights
    std::int64_t twice_kept = 0;   // BlockKept::twice
    std::int64_t logits = 0;       // of one sample, with a cross entropy
    // Of one sample, whatever the precision: dropout masks, a byte each; logits apart.
    std::int64_t bytes_kept = 0;
    // Of a network of equal blocks: its layers are embeddings, then attention and feed_forward of
    // each block, then the rest.
    std::optional<TransformerShape> transformer;
    std::optional<MeasuredPasses> measured;

    std::int64_t parameters() const;
    double forward_flops() const;  // of one sample
    double flops_again() const;
    // Forward and backward: the backward pass computes two products for each of the forward's.
    double training_flops() const { return 3 * forward_flops() + flops_again(); }
    Bytes gradient_bytes(std::int64_t bytes_per_element = 4) const;
};

struct ModelEntry {
    std::string_view name;
    std::string_view summary;
    std::string_view source;  // of the architecture
    ModelProfile (*make)();
};
std::span<const ModelEntry> all_models();
// Throws InputError("WHERE: there is no model …") with the nearest name.
ModelProfile model_named(std::string_view name, std::string_view where);

}  // namespace ukemi::sim
