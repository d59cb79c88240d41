// report_part.hpp — what a report says of one results folder or of one database of runs, before it
// is a page.
//
// Numbers are those that `replay`, `compare`, `simulate` and `query` give as JSON: nothing is
// computed here that is not in their files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plots/figures.hpp"

namespace ukemi::analysis {

struct ReportCell {
    std::string text;
    std::optional<double> value;  // to sort by, in full; nothing: it is text
};
struct ReportColumn {
    std::string title;
    bool is_number = true;
};
struct ReportTable {
    std::string title;
    std::vector<ReportColumn> columns;
    std::vector<std::vector<ReportCell>> rows;
    std::vector<std::string> notes;  // below it
};

// A mean that results beside this one may have too.
struct ReportMean {
    std::string row;       // "/job/deadline=60h: greedy+daly"
    std::string quantity;  // "cost, USD"
    double mean = 0;
    std::optional<double> half_width_95;
};

struct ReportFigure {
    std::string name;  // where it was drawn: "job-deadline-60h/cost_and_time"
    std::string caption;
    std::string svg;
};

struct ReportPart {
    std::string name;  // as the user calls it
    std::vector<std::pair<std::string, std::string>> asked;
    std::vector<ReportTable> tables;
    std::vector<ReportTable> comparisons;  // with a baseline
    std::vector<ReportTable> runs;         // one by one
    std::vector<ReportMean> means;
    std::vector<ReportFigure> figures;
    std::vector<std::string> figure_notes;  // why there are none, or not all
    bool is_drawing_failed = false;         // as it is not where gnuplot is not installed
    std::vector<std::string> warnings;
    std::vector<std::pair<std::string, std::string>> scenarios;  // name and resolved JSON
    std::vector<std::string> builds;                             // that the runs were made by
};

// Of what `replay`, `train`, `predict`, `compare`, `simulate`, `schedule` or `tune` wrote.
// InputError for what is none of these, or damaged.
ReportPart part_of_results(const std::filesystem::path& folder);

// How the runs of a database are grouped, as `ukemi query` is told.
struct DatabaseQuestion {
    std::vector<std::string> by;
    std::vector<std::string> metrics;
    std::string baseline;
    std::string build;               // its whole name
    std::vector<std::string> where;  // "policy=greedy,on_demand": only runs with these values
};
ReportPart part_of_database(const std::filesystem::path& file, const DatabaseQuestion& question);

// The page: the same for the same parts.
std::string report_page(const std::vector<ReportPart>& parts);

}  // namespace ukemi::analysis
