#include "plots/policy_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/plain_text.hpp"

namespace ukemi::plots {
namespace {

constexpr std::size_t label_characters_max = 40;
constexpr std::size_t all_characters = 1000;

std::string problem_of(const RunPoint& run) {
    const auto drawable = [](double value) { return std::isfinite(value) && value >= 0; };
    const bool good = drawable(run.cost_usd) && drawable(run.duration_h) &&
                      drawable(run.egress_usd) && std::ranges::all_of(run.usd_by_cause, drawable) &&
                      (!run.usd_by_market || std::ranges::all_of(*run.usd_by_market, drawable));
    if (good) return {};
    return fmt::format("a run of policy {} has a number that is negative or not finite",
                       one_line(run.policy));
}

using TwoLines = std::pair<std::string, std::string>;

// A name that is too long goes on in a second line, best where one of its parts begins. Above 1,
// `number` stands at the end: rows before have the same lines.
TwoLines in_two_lines(std::string_view name, std::size_t number, std::size_t characters_max) {
    const std::string all = label_text(name, all_characters);
    if (character_count(all) <= characters_max) {
        return {numbered_label(all, number, characters_max), ""};
    }
    std::size_t part = 0;
    std::size_t word = 0;
    std::size_t anywhere = 0;
    for (std::size_t at = 1; at < all.size(); ++at) {
        if ((static_cast<unsigned char>(all[at]) & 0xC0U) == 0x80U) continue;  // in a character
        if (character_count(std::string_view(all).substr(0, at)) > characters_max) break;
        anywhere = at;
        if (all[at] == '+' || all[at - 1] == ' ') part = at;
        if (all[at - 1] == '_' || all[at - 1] == '-') word = at;
    }
    const std::size_t split = 2 * part >= anywhere ? part : 2 * word >= anywhere ? word : anywhere;
    const std::size_t space = all[split - 1] == ' ' ? 1 : 0;
    return {all.substr(0, split - space),
            numbered_label(all.substr(split), number, characters_max)};
}

}  // namespace

PolicyRows group_by_policy(std::span<const RunPoint> runs) {
    PolicyRows result;
    if (runs.empty()) {
        result.problem = "there are no runs to draw";
        return result;
    }
    std::map<std::string, PolicyRow> by_name;
    for (const RunPoint& run : runs) {
        result.problem = problem_of(run);
        if (!result.problem.empty()) return result;
        PolicyRow& row = by_name[run.policy];
        row.policy = run.policy;
        row.runs.push_back(&run);
        row.mean_cost_usd += run.cost_usd;
    }
    for (auto& [name, row] : by_name) {
        row.mean_cost_usd /= static_cast<double>(row.runs.size());
        result.rows.push_back(std::move(row));
    }
    std::stable_sort(
        result.rows.begin(), result.rows.end(),
        [](const PolicyRow& a, const PolicyRow& b) { return a.mean_cost_usd < b.mean_cost_usd; });
    return result;
}

std::string percent(double share) {
    if (share > 0 && share < 0.01) return "<1";
    if (share > 0.99 && share < 1) return ">99";
    return fmt::format("{:.0f}", 100 * share);
}

RowLayout row_layout(const PolicyRows& rows, const FigureStyle& style, int usual_width) {
    const std::size_t count = rows.rows.size();
    RowLayout layout;
    layout.width = style.width(usual_width);
    const bool narrow = layout.width < narrow_width;
    const std::size_t characters_max =
        narrow ? static_cast<std::size_t>(layout.width) / 24 : label_characters_max;

    double longest = 0;
    std::string second;
    std::set<TwoLines> taken;
    bool two_lines = false;
    layout.settings =
        fmt::format("set yrange [{}:-0.5]\nunset ytics\narray names[{}]\narray below[{}]\n",
                    static_cast<double>(count) - 0.5, count, count);
    for (std::size_t i = 0; i < count; ++i) {
        TwoLines lines = in_two_lines(rows.rows[i].policy, 1, characters_max);
        for (std::size_t number = 2; !taken.insert(lines).second; ++number) {
            lines = in_two_lines(rows.rows[i].policy, number, characters_max);
        }
        const auto& [name, below] = lines;
        longest = std::max({longest, label_width(name), label_width(below)});
        layout.settings += fmt::format("names[{}] = {}\n", i + 1, gnuplot_string(name));
        two_lines = two_lines || !below.empty();
        second += fmt::format("below[{}] = {}\n", i + 1, gnuplot_string(below));
    }
    layout.settings += second;
    layout.high = static_cast<double>(count) * (count <= 8 ? 46 : two_lines ? 40 : 32);
    // Long names widen a figure whose width nobody asked for, not shrink the panels.
    if (!style.width_in) layout.width += static_cast<int>(std::max(0.0, longest - 160.0));
    layout.names =
        "    do for [i=1:|names|] {\n"
        "        set label 10000+i names[i] at graph 0,first i-1 right offset -1,"
        "(below[i] eq '' ? 0 : 0.5)\n"
        "        set label 20000+i below[i] at graph 0,first i-1 right offset -1,-0.5\n"
        "    }\n";
    layout.left = 28 + longest;
    return layout;
}

}  // namespace ukemi::plots
