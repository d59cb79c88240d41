// describe_figures.hpp — the figures of a recorded market, and of the generated one beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plots/figures.hpp"
#include "traces/generator.hpp"
#include "traces/series.hpp"

namespace ukemi::analysis {

// What is drawn: series of all the files that were described together, and lifetimes where the
// files have them.
struct DescribedMarket {
    std::string title;
    std::vector<traces::TraceSeries> series;
    std::vector<std::string> names;  // of the series, in a figure
    std::vector<traces::Lifetime> lifetimes;
};

// A market of the generator by its name (`ukemi list markets`), or by a file of `ukemi fit`.
traces::MarketParameters market_parameters_of(const std::string& name_or_file,
                                              std::string_view option);

// With parameters, the same number of zones is generated (seed 1): as long as the recording for the
// market over time, and 300 days for what is counted. Lifetimes are drawn on a logarithmic axis, on
// a linear one, or, where nothing is said, as their spans ask for.
plots::FigureInput market_figures(const DescribedMarket& market,
                                  const std::optional<traces::MarketParameters>& parameters,
                                  std::optional<bool> log_time);

}  // namespace ukemi::analysis
