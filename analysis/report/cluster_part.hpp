// cluster_part.hpp — what folders of `ukemi schedule` and `ukemi search` say.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analysis/report/report_part.hpp"

namespace ukemi::analysis {

// Of schedule.json and search.json.
void add_scheduled(ReportPart& part, const nlohmann::ordered_json& document);
void add_searched(ReportPart& part, const nlohmann::ordered_json& document);

// "/cluster/count=4, /job/batch=32"
std::string words_of_variation(const nlohmann::ordered_json& varied);

}  // namespace ukemi::analysis
