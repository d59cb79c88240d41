// report_page.cpp — parts of a report as one page: what they have of one kind stands together.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/build_info.hpp"
#include "analysis/report/html_page.hpp"
#include "analysis/report/inline_figure.hpp"
#include "analysis/report/json_table.hpp"
#include "analysis/report/page_style.hpp"
#include "analysis/report/report_part.hpp"

namespace ukemi::analysis {

namespace {

using Parts = std::vector<ReportPart>;
using pugi::xml_node;

xml_node add_section(xml_node body, std::string_view title) {
    xml_node section = add_element(body, "section");
    add_text_element(section, "h2", title);
    return section;
}

// A line that says of which part what follows is; nothing where there is one only.
void add_part_title(xml_node section, const Parts& parts, const ReportPart& part) {
    if (parts.size() > 1) add_text_element(section, "h3", part.name);
}

void add_notes(xml_node parent, const std::vector<std::string>& notes) {
    for (const std::string& note : notes) add_text_element(parent, "p", note, "note");
}

void add_table(xml_node parent, const ReportTable& table) {
    xml_node element = add_element(add_element(parent, "div", "scroll"), "table");
    xml_node head = add_element(add_element(element, "thead"), "tr");
    for (const ReportColumn& column : table.columns) {
        xml_node cell =
            add_text_element(head, "th", column.title, column.is_number ? "number" : "");
        add_page_attribute(cell, "scope", "col");
    }
    xml_node body = add_element(element, "tbody");
    for (const std::vector<ReportCell>& row : table.rows) {
        xml_node line = add_element(body, "tr");
        for (std::size_t i = 0; i < row.size(); ++i) {
            xml_node cell = add_element(line, "td", table.columns[i].is_number ? "number" : "");
            add_breakable_text(cell, row[i].text);
            if (row[i].value) {
                add_page_attribute(cell, "data-value", fmt::format("{}", *row[i].value));
            }
        }
    }
    add_notes(parent, table.notes);
}

void add_titled_tables(xml_node parent, const std::vector<ReportTable>& tables) {
    for (const ReportTable& table : tables) {
        add_text_element(parent, "h3", table.title);
        add_table(parent, table);
    }
}

void add_asked_section(xml_node body, const Parts& parts) {
    xml_node section = add_section(body, "What was asked");
    for (const ReportPart& part : parts) {
        add_part_title(section, parts, part);
        xml_node list = add_element(section, "dl");
        for (const auto& [name, text] : part.asked) {
            add_text_element(list, "dt", name);
            xml_node said = add_element(list, "dd");
            const bool is_code = text.starts_with("ukemi ");
            add_text_element(said, is_code ? "code" : "span", text);
        }
    }
}

void add_warnings(xml_node body, const Parts& parts) {
    const bool any =
        std::ranges::any_of(parts, [](const ReportPart& part) { return !part.warnings.empty(); });
    if (!any) return;
    xml_node section = add_section(body, "Warnings");
    for (const ReportPart& part : parts) {
        if (part.warnings.empty()) continue;
        add_part_title(section, parts, part);
        for (const std::string& one : part.warnings) add_text_element(section, "p", one, "warning");
    }
}

template <class Value, class Items, class Key>
std::vector<Value> different(const Items& items, Key key) {
    std::vector<Value> found;
    for (const auto& one : items) {
        if (std::ranges::find(found, key(one)) == found.end()) found.push_back(key(one));
    }
    return found;
}

std::vector<ReportMean> all_means(const Parts& parts) {
    std::vector<ReportMean> means;
    for (const ReportPart& part : parts) {
        means.insert(means.end(), part.means.begin(), part.means.end());
    }
    return means;
}

const ReportMean* mean_in(const ReportPart& part, const std::string& row,
                          const std::string& quantity) {
    const auto mean = std::ranges::find_if(part.means, [&](const ReportMean& one) {
        return one.row == row && one.quantity == quantity;
    });
    return mean == part.means.end() ? nullptr : &*mean;
}

ReportCell cell_of_mean(const ReportMean* mean) {
    if (mean == nullptr) return {};
    std::string text = shown_number(mean->mean, 2);
    if (mean->half_width_95) text += fmt::format(" ± {}", shown_number(*mean->half_width_95, 2));
    return {text, mean->mean};
}

// Of the parts that know the quantity; rows that only one of them has say nothing here.
ReportTable side_by_side(const Parts& parts, const std::vector<std::string>& rows,
                         const std::string& quantity) {
    ReportTable table;
    table.title = quantity;
    table.columns.push_back({"", false});
    std::vector<const ReportPart*> shown;
    for (const ReportPart& part : parts) {
        if (std::ranges::find(part.means, quantity, &ReportMean::quantity) == part.means.end()) {
            continue;
        }
        shown.push_back(&part);
        table.columns.push_back({part.name});
    }
    for (const std::string& row : rows) {
        std::vector<ReportCell> cells{{row, std::nullopt}};
        std::size_t known = 0;
        for (const ReportPart* part : shown) {
            const ReportMean* const mean = mean_in(*part, row, quantity);
            known += mean == nullptr ? 0 : 1;
            cells.push_back(cell_of_mean(mean));
        }
        if (known > 1) table.rows.push_back(std::move(cells));
    }
    return table;
}

// Means of one policy in one variant, of every part.
void add_side_by_side(xml_node body, const Parts& parts) {
    if (parts.size() < 2) return;
    const std::vector<ReportMean> means = all_means(parts);
    const auto rows = different<std::string>(means, [](const ReportMean& one) { return one.row; });
    xml_node section = add_section(body, "Side by side");
    std::vector<ReportTable> tables;
    for (const std::string& quantity :
         different<std::string>(means, [](const ReportMean& one) { return one.quantity; })) {
        ReportTable table = side_by_side(parts, rows, quantity);
        if (!table.rows.empty()) tables.push_back(std::move(table));
    }
    add_titled_tables(section, tables);
    add_text_element(section, "p",
                     tables.empty() ? "no policy in one variant is in more than one of these"
                                    : "means ± half their 95 % intervals, of what is in several",
                     "note");
}

void add_tables(xml_node body, const Parts& parts, std::string_view title,
                std::vector<ReportTable> ReportPart::*tables, bool titled) {
    const bool any =
        std::ranges::any_of(parts, [&](const ReportPart& part) { return !(part.*tables).empty(); });
    if (!any) return;
    xml_node section = add_section(body, title);
    for (const ReportPart& part : parts) {
        if ((part.*tables).empty()) continue;
        add_part_title(section, parts, part);
        if (titled) {
            add_titled_tables(section, part.*tables);
        } else {
            for (const ReportTable& table : part.*tables) add_table(section, table);
        }
    }
}

// Figures of one name side by side.
void add_figures(xml_node body, const Parts& parts) {
    const bool none = std::ranges::all_of(parts, [](const ReportPart& part) {
        return part.figures.empty() && part.figure_notes.empty();
    });
    if (none) return;
    xml_node section = add_section(body, "Figures");
    std::vector<std::pair<const ReportPart*, const ReportFigure*>> figures;
    for (const ReportPart& part : parts) {
        for (const ReportFigure& figure : part.figures) figures.emplace_back(&part, &figure);
    }
    const auto names =
        different<std::string>(figures, [](const auto& one) { return one.second->name; });
    std::ranges::stable_sort(figures, {}, [&](const auto& one) {
        return std::ranges::find(names, one.second->name) - names.begin();
    });
    xml_node grid;
    std::size_t number = 0;
    for (const auto& [part, figure] : figures) {
        if (!grid) grid = add_element(section, "div", "figures");
        xml_node element = add_element(grid, "figure");
        add_inline_figure(element, figure->svg, figure->name, fmt::format("f{}-", ++number),
                          figure->caption);
        const std::string of = parts.size() > 1 ? fmt::format("{}: ", part->name) : "";
        add_text_element(element, "figcaption", of + figure->caption);
    }
    for (const ReportPart& part : parts) {
        if (part.figure_notes.empty()) continue;
        add_part_title(section, parts, part);
        add_notes(section, part.figure_notes);
    }
}

void add_folded(xml_node body, const Parts& parts) {
    xml_node section = add_section(body, "Scenario");
    for (const ReportPart& part : parts) {
        add_part_title(section, parts, part);
        for (const auto& [name, text] : part.scenarios) {
            xml_node details = add_element(section, "details");
            add_text_element(details, "summary", fmt::format("{}, with every default", name));
            add_page_lines(add_element(details, "pre"), text);
        }
    }
    if (std::ranges::all_of(parts, [](const ReportPart& part) { return part.runs.empty(); }))
        return;
    section = add_section(body, "Runs, one by one");
    for (const ReportPart& part : parts) {
        add_part_title(section, parts, part);
        for (const ReportTable& table : part.runs) {
            xml_node details = add_element(section, "details");
            add_text_element(details, "summary", table.title);
            add_table(details, table);
        }
    }
}

void add_versions(xml_node body, const Parts& parts) {
    xml_node section = add_section(body, "Versions");
    xml_node list = add_element(section, "dl");
    for (const ReportPart& part : parts) {
        for (const std::string& build : part.builds) {
            add_text_element(list, "dt", part.name);
            add_text_element(list, "dd", build);
        }
    }
    add_text_element(list, "dt", "this page");
    add_text_element(list, "dd", build_description());
}

std::string title_of(const Parts& parts) {
    std::vector<std::string> names;
    for (const ReportPart& part : parts) {
        for (const auto& [name, text] : part.scenarios) {
            if (std::ranges::find(names, name) == names.end()) names.push_back(name);
        }
    }
    std::string title;
    for (const std::string& name : names) title += (title.empty() ? "" : ", ") + name;
    return title;
}

}  // namespace

std::string report_page(const std::vector<ReportPart>& parts) {
    pugi::xml_document page;
    const std::string title = title_of(parts);
    xml_node body = begin_page(page, title, report_style, report_script);
    add_text_element(body, "h1", title);
    add_asked_section(body, parts);
    add_warnings(body, parts);
    add_side_by_side(body, parts);
    add_tables(body, parts, "Results", &ReportPart::tables, false);
    add_tables(body, parts, "Against the baseline", &ReportPart::comparisons, true);
    add_figures(body, parts);
    add_folded(body, parts);
    add_versions(body, parts);
    return text_of_page(page);
}

}  // namespace ukemi::analysis
