// forms.hpp — what the readers of form_table.def share, and their functions.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_scanner.hpp"
#include "traces/forms/json_documents.hpp"
#include "traces/reader.hpp"

namespace ukemi::traces {

#define FORM(name) TraceForm name##_form();
#include "traces/forms/form_table.def"
#undef FORM

// The first line of `head` that is neither blank nor a "#" comment, without its line ending.
std::string_view first_row(std::string_view head);

// The fields of the first row, without blanks and quotes around them; of JSON, one empty field.
std::vector<std::string> first_fields(std::string_view head, char separator = ',');
// Whether all of these (in small letters) are among the first fields, whatever their case.
bool has_columns(std::string_view head, std::initializer_list<std::string_view> names);

// Whether an object or a list begins here.
bool begins_json(std::string_view head);

// "file:line:column: problem"
[[noreturn]] void fail_in(const TracePage& page, std::size_t offset, std::string_view problem);

// Scans `document`, a part of the page's text, to its end. Complaints name the place in the page.
void read_document(const TracePage& page, const JsonDocument& document,
                   const std::function<void(JsonScanner&)>& read);

// The same for each value of each page, in order; returns how many there were. `before` is where a
// value begins in its page.
std::size_t for_each_document(
    std::span<const TracePage> pages,
    const std::function<void(JsonScanner&, std::uint32_t page, std::size_t before)>& read);

// Reads the object that begins here, or those of the list, and of lists in it.
template <class Read>
void each_object(JsonScanner& json, const Read& read) {
    if (json.peek() != JsonScanner::Kind::array) return read();
    json.begin_array();
    while (json.next_element()) each_object(json, read);
}

// The first key of a JSON object that begins at `head`; empty if that is not what begins there.
// `after` is what follows its colon, blanks skipped: '\0' if nothing.
struct FirstKey {
    std::string_view key;
    char after = '\0';
};
FirstKey first_key(std::string_view head);

// The times of a file of stamped rows (a column "date", "timestamp" or "time"), nanoseconds since
// 1970, for forms that have none of their own; refused if they do not go up.
std::vector<std::int64_t> sample_times(const std::filesystem::path& file);

// Whether a one means "not available", given what the form's own files mean by it.
bool one_means_unavailable(Polarity asked, Polarity documented);

// For forms that count: refuses the inverted polarity, which only zeros and ones can have.
void refuse_inverted_counts(const ReadOptions& options, std::string_view file,
                            std::string_view form);

}  // namespace ukemi::traces
