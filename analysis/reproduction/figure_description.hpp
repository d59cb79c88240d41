// figure_description.hpp — a figure of a source, as a file in scenarios/published says it: which
// commands give its values, what was published, and how what is simulated came about.
//
// A description holds numbers that others published and the scenarios that are run beside them;
// README.md in scenarios/published has its keys. A role says what a simulated value is worth:
// `typed in` is what a scenario was given, `fitted` what a number of it was fitted to, `chosen
// after seeing` what was in sight when the form of a model was chosen, `measured elsewhere` what
// was measured on another machine or market than the one that is simulated, `predicted` the rest.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.hpp"

namespace ukemi::analysis {

inline constexpr std::string_view measured_elsewhere = "measured elsewhere";
inline constexpr std::array<std::string_view, 5> value_roles = {
    "predicted", "typed in", "fitted", "chosen after seeing", measured_elsewhere};

// What a figure asks of a command.
struct DescribedRun {
    std::string name;
    std::string command;                // "simulate", "compare", "replay" or "describe"
    std::string scenario;               // by its name; none of describe
    std::vector<std::string> settings;  // "/pointer=VALUE", as --set and --vary take them
    std::vector<std::string> varied;
    std::string policies;  // empty, as all below: not said
    std::string traces;    // a pattern, from the folder that `scenarios` lies in
    std::string seeds;
    std::string starts;
    // "results"; of a replay also "changes", "steps" or "course" of its runs; of describe
    // "lifetimes", "time_to_loss", "runs_with_any" or "hours"
    std::string rows;
    std::int64_t from_step = 0;      // of a replay: settled_s, and t_s of changes, since its end
    std::int64_t every_samples = 0;  // of a course, or `every`: one of them
    Duration every;
    bool mean_of_runs = false;  // of a course: one of each policy's runs, at each place
    std::string type;           // of describe: of the traces this instance type only
    // What generates the market beside the recorded one: its name, or recordings that it is fitted
    // to and which instance type of them.
    std::string market;
    std::string fitted_to;
    std::string fitted_type;
};
// The same as a person types it.
std::string command_line(const DescribedRun& run);

// Rows whose columns have these values.
using RowSelection = std::map<std::string, std::string>;

// One quantity of a line: a column of its rows, and what was published of it.
struct DescribedValue {
    std::string take;
    std::string over;  // a column that divides it; empty: none
    double times = 1;
    double plus = 0;
    std::optional<RowSelection> relative_to;  // the row at the same place that divides it
    std::vector<double> published;            // at `published_at` of its line; empty: nothing
    std::string published_as;                 // what that is, as the picture's key says it
    std::vector<double> naive;                // what somebody would guess without a model
    std::vector<std::string> roles;           // of each
};

struct DescribedLine {
    std::string name;
    std::string panel;
    std::string run;
    RowSelection where;
    std::string at;  // the column that says where on the axis a row stands; empty: one row, and it
    std::optional<double> stands_at;  // stands here. Neighbours of one name are one line
    double at_times = 1;
    std::vector<double> published_at;
    std::vector<DescribedValue> values;  // of each quantity
    // What was published of the first quantity as a course that has other places than ours.
    std::vector<std::pair<double, double>> published_course;
    std::string course_role;
};

struct DescribedQuantity {
    std::string name;
    std::string axis;
    std::string column;
    bool log_too = false;
    bool log = false;
};

struct FigureDescription {
    std::filesystem::path file;
    std::string name;  // of the file
    std::string title;
    std::string talk;
    std::string source;
    std::string slide;
    std::string shows;
    std::string text;           // what is typed in, fitted and assumed; why errors are as they are
    std::string naive;          // what the naive guesses are; empty: there are none
    double bound_percent = 10;  // no value is further off, but for those measured elsewhere
    std::string axis;
    std::string axis_column;
    std::vector<std::string> places;  // names on the axis; empty: it has numbers
    bool steps = false;               // a value holds until the next
    std::optional<double> shown_to;   // where a longer course is cut
    std::vector<DescribedQuantity> quantities;
    std::vector<DescribedRun> runs;
    std::vector<DescribedLine> lines;
};

// InputError for what is no description, or contradicts itself; for a bound above 10 % without a
// text.
FigureDescription read_figure_description(const std::filesystem::path& file);

}  // namespace ukemi::analysis
