// step_document.hpp — what a scenario of `simulate`, `schedule` or `search` is read from: a file of
// its own, or the run.json of results, which says what else was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
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
    std::string varied_from = {};           // the document with --set, of which variants are made
    std::vector<std::uint64_t> seeds = {};  // empty: the scenario's own
    std::string baseline = {};              // whom others are compared with; empty: nobody
    bool full = false;                      // of a search: every trial is trained to its end, too
    std::optional<LiveInputs> live = {};
};
// Of the run.json of variants: with the document that they were made of, as it was given.
StepDocument read_step_document(const std::filesystem::path& file,
                                std::string_view command = "simulate");

// With keys that are given ("/json/pointer=VALUE,VALUE…") in place of those that it varies. So that
// its results can be repeated, a document that varies anything keeps what variants are made of.
void vary(StepDocument& document, std::span<const std::string> keys,
          std::span<const ConfigOverride> overrides);

}  // namespace ukemi::analysis
