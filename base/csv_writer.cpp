// csv_writer.cpp — lines end in "\n" alone: every reader takes it, and `diff` shows it cleanly.
#include "base/csv_writer.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/invariant.hpp"

namespace ukemi {

CsvWriter::CsvWriter(const std::vector<std::string>& columns) : columns_(columns.size()) {
    INVARIANT(!columns.empty());
    for (const std::string& column : columns) add(column);
    end_row();
}

CsvWriter& CsvWriter::add(std::string_view text) {
    // A lone empty field would be an empty line, which readers skip.
    field(columns_ == 1 && text.empty() ? "\"\"" : csv_field(text));
    return *this;
}

CsvWriter& CsvWriter::add(double value) {
    // "Not a number" is how the program says that there is no value; a table says it by a gap.
    return std::isnan(value) ? add(std::string_view{}) : add(fmt::format("{}", value));
}

CsvWriter& CsvWriter::add(std::int64_t value) { return add(fmt::format("{}", value)); }

void CsvWriter::end_row() {
    INVARIANT(filled_ == columns_);
    text_ += '\n';
    filled_ = 0;
}

void CsvWriter::field(std::string_view text) {
    INVARIANT(filled_ < columns_);
    if (filled_ > 0) text_ += ',';
    text_ += text;
    ++filled_;
}

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted_text = "\"";
    for (const char c : text) {
        if (c == '"') quoted_text += '"';
        quoted_text += c;
    }
    return quoted_text += '"';
}

}  // namespace ukemi
