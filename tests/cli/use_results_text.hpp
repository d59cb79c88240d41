// use_results_text.hpp — any text at all as what lies in a results folder: compared, and made ready
// to be drawn.
//
// For the fuzzer, and for the test that what the fuzzer begins with is taken. Lines of "----"
// separate run.json, runs.json, and the timeline and the decisions of the run "greedy--x--seed-1";
// a file whose part is empty is not there.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "analysis/results.hpp"
#include "analysis/run_comparison.hpp"
#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

inline void fill_results_folder(const std::filesystem::path& folder, std::string_view text) {
    constexpr std::string_view separator = "\n----\n";
    static constexpr std::array<std::string_view, 4> names{
        "run.json", "runs.json", "runs/greedy--x--seed-1/timeline.csv",
        "runs/greedy--x--seed-1/decisions.jsonl"};
    std::filesystem::create_directories(folder / "runs/greedy--x--seed-1");
    for (const std::string_view name : names) {
        const std::size_t end = text.find(separator);
        const std::string_view part = text.substr(0, end);
        if (part.empty()) {  // older results lack it
            std::filesystem::remove(folder / name);
        } else {
            std::ofstream(folder / name, std::ios::binary) << part;
        }
        text = end == std::string_view::npos ? "" : text.substr(end + separator.size());
    }
}

// Whether both readers took it.
struct ResultsTaken {
    bool compared = false;
    bool drawn = false;
};

inline ResultsTaken use_results_text(std::string_view text) {
    const ScratchFolder scratch;
    const std::filesystem::path& folder = scratch.path();
    fill_results_folder(folder, text);
    ResultsTaken taken;
    try {
        const analysis::ResultsComparison comparison = analysis::compare_results(folder, folder);
        INVARIANT(comparison.scenario_differences.empty());
        for (const analysis::ComparedResult& run : comparison.runs) {
            INVARIANT(!run.decisions || run.decisions->equal);
        }
        taken.compared = true;
    } catch (const InputError&) {  // the only way to refuse
    }
    try {
        analysis::read_results(folder);
        taken.drawn = true;
    } catch (const InputError&) {
    }
    return taken;
}

}  // namespace ukemi
