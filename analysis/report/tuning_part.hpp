// tuning_part.hpp — what tuning came to, as a part of a report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "analysis/report/report_part.hpp"

namespace ukemi::analysis {

void add_tuning(ReportPart& part, const nlohmann::ordered_json& document);  // a tune.json

}  // namespace ukemi::analysis
