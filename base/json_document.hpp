// json_document.hpp — a JSON text as a tree, refused where it is ambiguous or dangerous.
//
// The parser of nlohmann::json keeps the last of two equal keys and nests as deep as it is told to;
// here a second equal key, more than `json_depth_max` levels and bytes that are not UTF-8 are
// InputErrors with their place. Overrides are applied to the tree before anybody reads it.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_error.hpp"

namespace ukemi {

inline constexpr std::size_t json_depth_max = 64;

nlohmann::json parse_json(std::string_view text, std::string_view file);
// The same of `size` bytes from `begin` on, with places counted in the whole text.
nlohmann::json parse_json_part(std::string_view text, std::size_t begin, std::size_t size,
                               std::string_view file);

// "/a~1b/0" is the way to element 0 of member "a/b" (RFC 6901).
std::vector<std::string> split_pointer(std::string_view pointer, std::string_view where);
std::string pointer_token(std::string_view key);  // with "~" and "/" escaped

// Replaces what the pointer names, or adds it, with the objects on the way to it that are missing:
// the document's reader says whether such keys exist. A list gets no new elements. The value
// is JSON where it parses as JSON, else text. Complaints name the option.
void apply_override(nlohmann::json& root, std::string_view pointer, std::string_view value,
                    std::string_view option = "--set");

// For complaints: what was found there, on one line and not too much of it.
std::string describe(const nlohmann::json& value);

}  // namespace ukemi
