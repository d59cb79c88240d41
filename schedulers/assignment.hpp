// assignment.hpp — each row gets a column of its own, so that the sum of costs is the least (the
// assignment problem; Kuhn's Hungarian method with potentials, rows added one at a time).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ukemi::schedulers {

// The column of each row. `columns` are at least as many as `rows`; costs are exact, below 2^60 in
// their sum. Of equally cheap assignments it gives one that depends on nothing but its arguments.
std::vector<std::size_t> cheapest_assignment(
    std::size_t rows, std::size_t columns,
    const std::function<std::int64_t(std::size_t row, std::size_t column)>& cost);

}  // namespace ukemi::schedulers
