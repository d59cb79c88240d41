// wire.hpp — numbers in messages, and the sizes that several codecs share.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/invariant.hpp"
#include "kernels/codec.hpp"

namespace ukemi::kernels::wire {

template <class Number>
Number get(std::span<const std::byte> message, std::size_t index) {
    Number number;
    std::memcpy(&number, message.data() + index * sizeof number, sizeof number);
    return number;
}
template <class Number>
void put(std::span<std::byte> message, std::size_t index, Number number) {
    std::memcpy(message.data() + index * sizeof number, &number, sizeof number);
}

// The narrowest integer that holds a sum of ±largest over all ranks.
inline WireElement integer_for(std::int64_t largest, int ranks) {
    const std::int64_t sum = largest * ranks;
    if (sum <= 127) return WireElement::int8;
    return sum <= 32'767 ? WireElement::int16 : WireElement::int32;
}

inline std::int32_t get_integer(WireElement element, std::span<const std::byte> message,
                                std::size_t index) {
    switch (element) {
        case WireElement::int8: return get<std::int8_t>(message, index);
        case WireElement::int16: return get<std::int16_t>(message, index);
        default: return get<std::int32_t>(message, index);
    }
}
inline void put_integer(WireElement element, std::span<std::byte> message, std::size_t index,
                        std::int32_t number) {
    switch (element) {
        case WireElement::int8: put(message, index, static_cast<std::int8_t>(number)); break;
        case WireElement::int16: put(message, index, static_cast<std::int16_t>(number)); break;
        default: put(message, index, number); break;
    }
}

// How many elements a share keeps: the nearest whole number, at least one.
inline std::int64_t kept_of(double share, std::int64_t elements) {
    const auto kept = std::llround(share * static_cast<double>(elements));
    return elements == 0 ? 0 : kept < 1 ? 1 : kept > elements ? elements : kept;
}

// The gradient as it is: what codecs do with tensors that they cannot make smaller.
inline CodecLayout whole_layout(const TensorShape& shape) {
    return {.rounds = {{Combination::sum, WireElement::single, shape.elements()}},
            .operations = {.encode = 0, .decode = shape.elements()}};
}

// ‖v‖ with the sum in double, in the order of the elements.
inline float norm_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
    return static_cast<float>(std::sqrt(sum));
}

}  // namespace ukemi::kernels::wire
