// bar_table.cpp — cells are what stands between bars; a line of one cell is a title.
#include "traces/forms/bar_table.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "traces/forms/forms.hpp"

namespace ukemi::traces {

namespace {

constexpr std::string_view blanks = " \t\r";

// From the first character that is neither a bar nor blank to the last; empty for a rule.
std::string_view inside_of(std::string_view line) {
    if (line.find_first_not_of("+-|=: \t\r") == std::string_view::npos) return {};
    const std::size_t open = line.find('|');
    if (open == std::string_view::npos || line.find_first_not_of(blanks) != open) return {};
    const std::size_t first = line.find_first_not_of("|", open);
    // An empty last cell ("|  NextToken  |     |") keeps its bar.
    std::size_t end = line.find_last_not_of(blanks) + 1;
    while (end > first && line[end - 1] == '|') --end;
    return line.substr(first, end - first);
}

std::vector<std::string> cells_of(std::string_view inside) {
    std::vector<std::string> cells;
    for (std::size_t from = 0; from <= inside.size();) {
        const std::size_t end = std::min(inside.find('|', from), inside.size());
        std::string cell(inside.substr(from, end - from));
        cell.erase(0, cell.find_first_not_of(blanks));
        cell.erase(cell.find_last_not_of(blanks) + 1);
        cells.push_back(std::move(cell));
        from = end + 1;
    }
    return cells;
}

}  // namespace

bool begins_bar_table(std::string_view head) {
    const std::string_view row = first_row(head);
    const std::size_t first = std::min(row.find_first_not_of(blanks), row.size());
    const std::string_view line = row.substr(first);
    if (line.starts_with('|')) return true;
    const bool is_rule = line.starts_with("--") || line.starts_with("+-");
    return is_rule && line.find_first_not_of("+-") == std::string_view::npos;
}

BarTable rows_of_bar_table(std::string_view text) {
    BarTable table;
    table.rows.assign(text.size(), ' ');
    const char line_end = text.find('\n') == std::string_view::npos ? '\r' : '\n';
    std::vector<std::string> first_cells;
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t end = std::min(text.find(line_end, from), text.size());
        if (end < text.size()) table.rows[end] = line_end;
        const std::string_view inside = inside_of(text.substr(from, end - from));
        from = end + 1;
        std::vector<std::string> cells = cells_of(inside);
        if (cells.size() < 2) continue;
        if (cells[0] == "NextToken") {
            table.names_next_page = !cells[1].empty() && cells[1] != "None";
            continue;
        }
        if (first_cells == cells && inside.find_first_of("0123456789") == std::string_view::npos) {
            continue;
        }
        if (first_cells.empty()) first_cells = std::move(cells);
        const auto at = static_cast<std::size_t>(inside.data() - text.data());
        std::ranges::replace_copy(inside, table.rows.begin() + static_cast<std::ptrdiff_t>(at), '|',
                                  '\t');
    }
    return table;
}

}  // namespace ukemi::traces
