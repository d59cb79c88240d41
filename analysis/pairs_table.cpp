// pairs_table.cpp — policies against a baseline as a table, as CSV and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/pairs.hpp"
#include "analysis/regret.hpp"
#include "base/csv_writer.hpp"
#include "base/plain_text.hpp"
#include "base/time_unit.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::size_t pair_line_width = 100;
constexpr std::size_t pair_name_width = 35;

const PairedQuantity& quantity_in(const PolicyPair& pair, std::string_view name) {
    const auto found = std::ranges::find(pair.quantities, name, &PairedQuantity::name);
    INVARIANT(found != pair.quantities.end());
    return *found;
}

double half_of_interval(const Summary& summary) { return summary.mean_high_95 - summary.mean; }

// Three decimals, and below that only that it is below.
std::string probability_text(std::optional<double> p) {
    if (!p) return std::string(nothing_to_show);
    return *p < 0.001 ? "<0.001" : fmt::format("{:.3f}", *p);
}

std::string with_sign(double value) { return (value < 0 ? "" : "+") + rounded(value, 4); }

// Differences are shown as so many times what files hold: of hours, seconds.
std::string pair_line(const PolicyPair& pair, const PairedQuantity& quantity, double times) {
    const bool sure = quantity.difference.clusters > 1;
    const std::size_t known = quantity.difference.count;  // pairs in which both have it
    const std::string difference =
        known == 0 ? std::string(nothing_to_show) : with_sign(quantity.difference.mean * times);
    const std::string band = sure ? rounded(half_of_interval(quantity.difference) * times, 3) : "";
    std::string ratio(nothing_to_show);
    std::string ratio_band;
    if (quantity.ratio) ratio = fmt::format("{:.3f}", *quantity.ratio);
    if (quantity.ratio && sure) {
        ratio_band = fmt::format("{:.3f}..{:.3f}", *quantity.ratio - quantity.ratio_half_width_95,
                                 *quantity.ratio + quantity.ratio_half_width_95);
    }
    return fmt::format("{:<35} {:>10} {:>8} {:>7} {:>13} {:>7} {:>7} {:>5}{}\n",
                       shortened(pair.policy, pair_name_width), difference, band, ratio, ratio_band,
                       probability_text(quantity.p), probability_text(quantity.p_holm), known,
                       pair.unfinished > 0 ? "!" : "");
}

std::string notes_below(std::span<const PolicyPair> pairs, std::string_view in_common) {
    std::set<std::string> words;
    std::size_t unfinished = 0;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const PolicyPair& pair : pairs) {
        if (!pair.clusters_words.empty()) words.insert(pair.clusters_words);
        unfinished += pair.unfinished;
        for (const PairedQuantity& one : pair.quantities) {
            if (one.p) fewest = std::min(fewest, one.difference.clusters);
        }
    }
    std::string text;
    if (!words.empty()) {
        text += fmt::format("pairs have {} in common; intervals and p over {}\n", in_common,
                            fmt::join(words, " or "));
        text +=
            "+/-: half the 95 % interval; p: Wilcoxon's signed ranks; p_Holm: corrected for all "
            "rows\n";
    }
    if (fewest < 6) {  // 2/2^n is above 0.05
        text += fmt::format("with {} of them, no p can be below {:.3g}\n", fewest,
                            2.0 / static_cast<double>(std::size_t{1} << fewest));
    }
    if (unfinished > 0) {
        text += fmt::format("! {} pair{} left out, of which one did not finish\n", unfinished,
                            unfinished == 1 ? "" : "s");
    }
    return text;
}

std::vector<PairColumn> values_of(const PairedQuantity& one) {
    constexpr double no_value = std::numeric_limits<double>::quiet_NaN();
    const bool any = one.difference.count > 0;
    const double ratio = one.ratio.value_or(no_value);
    return {{one.name + "_difference_mean", any ? one.difference.mean : no_value},
            {one.name + "_difference_low_95", any ? one.difference.mean_low_95 : no_value},
            {one.name + "_difference_high_95", any ? one.difference.mean_high_95 : no_value},
            {one.name + "_ratio", ratio},
            {one.name + "_ratio_low_95", ratio - one.ratio_half_width_95},
            {one.name + "_ratio_high_95", ratio + one.ratio_half_width_95},
            {one.name + "_p", one.p.value_or(no_value)},
            {one.name + "_p_holm", one.p_holm.value_or(no_value)}};
}

