// shipped_scenarios.hpp — the scenarios that come with ukemi, and how they are found by name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ukemi::analysis {

struct ShippedScenario {
    std::filesystem::path file;
    std::string name;      // of the file, without folders and ending
    std::string question;  // the first sentence of its description
    std::string commands;  // that read it
};

// The folder `scenarios` around `around` (empty: this program), else around the current folder.
// Empty if there is none.
std::filesystem::path shipped_folder(const std::filesystem::path& around = {});

// Those in it, by folder and name.
std::vector<ShippedScenario> shipped_scenarios(const std::filesystem::path& around = {});

// The path as given if a file is there or it looks like a path (a folder or an ending); else the
// shipped scenario of that name. A folder that is no such name stands for the run.json in it.
// InputError for a name of none, with the nearest, or of several; for a folder without run.json.
std::filesystem::path scenario_file(const std::string& given,
                                    const std::filesystem::path& around = {});

}  // namespace ukemi::analysis
