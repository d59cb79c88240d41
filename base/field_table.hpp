// field_table.hpp — tables with a line for each member of a struct: one place that lists them.
//
// Such a table is a tuple of lines, which name a pointer to member each. `member_count` counts the
// members that the struct has, so that a static_assert finds one that has no line.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

namespace ukemi {

// Whether a log has a key for a value that is still the default.
enum class Written : bool { always, unless_default };

template <class... Lines>
consteval std::size_t line_count(const std::tuple<Lines...>&) {
    return sizeof...(Lines);
}

template <class Table, class Visit>
constexpr void for_each_line(const Table& table, Visit visit) {
    std::apply([&](const auto&... line) { (visit(line), ...); }, table);
}

// What may stand for a member when members are counted. Members that are optional take
// std::nullopt_t instead.
struct AnyMember {
    template <class Member>
    operator Member() const;
};

// How many members of an aggregate can be initialised by a Filler, from the first on.
template <class Aggregate, class Filler = AnyMember, class... Fillers>
consteval std::size_t member_count() {
    if constexpr (requires { Aggregate{std::declval<Fillers>()..., std::declval<Filler>()}; }) {
        return member_count<Aggregate, Filler, Fillers..., Filler>();
    } else {
        return sizeof...(Fillers);
    }
}

}  // namespace ukemi
