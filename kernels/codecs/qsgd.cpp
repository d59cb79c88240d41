// qsgd.cpp — QSGD (Alistarh et al., arXiv:1610.02132): levels of the gradient's norm, rounded at
// random so that their mean is right.
//
// E‖Q(v) − v‖² ≤ min(d/s², √d/s)‖v‖² (Lemma 3.1), with s levels; one norm a tensor. The message
// holds a byte a level, not the paper's Elias code: its size is then fixed and an element is found
// at its place.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/codecs/quantised.hpp"

namespace ukemi::kernels {
namespace {

DrawKey qsgd_key(const CodecSettings& settings, const CodecMember& member) {
    return key_of(settings.seed,
                  fmt::format("codec/qsgd/tensor/{}/rank/{}", member.tensor, member.rank));
}

// A message: the norm, then a signed byte an element.
class Qsgd final : public TensorCodec {
public:
    Qsgd(const CodecSettings& settings, const CodecMember& member)
        : levels_(static_cast<std::int32_t>(settings.level)),
          ranks_(member.ranks),
          key_(qsgd_key(settings, member)),
          own_(static_cast<std::size_t>(member.shape.elements())),
          mean_(own_.size()) {}

    void encode(std::size_t, std::int64_t step, std::span<const float> gradient,
                std::span<std::byte> message) override {
        scale_ = wire::norm_of(gradient);
        quantise(gradient, scale_, levels_, key_, step, own_);
        wire::put(message, 0, scale_);
        const auto bytes = message.subspan(sizeof scale_);
        for (std::size_t i = 0; i < own_.size(); ++i) {
            wire::put(bytes, i, static_cast<std::int8_t>(own_[i]));
        }
    }
    void combined(std::size_t, std::span<const std::byte> result) override {
        std::ranges::fill(mean_, 0.0F);
        const std::size_t size = sizeof scale_ + own_.size();
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
            const auto message = result.subspan(rank * size, size);
            const float unit = wire::get<float>(message, 0) / static_cast<float>(levels_) /
                               static_cast<float>(ranks_);
            const auto bytes = message.subspan(sizeof scale_);
            for (std::size_t i = 0; i < mean_.size(); ++i) {
                mean_[i] += unit * static_cast<float>(wire::get<std::int8_t>(bytes, i));
            }
        }
    }
    void decode(std::span<float> mean) override { std::ranges::copy(mean_, mean.begin()); }
    void contribution(std::span<float> arrived) const override {
        const float unit = scale_ / static_cast<float>(levels_);
        for (std::size_t i = 0; i < own_.size(); ++i) {
            arrived[i] = unit * static_cast<float>(own_[i]);
        }
    }

private:
    std::int32_t levels_;
    int ranks_;
    DrawKey key_;
    float scale_ = 0;
    std::vector<std::int32_t> own_;
    std::vector<float> mean_;
};

class QsgdShared final : public SharedScale {
public:
    QsgdShared(const CodecSettings& settings, const CodecMember& member)
        : SharedScale(member, static_cast<std::int32_t>(settings.level),
                      qsgd_key(settings, member)) {}

private:
    float scale_of(std::span<float> values) const override { return wire::norm_of(values); }
};

}  // namespace

CodecLayout qsgd_layout(double, const TensorShape& shape, int ranks) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::gather, WireElement::byte, elements + 4}},
            .operations = {.encode = 8 * elements, .decode = 2 * elements * ranks}};
}

CodecLayout qsgd_shared_layout(double level, const TensorShape& shape, int ranks) {
    return shared_scale_layout(static_cast<std::int64_t>(level), shape, ranks,
                               2 * shape.elements());
}

std::unique_ptr<TensorCodec> make_qsgd(const CodecSettings& settings, const CodecMember& member) {
    return std::make_unique<Qsgd>(settings, member);
}

std::unique_ptr<TensorCodec> make_qsgd_shared(const CodecSettings& settings,
                                              const CodecMember& member) {
    return std::make_unique<QsgdShared>(settings, member);
}

}  // namespace ukemi::kernels
