// assignment.cpp — shortest augmenting paths over reduced costs.
#include "schedulers/assignment.hpp"

#include <limits>
#include <utility>

#include "base/invariant.hpp"

namespace ukemi::schedulers {

namespace {

constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t nobody = static_cast<std::size_t>(-1);

// Column 0 stands for the row that is being added; the others are the columns, from 1.
class Augmenting {
public:
    Augmenting(std::size_t rows, std::size_t columns)
        : of_row_(rows, 0), of_column_(columns + 1, 0), owner_(columns + 1, nobody) {}

    template <class Cost>
    void add(std::size_t row, const Cost& cost) {
        const std::size_t count = owner_.size();
        std::vector<std::int64_t> distance(count, unreached);
        std::vector<std::size_t> before(count, 0);
        std::vector<bool> is_done(count, false);
        owner_[0] = row;
        std::size_t at = 0;
        do {
            is_done[at] = true;
            std::int64_t least = unreached;
            std::size_t next = 0;
            for (std::size_t column = 1; column < count; ++column) {
                if (is_done[column]) continue;
                const std::int64_t reduced =
                    cost(owner_[at], column - 1) - of_row_[owner_[at]] - of_column_[column];
                if (reduced < distance[column]) {
                    distance[column] = reduced;
                    before[column] = at;
                }
                if (distance[column] < least) {
                    least = distance[column];
                    next = column;
                }
            }
            for (std::size_t column = 0; column < count; ++column) {
                if (is_done[column]) {
                    of_row_[owner_[column]] += least;
                    of_column_[column] -= least;
                } else if (distance[column] != unreached) {
                    distance[column] -= least;
                }
            }
            at = next;
        } while (owner_[at] != nobody);
        for (; at != 0; at = before[at]) owner_[at] = owner_[before[at]];
    }
    std::size_t owner(std::size_t column) const { return owner_[column + 1]; }

private:
    std::vector<std::int64_t> of_row_;  // potentials
    std::vector<std::int64_t> of_column_;
    std::vector<std::size_t> owner_;  // of each column: its row
};

}  // namespace

std::vector<std::size_t> cheapest_assignment(
    std::size_t rows, std::size_t columns,
    const std::function<std::int64_t(std::size_t row, std::size_t column)>& cost) {
    INVARIANT(rows <= columns);
    Augmenting paths(rows, columns);
    for (std::size_t row = 0; row < rows; ++row) paths.add(row, cost);
    std::vector<std::size_t> chosen(rows, nobody);
    for (std::size_t column = 0; column < columns; ++column) {
        if (paths.owner(column) != nobody) chosen[paths.owner(column)] = column;
    }
    return chosen;
}

}  // namespace ukemi::schedulers
