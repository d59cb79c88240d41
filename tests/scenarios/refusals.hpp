// refusals.hpp — the rows of refused/refusals.tsv.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/read_file.hpp"

namespace ukemi {

inline const std::filesystem::path refused_folder =
    std::filesystem::path(UKEMI_SOURCE_DIR) / "tests" / "scenarios" / "refused";

struct Refusal {
    std::string name;
    std::string good;
    std::string patch;
    std::string message;

    bool is_file() const { return good == "-"; }
    std::filesystem::path file() const { return refused_folder / (name + ".json"); }
    std::string text() const {
        if (is_file()) return read_file(file());
        auto scenario =
            nlohmann::json::parse(read_file(refused_folder / "good" / (good + ".json")));
        scenario.merge_patch(nlohmann::json::parse(patch));
        return scenario.dump(2);
    }
    std::string expected() const {
        return message.starts_with('@') ? message.substr(1) : file().filename().string() + message;
    }
};

inline std::vector<Refusal> refusals() {
    std::vector<Refusal> rows;
    std::istringstream table(read_file(refused_folder / "refusals.tsv"));
    for (std::string line; std::getline(table, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream cells(line);
        Refusal& row = rows.emplace_back();
        for (std::string* cell : {&row.name, &row.good, &row.patch, &row.message}) {
            REQUIRE(std::getline(cells, *cell, '\t'));
        }
    }
    return rows;
}

}  // namespace ukemi
