// quantised.hpp — what QSGD and TernGrad share: levels of a scale, gathered or summed.
//
// With a scale of its own a rank's levels mean something only beside that scale, so messages are
// gathered. With the largest scale of all ranks (one more round, of four bytes) all levels mean the
// same and are summed as integers, in the narrowest type that holds the sum.
#pragma once

#include <vector>

#include "kernels/codecs/wire.hpp"
#include "kernels/element_draws.hpp"
#include "kernels/element_rules.hpp"

namespace ukemi::kernels {

// Levels of all elements, drawn for (key, step).
inline void quantise(std::span<const float> values, float scale, std::int32_t levels, DrawKey key,
                     std::int64_t step, std::span<std::int32_t> out) {
    for_each_draw(key, static_cast<std::uint64_t>(step), values.size(),
                  [&](std::size_t i, std::uint32_t word) {
                      out[i] = quantised(values[i], scale, levels, uniform_of(word));
                  });
}

CodecLayout shared_scale_layout(std::int64_t levels, const TensorShape& shape, int ranks,
                                std::int64_t scale_operations);

// The two rounds of a codec with a common scale; `scale_of` says what a rank's own scale is and may
// change the values (clipping).
class SharedScale : public TensorCodec {
public:
    SharedScale(const CodecMember& member, std::int32_t levels, DrawKey key);
    void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) final;
    void combined(std::size_t round, std::span<const std::byte> result) final;
    void decode(std::span<float> mean) final;
    void contribution(std::span<float> arrived) const final;

private:
    virtual float scale_of(std::span<float> values) const = 0;

    std::int32_t levels_;
    int ranks_;
    WireElement element_;
    DrawKey key_;
    float scale_ = 0;
    std::vector<float> values_;
    std::vector<std::int32_t> own_;
    std::vector<std::int32_t> sum_;
};

}  // namespace ukemi::kernels
