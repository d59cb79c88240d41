// mlp.cpp — a multi-layer perceptron: dense layers with rectifiers between them.
#include <fmt/format.h>

#include "base/input_error.hpp"
#include "kernels/models/dense_network.hpp"

namespace ukemi {

std::unique_ptr<Model> make_mlp(const ModelSpec& spec, const DataSet& data) {
    constexpr std::size_t layers_max = 16;
    constexpr std::int32_t units_max = 65'536;
    if (spec.hidden.empty() || spec.hidden.size() > layers_max) {
        throw InputError("model", "/hidden",
                         fmt::format("expected 1 to {} hidden layers, found {}", layers_max,
                                     spec.hidden.size()));
    }
    std::vector<std::int32_t> units{data.features};
    for (std::size_t layer = 0; layer < spec.hidden.size(); ++layer) {
        const std::int32_t outputs = spec.hidden[layer];
        if (outputs < 1 || outputs > units_max) {
            throw InputError(
                "model", fmt::format("/hidden/{}", layer),
                fmt::format("expected from 1 to {} units, found {}", units_max, outputs));
        }
        units.push_back(outputs);
    }
    units.push_back(data.classes);
    return make_dense_model("mlp", std::move(units));
}

}  // namespace ukemi
