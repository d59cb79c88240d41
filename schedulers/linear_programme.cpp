// linear_programme.cpp — the tableau of the simplex method.
#include "schedulers/linear_programme.hpp"

#include <cmath>

#include "base/invariant.hpp"

namespace ukemi::schedulers {

namespace {

constexpr double tiny = 1e-10;

// Rows of constraints, then the objective's; a column a variable, then a slack a row, then the
// right side. Begins at the origin.
class Tableau {
public:
    Tableau(std::size_t variables, std::size_t rows)
        : variables_(variables),
          width_(variables + rows + 1),
          rows_(rows),
          cells_((rows + 1) * width_, 0),
          basis_(rows) {
        for (std::size_t row = 0; row < rows; ++row) {
            at(row, variables + row) = 1;
            basis_[row] = variables + row;
        }
    }
    double& at(std::size_t row, std::size_t column) { return cells_[row * width_ + column]; }
    double& right(std::size_t row) { return at(row, width_ - 1); }

    std::optional<std::size_t> entering(bool first) {
        std::optional<std::size_t> best;
        for (std::size_t column = 0; column + 1 < width_; ++column) {
            const double gain = -at(rows_, column);
            if (gain <= tiny || (best && gain <= -at(rows_, *best))) continue;
            best = column;
            if (first) break;
        }
        return best;
    }
    std::optional<std::size_t> leaving(std::size_t column) {
        std::optional<std::size_t> best;
        double least = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (at(row, column) <= tiny) continue;
            const double ratio = right(row) / at(row, column);
            const bool better = !best || ratio < least - tiny ||
                                (ratio <= least + tiny && basis_[row] < basis_[*best]);
            if (!better) continue;
            best = row;
            least = ratio;
        }
        return best;
    }
    void pivot(std::size_t row, std::size_t column) {
        const double by = at(row, column);
        for (std::size_t i = 0; i < width_; ++i) at(row, i) /= by;
        for (std::size_t other = 0; other <= rows_; ++other) {
            const double times = at(other, column);
            if (other == row || times == 0) continue;
            for (std::size_t i = 0; i < width_; ++i) at(other, i) -= times * at(row, i);
        }
        basis_[row] = column;
    }
    std::vector<double> values() {
        std::vector<double> x(variables_, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            if (basis_[row] < variables_) x[basis_[row]] = std::max(0.0, right(row));
        }
        return x;
    }

private:
    std::size_t variables_;
    std::size_t width_;
    std::size_t rows_;
    std::vector<double> cells_;
    std::vector<std::size_t> basis_;
};

}  // namespace

std::optional<std::vector<double>> LinearProgramme::solve() const {
    Tableau tableau(objective_.size(), rows_.size());
    for (std::size_t row = 0; row < rows_.size(); ++row) {
        INVARIANT(rows_[row].bound >= 0);
        for (const auto& [variable, coefficient] : rows_[row].terms) {
            tableau.at(row, variable) += coefficient;
        }
        tableau.right(row) = rows_[row].bound;
    }
    for (std::size_t i = 0; i < objective_.size(); ++i) {
        tableau.at(rows_.size(), i) = -objective_[i];
    }
    constexpr int idle_steps_most = 50;
    int idle_steps = 0;
    while (const auto column = tableau.entering(idle_steps > idle_steps_most)) {
        const auto row = tableau.leaving(*column);
        if (!row) return std::nullopt;
        const double before = tableau.right(rows_.size());
        tableau.pivot(*row, *column);
        const bool gained = tableau.right(rows_.size()) > before + tiny;
        idle_steps = gained ? 0 : idle_steps + 1;
    }
    return tableau.values();
}

}  // namespace ukemi::schedulers
