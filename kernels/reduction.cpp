// reduction.cpp — one loop, for each kind of element.
#include "kernels/reduction.hpp"

#include <cstring>

#include "base/invariant.hpp"
#include "kernels/element_rules.hpp"
#include "kernels/half.hpp"
#include "kernels/rank_program.hpp"

namespace ukemi::kernels {
namespace {

template <class Number, class Operation>
void combine_numbers(std::span<std::byte> into, std::span<const std::byte> from,
                     const Operation& operation) {
    for (std::size_t at = 0; at < into.size(); at += sizeof(Number)) {
        Number left;
        Number right;
        std::memcpy(&left, into.data() + at, sizeof left);
        std::memcpy(&right, from.data() + at, sizeof right);
        left = static_cast<Number>(operation(left, right));
        std::memcpy(into.data() + at, &left, sizeof left);
    }
}

}  // namespace

std::size_t element_bytes(Reduction reduction) {
    switch (reduction) {
        case Reduction::sum_int8: return 1;
        case Reduction::sum_half:
        case Reduction::sum_int16: return 2;
        case Reduction::sum_single:
        case Reduction::sum_int32:
        case Reduction::maximum_single: return 4;
    }
    INVARIANT(false);
    return 0;
}

void reduce_into(Reduction reduction, std::span<std::byte> into, std::span<const std::byte> from) {
    INVARIANT(into.size() == from.size() && into.size() % element_bytes(reduction) == 0);
    const auto plus = [](auto a, auto b) { return a + b; };
    switch (reduction) {
        case Reduction::sum_single: {
            const std::size_t count = into.size() / sizeof(float);
            return add_to({reinterpret_cast<float*>(into.data()), count},
                          {reinterpret_cast<const float*>(from.data()), count});
        }
        case Reduction::sum_int8: return combine_numbers<std::int8_t>(into, from, plus);
        case Reduction::sum_int16: return combine_numbers<std::int16_t>(into, from, plus);
        case Reduction::sum_int32: return combine_numbers<std::int32_t>(into, from, plus);
        case Reduction::maximum_single: return combine_numbers<float>(into, from, larger_of);
        case Reduction::sum_half:
            return combine_numbers<std::uint16_t>(into, from, [](std::uint16_t a, std::uint16_t b) {
                return to_half(from_half(a) + from_half(b));
            });
    }
}

}  // namespace ukemi::kernels
