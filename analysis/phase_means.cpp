#include "analysis/phase_means.hpp"

#include <algorithm>

#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

void PhaseSums::add(std::string_view variant, std::string_view policy, double transitions,
                    const PhaseNumbers& standstill_s, const PhaseNumbers& machine_h) {
    auto row = std::ranges::find_if(sums_, [&](const PhaseMeans& one) {
        return one.policy == policy && one.variant == variant;
    });
    if (row == sums_.end()) {
        sums_.push_back({std::string(variant), std::string(policy)});
        row = sums_.end() - 1;
    }
    ++row->runs;
    row->transitions += transitions;
    for (std::size_t phase = 0; phase < policies::transition_phase_count; ++phase) {
        row->standstill_s[phase] += standstill_s[phase];
        row->machine_h[phase] += machine_h[phase];
    }
}

std::vector<PhaseMeans> PhaseSums::means() const {
    std::vector<PhaseMeans> means = sums_;
    for (PhaseMeans& one : means) {
        one.transitions /= one.runs;
        for (double& value : one.standstill_s) value /= one.runs;
        for (double& value : one.machine_h) value /= one.runs;
    }
    return means;
}

std::vector<PhaseMeans> phase_means(std::span<const records::RunResult> runs) {
    PhaseSums sums;
    for (const records::RunResult& run : runs) {
        if (!run.phases) continue;
        PhaseNumbers standstill_s{};
        PhaseNumbers machine_h{};
        for (std::size_t phase = 0; phase < policies::transition_phase_count; ++phase) {
            standstill_s[phase] = to_seconds((*run.phases)[phase].standstill);
            machine_h[phase] = to_hours((*run.phases)[phase].instance_time);
        }
        sums.add(scenarios::variant_label(run.varied), run.policy,
                 static_cast<double>(run.transitions), standstill_s, machine_h);
    }
    return sums.means();
}

namespace {

// "/job/transition/system=kungfu, /cluster/count_start=4" without the way to each key.
std::string short_variant(std::string_view label) {
    std::string text;
    while (!label.empty()) {
        const std::size_t next = std::min(label.find(", /"), label.size());
        std::string_view one = label.substr(0, next);
        const std::size_t slash = one.substr(0, one.find('=')).rfind('/');
        if (slash != std::string_view::npos) one.remove_prefix(slash + 1);
        if (!text.empty()) text += ", ";
        text += one;
        label.remove_prefix(std::min(next + 2, label.size()));
    }
    return text;
}

}  // namespace

std::vector<plots::TransitionRow> transition_rows(std::span<const PhaseMeans> means) {
    const auto differ = [&](std::string PhaseMeans::*part) {
        return std::ranges::any_of(
            means, [&](const PhaseMeans& one) { return one.*part != means.front().*part; });
    };
    const bool variants_differ = differ(&PhaseMeans::variant);
    const bool policies_differ = differ(&PhaseMeans::policy);
    std::vector<plots::TransitionRow> rows;
    for (const PhaseMeans& one : means) {
        plots::TransitionRow& row = rows.emplace_back();
        if (variants_differ) row.name = short_variant(one.variant);
        if (!variants_differ || policies_differ) {
            row.name += row.name.empty() ? one.policy : ": " + one.policy;
        }
        row.transitions = one.transitions;
        static_assert(plots::transition_parts.size() == policies::transition_phase_count - 1);
        std::copy(one.standstill_s.begin() + 1, one.standstill_s.end(), row.standstill_s.begin());
        std::copy(one.machine_h.begin() + 1, one.machine_h.end(), row.machine_h.begin());
    }
    return rows;
}

}  // namespace ukemi::analysis
