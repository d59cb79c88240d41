// files_of_run.hpp — the files that a run.json says its results are of, beside the documents.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ukemi::analysis {

// {"FILE": "16 hexadecimal digits"}: what has been read since the documents.
nlohmann::json files_of_run();

// What is read from here on is compared with what a run.json, `about`, says. One that has no such
// key, as older ones have none, says nothing. InputError or json::exception if it is damaged.
void expect_files(const nlohmann::json& about, const std::filesystem::path& run_json);

// A warning for each file that is not what it was when the results were made that are made again.
std::vector<std::string> warnings_of_changed_files();

}  // namespace ukemi::analysis
