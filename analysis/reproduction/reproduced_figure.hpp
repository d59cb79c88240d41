// reproduced_figure.hpp — a figure of a source with what was published beside what is simulated:
// its values, its errors, and its picture.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/reproduction/figure_description.hpp"
#include "plots/figures.hpp"

namespace ukemi::analysis {

// A row of what a command says as JSON: its numbers and its texts by their columns. What stands in
// an object has the object's key and '_' before its own: "step_s_mean".
struct FigureRow {
    std::map<std::string, double> numbers;
    std::map<std::string, std::string> texts;
};
FigureRow figure_row(const nlohmann::json& object);

struct ReproducedValue {
    std::string panel;
    std::string line;
    std::size_t quantity = 0;
    double at = 0;
    double simulated = 0;
    std::optional<double> published;
    std::string published_as;  // what that is
    std::optional<double> naive;
    std::string role;  // empty where nothing was published
    // Of a course: the mean distance of the two, in % of the published mean.
    std::optional<double> distance_percent;

    double error_percent() const {
        return distance_percent.value_or(100 * (simulated / *published - 1));
    }
    bool is_held() const { return published && role != measured_elsewhere; }
};

struct ReproducedFigure {
    FigureDescription about;
    // Line by line, in the order of the axis; after those of a line with a published course one of
    // its means over the span of both.
    std::vector<ReproducedValue> values;

    // The largest error of a value that the bound holds for, in %; 0 where there is none.
    double worst_percent() const;
    bool is_within_bound() const { return worst_percent() <= about.bound_percent; }
};

// Asks for the rows of each run once. InputError for a value that no row has, or several have.
using RowsOfRun = std::function<std::vector<FigureRow>(const DescribedRun& run)>;
ReproducedFigure reproduce_figure(const FigureDescription& about, const RowsOfRun& rows_of);

// Columns figure, panel, line, quantity, at, published, simulated, error_percent, role, naive,
// naive_error_percent; cells without a value are empty.
std::string errors_csv(std::span<const ReproducedFigure> figures);
// The same as a table for people, with the mean and the largest error of each role.
std::string errors_table(const ReproducedFigure& figure);
// {"figures": [{"name", …, "values": […]}]}
nlohmann::json reproduced_json(const ReproducedFigure& figure);
// Of all values of a role: how far off they are, and the naive guesses beside them.
struct RoleErrors {
    std::string role;
    struct Spread {
        std::size_t values = 0;
        double median_percent = 0;  // of the sizes of the errors
        std::size_t within_10 = 0;  // so many values are that near, in %
        std::size_t within_20 = 0;
    };
    Spread ours;
    Spread ours_guessed;  // of ours those that have a naive guess
    Spread naive;
};
// Roles without a value are left out.
std::vector<RoleErrors> errors_by_role(std::span<const ReproducedFigure> figures);
std::string errors_by_role_table(std::span<const RoleErrors> roles);
nlohmann::json errors_by_role_json(std::span<const RoleErrors> roles);
// What a picture cannot say: its source, the commands that give its values, the errors and why.
std::string figure_text(const ReproducedFigure& figure);

// NAME.svg and its like in the folder.
plots::FigureResult draw_reproduced(const ReproducedFigure& figure,
                                    const std::filesystem::path& folder,
                                    const plots::FigureOptions& options);

}  // namespace ukemi::analysis
