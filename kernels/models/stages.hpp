// stages.hpp — a gradient as stages (load, layers, loss, layers back), so that several replicas can
// take each stage together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/model.hpp"

namespace ukemi::kernels {

// stage(number, replica, its samples) for every chunk of samples, every stage of it, every replica.
template <class Stage>
void stages_together(std::span<Model::ReplicaBatch> replicas, std::size_t chunk_samples,
                     std::size_t stages, Stage stage) {
    std::vector<std::span<const std::uint32_t>> rest;
    std::vector<std::span<const std::uint32_t>> chunks(replicas.size());
    for (Model::ReplicaBatch& replica : replicas) {
        replica.result = {};
        rest.push_back(replica.samples);
    }
    const auto some_left = [&] {
        return std::ranges::any_of(rest, [](auto samples) { return !samples.empty(); });
    };
    while (some_left()) {
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            chunks[r] = rest[r].first(std::min(rest[r].size(), chunk_samples));
            rest[r] = rest[r].subspan(chunks[r].size());
        }
        for (std::size_t number = 0; number < stages; ++number) {
            for (std::size_t r = 0; r < replicas.size(); ++r) {
                if (!chunks[r].empty()) stage(number, replicas[r], chunks[r]);
            }
        }
    }
}

}  // namespace ukemi::kernels