std::size_t clusters_in(const PolicyPair& pair) {
    return pair.quantities.front().difference.clusters;
}

}  // namespace

std::string pairs_table(std::span<const PolicyPair> pairs,
                        std::span<const std::string_view> quantities, std::string_view in_common) {
    if (pairs.empty()) return {};
    std::string text;
    for (const std::string_view name : quantities) {
        double most = 0;
        for (const PolicyPair& pair : pairs)
            most = std::max(most, std::abs(quantity_in(pair, name).difference.mean));
        const bool is_time = name == "hours";
        const TimeUnit time = table_time_unit(most);
        // Of other quantities the name says the unit, and has room in front only.
        const std::string_view unit = is_time ? time.symbol : name == "cost_usd" ? "usd" : "";
        const std::string title = unit.empty()
                                      ? fmt::format("{} against {}", name, pairs[0].baseline)
                                      : fmt::format("against {}", pairs[0].baseline);
        text += fmt::format("\n{:<35} {:>10} {:>8} {:>7} {:>13} {:>7} {:>7} {:>5}\n",
                            shortened(title, pair_name_width),
                            unit.empty() ? "more" : fmt::format("{} more", unit),
                            fmt::format("+/-{}", unit), "ratio", "95%", "p", "p_Holm", "pairs");
        std::string variant;
        for (const PolicyPair& pair : pairs) {
            const std::string own =
                pair.variant.empty() ? pair.scenario : fmt::format("{}", pair.variant);
            const bool several = pair.scenario != pairs[0].scenario || !pair.variant.empty();
            if (own != variant && (several || !variant.empty())) {
                text += fmt::format("{}\n", shortened(own, pair_line_width));
            }
            variant = own;
            text += pair_line(pair, quantity_in(pair, name), is_time ? time.per_hour : 1);
        }
    }
    return text + notes_below(pairs, in_common);
}

std::vector<PairColumn> pair_columns(const PolicyPair& pair) {
    std::vector<PairColumn> columns{{"pairs", static_cast<double>(pair.pairs)}};
    for (const PairedQuantity& quantity : pair.quantities) {
        for (PairColumn& one : values_of(quantity)) columns.push_back(std::move(one));
    }
    return columns;
}

std::string pairs_csv(std::span<const PolicyPair> pairs) {
    const records::VariedColumns varied(pairs);
    std::vector<std::string> columns{"variant", "policy"};
    varied.add_names(columns);
    columns.insert(columns.end(), {"baseline", "unfinished", "clusters", "cluster"});
    if (!pairs.empty()) {
        for (const PairColumn& one : pair_columns(pairs.front())) columns.push_back(one.name);
    }
    columns.emplace_back("scenario");
    CsvWriter csv(columns);
    for (const PolicyPair& pair : pairs) {
        csv.add(pair.variant).add(pair.policy);
        varied.add_fields(csv, pair.varied);
        csv.add(pair.baseline).add(pair.unfinished).add(clusters_in(pair)).add(pair.clusters_name);
        for (const PairColumn& one : pair_columns(pair)) csv.add(one.value);
        csv.add(pair.scenario);
        csv.end_row();
    }
    return csv.text();
}

std::string pairs_json(std::span<const PolicyPair> pairs) {
    const records::VariedColumns varied(pairs);
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const PolicyPair& pair : pairs) {
        nlohmann::ordered_json row = {
            {"scenario", pair.scenario}, {"variant", pair.variant}, {"policy", pair.policy}};
        varied.add_fields(row, pair.varied);
        row["baseline"] = pair.baseline;
        row["pairs"] = pair.pairs;
        row["unfinished"] = pair.unfinished;
        row["clusters"] = clusters_in(pair);
        row["cluster"] = pair.clusters_name;
        for (const PairedQuantity& quantity : pair.quantities) {
            for (const auto& [name, value] : values_of(quantity)) {
                if (std::isfinite(value)) {
                    row[name] = value;
                } else {
                    row[name] = nullptr;
                }
            }
        }
        rows.push_back(std::move(row));
    }
    return rows.dump(1);
}

}  // namespace ukemi::analysis
