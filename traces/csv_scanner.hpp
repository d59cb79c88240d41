// csv_scanner.hpp — walks a CSV text row by row, strictly, and goes through no double.
//
// Fields are views into the text, which must outlive the scanner. Lines end in \n or \r\n; the last
// may end in nothing. There is no quoting: none of the forms that we know uses it, so a quote is
// just a wrong character. Every complaint is an InputError with file:line:column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"
#include "base/quantity.hpp"
#include "traces/limits.hpp"

namespace ukemi {

class CsvScanner {
public:
    CsvScanner(std::string_view text, std::string_view file);  // checks the encoding at once

    // The line without its "#" if the next line begins with one, else empty.
    std::string_view comment();
    void expect_header(std::string_view header);  // "t_s,instances", blanks and all

    // Moves to the next row; false at the end. A row of another number of fields, a blank line that
    // is not the last, or more than `trace_rows_max` rows are complaints.
    bool next_row(std::size_t columns);
    std::int64_t rows() const { return rows_; }

    std::string_view field(std::size_t column) const { return fields_[column]; }
    std::int64_t whole(std::size_t column, std::int64_t min, std::int64_t max,
                       std::string_view expected) const;
    std::int32_t count(std::size_t column) const;      // of instances
    Duration seconds(std::size_t column) const;        // since the start, not negative
    Price price(std::size_t column) const;             // not negative
    std::int64_t timestamp(std::size_t column) const;  // ISO 8601; nanoseconds since 1970
    // Refuses a stamp that is not after `previous`, or more than `trace_length_max` after `first`.
    void check_order(std::size_t column, std::int64_t stamp, std::int64_t previous,
                     std::int64_t first) const;

    // "file:line:column: expected …, found …"
    [[noreturn]] void fail(std::size_t column, std::string_view expected) const;
    [[noreturn]] void fail_here(std::string_view problem) const;  // at the beginning of the row
    [[noreturn]] void fail_at(std::size_t offset, std::string_view problem) const;
    std::size_t row_offset() const { return row_start_; }

private:
    bool next_line(std::string_view& line);

    std::string_view text_;
    std::string_view file_;
    std::size_t at_ = 0;
    std::size_t row_start_ = 0;
    std::int64_t rows_ = 0;
    std::vector<std::string_view> fields_;
};

}  // namespace ukemi
