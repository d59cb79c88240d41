// linear_programme.hpp — maximise c·x with A x ≤ b, x ≥ 0 and b ≥ 0, by the simplex method.
//
// Dense, in doubles, and deterministic: the largest coefficient enters (of equals the first), after
// many steps that gain nothing the first (Bland), so that it ends. Of several optima it gives the
// one that it comes to first.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ukemi::schedulers {

class LinearProgramme {
public:
    explicit LinearProgramme(std::size_t variables) : objective_(variables, 0) {}
    void maximise(std::size_t variable, double coefficient) { objective_[variable] = coefficient; }
    // Σ terms ≤ bound, which is not negative.
    void at_most(std::vector<std::pair<std::size_t, double>> terms, double bound) {
        rows_.push_back({std::move(terms), bound});
    }
    // Nothing: it has no largest value.
    std::optional<std::vector<double>> solve() const;

private:
    struct Row {
        std::vector<std::pair<std::size_t, double>> terms;
        double bound = 0;
    };
    std::vector<double> objective_;
    std::vector<Row> rows_;
};

}  // namespace ukemi::schedulers
