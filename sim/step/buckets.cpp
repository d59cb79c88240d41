// buckets.cpp — walks the tensors backwards and closes buckets.
#include "sim/step/buckets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "base/invariant.hpp"

namespace ukemi::sim {

void add_squares(std::vector<GradientBucket>& buckets) {
    std::vector<GradientBucket> all;
    for (GradientBucket& bucket : buckets) {
        GradientBucket squares = bucket;
        squares.name = fmt::format("{}/squares", bucket.name);
        all.push_back(std::move(bucket));
        all.push_back(std::move(squares));
    }
    buckets = std::move(all);
}

namespace {

// By layer; what is without arithmetic is ready at the end.
std::vector<double> shares_of_arithmetic(const ModelProfile& model) {
    double before = 0;  // backward, of the layers up to and without this one
    const double all = 2 * model.forward_flops() + model.flops_again();
    std::vector<double> shares;
    for (const LayerCost& layer : model.layers) {
        shares.push_back(all > 0 ? std::clamp((all - before) / all, 0.0, 1.0) : 1.0);
        before += 2 * layer.forward_flops + layer.flops_again;
    }
    return shares;
}

}  // namespace

std::vector<double> ready_shares(const ModelProfile& model, std::span<const double> layers_ready) {
    if (model.measured) return model.measured->ready;
    const std::vector<double> arithmetic =
        layers_ready.empty() ? shares_of_arithmetic(model) : std::vector<double>{};
    if (layers_ready.empty()) layers_ready = arithmetic;
    INVARIANT(layers_ready.size() == model.layers.size());
    // A tensor belongs to the layer in which its last parameter is counted.
    std::vector<double> shares;
    shares.reserve(model.tensors.size());
    std::size_t layer = 0;
    std::int64_t layer_end = model.layers.empty() ? 0 : model.layers[0].parameters;
    std::int64_t tensor_end = 0;
    for (const GradientTensor& tensor : model.tensors) {
        tensor_end += tensor.elements;
        while (layer + 1 < model.layers.size() && layer_end < tensor_end) {
            layer_end += model.layers[++layer].parameters;
        }
        shares.push_back(model.layers.empty() ? 1.0 : layers_ready[layer]);
    }
    return shares;
}

std::vector<GradientBucket> gradient_buckets(const ModelProfile& model, const BucketRule& rule,
                                             std::int64_t bytes_per_element, std::string_view where,
                                             std::span<const double> layers_ready) {
    INVARIANT(rule.first > Bytes{} && rule.size > Bytes{} && bytes_per_element >= 1);
    const std::vector<double> ready = ready_shares(model, layers_ready);
    std::vector<GradientBucket> buckets;
    bool open = false;  // the last one takes more
    Bytes limit = rule.first;
    for (std::size_t i = model.tensors.size(); i-- > 0;) {
        const GradientTensor& tensor = model.tensors[i];
        Bytes left = bytes_per_element * bytes(tensor.elements);
        const std::int64_t pieces = rule.kind == BucketKind::chunks
                                        ? (left.raw() + rule.size.raw() - 1) / rule.size.raw()
                                        : 1;
        if (static_cast<std::int64_t>(buckets_max - buckets.size()) <= pieces) {
            throw InputError(
                where, "",
                fmt::format("{} falls into more than {} buckets", model.name, buckets_max));
        }
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const Bytes part = rule.kind == BucketKind::chunks ? std::min(left, rule.size) : left;
            left -= part;
            if (open) {
                ++buckets.back().tensors;
            } else {
                buckets.push_back({tensor.name, {}, 0});
            }
            buckets.back().bytes += part;
            buckets.back().ready = std::max(buckets.back().ready, ready[i]);
            open = rule.kind == BucketKind::one ||
                   (rule.kind == BucketKind::filled && buckets.back().bytes < limit);
            if (!open) limit = rule.size;
        }
    }
    return buckets;
}

}  // namespace ukemi::sim
