#include "tests/support/committed_plans.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ukemi::test {

std::vector<std::string> committed_plans(std::string_view decisions) {
    std::vector<std::string> plans;
    std::string proposed;
    while (!decisions.empty()) {
        const std::size_t end = std::min(decisions.find('\n'), decisions.size());
        nlohmann::json line = nlohmann::json::parse(decisions.substr(0, end));
        decisions.remove_prefix(std::min(end + 1, decisions.size()));
        if (line.contains("proposed")) {
            line["proposed"].erase("version");
            proposed = line["proposed"].dump();
        } else if (line.value("record", "") == "committed") {
            plans.push_back(proposed);
        }
    }
    return plans;
}

}  // namespace ukemi::test
