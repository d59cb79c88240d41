// whole.hpp — the codec that leaves a tensor as it is; others use it for what they cannot shrink.
#pragma once

#include <vector>

#include "kernels/codecs/wire.hpp"

namespace ukemi::kernels {

class WholeGradient final : public TensorCodec {
public:
    explicit WholeGradient(const CodecMember& member);
    void encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override;
    void combined(std::size_t round, std::span<const std::byte> result) override;
    void decode(std::span<float> mean) override;
    void contribution(std::span<float> arrived) const override;

private:
    float ranks_;
    std::vector<float> mean_;
    std::vector<float> own_;
};

}  // namespace ukemi::kernels
