// layout_search.hpp — the fastest layouts of a job that fit in its GPUs' memory.
//
// Every layout of sim/step/layout_space.hpp is looked at: the samples of a step stay those of the
// scenario, everything else too. The scenario's own degrees say how many samples that are, and are
// not judged: those that are tried take their place. A layout that fits is simulated as the
// scenario with this layout typed in would be, unless no step of it can be as short as the slowest
// of those that are asked for (sim/step/layout_bound.hpp; with stragglers or events, all are
// simulated). So what is returned is what simulating all of them one by one would find.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/simulated_steps.hpp"
#include "sim/step/layout_space.hpp"

namespace ukemi::analysis {

struct TriedLayout {
    sim::LayoutRequest request;
    sim::MemoryNeed need;
    Bytes over;                    // what it needs more than a GPU has; 0: it fits
    double least_s = 0;            // no step is shorter; 0: not reckoned
    std::optional<double> step_s;  // the mean, if it was simulated
    std::string refusal;           // why it cannot be played, though it fits
};

struct LayoutSearch {
    std::int64_t workers = 0;
    std::int64_t samples = 0;  // of a step
    std::string gpus;
    Bytes gpu_memory;  // of the smallest kind
    // In this order: of those that were simulated the fastest first; those that fit and cannot be
    // faster, by least_s; those that do not fit, the nearest first; those that are refused.
    std::vector<TriedLayout> layouts;

    std::size_t count(bool (*of_kind)(const TriedLayout&)) const;
};
bool was_simulated(const TriedLayout& layout);
bool was_passed_over(const TriedLayout& layout);  // it fits, and is too slow
bool is_too_large(const TriedLayout& layout);

// The first `kept` are the fastest of all. InputError if the scenario has several jobs or
// parameter servers, if no layout fits, or none can have what the scenario asks of all. `progress`
// is told, one thread at a time, how many of how many layouts are bounded, and then how many of
// those that fit are decided.
using SearchProgress = std::function<void(std::size_t done, std::size_t total)>;
LayoutSearch search_layouts(const StepDocument& document, std::span<const ConfigOverride> overrides,
                            std::size_t kept, const SearchProgress& progress = {},
                            sim::LayoutDimensions wide = {});

// What makes a scenario of one job have this layout.
std::vector<ConfigOverride> layout_overrides(const TriedLayout& layout);

// A table for people: the first `kept`, how many there were, and the nearest of those too large.
std::string layouts_table(const LayoutSearch& search, std::size_t kept);
// A list of all of them, JSON.
std::string layouts_json(const LayoutSearch& search);

}  // namespace ukemi::analysis
