// plan_values.hpp — values for any field of a Plan, by its type: for tests that go over the table.
#pragma once

#include "policies/plan_fields.hpp"

namespace ukemi {

// One that no world refuses, and not `value`.
template <class Value>
Value another(const Value& value) {
    if constexpr (std::is_same_v<Value, bool>) {
        return !value;
    } else if constexpr (std::is_arithmetic_v<Value>) {
        return value + 1;
    } else if constexpr (std::is_enum_v<Value>) {
        return static_cast<Value>(static_cast<int>(value) + 1);
    } else if constexpr (std::is_same_v<Value, Duration>) {
        return value == minutes(9) ? minutes(8) : minutes(9);
    } else if constexpr (std::is_same_v<Value, policies::Layout>) {
        return {value.data + 1, value.pipeline, value.tensor};
    } else {
        Value longer = value;
        longer.push_back({});
        return longer;
    }
}

}  // namespace ukemi
