// searcher.hpp — which trial of a hyper-parameter search trains how far: scores in, pieces of
// training out.
//
// A Searcher knows trials by number and training by units, of which a full training has so many. It
// reads no clock, and draws from no stream but its own. When and where a piece runs is the
// scheduler's affair; what a trial's settings are is the search space's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"

namespace ukemi::sim {

// Of one trial, from where it is.
struct TrialPiece {
    std::size_t trial = 0;
    std::int64_t until = 0;  // units; more than the trial has
    // First it takes over that trial's weights and settings, these a little changed.
    std::optional<std::size_t> copies = std::nullopt;

    friend bool operator==(const TrialPiece&, const TrialPiece&) = default;
};

std::string piece_name(const TrialPiece& piece);  // "trial-3@9"

// At the end of a piece.
struct TrialScore {
    std::size_t trial = 0;
    std::int64_t units = 0;
    double score = 0;  // larger is better
};

struct SearchTerms {
    std::size_t trials = 1;  // that the scenario asks for
    std::int64_t units = 1;  // of a full training
    std::uint64_t seed = 0;
};

class Searcher {
public:
    virtual ~Searcher() = default;
    virtual std::string_view name() const = 0;
    // Why a search of so many units cannot be done so; empty if it can.
    virtual std::string problem(const SearchTerms&) const { return {}; }
    virtual void begin(const SearchTerms& terms) = 0;
    virtual std::size_t trials() const = 0;      // that it starts in all; after begin()
    virtual std::size_t pieces_max() const = 0;  // that it asks for at most; after begin()
    // Asked until it has none, at the beginning and after scores. `free`: whether one more would
    // find GPUs at once; who waits for others anyway does not look at it.
    virtual std::optional<TrialPiece> next(bool free) = 0;
    virtual void reached(const TrialScore& score) = 0;
};

struct SearcherEntry {
    std::string_view name;
    std::string_view summary;  // one line, for `ukemi list searchers`
    std::string_view source;   // where its rule comes from
    // The parameters are the keys of the searcher's object in the scenario.
    std::unique_ptr<Searcher> (*make)(ConfigReader& parameters);
    bool on_grid = false;           // trials are the points of a grid, not draws
    bool changes_settings = false;  // of trials that have begun
};

// In the order of searcher_table.def.
std::span<const SearcherEntry> all_searchers();
const SearcherEntry* find_searcher(std::string_view name);  // null if there is none
std::vector<std::string_view> searcher_names();

// The best first; of equals the lower number.
void sort_by_score(std::vector<TrialScore>& scores);

// A rung of a bracket of successive halving: so many trials go on to so many units.
struct HalvingRung {
    std::size_t trials = 1;
    std::int64_t units = 1;
    friend bool operator==(const HalvingRung&, const HalvingRung&) = default;
};
using HalvingBracket = std::vector<HalvingRung>;

// From `trials` at the units that lead in whole steps of `eta` to the full training: each rung has
// the ⌊1/eta⌋ best of the one before.
HalvingBracket halving_bracket(std::size_t trials, std::int64_t units, std::int64_t eta,
                               std::int64_t steps);
// Those of Hyperband, the most trials first: s from ⌊log_eta units⌋ to 0.
std::vector<HalvingBracket> hyperband_brackets(std::int64_t units, std::int64_t eta,
                                               bool whole_shares);
// The largest s with eta^s ≤ units.
std::int64_t halvings_in(std::int64_t units, std::int64_t eta);

}  // namespace ukemi::sim
