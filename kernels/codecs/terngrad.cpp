// terngrad.cpp — TernGrad (Wen et al., arXiv:1705.07878): −1, 0 or 1 times the largest magnitude,
// at random so that the mean is right.
//
// E‖Q(v) − v‖² = max|v| ‖v‖₁ − ‖v‖². With a level c > 0 elements are first clipped to c standard
// deviations (the paper's layer-wise clipping, c = 2.5), which biases them and lowers the variance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/codecs/quantised.hpp"

namespace ukemi::kernels {
namespace {

DrawKey terngrad_key(const CodecSettings& settings, const CodecMember& member) {
    return key_of(settings.seed,
                  fmt::format("codec/terngrad/tensor/{}/rank/{}", member.tensor, member.rank));
}

// Clips the values and returns the largest magnitude that is left.
float clipped_scale(std::span<float> values, double deviations) {
    if (deviations > 0 && !values.empty()) {
        double sum = 0;
        double squares = 0;
        for (const float value : values) {
            sum += static_cast<double>(value);
            squares += static_cast<double>(value) * static_cast<double>(value);
        }
        const auto count = static_cast<double>(values.size());
        const double mean = sum / count;
        const double variance = std::max(squares / count - mean * mean, 0.0);
        const auto bound = static_cast<float>(deviations * std::sqrt(variance));
        if (bound > 0) {
            for (float& value : values) value = std::clamp(value, -bound, bound);
        }
    }
    float largest = 0;
    for (const float value : values) largest = larger_of(largest, magnitude_of(value));
    return largest;
}

// A message: the scale, then two bits an element, the first element lowest: 0, 1 or 2 for −1.
class TernGrad final : public TensorCodec {
public:
    TernGrad(const CodecSettings& settings, const CodecMember& member)
        : deviations_(settings.level),
          ranks_(member.ranks),
          key_(terngrad_key(settings, member)),
          values_(static_cast<std::size_t>(member.shape.elements())),
          own_(values_.size()),
          mean_(values_.size()) {}

    void encode(std::size_t, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        std::ranges::copy(gradient, values_.begin());
        scale_ = clipped_scale(values_, deviations_);
        quantise(values_, scale_, 1, key_, step, own_);
        wire::put(message, 0, scale_);
        const auto codes = message.subspan(sizeof scale_);
        std::ranges::fill(codes, std::byte{0});
        for (std::size_t i = 0; i < own_.size(); ++i) {
            const unsigned code = own_[i] == 0 ? 0 : own_[i] > 0 ? 1 : 2;
            codes[i / 4] |= static_cast<std::byte>(code << (i % 4 * 2));
        }
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        std::ranges::fill(mean_, 0.0F);
        const std::size_t size = sizeof scale_ + (own_.size() + 3) / 4;
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto message = result.subspan(rank * size, size);
            const float unit = wire::get<float>(message, 0) / static_cast<float>(ranks_);
            const auto codes = message.subspan(sizeof scale_);
            for (std::size_t i = 0; i < mean_.size(); ++i) {
                const auto code = std::to_integer<unsigned>(codes[i / 4]) >> (i % 4 * 2) & 3U;
                // A scale that is no number makes zeros none, too.
                mean_[i] += unit * (code == 0 ? 0.0F : code == 1 ? 1.0F : -1.0F);
            }
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        for (std::size_t i = 0; i < own_.size(); ++i) {
            arrived[i] = scale_ * static_cast<float>(own_[i]);
        }
    }

private:
    double deviations_;
    int ranks_;
    DrawKey key_;
    float scale_ = 0;
    std::vector<float> values_;
    std::vector<std::int32_t> own_;
    std::vector<float> mean_;
};

class TernGradShared final : public SharedScale {
public:
    TernGradShared(const CodecSettings& settings, const CodecMember& member)
        : SharedScale(member, 1, terngrad_key(settings, member)), deviations_(settings.level) {}

private:
    float scale_of(std::span<float> values) const override {
        return clipped_scale(values, deviations_);
    }
    double deviations_;
};

std::int64_t scale_operations(double level, const TensorShape& shape) {
    return (level > 0 ? 6 : 1) * shape.elements();
}

}  // namespace

CodecLayout terngrad_layout(double level, const TensorShape& shape, int ranks) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::gather, WireElement::byte, 4 + (elements + 3) / 4}},
            .operations = {.encode = scale_operations(level, shape) + 7 * elements,
                           .decode = 2 * elements * ranks}};
}

CodecLayout terngrad_shared_layout(double level, const TensorShape& shape, int ranks) {
    return shared_scale_layout(1, shape, ranks, scale_operations(level, shape));
}

std::unique_ptr<TensorCodec> make_terngrad(const CodecSettings& settings,
                                           const CodecMember& member) {
    return std::make_unique<TernGrad>(settings, member);
}

std::unique_ptr<TensorCodec> make_terngrad_shared(const CodecSettings& settings,
                                                  const CodecMember& member) {
    return std::make_unique<TernGradShared>(settings, member);
}

}  // namespace ukemi::kernels
