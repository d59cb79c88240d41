// csv_writer.cpp — lines end in "\n" alone: every reader takes it, and `diff` shows it cleanly.
#include "base/csv_writer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/invariant.hpp"
#include "base/plain_text.hpp"

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

namespace {

bool is_number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

std::string harmless(std::string_view text) {
    const bool formula =
        !text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos;
    std::string written(formula && !is_number(text) ? 1 : 0, '\'');
    return written += one_line(text);
}

}  // namespace

std::string csv_field(std::string_view given) {
    const std::string text = harmless(given);
    if (text.find_first_of(",\"") == std::string_view::npos) return text;
    std::string quoted_text = "\"";
    for (const char c : text) {
        if (c == '"') quoted_text += '"';
        quoted_text += c;
    }
    return quoted_text += '"';
}

}  // namespace ukemi
