// model.hpp — small models trained for real on the CPU: softmax regression, perceptrons, LeNet-5
// and ResNets for small images, with every gradient in one flat buffer.
//
// The buffer holds the tensors in forward order. The backward pass finishes them in reverse and
// says so, tensor by tensor, so that their exchange can begin while it goes on. Sums run in one
// fixed order on one thread: equal inputs give equal bits on a given binary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/data_set.hpp"

namespace ukemi::kernels {

struct TensorSlice {
    std::string name;  // "layer0.weight"
    std::size_t begin = 0;
    std::size_t count = 0;
    std::size_t columns = 1;  // of a weight as a matrix, row after row: outputs × the rest, or the
                              // other way round; 1 for a vector
};

struct BatchResult {
    double loss_sum = 0;  // cross-entropy, summed over the samples
    double correct = 0;
};

class Model {
public:
    virtual ~Model() = default;
    virtual std::string_view kind() const = 0;
    virtual std::span<const TensorSlice> tensors() const = 0;
    virtual std::size_t parameter_count() const = 0;
    virtual std::vector<float> initial_weights(std::uint64_t seed) const = 0;

    // Adds the sum over `samples` of their gradients to `gradient`, and calls `finished(tensor)`,
    // if there is such a function, once for every tensor, from the last to the first, as soon as it
    // is complete (without samples at once): leave it empty for all but a step's last micro-batch.
    // One workspace serves one thread at a time; it keeps the buffers between calls.
    class Workspace {
    public:
        virtual ~Workspace() = default;
    };
    virtual std::unique_ptr<Workspace> make_workspace() const = 0;
    using Finished = std::function<void(std::size_t tensor)>;
    virtual BatchResult gradient(std::span<const float> weights, const DataSet& data,
                                 std::span<const std::uint32_t> samples, std::span<float> gradient,
                                 Workspace& workspace, const Finished& finished) const = 0;

    // Several replicas of the model, each with weights and a batch of its own, layer by layer
    // instead of one after the other: what devices do in one call a layer. Every replica gets the
    // bits of `gradient`. Two of them share no workspace.
    struct ReplicaBatch {
        std::span<const float> weights;
        const DataSet* data = nullptr;
        std::span<const std::uint32_t> samples;
        std::span<float> gradient;  // added to
        Workspace* workspace = nullptr;
        BatchResult result;  // set
    };
    virtual void gradients(std::span<ReplicaBatch> replicas) const = 0;

    virtual BatchResult evaluate(std::span<const float> weights, const DataSet& data,
                                 std::span<const std::uint32_t> samples,
                                 Workspace& workspace) const = 0;
};

struct ModelSpec {
    std::string kind = "softmax";           // of model_kinds()
    std::vector<std::int32_t> hidden = {};  // of an "mlp": the units of each hidden layer; of a
                                            // "cnn": the filters of its one convolution
};
std::span<const std::string_view> model_kinds();
// InputError, with paths as in ModelSpec, for a kind or sizes that there are not. The model knows
// the sizes of `data` and does not keep it.
std::unique_ptr<Model> make_model(const ModelSpec& spec, const DataSet& data);

}  // namespace ukemi::kernels
