#include "runtime/cost_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/input_error.hpp"

namespace ukemi::runtime {

namespace {

constexpr std::size_t values_least = 8;
constexpr double side_least = 0.025;  // of the median
constexpr double wide_least = 0.5;    // of the median: who agrees within so much has said little

double side_above(const kernels::MeasuredTimes& times) {
    return std::max(times.quantile(0.9) - times.median(), side_least * times.median());
}
double side_below(const kernels::MeasuredTimes& times) {
    return std::max(times.median() - times.quantile(0.1), side_least * times.median());
}

using Entry = std::pair<std::string, const kernels::MeasuredTimes*>;

std::vector<Entry> entries_of(const scenarios::LiveCosts& costs) {
    std::vector<Entry> all;
    for (const scenarios::StepCosts& one : costs.steps) {
        all.emplace_back("step, " + scenarios::setting_text(one.setting), &one.step);
    }
    for (Entry& one : scenarios::change_times(costs)) all.push_back(std::move(one));
    for (const kernels::MachineCurve& curve : costs.machine.curves) {
        for (const kernels::MachinePoint& point : curve.points) {
            all.emplace_back(fmt::format("{}, {} rank{}, {} bytes", curve.name, curve.ranks,
                                         curve.ranks == 1 ? "" : "s", point.bytes),
                             &point.times);
        }
    }
    std::erase_if(all, [](const Entry& one) { return one.second->s.empty(); });
    return all;
}

const kernels::MeasuredTimes* find(const std::vector<Entry>& entries, const std::string& name) {
    const auto found = std::ranges::find(entries, name, &Entry::first);
    return found == entries.end() ? nullptr : found->second;
}

bool is_wide(const CostDifference& one) {
    return one.agreement == Agreement::agrees && one.stated_s > wide_least * one.second_s;
}

const char* word(Agreement agreement) {
    switch (agreement) {
        case Agreement::agrees: return "agree";
        case Agreement::disagrees: return "DISAGREE";
        case Agreement::only_first: return "only now";
        case Agreement::only_second: return "only there";
        case Agreement::too_few: break;
    }
    return "too few values";
}

}  // namespace

CostDifference difference(std::string name, const kernels::MeasuredTimes& first,
                          const kernels::MeasuredTimes& second) {
    CostDifference one{std::move(name), first.median(), second.median(), 0, Agreement::too_few};
    const bool first_is_lower = one.first_s <= one.second_s;
    const kernels::MeasuredTimes& lower = first_is_lower ? first : second;
    const kernels::MeasuredTimes& upper = first_is_lower ? second : first;
    one.stated_s = side_above(lower) + side_below(upper);
    if (std::min(first.s.size(), second.s.size()) < values_least) return one;
    const bool overlap = upper.median() - lower.median() <= one.stated_s;
    one.agreement = overlap ? Agreement::agrees : Agreement::disagrees;
    return one;
}

std::vector<CostDifference> differences(const scenarios::LiveCosts& first,
                                        const scenarios::LiveCosts& second,
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
    const std::vector<Entry> here = entries_of(first);
    const std::vector<Entry> there = entries_of(second);
    std::vector<CostDifference> all;
    for (const auto& [name, times] : here) {
        if (const kernels::MeasuredTimes* other = find(there, name)) {
            all.push_back(difference(name, *times, *other));
        } else {
            all.push_back({name, times->median(), 0, 0, Agreement::only_first});
        }
    }
    for (const auto& [name, times] : there) {
        if (find(here, name) != nullptr) continue;
        all.push_back({name, 0, times->median(), 0, Agreement::only_second});
    }
    return all;
}

std::size_t count(std::span<const CostDifference> all, Agreement which) {
    return static_cast<std::size_t>(std::ranges::count(all, which, &CostDifference::agreement));
}

namespace {

// A share of a time of which there is none is no number.
std::string share_text(double time_s, double of_s, const char* form) {
    return of_s > 0 ? fmt::format(fmt::runtime(form), 100 * time_s / of_s) + " %"
                    : std::string("-");
}

}  // namespace

std::string difference_table(std::span<const CostDifference> all) {
    std::string text = fmt::format("{:<50}{:>11}{:>11}{:>10}{:>10}\n", "median (ms)", "now",
                                   "there", "apart", "stated");
    for (const CostDifference& one : all) {
        const std::string wide = is_wide(one)
                                     ? fmt::format(" (spread {}: says little)",
                                                   share_text(one.stated_s, one.second_s, "{:.0f}"))
                                     : std::string();
        text += fmt::format(
            "{:<50}{:>11.4f}{:>11.4f}{:>10}{:>10}  {}{}\n", one.name, one.first_s * 1e3,
            one.second_s * 1e3, share_text(one.first_s - one.second_s, one.second_s, "{:+.1f}"),
            share_text(one.stated_s, one.second_s, "{:.1f}"), word(one.agreement), wide);
    }
    const std::size_t agree = count(all, Agreement::agrees);
    const std::size_t disagree = count(all, Agreement::disagrees);
    text += agree + disagree == 0
                ? std::string("nothing that could be compared has enough values in both")
                : fmt::format("{} of {} agree within the spread that both state", agree,
                              agree + disagree);
    const auto wide = std::ranges::count_if(all, is_wide);
    if (wide > 0) {
        text += fmt::format(" ({} of them within more than {:.0f} %, which says little)", wide,
                            100 * wide_least);
    }
    if (disagree > 0) text += fmt::format(", {} do not", disagree);
    const std::size_t few = count(all, Agreement::too_few);
    if (few > 0) text += fmt::format("; {} have too few values to say", few);
    const std::size_t lone = count(all, Agreement::only_first) + count(all, Agreement::only_second);
    if (lone > 0) text += fmt::format("; {} stand in one of them alone", lone);
    return text + "\n";
}

}  // namespace ukemi::runtime
