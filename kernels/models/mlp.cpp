// mlp.cpp — a multi-layer perceptron: dense layers with rectifiers between them.
#include <fmt/format.h>

#include <iterator>

#include "base/input_error.hpp"
#include "kernels/models/dense_network.hpp"
#include "kernels/setting_ranges.hpp"

namespace ukemi::kernels {

std::unique_ptr<Model> make_mlp(const ModelSpec& spec, const DataSet& data) {
    if (spec.hidden.empty() || std::ssize(spec.hidden) > mlp_layers_max) {
        throw InputError("model", "/hidden",
                         fmt::format("expected 1 to {} hidden layers, found {}", mlp_layers_max,
                                     spec.hidden.size()));
    }
    std::vector<std::int32_t> units{data.features};
    for (std::size_t layer = 0; layer < spec.hidden.size(); ++layer) {
        const std::int32_t outputs = spec.hidden[layer];
        if (outputs < 1 || outputs > mlp_units_max) {
            throw InputError(
                "model", fmt::format("/hidden/{}", layer),
                fmt::format("expected from 1 to {} units, found {}", mlp_units_max, outputs));
        }
        units.push_back(outputs);
    }
    units.push_back(data.classes);
    return make_dense_model("mlp", std::move(units));
}

}  // namespace ukemi::kernels
