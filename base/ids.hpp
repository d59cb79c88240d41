// ids.hpp — names for the things of a run; a zone number is not an instance number.
#pragma once

#include <cstdint>

namespace ukemi {

enum class ZoneId : std::uint32_t {};
enum class InstanceId : std::uint32_t {};  // one lease of one machine; never used twice in a run
enum class PlanVersion : std::uint32_t {};

template <class Id>
constexpr auto index_of(Id id) {
    return static_cast<std::uint32_t>(id);
}

}  // namespace ukemi
