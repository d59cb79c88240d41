// cnn.cpp — one convolution of 3×3, pooling and one dense layer, for square grey images.
#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "kernels/models/convolution_network.hpp"

namespace ukemi {

namespace {

class ConvolutionModel final : public Model {
public:
    ConvolutionModel(std::int32_t side, std::int32_t filters, const DataSet& data)
        : network_(side, filters, data.classes) {}

    std::string_view kind() const override { return "cnn"; }
    std::span<const TensorSlice> tensors() const override { return network_.tensors(); }
    std::size_t parameter_count() const override { return network_.parameter_count(); }
    std::vector<float> initial_weights(std::uint64_t seed) const override {
        return network_.initial_weights(seed);
    }
    std::unique_ptr<Model::Workspace> make_workspace() const override {
        auto workspace = std::make_unique<Workspace>();
        workspace->buffers = network_.make_workspace();
        return workspace;
    }
    BatchResult gradient(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples, std::span<float> gradient,
                         Model::Workspace& workspace, const Finished& finished) const override {
        return network_.gradient(weights, data, samples, gradient, buffers_of(workspace), finished);
    }
    BatchResult evaluate(std::span<const float> weights, const DataSet& data,
                         std::span<const std::uint32_t> samples,
                         Model::Workspace& workspace) const override {
        return network_.evaluate(weights, data, samples, buffers_of(workspace));
    }

private:
    using Network = ConvolutionNetwork<float>;
    struct Workspace final : Model::Workspace {
        Network::Workspace buffers;
    };
    static Network::Workspace& buffers_of(Model::Workspace& workspace) {
        auto* own = dynamic_cast<Workspace*>(&workspace);
        INVARIANT(own != nullptr);
        return own->buffers;
    }

    Network network_;
};

}  // namespace

std::unique_ptr<Model> make_cnn(const ModelSpec& spec, const DataSet& data) {
    constexpr std::int32_t filters_max = 1024;
    constexpr std::int32_t side_max = 1024;
    if (spec.hidden.size() != 1 || spec.hidden[0] < 1 || spec.hidden[0] > filters_max) {
        throw InputError("model", "/hidden",
                         fmt::format("expected one number of filters from 1 to {}", filters_max));
    }
    std::int32_t side = 4;
    while (side < side_max && side * side < data.features) ++side;
    if (side * side != data.features) {
        throw InputError("model", "/kind",
                         fmt::format("cnn needs square images of at least 4 × 4, found {} features",
                                     data.features));
    }
    return std::make_unique<ConvolutionModel>(side, spec.hidden[0], data);
}

}  // namespace ukemi
