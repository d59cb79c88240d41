// none.cpp — the gradient as it is, summed in single precision: what the others are compared with.
#include <algorithm>

#include "kernels/codecs/whole.hpp"

namespace ukemi::kernels {

WholeGradient::WholeGradient(const CodecMember& member)
    : ranks_(static_cast<float>(member.ranks)),
      mean_(static_cast<std::size_t>(member.shape.elements())),
      own_(mean_.size()) {}

void WholeGradient::encode(std::size_t, std::int64_t, std::span<const float> gradient,
                           std::span<std::byte> message) {
    std::ranges::copy(gradient, own_.begin());
    std::ranges::copy(std::as_bytes(gradient), message.begin());
}

void WholeGradient::combined(std::size_t, std::span<const std::byte> result) {
    for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] = wire::get<float>(result, i) / ranks_;
}

void WholeGradient::decode(std::span<float> mean) { std::ranges::copy(mean_, mean.begin()); }

void WholeGradient::contribution(std::span<float> arrived) const {
    std::ranges::copy(own_, arrived.begin());
}

CodecLayout none_layout(double, const TensorShape& shape, int) { return wire::whole_layout(shape); }

std::unique_ptr<TensorCodec> make_none(const CodecSettings&, const CodecMember& member) {
    return std::make_unique<WholeGradient>(member);
}

}  // namespace ukemi::kernels
