// run_comparison.hpp — two results folders side by side: what was predicted and what was measured.
//
// Any two folders that hold runs of one scenario will do: a simulated and a live run of it, or two
// simulated ones. Runs are paired by policy, trace, start and seed; what is left, by policy and
// seed, and then by policy alone, where that is unambiguous; two folders of one run each are a pair
// anyway. Figures that a folder does not hold are absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ukemi::analysis {

// Answers (1: yes) and names, such as the number of a trial, are equal or they differ: a difference
// of two would say nothing.
enum class QuantityKind : std::uint8_t { number, answer, name };

struct ComparedQuantity {
    std::string name;  // with its unit, as in runs.json where it comes from there
    std::optional<double> predicted;
    std::optional<double> measured;
    QuantityKind kind = QuantityKind::number;

    std::optional<double> error() const;     // predicted − measured, of numbers
    std::optional<double> relative() const;  // error / |measured|; absent where that is nothing
    std::optional<bool> equal() const;       // of answers and names, where both are there
};

// What a run's policies changed, one committed Plan after the other. Two runs are compared by the
// knobs and their new values; the moments differ in any two worlds.
struct DecisionComparison {
    std::size_t predicted_count = 0;
    std::size_t measured_count = 0;
    bool equal = true;
    std::size_t first_difference = 0;  // the number of the change, from 1; 0: none
    std::string predicted;             // that change on either side, in words
    std::string measured;
};

struct ComparedResult {
    std::string policy;
    std::string predicted_which;  // "trace, seed 1"
    std::string measured_which;
    std::vector<ComparedQuantity> quantities;
    std::optional<DecisionComparison> decisions;  // if both runs have a log
};

struct ResultsComparison {
    std::string scenario;
    // Where the resolved scenarios differ, seed aside: "/job/batch: 32 and 64". None: equal.
    std::vector<std::string> scenario_differences;
    std::vector<ComparedResult> runs;
    std::vector<std::string> only_predicted;  // runs without a counterpart
    std::vector<std::string> only_measured;
};

// InputError for folders that are no results, or damaged ones.
ResultsComparison compare_results(const std::filesystem::path& predicted,
                                  const std::filesystem::path& measured);

// Of two decisions.jsonl; the names are for complaints.
DecisionComparison compare_decisions(std::string_view predicted, std::string_view predicted_file,
                                     std::string_view measured, std::string_view measured_file);

}  // namespace ukemi::analysis
