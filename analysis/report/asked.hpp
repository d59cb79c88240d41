// asked.hpp — what a results folder was made from, in words, and the command that makes it again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "analysis/report/report_part.hpp"

namespace ukemi::analysis {

// `about` is a run.json, written by the command of that name.
void add_asked(ReportPart& part, const nlohmann::ordered_json& about, std::string_view command);

}  // namespace ukemi::analysis
