#include "analysis/seeded_figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/variation_figures.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "records/varied_columns.hpp"

namespace ukemi::analysis {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// By the label of the variant, in the order of the runs.
std::vector<std::pair<std::string, std::vector<records::VariedValue>>> variants_in(
    const ordered_json& document) {
    std::vector<std::pair<std::string, std::vector<records::VariedValue>>> variants;
    for (const ordered_json& run : document.at("runs")) {
        std::vector<records::VariedValue> varied;
        const ordered_json vary = run.value("vary", ordered_json::object());
        for (const auto& [pointer, value] : vary.items()) {
            varied.push_back({pointer, value.get<std::string>()});
        }
        std::string label = records::variant_label(varied);
        const auto same = [&](const auto& one) { return one.first == label; };
        if (std::ranges::none_of(variants, same)) {
            variants.emplace_back(std::move(label), std::move(varied));
        }
    }
    return variants;
}

// Nothing where no run has it.
std::optional<plots::VariationValue> value_in(const ordered_json& mean,
                                              const SeededQuantity& quantity) {
    const auto number = [&](const char* ending) {
        const ordered_json& value = mean.at(quantity.metric + ending);
        return value.is_number() ? std::optional(value.get<double>() * quantity.scale)
                                 : std::nullopt;
    };
    const auto known = number("_mean");
    if (!known) return std::nullopt;
    plots::VariationValue value{*known};
    const auto low = number("_low_95");
    const auto high = number("_high_95");
    if (low && high) value.interval_95 = {*low, *high};
    return value;
}

std::vector<plots::VariationInput> variations_in(const ordered_json& document,
                                                 const std::string& compared,
                                                 std::span<const SeededQuantity> quantities) {
    const auto variants = variants_in(document);
    std::vector<std::vector<records::VariedValue>> varied;
    for (const auto& [label, values] : variants) varied.push_back(values);
    std::optional<VariationKeys> keys = variation_keys(varied);
    if (!keys) return {};
    std::vector<plots::VariationQuantity> shown;
    std::vector<std::string> words;
    for (const SeededQuantity& one : quantities) {
        shown.push_back(one.shown);
        words.push_back(one.shown.panel);
    }
    VariationFigures figures(std::move(*keys), std::move(shown));
    std::size_t seeds = 0;
    for (const ordered_json& mean : document.at("means")) {
        const auto label = mean.at("variant").get<std::string>();
        const auto variant =
            std::ranges::find_if(variants, [&](const auto& one) { return one.first == label; });
        if (variant == variants.end()) continue;
        std::vector<plots::VariationValue> values;
        for (const SeededQuantity& one : quantities) {
            if (auto value = value_in(mean, one)) values.push_back(*std::move(value));
        }
        if (values.size() < quantities.size()) continue;
        const auto runs = mean.at("runs").get<double>();
        figures.add(variant->second, mean.at(compared).get<std::string>(), std::move(values),
                    runs > 0 ? 1 - mean.at("finished").get<double>() / runs : 0);
        seeds = std::max(seeds, mean.at("clusters").get<std::size_t>());
    }
    return figures.figures(fmt::format("{}", fmt::join(words, " and ")),
                           seeds > 1 ? fmt::format("{} seeds", seeds) : "");
}

}  // namespace

std::vector<plots::VariationInput> seeded_variations(const std::filesystem::path& file,
                                                     const std::string& compared,
                                                     std::span<const SeededQuantity> quantities) {
    const std::string text = read_file(file);
    parse_json(text, file.string());  // complains with a place; the keys stay in their order below
    try {
        return variations_in(ordered_json::parse(text), compared, quantities);
    } catch (const json::exception& error) {
        throw InputError(file.string(), "", fmt::format("damaged: {}", one_line(error.what())));
    }
}

}  // namespace ukemi::analysis
