// csv_scanner.cpp — rows, fields and complaints; the grammar of numbers is base/text_scan's.
#include "traces/csv_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/plain_text.hpp"
#include "base/text_scan.hpp"
#include "traces/timestamp.hpp"

namespace ukemi::traces {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

bool same_name(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

// A token in a complaint: enough to find it again, and no more of a file that is no table after
// all.
std::string found_text(std::string_view text) {
    constexpr std::size_t bytes_max = 32;  // a time with its zone
    if (text.size() <= bytes_max) return quoted(text);
    return fmt::format("{} bytes of text", text.size());
}

// Where a quoted field that begins there ends; npos if it does not.
std::size_t closing_quote(std::string_view line, std::size_t open) {
    std::size_t close = line.find('"', open + 1);
    while (close != std::string_view::npos && line.substr(close + 1).starts_with('"')) {
        close = line.find('"', close + 2);
    }
    return close;
}

}  // namespace

CsvScanner::CsvScanner(std::string_view text, std::string_view file, char separator)
    : text_(text),
      file_(file),
      separator_(separator),
      line_end_(text.find('\n') == std::string_view::npos ? '\r' : '\n') {
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
    fail_at(offset_of(found), fmt::format("expected {}, found {}", expected, found_text(found)));
}

// Without its line ending.
bool CsvScanner::next_line(std::string_view& line) {
    if (at_ >= text_.size()) return false;
    row_start_ = at_;
    const std::size_t newline = text_.find(line_end_, at_);
    const std::size_t end = newline == std::string_view::npos ? text_.size() : newline;
    line = text_.substr(at_, end - at_);
    at_ = newline == std::string_view::npos ? text_.size() : newline + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return true;
}

bool CsvScanner::next_line_with_text(std::string_view& line) {
    for (std::int64_t blank = 0; next_line(line); ++blank) {
        if (trimmed(line).empty()) continue;
        blank_lines_ += blank;  // those after the last row are nothing to speak of
        return true;
    }
    return false;
}

std::string_view CsvScanner::comment() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ >= text_.size() || text_[at_] != '#') return {};
    std::string_view line;
    next_line(line);
    return line.substr(1);
}

void CsvScanner::expect_header(std::string_view header) {
    std::string_view line;
    if (!next_line_with_text(line)) {
        fail_at(text_.size(),
                fmt::format("expected the header \"{}\", found the end of the file", header));
    }
    if (line != header) {
        fail_here(fmt::format("expected the header \"{}\", found {}", header, found_text(line)));
    }
}

void CsvScanner::read_header() {
    std::string_view line;
    if (!next_line_with_text(line)) {
        fail_at(text_.size(), "expected a header, found the end of the file");
    }
    split(line);
    header_ = fields_;
    header_read_.assign(header_.size(), false);
}

std::size_t CsvScanner::column_if_present(std::string_view name) {
    std::size_t found = no_column;
    for (std::size_t i = 0; i < header_.size(); ++i) {
        if (!same_name(header_[i], name)) continue;
        if (found != no_column) {
            fail_here(fmt::format("expected one column {}, found two", ukemi::quoted(name)));
        }
        found = i;
        header_read_[i] = true;
    }
    return found;
}

std::size_t CsvScanner::column(std::string_view name) {
    const std::size_t found = column_if_present(name);
    if (found == no_column) {
        fail_here(fmt::format("expected a column {} in the header", ukemi::quoted(name)));
    }
    return found;
}

// `"a ""b"""` means `a "b"` (RFC 4180).
std::string_view CsvScanner::undoubled(std::string_view inside) {
    if (inside.find('"') == std::string_view::npos) return inside;
    std::string text;
    for (std::size_t i = 0; i < inside.size(); ++i) {
        text += inside[i];
        if (inside[i] == '"') ++i;  // the second one of two
    }
    if (!undoubled_) undoubled_ = std::make_shared<std::deque<Undoubled>>();
    const auto offset = static_cast<std::size_t>(inside.data() - text_.data());
    return undoubled_->emplace_back(std::move(text), offset).text;
}

std::size_t CsvScanner::offset_of(std::string_view field) const {
    if (undoubled_) {
        for (const Undoubled& one : *undoubled_) {
            if (one.text.data() == field.data()) return one.offset;
        }
    }
    return static_cast<std::size_t>(field.data() - text_.data());
}

// At the separators that are not between quotes.
void CsvScanner::split(std::string_view line) {
    fields_.clear();
    for (std::size_t from = 0;; ++from) {
        std::size_t end = std::min(line.find(separator_, from), line.size());
        std::string_view field = trimmed(line.substr(from, end - from));
        if (field.starts_with('"')) {
            const std::size_t open = line.find('"', from);
            const std::size_t close = closing_quote(line, open);
            end = std::min(line.find(separator_, close), line.size());
            if (close == std::string_view::npos ||
                !trimmed(line.substr(close + 1, end - close - 1)).empty()) {
                fail_at(static_cast<std::size_t>(line.data() + open - text_.data()),
                        "expected one closing quote, at the end of the field");
            }
            field = undoubled(line.substr(open + 1, close - open - 1));
        }
        fields_.push_back(field);
        if (end == line.size()) return;
        from = end;
    }
}

bool CsvScanner::next_row(std::size_t columns_min, std::size_t columns_max) {
    std::string_view line;
    if (!next_line_with_text(line)) return false;
    if (rows_ >= trace_rows_max) {
        fail_here(fmt::format("expected at most {} rows", trace_rows_max));
    }
    ++rows_;
    split(line);
    if (columns() < columns_min || columns() > columns_max) {
        fail_here(fmt::format("expected {} columns, found {}", columns_min, columns()));
    }
    return true;
}

void CsvScanner::add_to(ImportReport& report) const {
    report.rows += rows_;
    std::string unread;
    for (std::size_t i = 0; i < header_.size(); ++i) {
        if (header_read_[i]) continue;
        unread += fmt::format("{}{}", unread.empty() ? "" : ", ", quoted(header_[i]));
    }
    if (!unread.empty()) {
        report.notes.push_back("columns not read: " + shortened(unread, 400));
        report.doubts.push_back(report.notes.back());
    }
    if (blank_lines_ > 0) {
        report.repairs.push_back(fmt::format("{} blank lines skipped", blank_lines_));
    }
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

}  // namespace ukemi::traces
