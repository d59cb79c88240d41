// moved_images.hpp — images that are never twice the same, for trainings of many epochs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "kernels/models/image_network.hpp"

namespace ukemi::bench {

// Moves an image by up to two pixels each way, black coming in, and mirrors every other one (He et
// al., section 4.2, by four of 32 pixels there). A function of what it is given only.
inline void move_image(std::span<float> values, const kernels::ImageShape& shape,
                       std::uint64_t seed, std::int64_t batch, std::uint32_t sample) {
    constexpr std::int64_t most = 2;
    RandomStream random(seed, fmt::format("image/{}/{}", batch, sample));
    const std::int64_t down = random.integer(-most, most);
    const std::int64_t right = random.integer(-most, most);
    const bool mirrored = random.chance(0.5);
    const std::vector<float> before(values.begin(), values.end());
    std::size_t place = 0;
    for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
        for (std::int64_t row = 0; row < shape.height; ++row) {
            for (std::int64_t column = 0; column < shape.width; ++column) {
                const std::int64_t y = row - down;
                const std::int64_t x = (mirrored ? shape.width - 1 - column : column) - right;
                const bool inside = y >= 0 && y < shape.height && x >= 0 && x < shape.width;
                const std::int64_t from = (channel * shape.height + y) * shape.width + x;
                values[place++] = inside ? before[static_cast<std::size_t>(from)] : 0.0F;
            }
        }
    }
}

}  // namespace ukemi::bench
