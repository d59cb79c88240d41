// csv_writer.hpp — rows of a table, as text that any tool reads back.
//
// Fields are quoted only where they must be (RFC 4180); numbers are written in the shortest form
// that reads back equal, NaN as an empty field. A row with the wrong number of fields is a broken
// invariant.
//
// Text from outside does nothing where the table is opened. A spreadsheet takes what begins with
// =, +, - or @ for a formula: an apostrophe is put before it, unless it is a number. A terminal
// obeys control characters: they are written as escapes (\n, \x1b).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/invariant.hpp"

namespace ukemi {

class CsvWriter {
public:
    explicit CsvWriter(const std::vector<std::string>& columns);

    CsvWriter& add(std::string_view text);
    CsvWriter& add(double value);
    CsvWriter& add(std::int64_t value);
    // Every other integer, which would otherwise be ambiguous. Not bool: write a word.
    template <std::integral Integer>
        requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char>)
    CsvWriter& add(Integer value) {
        INVARIANT(std::in_range<std::int64_t>(value));
        return add(static_cast<std::int64_t>(value));
    }
    void end_row();

    const std::string& text() const { return text_; }

private:
    void field(std::string_view text);

    std::string text_;
    std::size_t columns_;
    std::size_t filled_ = 0;
};

// One field, as harmless text, quoted if it must be.
std::string csv_field(std::string_view text);

}  // namespace ukemi
