// model_pieces.hpp — what layers of a model are, and what a worker of a layout holds of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/cluster/model_profile.hpp"
#include "sim/step/layout_plan.hpp"

namespace ukemi::sim {

bool is_attention(const LayerCost& layer);  // the first half of a transformer's block
bool is_feed_forward(const LayerCost& layer);
std::int64_t norm_channels(const LayerCost& layer);  // of a batch normalisation; else 0

struct DenseShape {
    std::int64_t inputs = 0;  // 0: it is not fully connected, or is applied more than once a sample
    std::int64_t outputs = 0;
};
DenseShape dense_shape(const LayerCost& layer);

struct LayerRange {
    std::size_t begin = 0;  // of ModelProfile::layers
    std::size_t end = 0;
};
// How many of a transformer's blocks each stage has. Where that is no whole number, but would be
// with two more, embeddings and logits count as a block each, and the first and the last stage have
// one less (Megatron Core's account_for_embedding_in_pipeline_split and …_loss_…).
struct StageBlocks {
    std::int64_t each = 0;  // 0: they cannot be cut so
    bool ends_count = false;
    std::int64_t of(std::int64_t stage, std::int64_t stages) const {
        return each - (ends_count && (stage == 0 || stage == stages - 1) ? 1 : 0);
    }
};
StageBlocks stage_blocks(std::int64_t blocks, std::int64_t stages);
// InputError(WHERE …) if a transformer's stages cannot have as many each, or would compute more of
// them again than they have.
void check_stages(const ModelProfile& model, const LayoutRequest& request, std::string_view where);

// Along the model, so cut; one that is no transformer has one stage.
std::vector<LayerRange> stage_ranges(const ModelProfile& model, std::int32_t stages);

// Whether a layer of a transformer's block keeps its input only.
bool is_computed_again(const ModelProfile& model, const LayerRange& range, std::size_t layer,
                       const LayoutRequest& request);

// What is gathered at once where parameters are divided among replicas: a transformer's blocks,
// what stands before them and what stands after them; in another model every layer.
std::vector<LayerRange> layer_units(const ModelProfile& model, const LayerRange& range);

// Who adds up a tensor's gradients: all its layout's holders, those who have the same experts, or
// nobody, since each has a part of its own that is complete (split layers).
enum class TensorSums : std::uint8_t { by_all, by_some, by_nobody };

// What one worker of the layout holds of ranges; both outlive it. The last stage of a pipeline has
// the words' embedding, too, which makes its logits, unless its worker has the first stage as well,
// or they have a matrix of their own.
class ModelPieces {
public:
    ModelPieces(const ModelProfile& model, const LayoutRequest& request);

    // The layers of the range with those parameters that it holds and whose gradients are added up
    // so.
    ModelProfile piece(const LayerRange& range, TensorSums sums) const;
    // Parameters for the whole of the range, split layers included; or of one kind.
    std::int64_t parameters(const LayerRange& range, std::optional<TensorSums> of = {}) const;

    // Of the words' embedding that the last stage has beside the first one; or none.
    std::int64_t words_held_twice() const;

private:
    template <class Visit>
    void visit(const LayerRange& range, const Visit& visit) const;

    std::int64_t held_of(const GradientTensor& whole, std::int64_t parts) const;

    const ModelProfile& model_;
    const LayoutRequest& request_;
    std::vector<std::size_t> first_tensors_;  // by layer
    bool ties_ = false;                       // the last layer has the first tensor as well
};

}  // namespace ukemi::sim
