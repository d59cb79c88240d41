#include "analysis/idle_variation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace ukemi::analysis {

namespace {

// What a run is beside this key's value; nothing if it has no such key.
std::optional<std::string> others_of(const records::RunResult& run, const std::string& pointer) {
    std::string text = fmt::format("{}\n{}\n{}\n{}\n{}", run.scenario, run.trace, run.policy,
                                   run.start.raw(), run.seed);
    bool has_it = false;
    for (const records::VariedValue& one : run.varied) {
        has_it = has_it || one.pointer == pointer;
        if (one.pointer != pointer) text += fmt::format("\n{}={}", one.pointer, one.value);
    }
    return has_it ? std::optional(text) : std::nullopt;
}

bool alike(const records::RunResult& a, const records::RunResult& b) {
    const auto outcome = [](const records::RunResult& of) {
        return std::tie(of.finished, of.deadline_met, of.duration, of.held, of.cost, of.egress,
                        of.samples_done, of.launches, of.revocations, of.transitions,
                        of.checkpoints, of.steps, of.learned, of.accuracy);
    };
    return outcome(a) == outcome(b);
}

}  // namespace

std::vector<std::string> keys_without_effect(std::span<const records::RunResult> results) {
    std::vector<std::string> pointers;
    for (const records::RunResult& result : results) {
        for (const records::VariedValue& one : result.varied) {
            if (std::ranges::find(pointers, one.pointer) == pointers.end()) {
                pointers.push_back(one.pointer);
            }
        }
    }
    std::erase_if(pointers, [&](const std::string& pointer) {
        std::map<std::string, const records::RunResult*> first;
        bool compared = false;
        for (const records::RunResult& run : results) {
            const auto others = others_of(run, pointer);
            if (!others) continue;
            const auto [before, is_first] = first.emplace(*others, &run);
            if (is_first || before->second->varied == run.varied) continue;
            if (!alike(*before->second, run)) return true;
            compared = true;
        }
        return !compared;
    });
    return pointers;
}

}  // namespace ukemi::analysis
