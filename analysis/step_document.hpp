// step_document.hpp — what a scenario of `simulate`, `schedule` or `search` is read from: a file of
// its own, or the run.json of results, which says what else was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

// How a run was made that really trained.
struct LiveInputs {
    bool paced = false;
    std::optional<double> time_scale;  // nothing: the scenario's, or 1
};

struct StepDocument {
    std::filesystem::path file;
    std::string text;
    std::vector<scenarios::VariedKey> varied = {};
    std::vector<std::uint64_t> seeds = {};  // empty: the scenario's own
    std::string baseline = {};              // whom others are compared with; empty: nobody
    bool full = false;                      // of a search: every trial is trained to its end, too
    std::optional<LiveInputs> live = {};
};
StepDocument read_step_document(const std::filesystem::path& file,
                                std::string_view command = "simulate");

}  // namespace ukemi::analysis
