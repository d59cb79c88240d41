// json_documents.hpp — several JSON values in one text: lines of them, or pages one after another.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ukemi::traces {

struct JsonDocument {
    std::string_view text;
    std::size_t line = 1;  // in which it begins
};

// Each object or list at the top level with what stands before it, so that the last one's end is
// the text's. A text with nothing of the kind is one document: its reader complains.
std::vector<JsonDocument> json_documents(std::string_view text);

// True if `"key"` stands in the text, whatever surrounds it: a first guess at a form.
bool has_json_key(std::string_view text, std::string_view key);

}  // namespace ukemi::traces
