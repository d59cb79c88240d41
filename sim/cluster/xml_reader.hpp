// xml_reader.hpp — the little of XML that machines write: elements and attributes, nothing else.
//
// An optional declaration, comments, one root; attributes in double or single quotes, the five
// named entities; between elements white space only. No text, CDATA, DTD, processing instructions
// or numbered entities: files with these are refused, so nothing can expand.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ukemi {

struct XmlElement {
    std::string name;
    std::size_t line = 0;  // of its opening, from 1
    std::size_t column = 0;
    std::vector<std::pair<std::string, std::string>> attributes;  // as written, no name twice
    std::vector<XmlElement> children;

    std::optional<std::string_view> attribute(std::string_view name) const;
};

inline constexpr std::size_t xml_depth_max = 64;
inline constexpr std::size_t xml_elements_max = 100'000;
inline constexpr std::size_t xml_bytes_max = std::size_t{16} << 20;

// Throws InputError(FILE:LINE:COLUMN …).
XmlElement parse_xml(std::string_view text, std::string_view file);

}  // namespace ukemi
