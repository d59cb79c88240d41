// json_documents.hpp — several JSON values in one text: lines of them, or pages one after another.
#pragma once

#include <string_view>
#include <vector>

namespace ukemi {

// Each object or list at the top level with what stands before it, so that the last one's end is
// the text's. A text with nothing of the kind is one document: its reader complains.
std::vector<std::string_view> json_documents(std::string_view text);

// True if `"key"` stands in the text, whatever surrounds it: a first guess at a form.
bool has_json_key(std::string_view text, std::string_view key);

}  // namespace ukemi
