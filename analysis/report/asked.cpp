#include "analysis/report/asked.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/report/json_table.hpp"
#include "base/plain_text.hpp"
#include "base/shell_word.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace {

std::string words_in(const ordered_json& list, std::string_view between) {
    std::string text;
    for (const ordered_json& one : list) {
        text += (text.empty() ? "" : std::string(between)) +
                (one.is_string() ? one.get<std::string>() : one.dump());
    }
    return text;
}

// "1..10" where seeds follow each other.
std::string seeds_in(const ordered_json& list) {
    std::vector<std::uint64_t> seeds = list.get<std::vector<std::uint64_t>>();
    bool in_order = seeds.size() > 2;
    for (std::size_t i = 1; i < seeds.size(); ++i) {
        in_order = in_order && seeds[i] == seeds[i - 1] + 1;
    }
    if (!in_order) return words_in(list, ",");
    return fmt::format("{}..{}", seeds.front(), seeds.back());
}

std::vector<const ordered_json*> documents_in(const ordered_json& about) {
    std::vector<const ordered_json*> documents{&about};
    if (about.contains("more")) {
        for (const ordered_json& one : about.at("more")) documents.push_back(&one);
    }
    return documents;
}

std::string variation_of(const ordered_json& key) {
    return fmt::format("{}={}", key.at("pointer").get<std::string>(),
                       words_in(key.at("values"), ","));
}

void add_traces(ReportPart& part, const ordered_json& traces) {
    constexpr std::size_t named_most = 12;
    if (traces.empty()) return;
    std::vector<std::string> names;
    for (const ordered_json& one : traces) {
        if (names.size() < named_most) names.push_back(one.get<std::string>());
    }
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (traces.size() > named_most) text += fmt::format(" and {} more", traces.size() - named_most);
    part.asked.emplace_back(fmt::format("traces ({})", traces.size()), text);
}

void add_scenarios(ReportPart& part, const ordered_json& about) {
    for (const ordered_json* one : documents_in(about)) {
        const ordered_json& scenario = one->at("scenario");
        const std::string name = text_at(scenario, "/name");
        const std::string says = text_at(scenario, "/description");
        part.asked.emplace_back("scenario",
                                says.empty() ? name : fmt::format("{}: {}", name, says));
        const std::string file = text_at(*one, "/scenario_file");
        if (!file.empty()) part.asked.emplace_back("file", file);
        part.scenarios.emplace_back(name, scenario.dump(2));
    }
}

}  // namespace

void add_asked(ReportPart& part, const ordered_json& about, std::string_view command) {
    add_scenarios(part, about);
    for (const ordered_json& key : about.value("vary", ordered_json::array())) {
        part.asked.emplace_back("varied", variation_of(key));
    }
    if (about.contains("policies")) {
        part.asked.emplace_back("policies", words_in(about.at("policies"), ", "));
    }
    if (about.contains("seeds")) part.asked.emplace_back("seeds", seeds_in(about.at("seeds")));
    add_traces(part, about.value("traces", ordered_json::array()));
    if (about.contains("starts")) {
        part.asked.emplace_back("beginnings in each trace", text_at(about, "/starts"));
    }
    if (about.contains("baseline")) {
        part.asked.emplace_back("baseline", text_at(about, "/baseline"));
    }
    for (const auto& [key, title] :
         {std::pair("predicted", "predicted with"), std::pair("live", "run on real workers")}) {
        if (about.contains(key)) part.asked.emplace_back(title, about.at(key).dump());
    }
    if (!about.contains("live")) {
        const std::string again = shell_word(one_line(part.name));
        part.asked.emplace_back("the same again", fmt::format("ukemi {} {}", command, again));
    }
    const std::string typed = text_at(about, "/typed");
    if (!typed.empty()) part.asked.emplace_back("was typed", typed);
}

}  // namespace ukemi::analysis
