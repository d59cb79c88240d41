// variation_figures.hpp — what a varied number does to cost and time, as figures show it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plots/figures.hpp"
#include "records/run_result.hpp"

namespace ukemi::analysis {

// The values of one varied key as places on an axis, where all are numbers of one kind
// (records/varied_columns.hpp): in a unit that suits the least.
struct VariedAxis {
    std::string name;    // "checkpoint interval (min)"
    std::string column;  // "job_checkpoint_interval_min"
    std::vector<double> at;
    // The same as they were written, where no unit suits all; `name` is without one then.
    std::map<double, std::string> tics = {};
};
std::optional<VariedAxis> varied_axis(std::string_view pointer,
                                      std::span<const std::string> values);

// "/job/checkpoint/interval" in words: "checkpoint interval"; values as they were given.
std::string varied_words(std::string_view pointer);
std::string varied_words(std::span<const records::VariedValue> varied);

// Which of the varied keys is the x axis, which one the columns of panels; the rest tell figures
// apart. Nothing where no key is a number with two values at least.
struct VariationKeys {
    std::size_t axis = 0;
    std::optional<std::size_t> columns;
    VariedAxis places;                // of the values below
    std::vector<std::string> values;  // of the axis' key, all different
};
std::optional<VariationKeys> variation_keys(
    std::span<const std::vector<records::VariedValue>> variants);

// The figures that a variant's point belongs to, made as they are needed.
class VariationFigures {
public:
    VariationFigures(VariationKeys keys, std::vector<plots::VariationQuantity> quantities);

    // Points of one line may come in any order.
    void add(std::span<const records::VariedValue> varied, const std::string& line,
             std::vector<plots::VariationValue> values, double missed_share);
    std::vector<plots::VariationInput> figures(std::string_view what,
                                               const std::string& intervals_over) const;

private:
    VariationKeys keys_;
    std::vector<plots::VariationQuantity> quantities_;
    std::vector<std::pair<std::string, plots::VariationInput>> figures_;  // by the other keys
};

// Of runs: cost and time of each policy, as means with the intervals of analysis/policy_means.
std::vector<plots::VariationInput> variations_of(std::span<const records::RunResult> runs);

}  // namespace ukemi::analysis
