// csv_scanner.cpp — rows, fields and complaints; the grammar of numbers is base/text_scan's.
#include "traces/csv_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_scan.hpp"
#include "traces/timestamp.hpp"

namespace ukemi {

CsvScanner::CsvScanner(std::string_view text, std::string_view file) : text_(text), file_(file) {
    const std::size_t invalid = first_invalid_utf8(text);
    if (invalid != std::string_view::npos) fail_at(invalid, "expected UTF-8, found another byte");
}

void CsvScanner::fail_at(std::size_t offset, std::string_view problem) const {
    const TextPlace place = place_of(text_, offset);
    throw InputError(file_, place.line, place.column, problem);
}

void CsvScanner::fail_here(std::string_view problem) const { fail_at(row_start_, problem); }

void CsvScanner::fail(std::size_t column, std::string_view expected) const {
    const std::string_view found = fields_[column];
    fail_at(static_cast<std::size_t>(found.data() - text_.data()),
            fmt::format("expected {}, found {}", expected, quoted(found)));
}

// Without its line ending.
bool CsvScanner::next_line(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    row_start_ = at_;
    const std::size_t newline = text_.find('\n', at_);
    const std::size_t end = newline == std::string_view::npos ? text_.size() : newline;
    line = text_.substr(at_, end - at_);
    at_ = newline == std::string_view::npos ? text_.size() : newline + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
}

std::string_view CsvScanner::comment() {
    if (at_ >= text_.size() || text_[at_] != '#') return {};
    std::string_view line;
    next_line(line);
    return line.substr(1);
}

void CsvScanner::expect_header(std::string_view header) {
    std::string_view line;
    if (!next_line(line)) {
        fail_at(text_.size(),
                fmt::format("expected the header \"{}\", found the end of the file", header));
    }
    if (line != header) {
        fail_here(fmt::format("expected the header \"{}\", found {}", header, quoted(line)));
    }
}

bool CsvScanner::next_row(std::size_t columns) {
    std::string_view line;
    if (!next_line(line)) return false;
    if (line.empty()) {
        if (at_ >= text_.size()) return false;
        fail_here("expected a row, found a blank line before the end of the file");
    }
    if (rows_ >= trace_rows_max) {
        fail_here(fmt::format("expected at most {} rows", trace_rows_max));
    }
    ++rows_;
    const auto found = static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1;
    if (found != columns) fail_here(fmt::format("expected {} columns, found {}", columns, found));
    fields_.clear();
    for (std::size_t from = 0; fields_.size() < columns;) {
        const std::size_t end = std::min(line.find(',', from), line.size());
        fields_.push_back(line.substr(from, end - from));
        from = end + 1;
    }
    return true;
}

std::int64_t CsvScanner::whole(std::size_t column, std::int64_t min, std::int64_t max,
                               std::string_view expected) const {
    const auto value = parse_whole(fields_[column], DecimalGrammar::relaxed);
    if (!value || *value < min || *value > max) fail(column, expected);
    return *value;
}

std::int32_t CsvScanner::count(std::size_t column) const {
    return static_cast<std::int32_t>(whole(column, 0, trace_instances_max, expected_instances));
}

Duration CsvScanner::seconds(std::size_t column) const {
    const auto value = parse_decimal(fields_[column], 9, DecimalGrammar::relaxed);
    if (!value || *value < 0 || *value > trace_length_max.raw()) {
        fail(column, "seconds since the start, from 0 to 100 years");
    }
    return nanoseconds(*value);
}

Price CsvScanner::price(std::size_t column) const {
    const auto value = parse_decimal(fields_[column], 9, DecimalGrammar::relaxed);
    if (!value || *value < 0 || *value > trace_price_max.raw()) fail(column, expected_price);
    return Price::of(*value);
}

std::int64_t CsvScanner::timestamp(std::size_t column) const {
    const auto value = parse_timestamp(fields_[column]);
    if (!value) fail(column, "a time such as 2023-02-15 22:08:16 (years 1970 to 2199)");
    return *value;
}

void CsvScanner::check_order(std::size_t column, std::int64_t stamp, std::int64_t previous,
                             std::int64_t first) const {
    if (stamp <= previous) {
        fail(column, fmt::format("a time after the one before ({})", format_timestamp(previous)));
    }
    if (stamp - first > trace_length_max.raw()) {
        fail(column,
             fmt::format("a time within 100 years of the first ({})", format_timestamp(first)));
    }
}

}  // namespace ukemi
