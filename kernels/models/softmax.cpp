// softmax.cpp — softmax regression: one dense layer, a convex problem.
#include "base/input_error.hpp"
#include "kernels/models/dense_network.hpp"

namespace ukemi::kernels {

std::unique_ptr<Model> make_softmax(const ModelSpec& spec, const DataSet& data) {
    if (!spec.hidden.empty()) {
        throw InputError("model", "/hidden", "softmax has no hidden layers: leave it out");
    }
    return make_dense_model("softmax", {data.features, data.classes});
}

}  // namespace ukemi::kernels
