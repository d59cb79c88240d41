// csv_scanner.hpp — walks a CSV text row by row, strictly, and goes through no double.
//
// Fields are views into the text, which must outlive the scanner, or into the scanner, which then
// holds what a quoted one with doubled quotes means; blanks around fields are left out, and so are
// the quotes of a quoted one. It ends on its line. Lines end in \n, \r\n or \r; the last may end in
// nothing. Blank lines are skipped and counted; `add_to` says so in the report. Every complaint is
// an InputError with file:line:column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/quantity.hpp"
#include "traces/limits.hpp"
#include "traces/series.hpp"

namespace ukemi::traces {

class CsvScanner {
public:
    static constexpr std::size_t no_column = static_cast<std::size_t>(-1);

    // Checks the encoding at once.
    CsvScanner(std::string_view text, std::string_view file, char separator = ',');

    // The line without its "#" if the next line begins with one, else empty.
    std::string_view comment();
    void expect_header(std::string_view header);  // "t_s,instances", blanks and all

    // Reads the header, whose columns may stand in any order and be more than are asked for.
    void read_header();
    std::size_t header_columns() const { return header_.size(); }
    std::string_view header(std::size_t column) const { return header_[column]; }
    // The column of that name (case does not matter); a missing one is a complaint, or no_column.
    std::size_t column(std::string_view name);
    std::size_t column_if_present(std::string_view name);

    // Moves to the next row; false at the end. A row of another number of fields (after a header:
    // than it has), or more than `trace_rows_max` rows are complaints.
    bool next_row(std::size_t columns_min, std::size_t columns_max);
    bool next_row(std::size_t columns) { return next_row(columns, columns); }
    bool next_row() { return next_row(header_.size()); }
    std::int64_t rows() const { return rows_; }
    std::size_t columns() const { return fields_.size(); }
    void add_to(ImportReport& report) const;  // rows, columns that nobody asked for, blank lines

    std::string_view field(std::size_t column) const { return fields_[column]; }
    std::int64_t whole(std::size_t column, std::int64_t min, std::int64_t max,
                       std::string_view expected) const;
    std::int32_t count(std::size_t column) const;      // of instances
    Duration seconds(std::size_t column) const;        // since the start, not negative
    Price price(std::size_t column) const;             // not negative
    std::int64_t timestamp(std::size_t column) const;  // ISO 8601; nanoseconds since 1970

    // "file:line:column: expected …, found …"
    [[noreturn]] void fail(std::size_t column, std::string_view expected) const;
    [[noreturn]] void fail_here(std::string_view problem) const;  // at the beginning of the row
    [[noreturn]] void fail_at(std::size_t offset, std::string_view problem) const;
    std::size_t row_offset() const { return row_start_; }

private:
    bool next_line(std::string_view& line);
    bool next_line_with_text(std::string_view& line);
    void split(std::string_view line);
    std::string_view undoubled(std::string_view inside);
    std::size_t offset_of(std::string_view field) const;

    std::string_view text_;
    std::string file_;
    char separator_;
    char line_end_;
    std::size_t at_ = 0;
    std::size_t row_start_ = 0;
    std::int64_t rows_ = 0;
    std::int64_t blank_lines_ = 0;
    std::vector<std::string_view> fields_;
    std::vector<std::string_view> header_;
    std::vector<bool> header_read_;  // columns that somebody asked for
    struct Undoubled {
        std::string text;
        std::size_t offset;
    };
    std::shared_ptr<std::deque<Undoubled>> undoubled_;  // null: no field has doubled quotes
};

}  // namespace ukemi::traces
