// decision_comparison.cpp — what two runs changed, Plan by Plan; the other half of run_comparison.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analysis/compared_folder.hpp"
#include "base/json_document.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

struct Change {
    json knobs = json::object();  // new values, by the keys of a Plan in the log
    std::string text;             // "at 12.5 s: workers_max 2 -> 3"
};

std::string fleet_text(const json& fleet) {
    std::string text;
    for (const json& line : fleet) {
        text += fmt::format(
            "{}{} {} in zone {}", text.empty() ? "" : " + ", line.at("count").get<std::int64_t>(),
            line.at("market").get<std::string>(), line.at("zone").get<std::int64_t>());
    }
    return text.empty() ? "nothing" : text;
}

std::string value_text(const std::string& key, const json& value) {
    if (key == "fleet") return fleet_text(value);
    return value.is_string() ? value.get<std::string>() : value.dump();
}

// Reads what was committed, question by question, from the log of one run.
class ChangeReader {
public:
    std::vector<Change> read(std::string_view text, std::string_view file) {
        std::size_t number = 0;
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string where = fmt::format("{}:{}", file, ++number);
            const json object = parse_json(text.substr(0, end), where);
            try {
                line(object);
            } catch (const json::exception&) {
                throw InputError(where, "", "is no line of a decision log");
            }
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return std::move(changes_);
    }

private:
    void line(const json& object) {
        const auto record = object.at("record").get<std::string>();
        if (record == "header") plan_ = object.at("plan");
        if (record == "question" && object.contains("proposed")) {
            proposed_ = object.at("proposed");
            at_s_ = static_cast<double>(object.at("seen").at("now_ns").get<std::int64_t>()) / 1e9;
        }
        if (record == "committed") commit();
    }

    void commit() {
        Change change;
        change.text = fmt::format("at {:.6g} s:", at_s_);
        for (const auto& [key, value] : proposed_.items()) {
            if (key == "version" || (plan_.contains(key) && plan_.at(key) == value)) continue;
            const std::string before =
                plan_.contains(key) ? value_text(key, plan_.at(key)) : "nothing";
            change.text += fmt::format("{} {} {} -> {}", change.knobs.empty() ? "" : ",", key,
                                       before, value_text(key, value));
            change.knobs[key] = value;
        }
        change.text = one_line(change.text);
        changes_.push_back(std::move(change));
        plan_ = proposed_;
    }

    json plan_ = json::object();
    json proposed_ = json::object();
    double at_s_ = 0;
    std::vector<Change> changes_;
};

std::vector<ComparedChange> changes_of(const std::vector<Change>& all) {
    std::vector<ComparedChange> changes;
    for (const Change& one : all) changes.push_back({one.knobs.dump(), one.text});
    return changes;
}

}  // namespace

DecisionComparison compare_decisions(std::string_view predicted, std::string_view predicted_file,
                                     std::string_view measured, std::string_view measured_file) {
    const std::vector<Change> sim = ChangeReader().read(predicted, predicted_file);
    const std::vector<Change> live = ChangeReader().read(measured, measured_file);
    return compare_changes(changes_of(sim), changes_of(live));
}

DecisionComparison compare_changes(const std::vector<ComparedChange>& sim,
                                   const std::vector<ComparedChange>& live) {
    DecisionComparison result;
    result.predicted_count = sim.size();
    result.measured_count = live.size();
    for (std::size_t i = 0; i < std::max(sim.size(), live.size()); ++i) {
        if (i < sim.size() && i < live.size() && sim[i].what == live[i].what) continue;
        result.equal = false;
        result.first_difference = i + 1;
        result.predicted = i < sim.size() ? sim[i].text : "no more changes";
        result.measured = i < live.size() ? live[i].text : "no more changes";
        break;
    }
    return result;
}

}  // namespace ukemi::analysis
