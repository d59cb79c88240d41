#include "analysis/simulated_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/variation_figures.hpp"

namespace ukemi::analysis {

namespace {

// What tells jobs apart but for one key, as a line's name.
std::string name_without(const SimulatedJob& job, std::size_t key) {
    std::vector<records::VariedValue> others;
    for (std::size_t i = 0; i < job.varied.size(); ++i) {
        if (i != key) others.push_back(job.varied[i]);
    }
    const std::string words = varied_words(others);
    return words.empty() ? job.name : fmt::format("{}, {}", job.name, words);
}

std::string unit_of_steps(std::span<const SimulatedJob> jobs) {
    const bool long_ones =
        std::ranges::any_of(jobs, [](const SimulatedJob& job) { return job.step_s.mean >= 1; });
    return long_ones ? "s" : "ms";
}

plots::StepPartsInput parts_input(std::span<const SimulatedJob> jobs) {
    plots::StepPartsInput input;
    for (const sim::StepPart& part : sim::step_parts) {
        input.parts.push_back({std::string(part.name), std::string(part.words)});
    }
    const std::string& first = jobs.front().name;
    const bool one_job =
        std::ranges::all_of(jobs, [&](const SimulatedJob& job) { return job.name == first; });
    for (const SimulatedJob& job : jobs) {
        const std::string words = varied_words(job.varied);
        plots::StepPartsInput::Row& row = input.rows.emplace_back();
        row.name = words.empty() ? job.name : one_job ? words : job.name + ", " + words;
        row.part_s.assign(job.part_s.begin(), job.part_s.end());
    }
    return input;
}

// The key whose values change how many workers a line has; lines are told apart by all else.
std::optional<std::size_t> workers_key(std::span<const SimulatedJob> jobs) {
    for (std::size_t key = 0; key < jobs.front().varied.size(); ++key) {
        std::map<std::string, std::set<std::int64_t>> workers;
        for (const SimulatedJob& job : jobs) {
            workers[name_without(job, key)].insert(job.workers);
        }
        const bool several =
            std::ranges::any_of(workers, [](const auto& line) { return line.second.size() > 1; });
        if (several) return key;
    }
    return std::nullopt;
}

std::optional<plots::VariationInput> scaling_input(std::span<const SimulatedJob> jobs) {
    const std::optional<std::size_t> key = workers_key(jobs);
    if (!key) return std::nullopt;
    plots::VariationInput input;
    input.title = "throughput and efficiency against workers";
    input.axis = "workers";
    input.column = "workers";
    input.quantities = {{"throughput", "samples/s", "samples_per_s", true},
                        {"efficiency", "efficiency", "efficiency", false}};
    input.columns = {""};
    std::map<std::string, std::map<std::int64_t, const SimulatedJob*>> lines;
    std::vector<std::string> order;
    for (const SimulatedJob& job : jobs) {
        const std::string name = name_without(job, *key);
        if (!lines.contains(name)) order.push_back(name);
        lines[name].try_emplace(job.workers, &job);
    }
    for (const std::string& name : order) {
        plots::VariationLine& line = input.lines.emplace_back();
        line.policy = name;
        for (const auto& [workers, job] : lines[name]) {
            plots::VariationValue throughput{job->samples_per_s};
            throughput.ideal = job->samples_per_s / job->efficiency;
            plots::VariationValue efficiency{job->efficiency};
            efficiency.ideal = 1;
            line.points.push_back({static_cast<double>(workers), {throughput, efficiency}, 0});
        }
    }
    return input;
}

}  // namespace

plots::FigureInput simulated_figures(std::span<const SimulatedJob> jobs) {
    plots::FigureInput input;
    if (jobs.empty()) return input;
    input.step_parts = parts_input(jobs);
    if (auto scaling = scaling_input(jobs)) input.scaling = std::move(*scaling);
    std::vector<std::vector<records::VariedValue>> variants;
    for (const SimulatedJob& job : jobs) variants.push_back(job.varied);
    std::optional<VariationKeys> keys = variation_keys(variants);
    if (!keys) return input;
    const std::string unit = unit_of_steps(jobs);
    VariationFigures figures(
        std::move(*keys), {{"step", fmt::format("step ({})", unit), fmt::format("step_{}", unit)},
                           {"throughput", "samples/s", "samples_per_s"}});
    for (const SimulatedJob& job : jobs) {
        figures.add(job.varied, job.name,
                    {{(unit == "s" ? 1 : 1e3) * job.step_s.mean}, {job.samples_per_s}}, 0);
    }
    input.variations = figures.figures("step time and throughput", "");
    return input;
}

}  // namespace ukemi::analysis
