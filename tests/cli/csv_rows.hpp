// csv_rows.hpp — the cells of a CSV without quotes, by its columns.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/child.hpp"

namespace ukemi {

inline std::vector<std::map<std::string, std::string>> csv_rows(const std::filesystem::path& file) {
    std::vector<std::map<std::string, std::string>> rows;
    std::vector<std::string> names;
    for (const std::string& line : lines_of(text_in(file))) {
        std::vector<std::string> cells;
        std::istringstream stream(line + ",");
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        if (names.empty()) {
            names = cells;
            continue;
        }
        REQUIRE(cells.size() == names.size());
        auto& row = rows.emplace_back();
        for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
    }
    return rows;
}

}  // namespace ukemi
