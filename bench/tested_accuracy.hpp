// tested_accuracy.hpp — the share of samples that a model gets right, on several threads.
#pragma once

#include <algorithm>
#include <future>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/model.hpp"
#include "kernels/models/image_gradient.hpp"

namespace ukemi::bench {

// Over the first `count` samples; the same number whatever that of threads: each takes every n-th
// chunk of image_samples_max, since a model that normalises looks at a chunk's samples together.
inline double tested_accuracy(const kernels::Model& model, const kernels::DataSet& test,
                              std::size_t count, std::span<const float> weights,
                              std::size_t threads) {
    std::vector<std::uint32_t> samples(count);
    std::iota(samples.begin(), samples.end(), 0U);
    std::vector<std::future<double>> found;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        found.push_back(std::async(std::launch::async, [&, thread] {
            const auto workspace = model.make_workspace();
            double correct = 0;
            constexpr std::size_t chunk = kernels::image_samples_max;
            for (std::size_t at = thread * chunk; at < count; at += threads * chunk) {
                const auto own = std::span(samples).subspan(at, std::min(chunk, count - at));
                correct += model.evaluate(weights, test, own, *workspace).correct;
            }
            return correct;
        }));
    }
    double correct = 0;
    for (std::future<double>& one : found) correct += one.get();
    return correct / static_cast<double>(count);
}

}  // namespace ukemi::bench
