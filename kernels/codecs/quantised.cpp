// quantised.cpp — the common scale's two rounds.
#include "kernels/codecs/quantised.hpp"

#include <algorithm>

namespace ukemi::kernels {

CodecLayout shared_scale_layout(std::int64_t levels, const TensorShape& shape, int ranks,
                                std::int64_t scale_operations) {
    const std::int64_t elements = shape.elements();
    return {.rounds = {{Combination::maximum, WireElement::single, 1},
                       {Combination::sum, wire::integer_for(levels, ranks), elements}},
            // A level: divide, multiply, truncate, subtract, compare, and a draw.
            .operations = {.encode = scale_operations + 6 * elements, .decode = elements}};
}

SharedScale::SharedScale(const CodecMember& member, std::int32_t levels, DrawKey key)
    : levels_(levels),
      ranks_(member.ranks),
      element_(wire::integer_for(levels, member.ranks)),
      key_(key),
      values_(static_cast<std::size_t>(member.shape.elements())),
      own_(values_.size()),
      sum_(values_.size()) {}

void SharedScale::encode(std::size_t round, std::int64_t step, std::span<const float> gradient,
                         std::span<std::byte> message) {
    if (round == 0) {
        std::ranges::copy(gradient, values_.begin());
        wire::put(message, 0, scale_of(values_));
        return;
    }
    quantise(values_, scale_, levels_, key_, step, own_);
    for (std::size_t i = 0; i < own_.size(); ++i) wire::put_integer(element_, message, i, own_[i]);
}

void SharedScale::combined(std::size_t round, std::span<const std::byte> result) {
    if (round == 0) {
        scale_ = wire::get<float>(result, 0);
        return;
    }
    for (std::size_t i = 0; i < sum_.size(); ++i) {
        sum_[i] = wire::get_integer(element_, result, i);
    }
}

void SharedScale::decode(std::span<float> mean) {
    const float unit = scale_ / static_cast<float>(levels_) / static_cast<float>(ranks_);
    for (std::size_t i = 0; i < sum_.size(); ++i) mean[i] = unit * static_cast<float>(sum_[i]);
}

void SharedScale::contribution(std::span<float> arrived) const {
    const float unit = scale_ / static_cast<float>(levels_);
    for (std::size_t i = 0; i < own_.size(); ++i) arrived[i] = unit * static_cast<float>(own_[i]);
}

}  // namespace ukemi::kernels
