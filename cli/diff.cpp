// diff.cpp — `ukemi diff`: what was predicted beside what was measured, quantity by quantity.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/run_comparison.hpp"
#include "base/input_error.hpp"
#include "cli/command.hpp"
#include "records/json_fields.hpp"

namespace ukemi::cli {

using nlohmann::ordered_json;

namespace {

struct DiffOptions {
    std::string predicted;
    std::string measured;
    bool json = false;
    bool force = false;
};

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : "-";
}

std::string shown(const analysis::ComparedQuantity& quantity, const std::optional<double>& value) {
    if (quantity.kind != analysis::QuantityKind::answer || !value) return number(value);
    return *value != 0 ? "yes" : "no";
}

// The difference of numbers; of answers and names, whether there is one.
std::string difference(const analysis::ComparedQuantity& quantity) {
    const std::optional<bool> equal = quantity.equal();
    if (!equal) return number(quantity.error());
    return *equal ? "equal" : "different";
}

std::string percent(const std::optional<double>& value) {
    if (!value) return "-";
    return std::abs(*value) < 1e4 ? fmt::format("{:+.2f} %", 100 * *value)
                                  : fmt::format("{:+.1e}", *value);
}

void print_run(const analysis::ComparedResult& run) {
    fmt::print("\n{}\n  predicted: {}\n  measured:  {}\n", run.policy, run.predicted_which,
               run.measured_which);
    fmt::print("  {:<24} {:>14} {:>14} {:>14} {:>12}\n", "quantity", "predicted", "measured",
               "error", "relative");
    for (const analysis::ComparedQuantity& quantity : run.quantities) {
        fmt::print("  {:<24} {:>14} {:>14} {:>14} {:>12}\n", quantity.name,
                   shown(quantity, quantity.predicted), shown(quantity, quantity.measured),
                   difference(quantity), percent(quantity.relative()));
    }
    if (!run.decisions) {
        fmt::print("  decisions: not both runs have a log\n");
        return;
    }
    const analysis::DecisionComparison& decisions = *run.decisions;
    fmt::print("  decisions: {} and {} changes, {}\n", decisions.predicted_count,
               decisions.measured_count,
               decisions.equal
                   ? "equal"
                   : fmt::format("the first difference is number {}", decisions.first_difference));
    if (decisions.equal) return;
    fmt::print("    predicted: {}\n    measured:  {}\n", decisions.predicted, decisions.measured);
}

void print_table(const analysis::ResultsComparison& comparison) {
    fmt::print("scenario: {}\n", comparison.scenario);
    for (const std::string& difference : comparison.scenario_differences) {
        fmt::print("  differs at {}\n", difference);
    }
    for (const analysis::ComparedResult& run : comparison.runs) print_run(run);
    if (!comparison.only_predicted.empty() || !comparison.only_measured.empty()) fmt::print("\n");
    for (const std::string& run : comparison.only_predicted) {
        fmt::print("only predicted: {}\n", run);
    }
    for (const std::string& run : comparison.only_measured) fmt::print("only measured: {}\n", run);
    fmt::print("\nerror = predicted - measured; relative to what was measured\n");
}

ordered_json json_of(const std::optional<double>& value) {
    return value ? ordered_json(records::real_json(*value)) : ordered_json();
}

ordered_json json_of(const analysis::ComparedResult& run) {
    ordered_json object = {{"policy", run.policy},
                           {"predicted_run", run.predicted_which},
                           {"measured_run", run.measured_which},
                           {"quantities", ordered_json::array()},
                           {"decisions", nullptr}};
    for (const analysis::ComparedQuantity& quantity : run.quantities) {
        object["quantities"].push_back({{"name", quantity.name},
                                        {"predicted", json_of(quantity.predicted)},
                                        {"measured", json_of(quantity.measured)},
                                        {"error", json_of(quantity.error())},
                                        {"relative_error", json_of(quantity.relative())}});
        if (const auto equal = quantity.equal()) object["quantities"].back()["equal"] = *equal;
    }
    if (!run.decisions) return object;
    const analysis::DecisionComparison& decisions = *run.decisions;
    object["decisions"] = {{"predicted_count", decisions.predicted_count},
                           {"measured_count", decisions.measured_count},
                           {"equal", decisions.equal}};
    if (decisions.equal) return object;
    object["decisions"]["first_difference"] = decisions.first_difference;
    object["decisions"]["predicted"] = decisions.predicted;
    object["decisions"]["measured"] = decisions.measured;
    return object;
}

void print_json(const analysis::ResultsComparison& comparison, const DiffOptions& options) {
    ordered_json document = {{"predicted", options.predicted},
                             {"measured", options.measured},
                             {"scenario", comparison.scenario},
                             {"scenario_differences", comparison.scenario_differences},
                             {"runs", ordered_json::array()},
                             {"only_predicted", comparison.only_predicted},
                             {"only_measured", comparison.only_measured}};
    for (const analysis::ComparedResult& run : comparison.runs)
        document["runs"].push_back(json_of(run));
    fmt::print("{}\n", document.dump(1, ' ', false, ordered_json::error_handler_t::replace));
}

void diff(const DiffOptions& options) {
    const analysis::ResultsComparison comparison =
        analysis::compare_results(options.predicted, options.measured);
    if (!comparison.scenario_differences.empty() && !options.force) {
        const std::size_t more = comparison.scenario_differences.size() - 1;
        throw InputError(options.measured, "",
                         fmt::format("is of another scenario than {}: {}{}; --force compares them "
                                     "all the same",
                                     options.predicted, comparison.scenario_differences.front(),
                                     more > 0 ? fmt::format(" (and {} more)", more) : ""));
    }
    if (comparison.runs.empty()) {
        throw InputError(options.measured, "",
                         fmt::format("has no run of a policy that {} has a run of, or several that "
                                     "cannot be told apart",
                                     options.predicted));
    }
    if (options.json) {
        print_json(comparison, options);
    } else {
        print_table(comparison);
    }
}

}  // namespace

void add_diff(CLI::App& app) {
    auto options = std::make_shared<DiffOptions>();
    CLI::App* command = app.add_subcommand(
        "diff", "compare two results folders: what was predicted and what was measured");
    command->add_option("PREDICTED", options->predicted, "a results folder, such as ukemi replay's")
        ->required();
    command->add_option("MEASURED", options->measured, "a results folder, such as ukemi train's")
        ->required();
    command->add_flag("--json", options->json, "print the comparison as JSON");
    command->add_flag("--force", options->force, "compare runs of different scenarios, too");
    command->callback([options] { diff(*options); });
}

}  // namespace ukemi::cli
