#include "scenarios/cost_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"

namespace ukemi {

namespace {

constexpr std::size_t values_least = 8;
constexpr double side_least = 0.025;  // of the median

double side_above(const MeasuredTimes& times) {
    return std::max(times.quantile(0.9) - times.median(), side_least * times.median());
}
double side_below(const MeasuredTimes& times) {
    return std::max(times.median() - times.quantile(0.1), side_least * times.median());
}

void add(std::string name, const MeasuredTimes& first, const MeasuredTimes& second,
         std::vector<CostDifference>& all) {
    if (first.s.empty() || second.s.empty()) return;
    all.push_back(difference(std::move(name), first, second));
}

void add_machine(const MachineCosts& first, const MachineCosts& second,
                 std::vector<CostDifference>& all) {
    for (const MachineCurve& curve : first.curves) {
        const auto other = std::ranges::find_if(second.curves, [&](const MachineCurve& one) {
            return one.name == curve.name && one.ranks == curve.ranks;
        });
        if (other == second.curves.end()) continue;
        for (const MachinePoint& point : curve.points) {
            const auto same = std::ranges::find(other->points, point.bytes, &MachinePoint::bytes);
            if (same == other->points.end()) continue;
            add(fmt::format("{}, {} bytes", curve.name, point.bytes), point.times, same->times,
                all);
        }
    }
}

const char* word(Agreement agreement) {
    switch (agreement) {
        case Agreement::agrees: return "agree";
        case Agreement::disagrees: return "DISAGREE";
        case Agreement::too_few: break;
    }
    return "too few values";
}

}  // namespace

CostDifference difference(std::string name, const MeasuredTimes& first,
                          const MeasuredTimes& second) {
    CostDifference one{std::move(name), first.median(), second.median(), 0, Agreement::too_few};
    const bool first_is_lower = one.first_s <= one.second_s;
    const MeasuredTimes& lower = first_is_lower ? first : second;
    const MeasuredTimes& upper = first_is_lower ? second : first;
    one.stated_s = side_above(lower) + side_below(upper);
    if (std::min(first.s.size(), second.s.size()) < values_least) return one;
    const bool overlap = upper.median() - lower.median() <= one.stated_s;
    one.agreement = overlap ? Agreement::agrees : Agreement::disagrees;
    return one;
}

std::vector<CostDifference> differences(const LiveCosts& first, const LiveCosts& second,
                                        const std::filesystem::path& file) {
    if (first.device != second.device) {
        throw InputError(file.string(), "/device",
                         fmt::format("measured on {}, and not on {}: costs of two machines are "
                                     "not compared",
                                     second.device, first.device));
    }
    if (first.training != second.training) {
        throw InputError(file.string(), "/training", "these costs are of another training");
    }
    std::vector<CostDifference> all;
    for (const StepCosts& one : first.steps) {
        if (const StepCosts* other = second.find(one.setting)) {
            add("step, " + setting_text(one.setting), one.step, other->step, all);
        }
    }
    for (const NamedTimes& one : cost_times) {
        add(one.name, first.*one.times, second.*one.times, all);
    }
    add_machine(first.machine, second.machine, all);
    return all;
}

std::size_t count(std::span<const CostDifference> all, Agreement which) {
    return static_cast<std::size_t>(std::ranges::count(all, which, &CostDifference::agreement));
}

std::string difference_table(std::span<const CostDifference> all) {
    std::string text = fmt::format("{:<50}{:>11}{:>11}{:>10}{:>10}\n", "median (ms)", "now",
                                   "there", "apart", "stated");
    for (const CostDifference& one : all) {
        const double percent = 100 / std::max(one.second_s, 1e-12);
        text += fmt::format("{:<50}{:>11.4f}{:>11.4f}{:>+8.1f} %{:>8.1f} %  {}\n", one.name,
                            one.first_s * 1e3, one.second_s * 1e3,
                            percent * (one.first_s - one.second_s), percent * one.stated_s,
                            word(one.agreement));
    }
    const std::size_t agree = count(all, Agreement::agrees);
    const std::size_t disagree = count(all, Agreement::disagrees);
    text +=
        fmt::format("{} of {} agree within the spread that both state", agree, agree + disagree);
    if (disagree > 0) text += fmt::format(", {} do not", disagree);
    const std::size_t few = count(all, Agreement::too_few);
    if (few > 0) text += fmt::format("; {} have too few values to say", few);
    return text + "\n";
}

}  // namespace ukemi
